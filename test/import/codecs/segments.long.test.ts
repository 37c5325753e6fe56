import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { OrderBook } from '../../../src/domain/orderbook.ts';
import { bookCodec } from '../../../src/segment/book-decoder.ts';
import type { BookRecord } from '../../../src/segment/book-format.ts';
import { priceCodec } from '../../../src/segment/price-segment.ts';
import { VarintWriter } from '../../../src/segment/varint.ts';
import type { Archive } from '../../../src/store/archive.ts';
import { exported, linesOfNdjson } from '../../export/exported.ts';
import { expectedExport, generatedRecording } from '../../export/generated-recording.ts';
import { importPaths, importRecords, temporaryArchive } from '../../support/archive.ts';
import { importFile } from '../../support/imported.ts';
import { REAL_BOOKS } from '../../support/real-recordings.ts';
import { CONDITION_ID, START_MS, sampleMarket, sampleSnapshot } from '../../support/sample-records.ts';
import { frame, framesOf, sealed, typesOf } from '../../support/sealed-frames.ts';

setDefaultTimeout(120_000);

const RUNS = { seed: 20260416, numRuns: 5 };
const FILE = 'export.segments';

async function exportsOf(archive: Archive) {
  const [segments, ndjson] = [await exported(archive, 'segments'), await exported(archive, 'ndjson')];
  return { segments: segments.bytes, ndjson: ndjson.bytes };
}

describe('export, import into an empty archive, export', () => {
  test('gives the same records with the same ids, and the same bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 2 ** 30 }), async (seed) => {
        using place = temporaryArchive();
        using again = temporaryArchive();
        // In the order of time, like real recordings.
        const lines = expectedExport(generatedRecording(seed));
        await importRecords(place.archive, lines);
        const before = await exportsOf(place.archive);
        for (const [name, bytes] of [
          [FILE, before.segments],
          [`${FILE}.zst`, Bun.zstdCompressSync(before.segments)],
          [`${FILE}.gz`, Bun.gzipSync(new Uint8Array(before.segments))],
        ] as const) {
          const report = await importFile(again.archive, name, bytes);
          expect(report.rejections).toEqual([]);
          expect(report.files[0]).toMatchObject({ format: 'bookreel segments' });
          // The second and the third time everything is there.
          expect(report.total.stored).toBe(name === FILE ? lines.length : 0);
          expect(report.total.read).toBe(lines.length);
        }
        const after = await exportsOf(again.archive);
        expect(after.ndjson.equals(before.ndjson)).toBe(true);
        expect(after.segments.equals(before.segments)).toBe(true);
      }),
      RUNS,
    );
  });

  test('An import of segments checks every record, and may divide them into segments differently than the exporting archive.', async () => {
    using place = temporaryArchive();
    using second = temporaryArchive();
    using third = temporaryArchive();
    const records = Array.from({ length: 1000 }, (_, i) =>
      sampleSnapshot({ timestamp: START_MS + i, bids: [{ price: (i % 90) / 100, size: 1 + i }] }),
    );
    await importRecords(place.archive, [sampleMarket(), ...records.filter((_, i) => i % 3 > 0)]);
    await importRecords(place.archive, records);
    const first = await exportsOf(place.archive);
    await importFile(second.archive, FILE, first.segments);
    const again = await exportsOf(second.archive);
    expect(again.ndjson.equals(first.ndjson)).toBe(true);
    expect(again.segments.equals(first.segments)).toBe(false);
    await importFile(third.archive, FILE, again.segments);
    expect((await exportsOf(third.archive)).segments.equals(again.segments)).toBe(true);
  });

  test('of a window imports only the records of the window, though its segments have more', async () => {
    using place = temporaryArchive();
    using again = temporaryArchive();
    const records = Array.from({ length: 500 }, (_, i) =>
      sampleSnapshot({ timestamp: START_MS + i, bids: [{ price: (i % 90) / 100, size: 1 + i }] }),
    );
    await importRecords(place.archive, [sampleMarket(), ...records]);
    const window = { fromMs: START_MS + 100, toMs: START_MS + 300 };
    const report = await importFile(again.archive, FILE, (await exported(place.archive, 'segments', window)).bytes);
    expect(report.total).toMatchObject({ read: 202, stored: 202, rejected: 0 });
    expect((await exported(again.archive, 'ndjson')).bytes).toEqual(
      (await exported(place.archive, 'ndjson', window)).bytes,
    );
  });

  test.skipIf(REAL_BOOKS === undefined)(
    'gives the same records for real recordings, and the second export the same bytes (where there are any)',
    async () => {
      using place = temporaryArchive();
      using again = temporaryArchive();
      using third = temporaryArchive();
      const files = readdirSync(REAL_BOOKS!).filter((name) => name.endsWith('.parquet'));
      await importPaths(place.archive, ...files.slice(0, 10).map((name) => join(REAL_BOOKS!, name)));
      const before = await exportsOf(place.archive);
      const report = await importFile(again.archive, FILE, before.segments);
      expect(report.total.stored).toBeGreaterThan(800);
      expect(report.total).toMatchObject({ duplicate: 0, rejected: 0 });
      const after = await exportsOf(again.archive);
      expect(after.ndjson.equals(before.ndjson)).toBe(true);
      // The first archive was filled in several transactions, each with segments of its own.
      await importFile(third.archive, FILE, after.segments);
      expect((await exportsOf(third.archive)).segments.equals(after.segments)).toBe(true);
    },
  );
});

