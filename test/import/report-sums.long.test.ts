import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { copyFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import fc from 'fast-check';
import { pack } from 'msgpackr';
import type { ImportReport } from '../../src/import/report.ts';
import type { Archive } from '../../src/store/archive.ts';
import { exported } from '../export/exported.ts';
import { generatedRecording } from '../export/generated-recording.ts';
import { importPaths, importRecords, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { realRecording } from '../support/real-recordings.ts';
import { CONDITION_ID, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { importMapped } from './mapping/mapped-import.ts';
import { book, buy, change } from './rebuild/venue-messages.ts';

setDefaultTimeout(180_000);

type Counts = Readonly<Record<string, number>>;

/** The number of records of each type in an archive, counted in its export. */
async function countedIn(archive: Archive): Promise<Counts> {
  const { bytes } = await exported(archive, 'ndjson');
  const counts: Record<string, number> = {};
  for (const line of bytes.toString().split('\n').slice(0, -1)) {
    const type = /^\{"type":"(\w+)"/.exec(line)![1]!;
    counts[type] = (counts[type] ?? 0) + 1;
  }
  return counts;
}

/** Every figure of a report is a sum of the others. */
function expectSums({ files, total, records }: ImportReport): void {
  for (const { read, stored, duplicate, contradicted, rejected } of [
    ...files.flatMap(({ kinds }) => kinds),
    ...files,
    total,
  ]) {
    expect(read).toBe(stored + duplicate + contradicted + rejected);
  }
  for (const { made, stored, duplicate, contradicted, rejected } of [...files, total].flatMap(({ types }) => types)) {
    expect(made).toBe(stored + duplicate + contradicted + rejected);
  }
  for (const result of ['read', 'stored', 'duplicate', 'contradicted', 'rejected', 'ignored'] as const) {
    for (const { kinds, ...file } of files) expect(file[result]).toBe(sumOf(kinds.map((kind) => kind[result])));
    expect(total[result]).toBe(sumOf(files.map((file) => file[result])));
  }
  const stored = total.types.map(({ type, stored }) => [type, stored] as const).filter(([, count]) => count > 0);
  expect(Object.fromEntries(stored)).toEqual({ ...records });
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** What a report says of records is what the archive has. A market record that adds to a known market counts as stored too. */
async function expectStored(archive: Archive, reports: readonly ImportReport[]): Promise<void> {
  const counted = await countedIn(archive);
  const stored: Record<string, number> = {};
  for (const { type, stored: count } of reports.flatMap(({ total }) => total.types)) {
    if (count > 0) stored[type] = (stored[type] ?? 0) + count;
  }
  expect(stored.market ?? 0).toBeGreaterThanOrEqual(counted.market ?? 0);
  expect({ ...stored, market: counted.market }).toEqual({ market: undefined, ...counted });
}

async function expectExact(archive: Archive, path: string): Promise<void> {
  const first = await importPaths(archive, path);
  expectSums(first);
  await expectStored(archive, [first]);
  const again = await importPaths(archive, path);
  expectSums(again);
  expect(again.total.types.map(({ type, stored }) => [type, stored])).toEqual(
    again.total.types.map(({ type }) => [type, 0]),
  );
  await expectStored(archive, [first, again]);
}

describe('the figures of a report add up, and its records are those of the archive', () => {
  describe('bookreel', () => {
    const source = temporaryArchive();
    beforeAll(async () => {
      const [seed] = fc.sample(fc.integer({ min: 0, max: 2 ** 30 }), { seed: 7, numRuns: 1 });
      await importRecords(source.archive, generatedRecording(seed!));
    });
    afterAll(() => source[Symbol.dispose]());

    test.each(['ndjson', 'msgpack', 'segments', 'csv', 'parquet', 'sqlite'] as const)('%s', async (format) => {
      using place = temporaryArchive();
      using directory = temporaryDirectory();
      const { bytes } = await exported(source.archive, format);
      for (const name of ['a', 'b']) writeFileSync(join(directory.path, `${name}.${format}`), bytes);
      await expectExact(place.archive, directory.path);
    });
  });

  test('The figures of a report add up for each kind, type of record and file, and in total.', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat({ max: 30 }), fc.boolean(), async (made, at, isPacked) => {
        using place = temporaryArchive();
        using directory = temporaryDirectory();
        const lines: object[] = made.map((size) =>
          size === 3 && made.length % 2 === 0
            ? { type: 'gap', conditionId: CONDITION_ID }
            : sampleSnapshot({ bids: [{ price: 0.5, size }], timestamp: 1_776_323_404_123 + (size % 2) }),
        );
        lines.splice(at % (lines.length + 1), 0, sampleMarket());
        const content = isPacked
          ? Buffer.concat(lines.map((line) => pack(line)))
          : lines.map((line) => JSON.stringify(line)).join('\n');
        writeFileSync(join(directory.path, isPacked ? 'a.msgpack' : 'a.ndjson'), content);
        await expectExact(place.archive, directory.path);
      }),
      { seed: 7, numRuns: 15 },
    );
  });

  test('540 rows of a mapping that have 40 different books: 40 are stored', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket()]);
    const mapping = `format = "csv"
[time]
field = "t"
unit = "ms"
[market]
condition_id = "m"
[outcome]
value = "up"
[books]
bids = { prices = "p0..0", sizes = "s0..0" }
asks = { prices = "q0..0", sizes = "r0..0" }`;
    const row = (i: number) => `${1_776_323_404_000 + (i % 40)},${CONDITION_ID},0.5,${(i % 40) + 1},,`;
    const rows = Array.from({ length: 540 }, (_, i) => row(i));
    const report = await importMapped(place.archive, mapping, ['t,m,p0,s0,q0,r0', ...rows].join('\n'));
    expectSums(report);
    expect(report.total).toMatchObject({ read: 540, stored: 40, duplicate: 500 });
    expect(report.total.types).toEqual([
      { type: 'snapshot', made: 540, stored: 40, duplicate: 500, contradicted: 0, rejected: 0 },
    ]);
    expect((await countedIn(place.archive)).snapshot).toBe(40);
  });

  test('several messages that become one snapshot: as many as messages, and one record', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    await importRecords(place.archive, [sampleMarket()]);
    const frames = [book(0, '0.48:30', '0.52:25'), ...[1, 2, 3].map((size) => change(100, buy('0.4', String(size))))];
    writeFileSync(join(directory.path, 'a.jsonl'), frames.map((frame) => JSON.stringify(frame)).join('\n'));
    const { files } = await importPaths(place.archive, directory.path);
    expect(files[0]).toMatchObject({ read: 4, stored: 4 });
    expect(files[0]!.types).toEqual([
      { type: 'snapshot', made: 2, stored: 2, duplicate: 0, contradicted: 0, rejected: 0 },
    ]);
  });
});

const REAL = [
  'ws-capture-5m',
  'quotes-15m-csv',
  'snapshots-1s',
  'spot',
  'gamma/resolved-btc-5m-2026-06-08.jsonl.gz',
  'sessions-15m',
];

describe('of real recordings the figures add up, and the records are those of the archive', () => {
  test.skipIf(realRecording('README.md') === undefined).each(REAL)('%s', async (name) => {
    using place = temporaryArchive();
    await expectExact(place.archive, realRecording(name)!);
  });

  test.skipIf(realRecording('README.md') === undefined)('Parquet of books, one file of them twice', async () => {
    using place = temporaryArchive();
    using directory = temporaryDirectory();
    const books = realRecording('books-5m-parquet')!;
    const names = ['markets.ndjson', 'btc-updown-5m-1776323400_1776323446.parquet'];
    for (const name of names) copyFileSync(join(books, name), join(directory.path, basename(name)));
    copyFileSync(join(books, names[1]!), join(directory.path, 'again.parquet'));
    await expectExact(place.archive, directory.path);
  });
});
