import { afterAll, describe, expect, test } from 'bun:test';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT } from '../../src/cli/exit.ts';
import { run } from '../../src/cli/program.ts';
import { backUp } from '../../src/store/backup.ts';
import { backUpAndKeep } from '../../src/store/kept-backups.ts';
import { restore } from '../../src/store/restore.ts';
import { addSealed } from '../bench/sealed-archive.ts';
import { until } from '../fault/served.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { expandInPlace } from '../support/backup-manifest.ts';
import { captured } from '../support/captured.ts';
import { startChild } from '../support/child.ts';
import { hasDisk, smallDisk } from '../support/disks.ts';
import { EXECUTABLE } from '../support/executable.ts';
import { contentDigest } from '../support/stored.ts';

const MARKETS = 1000;
const NEW_MARKETS = MARKETS / 100;
const FEW = 50;
/** A recorded market of 5m; those of the test have a few books. */
const RECORDED_BYTES = 700_000;
const DAY_MS = 86_400_000;
const check = async () => undefined;

const directory = temporaryDirectory();
afterAll(() => directory[Symbol.dispose]());
const place = (name: string) => join(directory.path, name);
const data = place('data');
addSealed(data, 0, FEW);

/** The bytes of the files that a directory shares with no other one. */
function ownBytes(path: string): number {
  const found = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = found.map(({ name, parentPath }) => statSync(join(parentPath, name)));
  return files.filter(({ nlink }) => nlink === 1).reduce((sum, { size }) => sum + size, 0);
}

async function said(...words: string[]) {
  const terminal = captured();
  const code = await run(words, terminal);
  return { code, said: `${terminal.stdout()}${terminal.stderr()}` };
}

test('A backup of a day with 1 % new markets copies at most 1.1 % of the bytes.', async () => {
  const [grown, kept] = [place('grown'), place('kept')];
  addSealed(grown, 0, MARKETS);
  await backUpAndKeep(grown, kept, () => NOW_MS, { keep: 2, check });
  addSealed(grown, MARKETS, MARKETS + NEW_MARKETS);
  const second = await backUpAndKeep(grown, kept, () => NOW_MS + DAY_MS, { keep: 2, check });
  expect(second.sealed).toEqual({ files: MARKETS + NEW_MARKETS, newFiles: NEW_MARKETS, bytesWritten: 0 });
  const own = ownBytes(second.directory);
  expect(own - second.writtenBytes).toBe(statSync(join(second.directory, 'manifest.json')).size);
  const [copied, all] = [NEW_MARKETS, MARKETS].map((markets) => markets * RECORDED_BYTES) as [number, number];
  expect((copied + own) / all).toBeLessThanOrEqual(0.011);
});