const BOOKS: readonly OrderBook[] = Array.from({ length: 300 }, (_, i) => ({
  bidPrices: [0.5, (i % 40) / 100],
  bidSizes: [1 + i, 2],
  askPrices: [0.6],
  askSizes: [3 + i],
}));

const recordsOf = (books: readonly OrderBook[], firstId = 1): BookRecord[] =>
  books.map((book, i) => ({ timestampMs: START_MS + i, id: firstId + i, book }));

function run(payload: Uint8Array, series = 0, from = 0, count = 1): Uint8Array {
  const writer = new VarintWriter();
  for (const number of [series, from, count]) writer.unsigned(number);
  writer.append(payload);
  return frame('R', writer.view().slice());
}

const MARKET = frame('M', sampleMarket());
const UP = frame('S', { type: 'snapshot', conditionId: CONDITION_ID, outcome: 'up' });
const END = frame('E', {});

describe('a damaged recording', () => {
  const whole = async () => {
    using place = temporaryArchive();
    await importRecords(
      place.archive,
      linesOfNdjson(
        Buffer.from(`${[sampleMarket(), ...recordsOf(BOOKS).map(lineOf)].map((r) => JSON.stringify(r)).join('\n')}\n`),
      ) as object[],
    );
    return new Uint8Array((await exported(place.archive, 'segments')).bytes);
  };

  test('is stored up to the damage, and reported with its file and frame', async () => {
    const bytes = await whole();
    const frames = framesOf(bytes);
    expect(typesOf(frames)).toBe('MSRRRE');
    const third = frames[3]!.byteOffset - bytes.byteOffset;
    const cut = bytes.slice(0, third + 100);
    const flipped = bytes.slice();
    flipped[third + 100] = flipped[third + 100]! ^ 1;
    for (const [damaged, reason] of [
      [cut, 'is cut off at frame 4'],
      [flipped, 'is damaged at frame 4'],
    ] as const) {
      using place = temporaryArchive();
      const report = await importFile(place.archive, FILE, damaged);
      expect(report.files[0]!.error).toContain(reason);
      expect(report.total).toMatchObject({ stored: 1 + 128, rejected: 0 });
    }
  });

  test.each([
    ['its end', (bytes: Uint8Array) => bytes.slice(0, -50), 'is cut off at frame 6'],
    ['all but its first words', (bytes: Uint8Array) => bytes.slice(0, 19), 'is cut off at frame 1'],
    ['half its first line', (bytes: Uint8Array) => bytes.slice(0, 9), 'is not in the segments format'],
    ['its first byte', (bytes: Uint8Array) => bytes.slice(1), 'is not in the segments format'],
    ['its version', (bytes: Uint8Array) => bytes.with(18, 50), 'in an unknown version of the segments format'],
    [
      'nothing, but has more',
      (bytes: Uint8Array) => Buffer.concat([bytes, bytes]),
      'has data after its end at frame 7',
    ],
    ['the order of its frames', (bytes: Uint8Array) => swapped(bytes), 'is damaged at frame 3'],
  ])('that lacks %s is refused', async (_, damage, reason) => {
    using place = temporaryArchive();
    const report = await importFile(place.archive, FILE, damage(await whole()));
    expect(report.files[0]!.error).toContain(reason);
  });

  test('with an impossible length of a frame is refused before the frame is read', async () => {
    using place = temporaryArchive();
    const bytes = await whole();
    new DataView(bytes.buffer, bytes.byteOffset).setUint32(21, 0xffff_ffff, true);
    const report = await importFile(place.archive, FILE, bytes);
    expect(report.files[0]!.error).toContain('is damaged at frame 1');
  });
});

