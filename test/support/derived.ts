import { midOf, topOfBook } from '../../src/domain/quote.ts';
import type { BookRecord } from '../../src/segment/book-format.ts';
import type { PriceRecord } from '../../src/segment/price-segment.ts';
import type { QuoteRecord } from '../../src/segment/quote-segment.ts';

/** The quotes that a whole series of snapshots implies, by comparing each with the one before. */
export function quotesImpliedBy(snapshots: readonly BookRecord[]): QuoteRecord[] {
  const text = (record: BookRecord) => {
    const { bidPrice = null, bidSize = null, askPrice = null, askSize = null } = topOfBook(record.book);
    return JSON.stringify([bidPrice, bidSize, askPrice, askSize]);
  };
  return snapshots
    .filter((record, i) => i === 0 || text(record) !== text(snapshots[i - 1]!))
    .map((record) => ({ timestampMs: record.timestampMs, id: record.id, quote: topOfBook(record.book) }));
}

/** The mids likewise: one for each two-sided book whose mid is not that of the snapshot before. */
export function midsImpliedBy(snapshots: readonly BookRecord[]): PriceRecord[] {
  return snapshots.flatMap((record, i) => {
    const mid = midOf(topOfBook(record.book));
    const before = i === 0 ? undefined : midOf(topOfBook(snapshots[i - 1]!.book));
    if (mid === undefined || mid === before) return [];
    return [{ timestampMs: record.timestampMs, id: record.id, price: mid }];
  });
}