describe('a backup with compressed databases', async () => {
  const backup = place('backup');
  await backUp(data, backup, () => NOW_MS, { force: false, check });
  const name = 'bookreel.db.zst';
  const bytes = readFileSync(join(backup, name));
  const more = Bun.zstdCompressSync(Buffer.concat([Bun.zstdDecompressSync(bytes), Buffer.alloc(1 << 24)]));
  const flipped = (at: number) => bytes.map((byte, index) => (index === at ? byte ^ 1 : byte));

  test.each([
    ['was cut in the middle', bytes.subarray(0, bytes.length >> 1)],
    ['was cut at its beginning', bytes.subarray(0, 5)],
    ['lost its last kilobyte', bytes.subarray(0, -1000)],
    ['is empty', Buffer.alloc(0)],
    ['has a flipped bit in its header', flipped(0)],
    ['has a flipped bit', flipped(bytes.length >> 1)],
    ['has a flipped bit in its checksum', flipped(bytes.length - 1)],
    ['is of another database', Bun.zstdCompressSync(bytes)],
    ['has more than the database', more],
    ['is no zstd', Buffer.from('a letter '.repeat(3000))],
  ])('of which one %s is refused, and never served', async (_, damaged) => {
    const [copy, again] = [place('copy'), place('again')];
    cpSync(backup, copy, { recursive: true });
    writeFileSync(join(copy, name), damaged);
    const sentence = `'${join(copy, name)}' was changed after the backup, or is damaged: restore an earlier backup`;
    await expect(restore(copy, again, { force: false, check })).rejects.toThrow(sentence);
    const before = contentDigest(data);
    const refused = { code: EXIT.verification, said: `bookreel: ${sentence}\n` };
    expect(await said('restore', copy, '--day', '2026-04-16', '--force', '--data', data)).toEqual(refused);
    expect(contentDigest(data)).toBe(before);
    expect(await said('verify', '--data', copy)).toEqual(refused);
    expect(readdirSync(directory.path).filter((each) => /again|partial/.test(each))).toEqual([]);
    rmSync(copy, { recursive: true });
  });

  test('A backup with compressed databases is read by verify, and by no other command but restore.', async () => {
    const { code, said: text } = await said('verify', '--json', '--data', backup);
    expect([code, JSON.parse(text).totals.markets]).toEqual([0, FEW]);
    for (const words of [
      ['status'],
      ['export'],
      ['serve', '--port', '0'],
      ['key', 'list'],
      ['seal'],
      ['restore', backup],
    ]) {
      const refused = await said(...words, '--data', backup);
      const sentence = `'${backup}' is a backup, with compressed databases: restore it into another directory with`;
      expect(refused).toEqual({ code: 1, said: expect.stringContaining(sentence) });
    }
    expect(readdirSync(backup).sort()).toEqual([name, 'books', 'manifest.json']);
  });

  test('of which the key secret is missing is verified all the same, and has that as its problem', async () => {
    const [keyed, copy] = [place('keyed'), place('keyed-backup')];
    cpSync(data, keyed, { recursive: true });
    expect((await said('key', 'create', '--tier', 'pro', '--data', keyed)).code).toBe(0);
    await backUp(keyed, copy, () => NOW_MS, { force: false, check });
    expect((await said('verify', '--data', copy)).code).toBe(0);
    rmSync(join(copy, 'key-secret'));
    const { code, said: text } = await said('verify', '--json', '--data', copy);
    const { totals, problems } = JSON.parse(text) as { totals: { markets: number }; problems: unknown[] };
    expect([code, totals.markets, JSON.stringify(problems)]).toEqual([
      EXIT.verification,
      FEW,
      expect.stringContaining('key-secret'),
    ]);
  });

  test('leaves no expanded copy behind when its verification is stopped', async () => {
    const kept = place('kept');
    const [latest] = readdirSync(kept).toSorted().slice(-1);
    const child = startChild([EXECUTABLE, 'verify', '--data', join(kept, latest!)]);
    const copies = () => readdirSync(kept).filter((each) => each.includes('.partial-'));
    await until('it has expanded the databases', () => copies().some((copy) => existsSync(join(kept, copy, 'books'))));
    child.kill('SIGTERM');
    // 128 and the number of SIGTERM.
    expect(await child.exited).toBe(143);
    expect(copies()).toEqual([]);
  });

  test('is restored as one of an earlier version, or one that was expanded by hand, is', async () => {
    const digest = contentDigest(data);
    const [plain, both] = [place('plain'), place('both')];
    for (const copy of [plain, both]) cpSync(backup, copy, { recursive: true });
    expandInPlace(plain);
    // As zstd(1) without --rm leaves it.
    expect(Bun.spawnSync(['zstd', '-dq', join(both, name)]).exitCode).toBe(0);
    expect(readFileSync(join(both, 'bookreel.db')).equals(readFileSync(join(plain, 'bookreel.db')))).toBe(true);
    for (const from of [backup, plain, both]) {
      const to = place(`restored-${from.slice(directory.path.length + 1)}`);
      await restore(from, to, { force: false, check });
      expect(contentDigest(to)).toBe(digest);
      expect((await said('verify', '--data', from)).code).toBe(0);
    }
    // Each of them is a backup, which another one may replace.
    for (const name of [plain, both]) await backUp(data, name, () => NOW_MS, { force: true, check });
  });

  test.skipIf(!hasDisk((parent) => smallDisk(parent, '1m')))(
    'is not left on a disk that becomes full while it is compressed (needs root)',
    async () => {
      using disk = smallDisk(directory.path, '64m')!;
      const copy = join(disk.path, 'copy');
      const failing = backUp(data, copy, () => NOW_MS, { force: false, check: async () => disk.fill(true) });
      await expect(failing).rejects.toThrow(`the disk is full, '${copy}.partial-`);
      expect(readdirSync(disk.path)).toEqual(['ballast']);
    },
  );
});
