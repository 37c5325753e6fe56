import type { BookRecord } from '../../src/book/book-segment.ts';
import type { OrderBook } from '../../src/domain/orderbook.ts';

const EMPTY: OrderBook = { bidPrices: [], bidSizes: [], askPrices: [], askSizes: [] };
const FIRST: OrderBook = {
  bidPrices: [0.51, 0.5, 0.47],
  bidSizes: [120.5, 3000, 0.01],
  askPrices: [0.52, 0.53, 0.99, 1],
  askSizes: [7, 12.34, 100_000, 5],
};

/** Written out: what payloads that archives hold say must not follow from code that may change. */
export const RECORDS: Readonly<Record<'scaled' | 'doubles', readonly BookRecord[]>> = {
  scaled: placed([
    FIRST,
    { ...FIRST, bidSizes: [115.5, 3000, 0.01] },
    { ...FIRST, bidPrices: [0.5, 0.47], bidSizes: [3000, 0.02] },
    { ...FIRST, bidPrices: [0.515, 0.5, 0.48], bidSizes: [1, 2999, 88], askPrices: [0.53, 1], askSizes: [12.34, 6] },
    EMPTY,
    EMPTY,
    { ...EMPTY, askPrices: [0, 0.001], askSizes: [999_999.99, 1] },
    FIRST,
  ]),
  doubles: placed([
    { bidPrices: [0.999999999999, 0.4], bidSizes: [1e14, 1e-12], askPrices: [1], askSizes: [0.1] },
    { bidPrices: [0.999999999999, 0.4], bidSizes: [1e14, 2e-12], askPrices: [1], askSizes: [0.3] },
    { bidPrices: [0.7, 0.4], bidSizes: [123_456_789_012_345, 2e-12], askPrices: [], askSizes: [] },
  ]),
};

function placed(books: readonly OrderBook[]): BookRecord[] {
  const steps = [0, 3, 0, 250, 250, 250, 1_000_000, 7];
  const ids = [70_000, 70_001, 70_002, 70_003, 5, 9_007_199_254_740_991, 12, 13];
  let timestampMs = 1_776_323_400_000;
  return books.map((book, i) => {
    timestampMs += steps[i]!;
    return { timestampMs, id: ids[i]!, book };
  });
}
