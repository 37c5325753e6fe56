import { afterAll, beforeAll, expect } from 'bun:test';
import { cpSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openArchive } from '../../src/store/archive.ts';
import { wholeArchive } from '../crash/killed-deletion.ts';
import { recordsOf, versionOf, writeEarlier } from '../crash/sealed-archive.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { IS_FULL } from '../support/campaign-size.ts';
import { hasDisk, smallDisk } from '../support/disks.ts';
import { runExecutable } from '../support/executable.ts';
import { fault } from './fault.ts';

const DISK = '24m';
/** What is left on the disk when the command begins. */
const LEFT_BYTES = IS_FULL ? [0, 8192, 65_536, 262_144, 1_048_576] : [0, 65_536, 1_048_576];
const FULL = /the disk is full|has \d+\.\d MB left|No space left/;
const LACKS = hasDisk((parent) => smallDisk(parent, '64k')) ? undefined : 'to mount a tmpfs';

/** The command, what is sealed before it, and whether it changes the records. */
interface Work {
  readonly name: string;
  readonly isSealed: boolean;
  readonly args: (place: {
    readonly disk: string;
    readonly backup: string;
    readonly late: string;
  }) => readonly string[];
  readonly changes?: true;
  readonly isEarlier?: true;
}

const CONDITION_ID = `0x${Buffer.from('btc3').toString('hex').padStart(64, '0')}`;
const WORKS: readonly Work[] = [
  { name: 'seal', isSealed: false, args: () => ['seal', '--disk-floor', '0'] },
  {
    name: 'import of late records',
    isSealed: true,
    changes: true,
    args: ({ late }) => ['import', late, '--disk-floor', '0'],
  },
  { name: 'backup', isSealed: true, args: ({ disk }) => ['backup', join(disk, 'copy'), '--disk-floor', '0'] },
  { name: 'delete', isSealed: true, changes: true, args: () => ['delete', '--market', CONDITION_ID] },
  { name: 'upgrade', isSealed: false, isEarlier: true, args: () => ['seal', '--disk-floor', '0'] },
  { name: 'restore', isSealed: true, args: ({ backup }) => ['restore', backup, '--market', CONDITION_ID, '--force'] },
  { name: 'verify', isSealed: true, args: () => ['verify', '--jobs', '2'] },
];

/** Archives of the same records, which each case copies, and what commands need. */
interface Prepared {
  readonly cwd: string;
  readonly open: string;
  readonly sealed: string;
  /** As an earlier release wrote it. */
  readonly earlier: string;
  /** A backup of `sealed`. */
  readonly backup: string;
  readonly late: string;
  readonly records: readonly string[];
}

let prepared: Prepared;
const owned = new DisposableStack();
const run = (words: readonly string[], data: string) =>
  runExecutable([...words, '--data', data], { cwd: prepared.cwd });

beforeAll(async () => {
  if (LACKS !== undefined) return;
  const whole = owned.use(await wholeArchive());
  const cwd = owned.use(temporaryDirectory()).path;
  const [open, sealed, earlier, backup, late] = ['open', 'sealed', 'earlier', 'backup', 'late.ndjson'].map((name) =>
    join(cwd, name),
  ) as [string, string, string, string, string];
  prepared = { cwd, open, sealed, earlier, backup, late, records: await recordsIn(whole.data) };
  cpSync(whole.data, open, { recursive: true });
  // An archive that is served has accounts.
  expect((await run(['key', 'create', '--tier', 'free'], open)).code).toBe(0);
  for (const copy of [sealed, earlier]) cpSync(open, copy, { recursive: true });
  writeEarlier(whole.data, join(earlier, 'bookreel.db'));
  expect((await run(['seal'], sealed)).code).toBe(0);
  expect((await run(['backup', backup], sealed)).code).toBe(0);
  const startMs = Date.UTC(2026, 3, 16) + 3 * 300_000;
  const trade = { type: 'price', conditionId: CONDITION_ID, outcome: 'up', kind: 'trade', price: 0.25, side: 'sell' };
  const lines = [1, 2, 3].map((n) => ({ ...trade, size: n, timestamp: new Date(startMs + 100 + n).toISOString() }));
  writeFileSync(late, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}, 300_000);
afterAll(() => owned.dispose());

for (const { name, isSealed, args, changes, isEarlier } of WORKS) {
  fault(
    {
      what: `the disk of the data directory has little or no free space during ${name}`,
      expected: 'it succeeds, or says that the disk is full; every record is there once; with space again it succeeds',
      lacks: LACKS,
    },
    async () => {
      const { cwd, backup, late, records: original } = prepared;
      const base = isEarlier ? prepared.earlier : isSealed ? prepared.sealed : prepared.open;
      const seen: string[] = [];
      for (const left of LEFT_BYTES) {
        using disk = smallDisk(cwd, DISK)!;
        const data = join(disk.path, 'data');
        cpSync(base, data, { recursive: true });
        const words = args({ disk: disk.path, backup, late });
        disk.fill(true);
        const ballast = join(disk.path, 'ballast');
        truncateSync(ballast, statSync(ballast).size - left);
        const { code, stderr } = await run(words, data);
        expect(stderr).not.toContain('defect');
        if (code !== 0) expect([code, stderr]).toEqual([1, expect.stringMatching(FULL)]);
        seen.push(String(code));
        // The command has all of its effect, or none on any record.
        if (isEarlier && versionOf(join(data, 'bookreel.db')) === 7) expect(code).toBe(1);
        else expectPart(await recordsIn(data), original, changes === true);
        disk.fill(false);
        if (!isEarlier || code === 0) expect((await run(['verify'], data)).code).toBe(0);
        if (code !== 0) {
          for (const each of readdirSync(disk.path))
            if (each.includes('partial')) rmSync(join(disk.path, each), { recursive: true });
          expect(await run(words, data)).toMatchObject({ code: 0 });
          expect((await run(['verify'], data)).code).toBe(0);
        }
        const after = await recordsIn(data);
        if (!changes) expect(after).toEqual([...original]);
        else expect(after.length).not.toBe(original.length);
      }
      return `exit codes ${seen.join(', ')} with ${LEFT_BYTES.join(', ')} bytes left; then 0, all records there once, verify 0`;
    },
  );
}

/** Every record is one of the archive before, or of the change: of late records all are there or none, a market is whole or gone. */
function expectPart(found: readonly string[], original: readonly string[], changes: boolean): void {
  if (!changes) {
    expect(found).toEqual([...original]);
    return;
  }
  const [more, fewer] = [new Set(found).difference(new Set(original)), new Set(original).difference(new Set(found))];
  expect([0, 3]).toContain(more.size);
  for (const line of fewer) expect(line).toContain(CONDITION_ID);
  if (fewer.size > 0) expect(found.some((line) => line.includes(CONDITION_ID))).toBe(false);
}

/** Of a copy elsewhere: SQLite needs a page for the index of a write-ahead log. */
async function recordsIn(data: string): Promise<readonly string[]> {
  using directory = temporaryDirectory();
  const copy = join(directory.path, 'data');
  cpSync(data, copy, { recursive: true });
  const archive = openArchive(copy, NOW_MS, { create: false });
  try {
    return await recordsOf(archive);
  } finally {
    archive.database.close();
  }
}
