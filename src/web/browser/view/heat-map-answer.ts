import type { ColumnBook, HeatMap, HeatMapColumn, TradedColumn } from '../../../domain/heat-map.ts';
import type { ColumnResource, HeatMapResource } from '../../../domain/heat-map-resource.ts';

/** Reads a heat map of the API. Columns that show the same snapshot share it. */
export function heatMapOf({ prices, columns }: Pick<HeatMapResource, 'prices' | 'columns'>): HeatMap {
  let book: ColumnBook | undefined;
  const read = columns.map((column): HeatMapColumn => {
    if (column.id !== null && (book === undefined || String(book.id) !== column.id)) book = bookOf(column);
    const traded = tradedIn(column);
    return {
      fromMs: Date.parse(column.from),
      toMs: Date.parse(column.to),
      hasGap: column.gap,
      book: column.id === null ? undefined : book,
      ...(traded !== undefined && { traded }),
    };
  });
  return { prices, columns: read };
}

function bookOf({ id, timestamp, bidPrice, askPrice, ...rows }: ColumnResource): ColumnBook {
  return {
    id: Number(id),
    timestampMs: Date.parse(timestamp!),
    bidPrice: bidPrice ?? undefined,
    askPrice: askPrice ?? undefined,
    bids: { rows: rows.bidRows, sizes: rows.bidSizes },
    asks: { rows: rows.askRows, sizes: rows.askSizes },
  };
}

function tradedIn(column: ColumnResource): TradedColumn | undefined {
  const { trades, tradedShares, tradeLow, tradeHigh, tradeSides } = column;
  // Without a trade, or a tier that shows them, no price is there; with one, all fields are.
  if (tradeLow === null) return undefined;
  const sides = (tradeSides ?? []).map(({ side, trades: count, shares, low, high }) => {
    return { side: side ?? undefined, count, shares, lowPrice: low, highPrice: high };
  });
  return { count: trades!, shares: tradedShares!, lowPrice: tradeLow, highPrice: tradeHigh!, sides };
}
