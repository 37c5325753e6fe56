import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DomainError } from '../../src/domain/errors.ts';
import { mirrorOf } from '../../src/domain/mirrored-book.ts';
import { bookCodec } from '../../src/segment/book-decoder.ts';
import type { BookRecord } from '../../src/segment/book-format.ts';
import {
  isMirror,
  MIRRORED_SEGMENTS_MAX,
  mirroredRecords,
  mirrorOfSegment,
  recordsOfMirror,
} from '../../src/segment/mirror-segment.ts';
import { readSegmentHeader, SEGMENT_RECORDS_MAX } from '../../src/segment/segment-header.ts';
import { type BookStyle, randomBooks, randomsOf } from '../support/random-books.ts';
import { encodeAll } from './round-trip.ts';

const RUNS = { seed: 20260416, numRuns: 60 };
const FIRST_ROW = 7;

/** The payload that a mirror was made from. */
function expandMirror(mirror: Uint8Array, mirroredAt: (row: number) => readonly BookRecord[]): Uint8Array {
  const records = recordsOfMirror(mirror, mirroredAt);
  return bookCodec.encode(records, 0, records.length).payload;
}

const style: fc.Arbitrary<BookStyle> = fc.record({
  priceScale: fc.constantFrom(0, 1, 2, 3, 4, 12),
  sizes: fc.constantFrom('whole', 'cents', 'millionths', 'mixed', 'extremes'),
  levelsMax: fc.constantFrom(1, 5, 40, 150),
  changesMax: fc.constantFrom(0, 1, 3, 20),
});

/** How likely a book of down is left out, repeated, another one, has another time, another order of ids, or no arrival. */
interface Differences {
  readonly skipped: number;
  readonly repeated: number;
  readonly own: number;
  readonly late: number;
  readonly withoutArrival: number;
}

const share = fc.constantFrom(0, 0, 0.02, 0.3);
const differences: fc.Arbitrary<Differences> = fc.record({
  skipped: share,
  repeated: share,
  own: share,
  late: share,
  withoutArrival: fc.constantFrom(0, 0.1, 1),
});

function twoOutcomes(seed: number, count: number, bookStyle: BookStyle, by: Differences) {
  const random = randomsOf(seed);
  const others = randomBooks(seed + 1, count, bookStyle);
  const [up, down]: [BookRecord[], BookRecord[]] = [[], []];
  let timestampMs = 1_776_323_400_000;
  let id = 1 + Math.floor(random() * 1e9);
  for (const [i, book] of randomBooks(seed, count, bookStyle).entries()) {
    timestampMs += Math.floor(random() * 3) * 20;
    const arrival = () => (random() < by.withoutArrival ? undefined : timestampMs + 30 + Math.floor(random() * 3));
    id += 1;
    up.push({ timestampMs, id, receivedMs: arrival(), book });
    if (random() < by.skipped) continue;
    for (let times = random() < by.repeated ? 2 : 1; times > 0; times -= 1) {
      id += 1;
      const atMs = random() < by.late ? timestampMs + 1 : timestampMs;
      const own = random() < by.own ? others[i]! : mirrorOf(book);
      down.push({ timestampMs: atMs, id, receivedMs: arrival(), book: own });
    }
  }
  return { up, down: down.toSorted((a, b) => a.timestampMs - b.timestampMs || a.id - b.id) };
}

/** The segments of `up` by row, and those of `down`. */
function segmentsOf({ up, down }: { readonly up: readonly BookRecord[]; readonly down: readonly BookRecord[] }) {
  const rows = new Map(encodeAll(bookCodec, up, SEGMENT_RECORDS_MAX).map((payload, i) => [FIRST_ROW + i, payload]));
  const payloads = down.length === 0 ? [] : encodeAll(bookCodec, down, SEGMENT_RECORDS_MAX);
  const near = (payload: Uint8Array) => {
    const { timestamps, count } = readSegmentHeader(payload);
    return [...rows]
      .map(([row, other]) => ({ row, records: mirroredRecords(other) }))
      .filter(({ records }) => records.at(-1)!.timestampMs >= timestamps[0]! - 100)
      .filter(({ records }) => records[0]!.timestampMs <= timestamps[count - 1]!)
      .slice(0, MIRRORED_SEGMENTS_MAX);
  };
  const mirroredAt = (row: number) => {
    const payload = rows.get(row);
    if (payload === undefined) throw new DomainError('unavailable', 'missing');
    return mirroredRecords(payload);
  };
  return { payloads, near, mirroredAt };
}

test('The mirrored records of a segment are those that it decodes to, each mirrored, with the same arrays where nothing changed.', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.nat(), style, (count, seed, bookStyle) => {
      const { up } = twoOutcomes(seed, count, bookStyle, {
        skipped: 1,
        repeated: 0,
        own: 0,
        late: 0,
        withoutArrival: 0.5,
      });
      for (const payload of encodeAll(bookCodec, up, SEGMENT_RECORDS_MAX)) {
        const expected = bookCodec.decode(payload).map((record) => ({ ...record, book: mirrorOf(record.book) }));
        expect(mirroredRecords(payload)).toEqual(expected);
      }
    }),
    RUNS,
  );
});

