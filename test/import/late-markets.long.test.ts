import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { pack } from 'msgpackr';
import { Importer } from '../../src/import/importer.ts';
import type { ImportReport, Rejection } from '../../src/import/report.ts';
import { sourcesOf } from '../../src/import/source.ts';
import type { Archive } from '../../src/store/archive.ts';
import { exported, linesOfNdjson } from '../export/exported.ts';
import { importPaths, NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { booksOf, countsOf } from '../support/imported.ts';
import { sampleGap, sampleMarket, samplePrice, sampleSnapshot } from '../support/sample-records.ts';
import { mappingOf } from './mapping/mapped-import.ts';
import { at, book, buy, change, sell } from './rebuild/venue-messages.ts';

const START_S = 1_776_323_400;
const COUNT = 3;

const slugOf = (n: number) => `btc-updown-5m-${START_S + n * 300}`;
const conditionIdOf = (n: number) => `0x${String(n + 1).repeat(64)}`;
const assetOf = (n: number, outcome: 'up' | 'down') => `${n + 1}${outcome === 'up' ? '1' : '2'}${'0'.repeat(70)}`;

function marketLine(n: number): object {
  const [startTime, endTime] = [START_S + n * 300, START_S + n * 300 + 300].map((s) =>
    new Date(s * 1000).toISOString(),
  );
  return sampleMarket({
    ...{ conditionId: conditionIdOf(n), slug: slugOf(n), startTime, endTime },
    clobTokenIds: [assetOf(n, 'up'), assetOf(n, 'down')],
  });
}

function announcement(n: number): object {
  return {
    ...{ event_type: 'new_market', id: String(700 + n), market: conditionIdOf(n), slug: slugOf(n) },
    ...{ outcomes: ['Up', 'Down'], assets_ids: [assetOf(n, 'up'), assetOf(n, 'down')], timestamp: at(n * 300_000) },
  };
}

/** Books of both outcomes and changes of both at once, so that a message has parts of two assets. */
function framesOf(n: number, count: number): object[] {
  const market = conditionIdOf(n);
  const [up, down] = [assetOf(n, 'up'), assetOf(n, 'down')];
  const offset = n * 300_000;
  const changes = Array.from({ length: count }, (_, i) => {
    const size = String(i + 10);
    const entries = [
      { ...buy('0.48', size), asset: up },
      { ...sell('0.52', size), asset: down },
    ];
    return { ...change(offset + 100 + i, ...entries), market };
  });
  const trade = {
    ...{ event_type: 'last_trade_price', market, asset_id: up, timestamp: at(offset + 90) },
    ...{ price: '0.5', size: '3', side: 'BUY' },
  };
  return [
    book(offset, '0.4:10 0.48:30', '0.52:25', { market, asset_id: up }),
    book(offset + 1, '0.4:10 0.48:30', '0.52:25', { market, asset_id: down }),
    trade,
    ...changes,
  ];
}

function recordsOf(n: number, count: number): object[] {
  const conditionId = conditionIdOf(n);
  const timestamp = (i: number) => new Date((START_S + n * 300) * 1000 + 50_000 + i).toISOString();
  return Array.from({ length: count }, (_, i) => [
    sampleSnapshot({ conditionId, timestamp: timestamp(i), bids: [{ price: 0.3, size: i + 1 }] }),
    samplePrice({ conditionId, timestamp: timestamp(i), price: (i + 1) / 100 }),
    sampleGap({ conditionId, from: timestamp(1000 + 2 * i), to: timestamp(1001 + 2 * i) }),
  ]).flat();
}

/** More than the megabyte by which files are recognised. */
const filling = Array.from({ length: 9000 }, (_, i) => ({
  ...{ type: 'coinPrice', symbol: 'btc', source: 'chainlink', price: 1 + i },
  timestamp: START_S * 1000 + i,
  note: 'x'.repeat(60),
}));

type Lines = Readonly<Record<string, readonly object[]>>;

function write(directory: string, files: Lines): void {
  for (const [name, lines] of Object.entries(files)) {
    const content = name.endsWith('.msgpack')
      ? Buffer.concat(lines.map((line) => pack(line)))
      : lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    writeFileSync(join(directory, name), content);
  }
}

async function importFiles(archive: Archive, files: Lines): Promise<ImportReport> {
  using directory = temporaryDirectory();
  write(directory.path, files);
  return await importPaths(archive, directory.path);
}

/** The records of an archive, without their ids. */
async function recordsIn(archive: Archive): Promise<string[]> {
  const { bytes } = await exported(archive, 'ndjson');
  return linesOfNdjson(bytes).map((line) => JSON.stringify({ ...(line as object), id: undefined }));
}

function expectSums({ files, total }: ImportReport): void {
  for (const counts of [...files, ...files.flatMap(({ kinds }) => kinds), total]) {
    expect(counts.read).toBe(counts.stored + counts.duplicate + counts.contradicted + counts.rejected);
  }
}

/** Where the market record of each market is. */
interface Place {
  readonly file: string;
  readonly at: number;
}

const FILES = ['a.jsonl', 'b.jsonl', 'c.ndjson', 'd.ndjson', 'e.msgpack'];
const place = fc.record({ file: fc.constantFrom(...FILES), at: fc.nat({ max: 1000 }) });
const layout = fc.record({
  places: fc.array(place, { minLength: COUNT, maxLength: COUNT }),
  /** The files of the frames and of the records of each market. */
  frames: fc.array(fc.constantFrom('a.jsonl', 'b.jsonl'), { minLength: COUNT, maxLength: COUNT }),
  records: fc.array(fc.constantFrom('c.ndjson', 'd.ndjson', 'e.msgpack'), { minLength: COUNT, maxLength: COUNT }),
});

const isCapture = (file: string) => file.endsWith('.jsonl');

function laidOut({
  places,
  frames,
  records,
}: {
  readonly places: readonly Place[];
  readonly frames: readonly string[];
  readonly records: readonly string[];
}): Lines {
  const files: Record<string, object[]> = Object.fromEntries(FILES.map((name) => [name, []]));
  for (let n = 0; n < COUNT; n += 1) {
    files[frames[n]!]!.push(...framesOf(n, 6));
    files[records[n]!]!.push(...recordsOf(n, 4));
  }
  for (const [n, { file, at: position }] of places.entries()) {
    const lines = files[file]!;
    lines.splice(position % (lines.length + 1), 0, isCapture(file) ? announcement(n) : marketLine(n));
  }
  return Object.fromEntries(Object.entries(files).filter(([, lines]) => lines.length > 0));
}

/** An archive that knows the markets before the files are imported. */
async function informed(archive: Archive, places: readonly Place[], files: Lines): Promise<ImportReport> {
  const numbers = [...places.keys()];
  const announced = numbers.filter((n) => isCapture(places[n]!.file));
  const stated = numbers.filter((n) => !announced.includes(n));
  if (announced.length > 0) await importFiles(archive, { 'a.jsonl': announced.map(announcement) });
  if (stated.length > 0) await importFiles(archive, { 'a.ndjson': stated.map(marketLine) });
  return await importFiles(archive, files);
}

test('A market record is found anywhere in the files of a command: files whose records wait for it are read again, except pipes.', async () => {
  await fc.assert(
    fc.asyncProperty(layout, async (made) => {
      using late = temporaryArchive();
      using early = temporaryArchive();
      const files = laidOut(made);
      const report = await importFiles(late.archive, files);
      const expected = await informed(early.archive, made.places, files);
      expect(report.rejections).toEqual([]);
      expectSums(report);
      expect(report.total.read).toBe(expected.total.read);
      expect(report.files.map(({ path, read }) => [path.split('/').at(-1), read]).sort()).toEqual(
        expected.files.map(({ path, read }) => [path.split('/').at(-1), read]).sort(),
      );
      // The market records are new.
      expect(report.total.stored).toBe(expected.total.stored + COUNT);
      expect(await recordsIn(late.archive)).toEqual(await recordsIn(early.archive));
      expect((await importFiles(late.archive, files)).total.stored).toBe(0);
    }),
    { numRuns: 20, seed: 20_261_124 },
  );
});

describe('records before their market record', () => {
  const counts = (report: ImportReport) => report.files.map((file) => countsOf(file));

  test('are stored in the order of the file, each counted once', async () => {
    using held = temporaryArchive();
    const books = [1, 2, 1].map((size) => sampleSnapshot({ bids: [{ price: 0.5, size }] }));
    const report = await importFiles(held.archive, { 'a.ndjson': [books[0]!, sampleMarket(), books[1]!, books[2]!] });
    expect(counts(report)).toEqual([{ read: 4, stored: 4, duplicate: 0, rejected: 0, ignored: 0 }]);
    expect(booksOf(held.archive, 'btc-updown-5m-1776323400', 'up').map((one) => one.book.bidSizes[0])).toEqual([
      1, 2, 1,
    ]);
  });

  test('after the first megabyte of a file that is read later', async () => {
    using held = temporaryArchive();
    const report = await importFiles(held.archive, {
      'a.jsonl': framesOf(0, 3),
      'z.ndjson': [...filling, marketLine(0)],
    });
    expect(report.total).toMatchObject({ rejected: 0, read: 9007 });
    expectSums(report);
  });

  test('of rows that name their asset only, beside a file whose market record is late', async () => {
    using held = temporaryArchive();
    const mapping = mappingOf(`format = "csv"
[time]
field = "t"
unit = "ms"
[market]
token = "asset"
[trades]
price = "price"`);
    using directory = temporaryDirectory();
    write(directory.path, { 'z.ndjson': [...filling, marketLine(0)] });
    const row = `${START_S * 1000},${assetOf(0, 'up')},0.5`;
    writeFileSync(join(directory.path, 'rows.csv'), `t,asset,price\n${row}\nwrong,1,0.5\n`);
    const report = await new Importer(held.archive, { clock: () => NOW_MS, mapping }).run(sourcesOf([directory.path]));
    expect(report.files[0]!.path).toEndWith('rows.csv');
    expect(countsOf(report.files[0]!)).toEqual({ read: 2, stored: 1, duplicate: 0, rejected: 1, ignored: 0 });
  });

  test('are all rejected in any number', async () => {
    using held = temporaryArchive();
    const lines = Array.from({ length: 20_000 }, (_, i) => sampleSnapshot({ timestamp: START_S * 1000 + i }));
    const report = await importFiles(held.archive, { 'a.ndjson': lines });
    expect(counts(report)).toEqual([{ read: 20_000, stored: 0, duplicate: 0, rejected: 20_000, ignored: 0 }]);
  });

  test('are rejected with their line if no market record comes, in a file with others that are found', async () => {
    using held = temporaryArchive();
    const stray = sampleSnapshot({ conditionId: '0xdead' });
    const rejects: Rejection[] = [];
    using directory = temporaryDirectory();
    write(directory.path, { 'a.ndjson': [stray, sampleSnapshot(), { type: 'gap' }, sampleMarket(), stray] });
    const importer = new Importer(held.archive, { clock: () => NOW_MS, onReject: (one) => rejects.push(one) });
    const report = await importer.run(sourcesOf([directory.path]));
    expect(counts(report)).toEqual([{ read: 5, stored: 2, duplicate: 0, rejected: 3, ignored: 0 }]);
    expect(report.rejections.map(({ line }) => line)).toEqual([1, 3, 5]);
    expect(rejects.toSorted((a, b) => a.line - b.line)).toEqual([...report.rejections]);
    expect(report.missingMarkets).toEqual(['0xdead']);
  });

  test('are not found through a pipe, which cannot be read again', async () => {
    using held = temporaryArchive();
    using directory = temporaryDirectory();
    const pipe = join(directory.path, 'pipe');
    await Bun.$`mkfifo ${pipe}`;
    const lines = [sampleSnapshot(), sampleMarket(), sampleSnapshot()].map((line) => JSON.stringify(line)).join('\n');
    const written = Bun.spawn(['sh', '-c', 'cat > "$0"', pipe], { stdin: new Blob([lines]) });
    const report = await importPaths(held.archive, pipe);
    await written.exited;
    expect(counts(report)).toEqual([{ read: 3, stored: 2, duplicate: 0, rejected: 1, ignored: 0 }]);
  });
});
