import type { ColumnBook, HeatMap, HeatMapColumn } from '../../../domain/heat-map.ts';
import { drawnPrices } from '../../../domain/heat-map-picture.ts';

/** The imbalance counts the shares whose price is at most this far from the best one. */
const NEAR = 0.05;
const ROUNDING = 1e-9;

/** (bids - asks) / (bids + asks) in shares, from -1 to 1, over levels up to NEAR from the best price; undefined without any. */
export function imbalanceOf({ prices }: HeatMap, { bids, asks, bidPrice, askPrice }: ColumnBook): number | undefined {
  let [bidShares, askShares] = [0, 0];
  for (const [nth, row] of bids.rows.entries()) {
    if (bidPrice! - prices[row]! <= NEAR + ROUNDING) bidShares += bids.sizes[nth]!;
  }
  for (const [nth, row] of asks.rows.entries()) {
    if (prices[row]! - askPrice! <= NEAR + ROUNDING) askShares += asks.sizes[nth]!;
  }
  const all = bidShares + askShares;
  return all === 0 ? undefined : (bidShares - askShares) / all;
}

/** A cell and its sizes; a size is 0 where a side has no level. */
export interface CellFigures {
  /** The lowest price of its row. */
  readonly price: number;
  readonly bidSize: number;
  readonly askSize: number;
}

/** The column of an instant, which may have fractions of a millisecond. */
export function columnAt({ columns }: HeatMap, ms: number): HeatMapColumn | undefined {
  return columns.find(({ fromMs, toMs }) => fromMs <= ms && ms < toMs + 1);
}

export function cellAt({ prices }: HeatMap, { book }: HeatMapColumn, price: number): CellFigures | undefined {
  const row = prices.findIndex((_, nth) => {
    const { from, to } = drawnPrices(prices, nth);
    return price >= from && price < to;
  });
  if (row < 0) return undefined;
  const sizeIn = (side: ColumnBook['bids'] | undefined) => side?.sizes[side.rows.indexOf(row)] ?? 0;
  return { price: prices[row]!, bidSize: sizeIn(book?.bids), askSize: sizeIn(book?.asks) };
}
