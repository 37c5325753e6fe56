import { DecimalSum } from '../domain/decimal.ts';
import type { ColumnRange, HeatMapQuery, TradedColumn } from '../domain/heat-map.ts';
import { INSTANT_MAX_MS } from '../domain/instant.ts';
import { TRADE_SIDES, type TradeSide } from '../domain/trade.ts';
import { type PriceRecord, pricesIn } from '../segment/price-segment.ts';
import type { StoredMarket } from './markets.ts';
import type { Prices } from './prices.ts';

/** The number of trades that are summed in one step, a few milliseconds. */
const TRADES_AT_ONCE = 2000;
const SIDES = [...TRADE_SIDES, undefined];

/**
 * The recorded trades of one outcome in each of `columns`, which ascend without a break; undefined for a column without trades. Works in
 * steps of a few milliseconds. With `asOfMs` only trades until then. Throws DomainError 'unavailable' when a segment is damaged.
 */
export function* tradedColumns(
  prices: Pick<Prices, 'slices'>,
  market: StoredMarket,
  { outcome, fromMs, toMs, asOfMs = INSTANT_MAX_MS }: Omit<HeatMapQuery, 'columns'>,
  columns: readonly ColumnRange[],
): Generator<void, readonly (TradedColumn | undefined)[]> {
  const traded: (ColumnTrades | undefined)[] = columns.map(() => undefined);
  let index = 0;
  let count = 0;
  for (const trade of pricesIn(prices.slices(market, outcome, 'trade', fromMs, Math.min(toMs, asOfMs)))) {
    while (columns[index]!.toMs < trade.timestampMs) index += 1;
    const column = traded[index] ?? new ColumnTrades();
    traded[index] = column;
    column.add(trade);
    count += 1;
    if (count % TRADES_AT_ONCE === 0) yield;
  }
  return traded.map((column) => column?.sum);
}

class ColumnTrades {
  readonly #all = new TradeSum();
  readonly #bySide = new Map<TradeSide | undefined, TradeSum>();

  add(record: PriceRecord): void {
    const side = record.trade?.side;
    const sum = this.#bySide.get(side) ?? new TradeSum();
    this.#bySide.set(side, sum);
    for (const one of [this.#all, sum]) one.add(record);
  }

  get sum(): TradedColumn {
    const sides = SIDES.flatMap((side) => {
      const sum = this.#bySide.get(side)?.value;
      return sum === undefined ? [] : [{ side, ...sum }];
    });
    return { ...this.#all.value, sides };
  }
}

class TradeSum {
  readonly #shares = new DecimalSum();
  #count = 0;
  #low = Infinity;
  #high = -Infinity;

  add({ price, trade }: PriceRecord): void {
    this.#count += 1;
    this.#shares.add(trade?.size ?? 0);
    this.#low = Math.min(this.#low, price);
    this.#high = Math.max(this.#high, price);
  }

  get value() {
    return { count: this.#count, shares: this.#shares.value, lowPrice: this.#low, highPrice: this.#high };
  }
}
