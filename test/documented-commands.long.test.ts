import { describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { manualInserts } from '../src/import/manual-inserts.ts';
import { manualPages } from '../src/manual/manual.ts';
import { freePort } from './judges/free-port.ts';
import { temporaryDirectory } from './support/archive.ts';
import { blocksOf, type Place, runBlocks } from './support/documented-commands.ts';
import { EXECUTABLE, printed, startServer } from './support/executable.ts';

const ROOT = join(import.meta.dir, '..');

async function placeIn(cwd: string): Promise<Place> {
  const ports = { 8080: await freePort(), 8000: await freePort() };
  const env = {
    PATH: `${dirname(EXECUTABLE)}:${process.env.PATH}`,
    HOME: cwd,
    CURL_HOME: cwd,
    PORT: String(ports[8080]),
    BOOKREEL_REPLAY_PORT: String(ports[8000]),
    BOOKREEL_REPLAY_URL: `http://127.0.0.1:${ports[8000]}`,
  };
  return { cwd, env, ports };
}

describe.skipIf(Bun.which('curl') === null)('every command (needs curl)', () => {
  test('The commands of the README work in a clone, as they are written and in order.', async () => {
    using directory = temporaryDirectory();
    const clone = directory.path;
    const { stdout } = Bun.spawnSync(['git', 'ls-files', '-z'], { cwd: ROOT });
    for (const file of stdout.toString().split('\0').filter(Boolean)) {
      cpSync(join(ROOT, file), join(clone, file), { preserveTimestamps: true });
    }
    // Installed and built already: make finds both up to date.
    symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
    mkdirSync(join(clone, 'dist'));
    cpSync(EXECUTABLE, join(clone, 'dist', 'bookreel'), { preserveTimestamps: true });
    const readme = readFileSync(join(clone, 'README.md'), 'utf8');
    const git = (...args: readonly string[]) => {
      const { stdout: lines } = Bun.spawnSync(['git', ...args], { cwd: clone });
      return lines.toString().split('\n').filter(Boolean);
    };
    git('init');
    git('add', '.');
    expect(await runBlocks(readme, await placeIn(clone))).toBeGreaterThan(6);
    // The demo is one person, and 'git add' takes nothing that it wrote.
    const keys = JSON.parse(await printed(['key', 'list', '--json', '--data', join(clone, 'bookreel-data')]));
    expect(keys).toMatchObject([
      { account: 'demo@localhost', name: 'demo' },
      { account: 'demo@localhost', name: 'laptop' },
    ]);
    const written = git('ls-files', '--others', '--exclude-standard');
    expect(written.filter((path) => !['.curlrc', '.variables'].includes(path))).toEqual([]);
    expect(git('ls-files', '--others')).toContain('monday.backup/key-secret');
    // The two commands about one instant give the same book.
    const at = JSON.parse(blocksOf(readme).find(({ language }) => language === 'json')!.text).data[0];
    const market = /MARKET=(\S+)/.exec(readme)![1]!;
    const command = /dist\/bookreel (show .*)/.exec(readme)![1]!.replace('$MARKET', market);
    const shown = await printed([...command.split(' '), '--data', join(clone, 'bookreel-data')]);
    expect(shown).toContain(`up at ${at.timestamp}, snapshot ${at.id}\n`);
  });

  const pageOf = (name: string) => manualPages(manualInserts()).find((page) => page.name === name)!.text;

  test('of the page on the interface works against a server with the simulated recordings', async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'bookreel-data');
    await using server = await startServer(data, ['--demo']);
    const place = await placeIn(directory.path);
    const key = (await printed(['key', 'create', '--tier', 'enterprise', '--data', data])).trim();
    const ports = { 8080: Number(new URL(server.origin).port) };
    expect(
      await runBlocks(pageOf('interface'), { ...place, env: { ...place.env, BOOKREEL_KEY: key }, ports }),
    ).toBeGreaterThan(4);
  });

  test('of the page on recordings works on the records that it shows', async () => {
    using directory = temporaryDirectory();
    const page = pageOf('recordings');
    const records = blocksOf(page).find(({ language }) => language === 'ndjson')!.text;
    await Bun.write(join(directory.path, 'recordings', 'shown.ndjson'), records);
    expect(await runBlocks(page, await placeIn(directory.path))).toBeGreaterThan(3);
    const all = await printed(['export', '--data', join(directory.path, 'bookreel-data')]);
    expect(all.trim().split('\n')).toHaveLength(records.trim().split('\n').length);
  });

  test('of the page on replay works on the simulated recordings', async () => {
    using directory = temporaryDirectory();
    expect(await runBlocks(pageOf('replay'), await placeIn(directory.path))).toBeGreaterThan(2);
  });

  test('of the page on backtests works on the simulated recordings, and its strategy runs', async () => {
    using directory = temporaryDirectory();
    const page = pageOf('backtest');
    expect(await runBlocks(page, await placeIn(directory.path))).toBe(3);
    const strategy = blocksOf(page).find(({ language }) => language === 'ts')!.text;
    await Bun.write(join(directory.path, 'dip.ts'), strategy);
    const args = ['backtest', 'dip.ts', '--tf', '5m', '--data', 'bookreel-data'];
    expect(await printed(args, { cwd: directory.path })).toMatch(/^Fills +[1-9]/m);
  });
});
