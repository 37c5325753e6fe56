import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import { TableWriter } from '../../src/export/writers/table.ts';
import { type ColumnValues, leavesOf, type TableColumn } from '../../src/export/writers/table-encoder.ts';
import { bookCodec } from '../../src/segment/book-decoder.ts';
import { ByteBuffer } from '../../src/segment/byte-buffer.ts';
import { readSegmentHeader } from '../../src/segment/segment-header.ts';
import { encodeAll } from '../segment/round-trip.ts';
import { type BookStyle, randomBooks } from '../support/random-books.ts';
import { sampleMarket } from '../support/sample-records.ts';

const RUNS = { seed: 20260416, numRuns: 60 };
const style: fc.Arbitrary<BookStyle> = fc.record({
  priceScale: fc.constantFrom(0, 2, 3, 12),
  sizes: fc.constantFrom('whole', 'cents', 'millionths', 'mixed', 'extremes'),
  levelsMax: fc.constantFrom(1, 5, 40),
  changesMax: fc.constantFrom(0, 1, 3, 20),
});
const outcome = fc.record({
  seed: fc.nat(),
  count: fc.integer({ min: 1, max: 60 }),
  style,
  inSegment: fc.constantFrom(1, 7, 64),
});

/** A part of the books of a series: each slice begins after some books that it leaves out. */
interface Taken {
  readonly open: () => void;
  readonly books: readonly { readonly write: () => void; readonly book: OrderBook }[];
}

/** Keeps the lists of levels that a writer of tables gives, as they are when it does. */
class Kept {
  readonly rows: number[][][] = [];
  readonly valuesMax: number;
  readonly #columns: number;

  constructor(columns: readonly TableColumn[], valuesMax: number) {
    this.#columns = leavesOf(columns).length;
    this.valuesMax = valuesMax;
  }

  add(rows: number, columns: readonly ColumnValues[]): void {
    expect(columns).toHaveLength(this.#columns);
    const lists = columns.slice(-4).map(({ values, codes, counts }) => {
      const left = [...codes!].map((code) => values[code] as number);
      return counts!.map((count) => left.splice(0, count));
    });
    for (let row = 0; row < rows; row += 1) this.rows.push(lists.map((list) => list[row]!));
  }

  end(): void {
    // Nothing follows the last group.
  }

  continueWriting(): boolean {
    return false;
  }
}

test('A table has the levels of every book, whatever slices of segments, outcomes and groups they are in.', () => {
  fc.assert(
    fc.property(
      fc.tuple(outcome, outcome),
      fc.array(fc.nat(3), { minLength: 1, maxLength: 20 }),
      fc.constantFrom(undefined, 1, 3),
      fc.constantFrom(100, 1000, 1e6),
      (outcomes, skips, depth, valuesMax) => {
        let kept: Kept | undefined;
        const writer = new TableWriter(
          new ByteBuffer(),
          { type: 'snapshot', shape: 'books' },
          depth,
          (columns) => (kept = new Kept(columns, valuesMax)),
        );
        const { symbol, timeframe, slug } = sampleMarket();
        writer.market({ symbol, timeframe, slug } as never);
        const series = outcomes.map(({ seed, count, style: ofBooks, inSegment }, nth): Taken[] => {
          const books = randomBooks(seed, count, ofBooks);
          const records = books.map((book, index) => ({ timestampMs: 1000 + index, id: index + 1, book }));
          const labels = { type: 'snapshot', conditionId: '0x1', outcome: nth === 0 ? 'up' : 'down' } as const;
          const one = writer.series(labels);
          let before = 0;
          return encodeAll(bookCodec, records, inSegment).map((payload, segment) => {
            const head = readSegmentHeader(payload);
            const from = Math.min(skips[segment % skips.length]!, head.count - 1);
            const first = before;
            before += head.count;
            return {
              open: () => one.open({ payload, head, from, to: head.count }),
              books: books.slice(first + from, before).map((book) => ({ write: () => one.writeNext(), book })),
            };
          });
        });
        const expected: OrderBook[] = [];
        // The slices of both outcomes are open at once, as in an export.
        for (let nth = 0; nth < Math.max(...series.map(({ length }) => length)); nth += 1) {
          const open = series.flatMap((slices) => slices[nth] ?? []);
          for (const slice of open) slice.open();
          for (let at = 0; open.some(({ books }) => at < books.length); at += 1) {
            for (const { books } of open) {
              const one = books[at];
              if (one === undefined) continue;
              one.write();
              while (writer.continueWriting());
              expected.push(one.book);
            }
          }
        }
        writer.close();
        while (writer.continueWriting());
        const sides = ({ bidPrices, bidSizes, askPrices, askSizes }: OrderBook) =>
          [bidPrices, bidSizes, askPrices, askSizes].map((values) => values.slice(0, depth));
        expect(kept!.rows).toEqual(expected.map(sides));
      },
    ),
    RUNS,
  );
});
