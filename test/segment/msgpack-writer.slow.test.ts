import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import { bookCodec } from '../../src/segment/book-decoder.ts';
import { ByteBuffer } from '../../src/segment/byte-buffer.ts';
import {
  appendArrayLength,
  msgpackLabels,
  msgpackOpenings,
  msgpackText,
  SnapshotMsgpackWriter,
} from '../../src/segment/msgpack-writer.ts';
import { readSegmentHeader, SEGMENT_RECORDS_MAX } from '../../src/segment/segment-header.ts';
import type { RecordingLabels, SnapshotLabels } from '../../src/segment/snapshot-writer.ts';
import { type BookStyle, randomBooks } from '../support/random-books.ts';
import { encodeAll } from './round-trip.ts';
import { recordsOf, snapshotOf, UP } from './snapshot-records.ts';

const RUNS = { seed: 20260416, numRuns: 150 };
const packr = new Packr({ useRecords: false, variableMapSize: true });
const OPENINGS = msgpackOpenings();

const LABELS: readonly (SnapshotLabels | RecordingLabels)[] = [
  UP,
  { ...UP, assetId: '0', symbol: 'é€', outcome: 'down' },
  { type: 'snapshot', conditionId: '0xab', outcome: 'up' },
  { type: 'snapshot', conditionId: '0xab', outcome: 'down', mirrored: true },
];

test('snapshots are the bytes that msgpackr packs of the documented records', () => {
  const styles: fc.Arbitrary<BookStyle> = fc.record({
    priceScale: fc.constantFrom(0, 1, 2, 3, 4, 7, 12),
    sizes: fc.constantFrom('whole', 'cents', 'millionths', 'mixed', 'extremes'),
    levelsMax: fc.constantFrom(0, 1, 5, 14, 15, 16, 40, 200),
    changesMax: fc.constantFrom(0, 1, 3, 20),
  });
  const firstIds = fc.constantFrom(0, 1, 127, 2 ** 31 - 5, 2 ** 32, 2 ** 53 - 1000);
  fc.assert(
    fc.property(
      styles,
      fc.integer({ min: 1, max: 150 }),
      fc.nat(),
      fc.constantFrom(...LABELS),
      firstIds,
      fc.constantFrom(1, 3, 64, SEGMENT_RECORDS_MAX),
      (style, count, seed, labels, firstId, countMax) => {
        const records = recordsOf(randomBooks(seed, count, style), firstId);
        const out = new ByteBuffer();
        const writer = new SnapshotMsgpackWriter(out, OPENINGS);
        for (const payload of encodeAll(bookCodec, records, countMax)) {
          const head = readSegmentHeader(payload);
          writer.open({ payload, head, from: 0, to: head.count }, msgpackLabels(labels));
          for (let i = 0; i < head.count; i += 1) writer.writeNext();
        }
        const expected = Buffer.concat(records.map((record) => packr.pack(snapshotOf(record, labels))));
        expect(Buffer.from(out.view()).equals(expected)).toBe(true);
      },
    ),
    RUNS,
  );
});

test.each([0, 1, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 2 ** 48, 0.5, 0.1, 1e-6, 4_456_987_501.85])(
  'the size %p is packed as msgpackr packs it',
  (size) => {
    const book = { bidPrices: [0.25], bidSizes: [size], askPrices: [1], askSizes: [size] };
    const records = recordsOf([book], 7);
    const { payload } = bookCodec.encode(records, 0, 1);
    const out = new ByteBuffer();
    const writer = new SnapshotMsgpackWriter(out, OPENINGS);
    writer.open({ payload, head: readSegmentHeader(payload), from: 0, to: 1 }, msgpackLabels(UP));
    writer.writeNext();
    expect(Buffer.from(out.view()).equals(packr.pack(snapshotOf(records[0]!, UP)))).toBe(true);
  },
);

test.each([0, 15, 16, 1000, 65_535, 65_536])('an array of %p has the header that msgpackr writes', (count) => {
  const out = new ByteBuffer();
  appendArrayLength(out, count);
  expect(Buffer.from(out.view())).toEqual(Buffer.from(packr.pack(new Array(count).fill(0)).subarray(0, out.length)));
});

test.each(['', 'a', 'x'.repeat(31), 'x'.repeat(32), 'é'.repeat(127)])(
  'the text %p is packed as msgpackr packs it',
  (text) => {
    // msgpackr sometimes gives non-ASCII strings a longer header than they need.
    const packed = Buffer.from(msgpackText(text));
    expect(packr.unpack(packed)).toBe(text);
    if (/^[ -~]*$/.test(text)) expect(packed.equals(packr.pack(text))).toBe(true);
  },
);
