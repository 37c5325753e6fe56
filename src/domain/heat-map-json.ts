import type { ColumnBook, HeatMap, HeatMapColumn, TradedColumn } from './heat-map.ts';
import type { ColumnResource, HeatMapResource } from './heat-map-resource.ts';
import { formatInstant, instantOrNull } from './instant.ts';
import { midOf } from './quote.ts';

/** The fields of a heat map about its market and its outcome. */
export type HeatMapLabels = Pick<
  HeatMapResource,
  'assetId' | 'conditionId' | 'slug' | 'symbol' | 'outcome' | 'timeframe'
>;

/** Converts a heat map to its form in the API. `hasTrades` is true if its trades are known. */
export function heatMapResource(
  { prices, columns }: HeatMap,
  labels: HeatMapLabels,
  hasTrades: boolean,
): HeatMapResource {
  return {
    ...labels,
    from: formatInstant(columns[0]!.fromMs),
    to: formatInstant(columns.at(-1)!.toMs),
    prices: [...prices],
    columns: columns.map((column) => columnResource(column, hasTrades)),
  };
}

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

/** Converts a heat map of the API back. Columns that show the same snapshot share it. */
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
  if (trades === null || tradedShares === null || tradeLow === null || tradeHigh === null) return undefined;
  const sides = (tradeSides ?? []).map(({ side, trades: count, shares, low, high }) => {
    return { side: side ?? undefined, count, shares, lowPrice: low, highPrice: high };
  });
  return { count: trades, shares: tradedShares, lowPrice: tradeLow, highPrice: tradeHigh, sides };
}
