import { describe, expect, test } from 'bun:test';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { temporaryDirectory } from '../support/archive.ts';
import { type Child, startChild } from '../support/child.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { EXECUTABLE, issueKey, startServer } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, LIGHT_MARKET, lightNdjson, lightSnapshot } from '../support/light-recording.ts';
import { hasSchema, storedIn } from '../support/stored.ts';

const POLL_MS = 20;

/** Directories of a watch, and the executable that watches. */
function watching() {
  const directory = temporaryDirectory();
  const [data, input] = [join(directory.path, 'data'), join(directory.path, 'in')];
  mkdirSync(input);
  const start = (...args: string[]): Child =>
    startChild([EXECUTABLE, 'import', '--watch', 'in', '--data', data, ...args], { cwd: directory.path });
  /** The snapshots in the archive. */
  const snapshots = () => {
    const { series } = hasSchemaYet(data) ? storedIn(data) : { series: [] };
    return series.filter(({ kind }) => kind === 'book').reduce((sum, { records }) => sum + records, 0);
  };
  return { data, input, start, snapshots, [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

function hasSchemaYet(data: string): boolean {
  return existsSync(join(data, 'bookreel.db')) && hasSchema(data);
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await Bun.sleep(POLL_MS);
}

/** Stops it with SIGTERM; throws unless it ends with 0. */
async function stopped(child: Child): Promise<string> {
  child.kill('SIGTERM');
  const code = await child.exited;
  if (code !== 0) throw new Error(`ended with ${code}: ${child.stderr()}`);
  return child.stdout();
}

/** Without what an import gives itself. */
async function exportOf(data: string): Promise<readonly string[]> {
  const text = await outputOf(['export', '--data', data]);
  const lines = text.trimEnd().split('\n');
  return lines.map((line) => line.replace(/"(?:id|createdAt|updatedAt)":(?:\d+|"[^"]*"),?/g, '')).sort();
}

describe('import --watch', () => {
  test('A watch that is killed again and again while a file grows loses no record and stores none twice.', async () => {
    using place = watching();
    const path = join(place.input, 'capture.ndjson');
    const bytes = Buffer.from(lightNdjson(6000));
    let at = 0;
    const grow = () => {
      const next = at + 997 + (at % 4001);
      appendFileSync(path, bytes.subarray(at, next));
      at = next;
    };
    for (let kill = 0; kill < 4; kill += 1) {
      await using child = place.start();
      const target = (bytes.length * (kill + 1)) / 5;
      while (at < target) {
        grow();
        await Bun.sleep(1);
      }
      if (kill % 2 === 0) {
        const before = place.snapshots();
        await until(() => place.snapshots() > before);
      }
      child.kill('SIGKILL');
      await child.exited;
    }
    await using child = place.start();
    while (at < bytes.length) grow();
    await until(() => place.snapshots() === 6000);
    await stopped(child);
    const whole = join(place.data, '..', 'whole');
    await outputOf(['import', path, '--data', whole]);
    expect(await exportOf(place.data)).toEqual(await exportOf(whole));
    // All of it was noted: the next command reads nothing.
    await using again = place.start();
    await until(() => again.stderr().includes('until it is stopped'));
    await Bun.sleep(2500);
    expect(await stopped(again)).toBe('');
  });

  test('A watch imports into an archive that a server serves, and sums up by folder.', async () => {
    using place = watching();
    const { key } = await issueKey(place.data);
    await using server = await startServer(place.data);
    mkdirSync(join(place.input, 'monday'));
    mkdirSync(join(place.input, 'tuesday'));
    await using child = place.start('--json');
    writeFileSync(join(place.input, 'monday', 'a.ndjson'), lightNdjson(10));
    writeFileSync(join(place.input, 'tuesday', 'b.ndjson'), lightNdjson(20));
    writeFileSync(join(place.input, 'tuesday', 'bad.gz'), gzipSync(lightNdjson(5)).subarray(0, 60));
    utimesSync(join(place.input, 'tuesday', 'bad.gz'), 0, 0);
    await until(() => place.snapshots() === 20 && child.stderr().includes('bad.gz'));
    const output = await stopped(child);
    const url = `${server.origin}/v1/btc/markets/${LIGHT_CONDITION_ID}/snapshots`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    expect(await answer.text()).toContain(LIGHT_CONDITION_ID);
    const sums = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(sums.filter(({ folder }) => folder === 'in/monday/')).toMatchObject([{ files: 1, read: 11, rejected: 0 }]);
    expect(sums.reduce((sum, { stored }) => sum + stored, 0)).toBe(21);
    expect(child.stderr().split('bad.gz').length).toBe(2);
  });

  test('Records of a market that is not known yet are stored when its market record comes.', async () => {
    using place = watching();
    await using child = place.start();
    // More than is read again with the next lines.
    const lines = Array.from({ length: 1000 }, (_, i) => `${JSON.stringify(lightSnapshot(i))}\n`);
    writeFileSync(join(place.input, 'a.ndjson'), lines.join(''));
    const notes = () => {
      const [file] = readdirSync(join(place.data, 'watched'));
      return readFileSync(join(place.data, 'watched', file!), 'utf8');
    };
    await until(() => child.stderr().includes('until it is stopped') && notes().includes('isWaiting'));
    // Most often one scan finds both: the position behind the new line must not hide those before it.
    appendFileSync(join(place.input, 'a.ndjson'), `${JSON.stringify(lightSnapshot(1000))}\n`);
    writeFileSync(join(place.input, 'z.ndjson'), `${JSON.stringify(LIGHT_MARKET)}\n`);
    await until(() => place.snapshots() === 1001);
    const output = await stopped(child);
    expect(output).toMatch(/100[01] rejected/);
    expect(child.stderr()).toContain(LIGHT_CONDITION_ID);
  });

  test.each([
    [['--dry-run'], '--dry-run is for recordings that are complete: leave it out beside --watch'],
    [['--every', '1s'], '--every is for recordings that are complete: leave it out beside --watch'],
    [['--mirror'], '--mirror is for recordings that are complete: leave it out beside --watch'],
    [['--missing', 'm'], '--missing is for recordings that are complete: leave it out beside --watch'],
    [['-'], '--watch is for directories: leave out -'],
    [['http://localhost:1/a'], '--watch is for directories: leave out http://localhost:1/a'],
    [['nowhere'], "'nowhere' cannot be read"],
    [['file'], "'file' is not a directory: --watch imports what comes into directories"],
  ])('refuses %p', async (args, sentence) => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, 'file'), '');
    const { code, stderr, stdout } = await runCommand(['import', '--watch', '.', ...args, '--data', 'data'], {
      cwd: directory.path,
    });
    expect({ code, stdout }).toEqual({ code: args[0] === 'nowhere' || args[0] === 'file' ? 1 : 2, stdout: '' });
    expect(stderr).toContain(sentence);
  });
});
