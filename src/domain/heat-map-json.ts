import type { HeatMapColumn } from './heat-map.ts';
import type { ColumnResource } from './heat-map-resource.ts';
import { formatInstant, instantOrNull } from './instant.ts';
import { midOf } from './quote.ts';

/** Converts a column to its form in the API; the fields of trades are null if its trades are not known. */
export function columnResource(column: HeatMapColumn, hasTrades: boolean): ColumnResource {
  const { fromMs, toMs, hasGap, book, traded } = column;
  const none = hasTrades ? 0 : null;
  return {
    from: formatInstant(fromMs),
    to: formatInstant(toMs),
    gap: hasGap,
    id: book === undefined ? null : String(book.id),
    timestamp: instantOrNull(book?.timestampMs),
    bidPrice: book?.bidPrice ?? null,
    askPrice: book?.askPrice ?? null,
    mid: (book && midOf(book)) ?? null,
    bidRows: [...(book?.bids.rows ?? [])],
    bidSizes: [...(book?.bids.sizes ?? [])],
    askRows: [...(book?.asks.rows ?? [])],
    askSizes: [...(book?.asks.sizes ?? [])],
    trades: traded?.count ?? none,
    tradedShares: traded?.shares ?? none,
    tradeLow: traded?.lowPrice ?? null,
    tradeHigh: traded?.highPrice ?? null,
    tradeSides: hasTrades
      ? (traded?.sides ?? []).map(({ side = null, count, shares, lowPrice, highPrice }) => {
          return { side, trades: count, shares, low: lowPrice, high: highPrice };
        })
      : null,
  };
}