function swapped(bytes: Uint8Array): Uint8Array {
  const [, , first, second] = framesOf(bytes).map((framed) => {
    const start = framed.byteOffset - bytes.byteOffset;
    return bytes.subarray(start, start + framed.length + 32);
  });
  const start = first!.byteOffset - bytes.byteOffset;
  return Buffer.concat([
    bytes.subarray(0, start),
    second!,
    first!,
    bytes.subarray(start + first!.length + second!.length),
  ]);
}

function lineOf({ timestampMs, id, book }: BookRecord): object {
  return sampleSnapshot({
    id: String(id),
    timestamp: timestampMs,
    bids: book.bidPrices.map((price, i) => ({ price, size: book.bidSizes[i] })),
    asks: book.askPrices.map((price, i) => ({ price, size: book.askSizes[i] })),
  });
}

describe('a recording with correct digests', () => {
  const good = bookCodec.encode(recordsOf(BOOKS), 0, 100).payload;
  const bookOf = (book: Partial<OrderBook>, place: { timestampMs?: number; id?: number } = {}): BookRecord[] => [
    { ...recordsOf([{ bidPrices: [], bidSizes: [], askPrices: [], askSizes: [], ...book }])[0]!, ...place },
  ];
  const onlyOf = (...book: Parameters<typeof bookOf>) => bookCodec.encode(bookOf(...book), 0, 1).payload;
  const rising = (count: number) => Array.from({ length: count }, (_, i) => i / 1e6);

  test('is imported', async () => {
    using place = temporaryArchive();
    const report = await importFile(place.archive, FILE, sealed([MARKET, UP, run(good, 0, 10, 80), END]));
    expect(report.total).toMatchObject({ stored: 81, rejected: 0 });
    expect(report.files[0]!.error).toBeUndefined();
  });

  test.each<[string, Uint8Array, string]>([
    ['a size of 0', onlyOf({ askPrices: [0.5], askSizes: [0] }), 'a size in asks is 0'],
    [
      'a size with 16 digits',
      onlyOf({ askPrices: [0.5], askSizes: [1234567890.123456] }),
      'is not a decimal of at most',
    ],
    ['a price twice', onlyOf({ bidPrices: [0.5, 0.5], bidSizes: [1, 2] }), 'the prices of bids are not in order'],
    ['the id 0', onlyOf({}, { id: 0 }), 'id is not between 1 and 2^53-1'],
    [
      'a time after the year 9999',
      onlyOf({}, { timestampMs: 300_000_000_000_000 }),
      'timestamp is missing or not a time',
    ],
  ])('that holds %s has that record rejected, and no other', async (_, payload, reason) => {
    using place = temporaryArchive();
    const frames = [MARKET, UP, run(payload), run(good, 0, 50, 1), END];
    const report = await importFile(place.archive, FILE, sealed(frames));
    expect(report.files[0]!.error).toBeUndefined();
    expect(report.total).toMatchObject({ read: 3, stored: 2, rejected: 1 });
    expect(report.rejections).toMatchObject([{ line: 2, reason: expect.stringContaining(reason) }]);
  });

  test('with an invalid outcome, market or price has its records rejected', async () => {
    const price = priceCodec.encode([{ timestampMs: START_MS, id: 7, price: 0.5 }], 0, 1).payload;
    for (const [labels, payload, reason] of [
      [{ type: 'snapshot', conditionId: CONDITION_ID, outcome: 'sideways' }, good, 'outcome is neither'],
      [{ type: 'snapshot', conditionId: '0x99', outcome: 'up' }, good, 'is unknown'],
      [{ type: 'price', conditionId: CONDITION_ID, outcome: 'up', kind: 'last' }, price, 'kind is neither'],
      [{ type: 'coinPrice', symbol: '../x', source: 'y' }, price, 'symbol is not a coin code'],
      [{ type: 'quote', conditionId: CONDITION_ID, outcome: 'up', bidPrice: 7 }, quoteOfPrice(), undefined],
    ] as const) {
      using place = temporaryArchive();
      const report = await importFile(place.archive, FILE, sealed([MARKET, frame('S', labels), run(payload), END]));
      expect(report.files[0]!.error).toBeUndefined();
      if (reason === undefined) expect(report.total.rejected).toBe(0);
      else expect(report.rejections).toMatchObject([{ reason: expect.stringContaining(reason) }]);
    }
  });

  test.each<[string, readonly Uint8Array[]]>([
    ['a series that was not begun', [run(good, 1)]],
    ['more records than its segment has', [run(good, 0, 90, 11)]],
    ['an invalid segment', [run(Buffer.from('nonsense'))]],
    ['a segment of an earlier version', [run(Buffer.concat([Buffer.of(1), good.subarray(1)]))]],
    ['a segment of a later version', [run(Buffer.concat([Buffer.of(3), good.subarray(1)]))]],
    ['a price above 1', [run(onlyOf({ askPrices: [1.5], askSizes: [1] }))]],
    ['a size that is no number', [run(onlyOf({ askPrices: [0.5, 0.6], askSizes: [1e-12, Number.NaN] }))]],
    ['a segment that is cut off', [run(good.subarray(0, good.length - 1), 0, 0, 100)]],
    ['a book of too many levels', [run(onlyOf({ askPrices: rising(100_001), askSizes: rising(100_001).fill(1) }))]],
    ['an empty segment', [frame('R', Buffer.alloc(0))]],
    ['a series that is no object', [frame('S', Buffer.from('[]'))]],
    ['a series that is no text', [frame('S', Buffer.from([0xff, 0xfe]))]],
  ])('with %s is damaged', async (_, frames) => {
    using place = temporaryArchive();
    const report = await importFile(place.archive, FILE, sealed([MARKET, UP, ...frames, END]));
    expect(report.files[0]!.error).toContain('is damaged at frame 3');
    expect(report.records.market).toBe(1);
  });

  test('with too many series is damaged', async () => {
    using place = temporaryArchive();
    const report = await importFile(place.archive, FILE, sealed([MARKET, ...new Array(10_001).fill(UP), END]));
    expect(report.files[0]!.error).toContain('is damaged at frame 10002');
  });

  test('with an invalid market has it rejected', async () => {
    for (const body of ['{}', '{"type":"market"}', '[1', '\u00ff']) {
      using place = temporaryArchive();
      const report = await importFile(place.archive, FILE, sealed([frame('M', Buffer.from(body, 'latin1')), END]));
      expect(report.total).toMatchObject({ read: 1, rejected: 1 });
    }
  });

  test('of a later version is imported without its unknown frames', async () => {
    using place = temporaryArchive();
    const later = [frame('S', { type: 'depth', of: 'x' }), run(good, 1), frame('Z', { any: 'thing' })];
    const report = await importFile(place.archive, FILE, sealed([MARKET, UP, ...later, run(good, 0, 0, 100), END]));
    expect(report.files[0]!.error).toBeUndefined();
    expect(report.total).toMatchObject({ stored: 101, rejected: 0, ignored: 1 });
  });
});

function quoteOfPrice(): Uint8Array {
  // One quote without sides: version, count, time, id, two scales, no table; nothing changes.
  const writer = new VarintWriter();
  for (const number of [2, 1, START_MS, 9, 0, 0, 0]) writer.unsigned(number);
  writer.byte(59 << 2);
  return writer.view().slice();
}
