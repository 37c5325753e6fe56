import type { OrderBook } from '../../src/domain/orderbook.ts';
import type { BookRecord } from '../../src/segment/book-format.ts';
import type { RecordingLabels, SnapshotLabels } from '../../src/segment/snapshot-writer.ts';

export const UP: SnapshotLabels = {
  assetId: '1234567890'.repeat(7),
  conditionId: `0x${'ab'.repeat(32)}`,
  symbol: 'btc',
  outcome: 'up',
  timeframe: '5m',
};

/** The documented record, made without the code under test; its fields are in the documented order. */
export function snapshotOf({ timestampMs, id, book }: BookRecord, labels: SnapshotLabels | RecordingLabels): object {
  const levels = (prices: readonly number[], sizes: readonly number[]) =>
    prices.map((price, i) => ({ price, size: sizes[i]! }));
  const { type, ...rest } = { type: undefined, ...labels };
  return {
    ...(type === undefined ? {} : { type }),
    id: String(id),
    ...rest,
    timestamp: new Date(timestampMs).toISOString(),
    bids: levels(book.bidPrices, book.bidSizes),
    asks: levels(book.askPrices, book.askSizes),
  };
}

export function recordsOf(books: readonly OrderBook[], firstId = 1): BookRecord[] {
  return books.map((book, i) => ({ timestampMs: 1_776_323_400_000 + i * 37, id: firstId + 3 * i, book }));
}
