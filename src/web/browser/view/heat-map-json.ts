import type { ColumnBook, HeatMap, HeatMapColumn, TradedColumn } from '../../../domain/heat-map.ts';
import { midOf } from '../../../domain/quote.ts';

/** The fields of the API's answer about the market and the outcome. */
export type HeatMapLabels = Readonly<
  Record<'assetId' | 'conditionId' | 'slug' | 'symbol' | 'outcome' | 'timeframe', string>
>;

/** The API's answer, see HeatMapResource. */
export interface HeatMapJson extends HeatMapLabels {
  readonly from: string;
  readonly to: string;
  readonly prices: readonly number[];
  readonly columns: readonly ColumnJson[];
}

interface ColumnJson {
  readonly from: string;
  readonly to: string;
  readonly gap: boolean;
  readonly id: string | null;
  readonly timestamp: string | null;
  readonly bidPrice: number | null;
  readonly askPrice: number | null;
  readonly mid: number | null;
  readonly bidRows: readonly number[];
  readonly bidSizes: readonly number[];
  readonly askRows: readonly number[];
  readonly askSizes: readonly number[];
  readonly trades: number | null;
  readonly tradedShares: number | null;
  readonly tradeLow: number | null;
  readonly tradeHigh: number | null;
}

/** Reads the API's heat map. Columns that show the same snapshot share it. */
export function heatMapOf({ prices, columns }: Pick<HeatMapJson, 'prices' | 'columns'>): HeatMap {
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

/** Writes a heat map as the API does. `hasTrades`: whether its trades are known. */
export function heatMapJson({ prices, columns }: HeatMap, labels: HeatMapLabels, hasTrades: boolean): HeatMapJson {
  return {
    ...labels,
    from: isoText(columns[0]!.fromMs),
    to: isoText(columns.at(-1)!.toMs),
    prices,
    columns: columns.map((column) => columnJson(column, hasTrades)),
  };
}

function bookOf({ id, timestamp, bidPrice, askPrice, ...rows }: ColumnJson): ColumnBook {
  return {
    id: Number(id),
    timestampMs: Date.parse(timestamp!),
    bidPrice: bidPrice ?? undefined,
    askPrice: askPrice ?? undefined,
    bids: { rows: rows.bidRows, sizes: rows.bidSizes },
    asks: { rows: rows.askRows, sizes: rows.askSizes },
  };
}

function tradedIn({ trades, tradedShares, tradeLow, tradeHigh }: ColumnJson): TradedColumn | undefined {
  if (trades === null || tradedShares === null || tradeLow === null || tradeHigh === null) return undefined;
  return { count: trades, shares: tradedShares, lowPrice: tradeLow, highPrice: tradeHigh };
}

function columnJson({ fromMs, toMs, hasGap, book, traded }: HeatMapColumn, hasTrades: boolean): ColumnJson {
  const none = hasTrades ? 0 : null;
  return {
    from: isoText(fromMs),
    to: isoText(toMs),
    gap: hasGap,
    id: book === undefined ? null : String(book.id),
    timestamp: book === undefined ? null : isoText(book.timestampMs),
    bidPrice: book?.bidPrice ?? null,
    askPrice: book?.askPrice ?? null,
    mid: (book && midOf(book)) ?? null,
    bidRows: book?.bids.rows ?? [],
    bidSizes: book?.bids.sizes ?? [],
    askRows: book?.asks.rows ?? [],
    askSizes: book?.asks.sizes ?? [],
    trades: traded?.count ?? none,
    tradedShares: traded?.shares ?? none,
    tradeLow: traded?.lowPrice ?? null,
    tradeHigh: traded?.highPrice ?? null,
  };
}

function isoText(ms: number): string {
  return new Date(ms).toISOString();
}
