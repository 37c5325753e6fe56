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
    expect(await runBlocks(readme, await placeIn(clone))).toBeGreaterThan(6);
  });

  const pageOf = (name: string) => manualPages(manualInserts()).find((page) => page.name === name)!.text;

  test('of the page on the interface works against a server with the simulated recordings', async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'bookreel-data');
    await using server = await startServer(data, ['--demo']);
    const place = await placeIn(directory.path);
    const key = (await printed(['key', 'create', '--tier', 'enterprise', '--data', data])).trim();
    const ports = { 8080: Number(new URL(server.origin).port) };
    expect(await runBlocks(pageOf('interface'), { ...place, env: { ...place.env, KEY: key }, ports })).toBeGreaterThan(
      4,
    );
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
});