test('A mirror comes back as the payload that it was made from, byte by byte, and takes at most half of its bytes.', () => {
  let [mirrors, segments] = [0, 0];
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 400 }), fc.nat(), style, differences, (count, seed, bookStyle, by) => {
      const { payloads, near, mirroredAt } = segmentsOf(twoOutcomes(seed, count, bookStyle, by));
      for (const payload of payloads) {
        segments += 1;
        const mirror = mirrorOfSegment(payload, near(payload));
        if (mirror === undefined) continue;
        mirrors += 1;
        expect(isMirror(mirror)).toBe(true);
        expect(2 * mirror.length).toBeLessThanOrEqual(payload.length);
        expect(Buffer.from(expandMirror(mirror, mirroredAt)).equals(payload)).toBe(true);
      }
    }),
    RUNS,
  );
  expect(mirrors).toBeGreaterThan(segments / 3);
});

const STYLE: BookStyle = { priceScale: 2, sizes: 'cents', levelsMax: 40, changesMax: 3 };
const SMALL: BookStyle = { ...STYLE, levelsMax: 8 };
const EXACT: Differences = { skipped: 0, repeated: 0, own: 0, late: 0, withoutArrival: 0 };

test('Every segment of an exact mirror is one, and takes less than a byte and a half a record.', () => {
  const { payloads, near } = segmentsOf(twoOutcomes(3, 2000, STYLE, EXACT));
  for (const payload of payloads) {
    const mirror = mirrorOfSegment(payload, near(payload))!;
    expect(mirror.length / readSegmentHeader(payload).count).toBeLessThan(1.5);
  }
});

test('Books that mirror nothing are not stored as mirrors.', () => {
  const { payloads, near } = segmentsOf(twoOutcomes(4, 300, STYLE, { ...EXACT, own: 1 }));
  for (const payload of payloads) expect(mirrorOfSegment(payload, near(payload))).toBeUndefined();
  expect(mirrorOfSegment(payloads[0]!, [])).toBeUndefined();
});

describe('A damaged mirror', () => {
  const { payloads, near, mirroredAt } = segmentsOf(
    twoOutcomes(5, 300, SMALL, { ...EXACT, own: 0.02, withoutArrival: 0.1 }),
  );
  const payload = payloads[1]!;
  const mirror = mirrorOfSegment(payload, near(payload))!;

  /** The payload, or undefined if the mirror is refused; throws every other error. */
  function expanded(bytes: Uint8Array, at = mirroredAt): Uint8Array | undefined {
    try {
      return expandMirror(bytes, at);
    } catch (error) {
      if (!(error instanceof DomainError) || error.kind !== 'unavailable') throw error;
      return undefined;
    }
  }

  test('is refused when it ends too early, at any byte.', () => {
    expect(expanded(mirror)).toEqual(payload);
    for (let length = 0; length < mirror.length; length += 1) expect(expanded(mirror.slice(0, length))).toBeUndefined();
  });

  test('with any bit flipped is refused, or makes a payload, without any other error.', () => {
    let refused = 0;
    for (let bit = 0; bit < mirror.length * 8; bit += 1) {
      const flipped = mirror.slice();
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      if (expanded(flipped) === undefined) refused += 1;
    }
    expect(refused).toBeGreaterThan(0);
  });

  test('with bytes replaced at random is refused, or makes a payload, without any other error.', () => {
    const random = randomsOf(42);
    for (let i = 0; i < 2000; i += 1) {
      const replaced = mirror.slice();
      for (let count = 1 + random() * 8; count > 0; count -= 1) {
        replaced[Math.floor(random() * mirror.length)] = random() < 0.3 ? 0xff : Math.floor(random() * 256);
      }
      expanded(replaced);
    }
  });

  test('is refused if a segment that it mirrors is missing, or is a mirror itself.', () => {
    const read: number[] = [];
    const reading = (at: number) => {
      read.push(at);
      return mirroredAt(at);
    };
    expect(expanded(mirror, reading)).toEqual(payload);
    for (const gone of read) {
      const without = (at: number) => mirroredAt(at === gone ? 1000 : at);
      expect(expanded(mirror, without)).toBeUndefined();
    }
    expect(() => mirroredRecords(mirror)).toThrow(DomainError);
  });

  test('of other books makes another payload.', () => {
    const foreign = segmentsOf(twoOutcomes(6, 300, STYLE, EXACT));
    expect(expanded(mirror, foreign.mirroredAt)).not.toEqual(payload);
  });

  test('cannot be read by those that know no mirrors.', () => {
    expect(() => bookCodec.decode(mirror)).toThrow(DomainError);
  });
});
