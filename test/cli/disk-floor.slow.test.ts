import { describe, expect, test } from 'bun:test';
import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { DiskWatch } from '../../src/cli/disk-watch.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { runCommand } from '../support/command.ts';
import { startServer } from '../support/executable.ts';
import { writeLightRecording } from '../support/light-recording.ts';
import { storedIn } from '../support/stored.ts';

/** More than any disk has. */
const UNREACHABLE = '9999TB';
const SNAPSHOTS = 200;

test('a server says once that the disk is below its floor, and once that it is not any more', () => {
  let free = 100e6;
  const lines: string[] = [];
  const disk = new DiskWatch(
    'data',
    { text: '64MB', bytes: 64e6 },
    (line) => lines.push(line),
    () => free,
  );
  const looks = (...amounts: number[]) => {
    for (const amount of amounts) {
      free = amount;
      disk.look();
    }
    return lines.splice(0);
  };
  expect(looks(100e6, 64e6)).toEqual([]);
  expect(looks(63_999_999, 0, 12e6)).toEqual([
    "the disk of 'data' has 64.0 MB left, less than the 64MB of --disk-floor: free some space; imports stop until then, and everything stored is still served",
  ]);
  expect(looks(64e6, 80e6)).toEqual(["the disk of 'data' has enough free space again"]);
  expect(looks(0)).toHaveLength(1);
});

describe('below the floor of free space', () => {
  test.each([[['import', 'light.ndjson']], [['seed', '--fixtures', '.']]])(
    '%j stores nothing and says what to do; with space again it stores all',
    async (command) => {
      using directory = temporaryDirectory();
      const cwd = directory.path;
      writeLightRecording(join(cwd, 'light.ndjson'), SNAPSHOTS);
      const low = await runCommand([...command, '--data', 'data', '--disk-floor', UNREACHABLE], { cwd });
      expect(low.code).toBe(1);
      expect(low.stderr).toMatch(
        /^bookreel: the disk of 'data' has [\d.]+ MB left, less than the 9999TB of --disk-floor: free some space and run this again \(what was reported as stored is kept\)\n$/m,
      );
      const { bavail, bsize } = statfsSync(cwd);
      expect(Number(/has ([\d.]+) MB left/.exec(low.stderr)![1])).toBeWithin(
        (bavail * bsize) / 2e6,
        (bavail * bsize) / 5e5,
      );
      expect(storedIn(join(cwd, 'data')).markets).toBe(0);
      expect((await runCommand([...command, '--data', 'data', '--disk-floor', '1kB'], { cwd })).code).toBe(0);
      const { series } = storedIn(join(cwd, 'data'));
      const snapshots = series.filter(({ kind }) => kind === 'book').reduce((sum, { records }) => sum + records, 0);
      expect(snapshots).toBe(SNAPSHOTS);
    },
  );

  test('Imports leave 64 MB of the disk free (--disk-floor), and below it a server serves and creates keys, and says so once.', async () => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'data');
    writeLightRecording(join(directory.path, 'light.ndjson'), SNAPSHOTS);
    expect((await runCommand(['import', join(directory.path, 'light.ndjson'), '--data', data])).code).toBe(0);
    await using server = await startServer(data, ['--disk-floor', UNREACHABLE]);
    const created = await runCommand(['key', 'create', '--tier', 'pro', '--data', data]);
    expect(created.code).toBe(0);
    const headers = { authorization: `Bearer ${created.stdout.trim()}` };
    const answer = await fetch(`${server.origin}/v1/btc/markets`, { headers });
    expect(((await answer.json()) as { data: unknown[] }).data).toHaveLength(1);
    expect((await fetch(`${server.origin}/readyz`)).status).toBe(200);
    expect(await server.stop()).toBe(0);
    expect(
      (await server.log).match(/less than the 9999TB of --disk-floor: free some space; imports stop/g),
    ).toHaveLength(1);
  });
});
