import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { CONTRADICTING_LISTED_MAX } from '../../src/domain/coverage.ts';
import { BookReader, bookCodec } from '../../src/segment/book-decoder.ts';
import { SEGMENT_RECORDS_MAX } from '../../src/segment/segment-header.ts';
import { ContradictingInstants } from '../../src/store/contradicting-instants.ts';

/** A time, an id and a size, which makes the book. */
type Stored = readonly [timestampMs: number, id: number, size: number];

const byPosition = (a: Stored, b: Stored) => a[0] - b[0] || a[1] - b[1];

/** Reads the books as an archive has them, in segments. */
function found(books: readonly Stored[], isMerged: (timestampMs: number) => boolean = () => false) {
  const instants = new ContradictingInstants(isMerged);
  const records = [...books].sort(byPosition).map(([timestampMs, id, size]) => ({
    timestampMs,
    id,
    book: { bidPrices: [0.4], bidSizes: [size], askPrices: [0.6], askSizes: [5] },
  }));
  for (let from = 0; from < records.length; ) {
    const { payload, count } = bookCodec.encode(records, from, SEGMENT_RECORDS_MAX);
    const reader = new BookReader(payload);
    while (reader.advance()) instants.add(reader);
    from += count;
  }
  return instants;
}

const timesOf = (instants: ContradictingInstants) => instants.listed.map(({ timestampMs }) => timestampMs);

/** Slow and plain: an id of another instant lies between those of two books that follow each other and differ. */
function expected(books: readonly Stored[]): number[] {
  const ids = books.map(([timestampMs, id]) => ({ timestampMs, id }));
  const times = [...new Set(books.map(([timestampMs]) => timestampMs))].sort((a, b) => a - b);
  return times.filter((timestampMs) => {
    const own = books.filter((book) => book[0] === timestampMs).sort(byPosition);
    return own.some(([, id], at) => at > 0 && ids.some((one) => own[at - 1]![1] < one.id && one.id < id));
  });
}

describe('instants with books of different imports', () => {
  test('contradict if the ids of books that are later come between their ids', () => {
    const instants = found([
      [10, 1, 1],
      [20, 2, 1],
      [10, 3, 2],
    ]);
    expect(instants.listed).toEqual([{ timestampMs: 10, books: 2 }]);
    expect(instants.count).toBe(1);
  });

  test('contradict if the ids of books that are earlier come between their ids', () => {
    const last: Stored[] = [
      [20, 1, 1],
      [10, 2, 1],
      [20, 3, 2],
    ];
    expect(timesOf(found(last))).toEqual([20]);
  });

  test('Several books of one source at one instant do not contradict each other, even if a batch or a file ends between them.', () => {
    const sequence: Stored[] = [
      [10, 1, 1],
      [10, 2, 2],
      [10, 3, 1],
      [20, 4, 1],
      // The ids 5 to 7 are of other series.
      [20, 8, 2],
      [30, 9, 1],
    ];
    expect(found(sequence).count).toBe(0);
  });

  test('do not contradict if a merge has judged them, and only they are looked up', () => {
    const asked: number[] = [];
    const books: Stored[] = [
      [10, 1, 1],
      [20, 2, 1],
      [30, 3, 1],
      [10, 4, 2],
      [30, 6, 2],
    ];
    const isMerged = (timestampMs: number) => {
      asked.push(timestampMs);
      return timestampMs === 10;
    };
    expect(timesOf(found(books, isMerged))).toEqual([30]);
    expect(asked).toEqual([10, 30]);
  });

  test('count once, with all their books', () => {
    const books: Stored[] = [
      [10, 1, 1],
      [20, 2, 1],
      [30, 3, 1],
      [10, 4, 2],
      [20, 5, 2],
      [10, 6, 3],
    ];
    expect(found(books).listed).toEqual([
      { timestampMs: 10, books: 3 },
      { timestampMs: 20, books: 2 },
    ]);
  });

  test('are listed up to a limit, and all counted', () => {
    const count = CONTRADICTING_LISTED_MAX + 400;
    const books = Array.from({ length: count + 1 }, (_, at): Stored => [at * 10, at + 1, 1]);
    const others = books.slice(0, count).map(([timestampMs, id]): Stored => [timestampMs, id + 1000, 2]);
    const instants = found([...books, ...others]);
    expect(instants.count).toBe(count);
    expect(timesOf(instants)).toEqual(books.slice(0, CONTRADICTING_LISTED_MAX).map(([timestampMs]) => timestampMs));
  });

  test('of any two imports are those that a comparison of all ids finds', () => {
    const times = fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { maxLength: 40 });
    fc.assert(
      fc.property(times, times, (first, second) => {
        const ascending = (list: readonly number[]) => [...list].sort((a, b) => a - b);
        const one = ascending(first).map((at, i): Stored => [at, 1 + i, 1]);
        const other = ascending(second).map((at, i): Stored => [at, 100 + i, 2]);
        const instants = found([...one, ...other]);
        const wanted = expected([...one, ...other]);
        expect(timesOf(instants)).toEqual(wanted);
        expect(instants.count).toBe(wanted.length);
      }),
      { seed: 20_261_120, numRuns: 400 },
    );
  });
});
