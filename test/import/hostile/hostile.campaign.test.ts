import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { temporaryDirectory } from '../../support/archive.ts';
import { startChild } from '../../support/child.ts';
import { EXECUTABLE, runExecutable } from '../../support/executable.ts';
import { writeLightRecording } from '../../support/light-recording.ts';
import { ORDINARY_USER } from '../../support/ordinary-user.ts';
import { sampleMarket } from '../../support/sample-records.ts';
import { storedIn } from '../../support/stored.ts';
import { runWatched, type Watched } from '../../support/watched.ts';
import {
  caseOf,
  goodRecord,
  HOSTILE_START_MS,
  type HostileCase,
  joined,
  type KeptRecord,
  numbered,
} from './hostile-case.ts';
import { hostileFormats } from './hostile-formats.ts';
import { hostilePacked } from './hostile-packed.ts';
import { hostileParquet } from './hostile-parquet.ts';
import { hostileTexts } from './hostile-texts.ts';
import { hostileValues } from './hostile-values.ts';

const MEMORY_BYTES_MAX = 400 * 1024 * 1024;
const DEADLINE_MS = 600_000;
/** Maximum length of a sentence about a file, including its path. */
const SENTENCE_CHARS_MAX = 1000;
/** Control characters for terminals. */
const CONTROL = /[\p{Cc}\p{Bidi_Control}]/u;

const CASES = numbered([
  ...hostileValues(),
  ...hostileTexts(),
  ...hostilePacked(),
  ...hostileParquet(),
  ...hostileFormats(),
]);

interface Rejected {
  readonly path: string;
  readonly line: number;
  readonly reason: string;
}

const pathOf = ({ title, file }: HostileCase, index: number) =>
  join('corpus', `${String(index).padStart(4, '0')}-${title}`, file);

/** Checks that a run ended by itself with a documented exit code, without a stack trace, and within its memory. */
function expectOrderly({ code, stdout, stderr, peakBytes }: Watched, expectedCode: number): void {
  expect(stderr).not.toContain('defect');
  expect(stderr).not.toContain('$bunfs');
  for (const line of `${stdout}${stderr}`.split('\n')) {
    expect(line).not.toMatch(CONTROL);
    expect(line.length).toBeLessThanOrEqual(SENTENCE_CHARS_MAX);
  }
  expect(code).toBe(expectedCode);
  expect(peakBytes).toBeGreaterThan(0);
  expect(peakBytes).toBeLessThanOrEqual(MEMORY_BYTES_MAX);
}

/** The records of an archive in its export, without ids, by time. */
async function recordsIn(data: string): Promise<KeptRecord[]> {
  const { code, stdout, stderr } = await runExecutable(['export', '--data', data]);
  expect({ code, stderr: stderr.includes('defect') }).toEqual({ code: 0, stderr: false });
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { id: _, ...record } = JSON.parse(line) as Record<string, unknown>;
      return record;
    })
    .filter(({ type }) => type !== 'market' && type !== 'gap')
    .sort((a, b) => timeOf(a) - timeOf(b));
}

const timeOf = ({ timestamp }: KeptRecord) => Date.parse(String(timestamp));

async function expectSound(data: string): Promise<void> {
  expect(storedIn(data).integrity).toBe('ok');
  const { code, stderr } = await runExecutable(['verify', '--data', data]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

describe(`${CASES.length} hostile files, imported at once`, () => {
  const directory = temporaryDirectory();
  const cwd = directory.path;
  let run: Watched;
  let stored: KeptRecord[] = [];
  let rejected = new Map<string, Rejected[]>();
  /** The errors of files that were not read to their end. */
  const damages = new Map<string, string>();

  beforeAll(async () => {
    mkdirSync(join(cwd, 'corpus'));
    writeFileSync(join(cwd, 'corpus', 'markets.ndjson'), `${JSON.stringify(sampleMarket())}\n`);
    for (const [index, hostile] of CASES.entries()) {
      const path = join(cwd, pathOf(hostile, index));
      mkdirSync(join(path, '..'));
      writeFileSync(path, hostile.bytes);
    }
    const args = ['import', 'corpus', '--data', 'data', '--rejects', 'rejects.ndjson'];
    run = await runWatched(args, { cwd, deadlineMs: DEADLINE_MS });
    const lines = readFileSync(join(cwd, 'rejects.ndjson'), 'utf8').split('\n').filter(Boolean);
    rejected = Map.groupBy(
      lines.map((line) => JSON.parse(line) as Rejected),
      ({ path }) => path,
    );
    for (const line of run.stderr.split('\n')) {
      const path = /^bookreel: '(corpus\/[^']+)'/.exec(line)?.[1];
      if (path !== undefined) damages.set(path, line);
    }
    stored = await recordsIn(join(cwd, 'data'));
  }, DEADLINE_MS + 60_000);

  afterAll(() => directory[Symbol.dispose]());

  test('end in an orderly way, within 400 MB, and leave a sound archive', async () => {
    expect(CASES.length).toBeGreaterThanOrEqual(200);
    expectOrderly(run, 1);
    await expectSound(join(cwd, 'data'));
  }, 300_000);

  test('have their bad records rejected and their good records stored', () => {
    const byCase = Map.groupBy(stored, (record) => caseOf(timeOf(record)));
    const surprises = CASES.flatMap((hostile, index) => {
      const path = pathOf(hostile, index);
      const within = byCase.get(index) ?? [];
      const found = {
        path,
        kept: keptOf(hostile, within),
        rejected: countedAs(hostile.rejected, rejected.get(path)?.length ?? 0),
        damaged: hostile.damaged === 'any' ? 'any' : damages.has(path),
      };
      const expected = { path, kept: true, rejected: hostile.rejected, damaged: hostile.damaged };
      return Bun.deepEquals(found, expected)
        ? []
        : [{ found, expected, stored: within.slice(0, 3), error: damages.get(path) }];
    });
    expect(surprises).toEqual([]);
  });

  test('are reported in sentences that fit on a line', () => {
    for (const [index, hostile] of CASES.entries()) {
      if (!hostile.title.startsWith('UTF-16')) continue;
      const sentence = `'${pathOf(hostile, index)}' cannot be imported as it is, because it is a text in UTF-16: `;
      expect(`${run.stdout}${run.stderr}`).toContain(sentence);
    }
    const reasons = [...rejected.values()].flat();
    expect(reasons.length).toBeGreaterThan(1000);
    for (const { reason } of reasons) {
      expect(reason).toMatch(/\S/);
      expect(reason.length).toBeLessThanOrEqual(500);
      expect(reason).not.toMatch(/\bat .*:\d+:\d+|SQLITE|undefined is not|\[object |Error\b|ERR_/);
    }
  });

  test('store nothing when they are imported again', async () => {
    // All cases except the largest, which take too long.
    for (const title of ['snapshot-timestamp-that-is-no-time', 'invalid-UTF-8', 'gz-cut-off-at-0.5']) {
      const index = CASES.findIndex((hostile) => hostile.title === title);
      const again = await runExecutable(['import', pathOf(CASES[index]!, index), '--data', 'data', '--json'], { cwd });
      expect(again.code).toBe(1);
      expect(JSON.parse(again.stdout).total.stored).toBe(0);
    }
    expect(await recordsIn(join(cwd, 'data'))).toEqual(stored);
  }, 300_000);
});

/** Whether the records in a case's time range are those that it must store. */
function keptOf({ kept }: HostileCase, within: readonly KeptRecord[]): boolean {
  if (kept === 'any') return true;
  if (typeof kept === 'number') return within.length === kept;
  const wanted = 'beginningOf' in kept ? kept.beginningOf.slice(0, within.length) : kept;
  return Bun.deepEquals(within, wanted);
}

function countedAs(expected: HostileCase['rejected'], count: number): HostileCase['rejected'] {
  if (expected === 'any') return 'any';
  if (expected === 'some') return count > 0 ? 'some' : 0;
  return count;
}

describe('a directory of strange things', () => {
  test('is read without following loops, devices, sockets, pipes without writers, and with names that contain control characters', async () => {
    using directory = temporaryDirectory();
    const cwd = directory.path;
    const corpus = join(cwd, 'corpus');
    mkdirSync(join(corpus, 'deep', 'directory.ndjson'), { recursive: true });
    const names = [
      ...[
        'plain.ndjson',
        'two\nlines.ndjson',
        'a "quoted" \'name\'.ndjson',
        '\u001b[31mred\u0007.ndjson',
        '-rf',
        '$(x).ndjson',
      ],
      ...[
        `${'n'.repeat(240)}.ndjson`,
        ' .ndjson',
        '..ndjson',
        '\u202Enosjdn.ndjson',
        'café.ndjson',
        '%2e%2e%2f.ndjson',
      ],
    ];
    const kept = names.map((name, index) => {
      const record = goodRecord(HOSTILE_START_MS, index);
      writeFileSync(join(corpus, name), joined([JSON.stringify(record), 'bad']));
      return record;
    });
    const notUtf8 = Buffer.concat([Buffer.from(`${corpus}/`), Uint8Array.of(0xff, 0xfe), Buffer.from('.ndjson')]);
    writeFileSync(notUtf8, joined([JSON.stringify(goodRecord(HOSTILE_START_MS, 900))]));
    const links: [to: string, name: string][] = [
      ['.', 'loop'],
      ['..', 'deep/up'],
      ['self.ndjson', 'self.ndjson'],
      ['nowhere.ndjson', 'nowhere.ndjson'],
      ['/dev/zero', 'zero.ndjson'],
      ['/dev/random', 'random.ndjson'],
      ['/proc/self/environ', 'environ.ndjson'],
      ['/proc/kmsg', 'kmsg.ndjson'],
      ['/proc/self/fd/0', 'standard-input.ndjson'],
      ['/', 'root'],
    ];
    for (const [to, name] of links) symlinkSync(to, join(corpus, name));
    expect(Bun.spawnSync(['mkfifo', join(corpus, 'pipe.ndjson')]).exitCode).toBe(0);
    const socket = createServer().listen(join(corpus, 'socket.ndjson'));
    try {
      const args = ['import', 'corpus', '--data', 'data'];
      const run = await runWatched(args, { cwd, deadlineMs: DEADLINE_MS });
      expectOrderly(run, 1);
      expect(run.stdout).toContain(`${names.length} stored, 0 duplicate, ${names.length} rejected`);
      // A reason is printed once, with three of its places: each of these names alone.
      for (const [name, printed] of [
        ['two\nlines.ndjson', 'two\\u{a}lines.ndjson'],
        ['\x1b[31mred\x07.ndjson', '\\u{1b}[31mred\\u{7}.ndjson'],
      ] as const) {
        const one = await runWatched(['import', `corpus/${name}`, '--data', 'data'], { cwd, deadlineMs: DEADLINE_MS });
        expect(one.stderr).toContain(`corpus/${printed}:2: the line is not JSON`);
      }
      // A name that is not text cannot be an argument; the others can.
      expect(run.stderr).toMatch(
        /^bookreel: 'corpus\/\uFFFD+\.ndjson' cannot be read: rename it, its name is not UTF-8$/m,
      );
      expect(await recordsIn(join(cwd, 'data'))).toEqual(kept);
      await expectSound(join(cwd, 'data'));
    } finally {
      socket.close();
    }
  }, 300_000);

  test.skipIf(ORDINARY_USER === undefined)(
    'is read past files and directories that may not be read (skipped for root)',
    async () => {
      using directory = temporaryDirectory();
      const cwd = directory.path;
      mkdirSync(join(cwd, 'corpus', 'closed'), { recursive: true });
      const record = goodRecord(HOSTILE_START_MS, 1);
      writeFileSync(join(cwd, 'corpus', 'good.ndjson'), joined([JSON.stringify(record)]));
      writeFileSync(join(cwd, 'corpus', 'closed.ndjson'), joined([JSON.stringify(record)]));
      chmodSync(join(cwd, 'corpus', 'closed.ndjson'), 0);
      chmodSync(join(cwd, 'corpus', 'closed'), 0);
      for (const path of [cwd, join(cwd, 'corpus')]) chmodSync(path, 0o777);
      const command = [...ORDINARY_USER!, EXECUTABLE, 'import', 'corpus', '--data', 'data'];
      await using child = startChild(command, { cwd });
      expect(await child.exited).toBe(1);
      expect(child.stdout()).toContain('1 record read from 3 files: 1 stored');
      expect(child.stderr().split('\n').sort()).toEqual([
        '',
        "bookreel: 'corpus/closed' cannot be read: check the path and its permissions",
        "bookreel: 'corpus/closed.ndjson' cannot be read: check the path and its permissions",
      ]);
      chmodSync(join(cwd, 'corpus', 'closed'), 0o700);
    },
  );
});

describe('a named input', () => {
  const refusals: [what: string, args: readonly string[], sentence: RegExp][] = [
    ['a device', ['/dev/zero'], /^bookreel: '\/dev\/zero' is a device: name a file, a directory, a pipe or -\n$/],
    [
      'nothing',
      ['nowhere.ndjson'],
      /^bookreel: 'nowhere.ndjson' cannot be read: check the path and its permissions\n$/,
    ],
    ['a link to itself', ['self.ndjson'], /^bookreel: 'self.ndjson' cannot be read: .*\n$/],
    [
      'a database of another program',
      ['foreign.db'],
      /^bookreel: 'foreign.db' cannot be imported as it is, because it is a SQLite database: .*\n$/,
    ],
    ['an escape', ['\u001b[2J'], /^bookreel: '\\u\{1b\}\[2J' cannot be read: .*\n$/],
    [
      'another program’s data',
      ['good.ndjson', '--data', 'foreign'],
      /^bookreel: 'foreign\/bookreel.db' belongs to another program: .*\n$/,
    ],
    [
      'data that is text',
      ['good.ndjson', '--data', 'text'],
      /^bookreel: 'text\/bookreel.db' is not a SQLite database: .*\n$/,
    ],
    [
      'data that is a file',
      ['good.ndjson', '--data', 'good.ndjson'],
      /^bookreel: 'good.ndjson.*' cannot be opened .*\n$/,
    ],
    [
      'data that is a directory',
      ['good.ndjson', '--data', 'nested'],
      /^bookreel: 'nested\/bookreel.db' cannot be .*\n$/,
    ],
  ];
  test.each(refusals)('that is %s is refused in one sentence', async (_, args, sentence) => {
    using directory = temporaryDirectory();
    const cwd = directory.path;
    writeFileSync(join(cwd, 'good.ndjson'), joined([JSON.stringify(goodRecord(HOSTILE_START_MS, 1))]));
    symlinkSync('self.ndjson', join(cwd, 'self.ndjson'));
    mkdirSync(join(cwd, 'foreign'));
    mkdirSync(join(cwd, 'text'));
    mkdirSync(join(cwd, 'nested', 'bookreel.db'), { recursive: true });
    writeFileSync(join(cwd, 'text', 'bookreel.db'), 'words '.repeat(1000));
    for (const path of ['foreign.db', 'foreign/bookreel.db']) {
      using foreign = new Database(join(cwd, path), { create: true });
      foreign.run('CREATE TABLE notes (body TEXT)');
      foreign.run("INSERT INTO notes VALUES ('mine')");
    }
    const before = readFileSync(join(cwd, 'foreign', 'bookreel.db'));
    const { code, stdout, stderr } = await runExecutable(['import', ...args], { cwd });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(sentence);
    expect(readFileSync(join(cwd, 'foreign', 'bookreel.db'))).toEqual(before);
    expect(readdirSync(join(cwd, 'foreign'))).toEqual(['bookreel.db']);
  });

  test('that is a pipe with a line of a gigabyte has that line rejected and the others stored', async () => {
    using directory = temporaryDirectory();
    const cwd = directory.path;
    const [first, last] = [1, 2].map((offset) => JSON.stringify(goodRecord(HOSTILE_START_MS, offset)));
    writeFileSync(join(cwd, 'first'), `${first}\n`);
    writeFileSync(join(cwd, 'last'), `\n${last}\n`);
    const piped = 'cat first; head -c 1073741824 /dev/zero | tr "\\0" "[" ; cat last';
    const args = ['import', '-', '--data', 'data'];
    const run = await runWatched(args, { cwd, deadlineMs: DEADLINE_MS, piped: `{ ${piped}; }` });
    expectOrderly(run, 1);
    expect(run.stdout).toContain('3 records read from 1 file: 2 stored, 0 duplicate, 1 rejected');
    expect(run.stderr).toContain('standard input:2: the line is longer than 16777216 bytes');
    await expectSound(join(cwd, 'data'));
  }, 300_000);

  test('that has many books of 10,000 levels is imported within 400 MB', async () => {
    using directory = temporaryDirectory();
    const cwd = directory.path;
    const levels = (count: number, from: number, seed: number) =>
      Array.from(
        { length: count },
        (_, i) => `{"price":${((from + i) / 1e6).toFixed(6)},"size":${1 + ((i * seed) % 9973)}.5}`,
      );
    const books = Array.from({ length: 120 }, (_, index) => {
      const { conditionId } = sampleMarket();
      const sides = `"bids":[${levels(10_000, 1, 7 + index)}],"asks":[${levels(10_000, 500_000, 11 + index)}]`;
      return `{"type":"snapshot","conditionId":"${conditionId}","outcome":"up","timestamp":${HOSTILE_START_MS + index},${sides}}`;
    });
    writeFileSync(join(cwd, 'books.ndjson'), joined([JSON.stringify(sampleMarket()), ...books]));
    const run = await runWatched(['import', 'books.ndjson', '--data', 'data'], { cwd, deadlineMs: DEADLINE_MS });
    expectOrderly(run, 0);
    expect(run.stdout).toContain('121 stored');
  }, 300_000);
});

describe('a file that changes while it is imported', () => {
  const SNAPSHOTS = 60_000;
  const changes: [what: string, change: (path: string) => void][] = [
    ['shrinks', (path) => truncateSync(path, 1_000_000)],
    ['grows', (path) => appendFileSync(path, `bad\n${JSON.stringify(goodRecord(HOSTILE_START_MS, 1))}\n`)],
    ['is emptied', (path) => truncateSync(path, 0)],
  ];
  test.each(changes)(
    'and %s leaves a sound archive',
    async (_, change) => {
      using directory = temporaryDirectory();
      const cwd = directory.path;
      const path = join(cwd, 'light.ndjson');
      writeLightRecording(path, SNAPSHOTS);
      await using child = startChild([EXECUTABLE, 'import', 'light.ndjson', '--data', 'data'], { cwd });
      while (child.code === undefined && !hasRecords(join(cwd, 'data'))) await Bun.sleep(2);
      change(path);
      expect([0, 1]).toContain(await child.exited);
      expect(child.stderr()).not.toContain('defect');
      await expectSound(join(cwd, 'data'));
    },
    300_000,
  );
});

/** Whether a batch was committed. */
function hasRecords(data: string): boolean {
  try {
    return storedIn(data).series.length > 0;
  } catch {
    // The archive does not exist yet, or is in use.
    return false;
  }
}
