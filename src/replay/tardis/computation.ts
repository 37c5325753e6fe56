import { DECIMAL_PLACES_MAX, decimalPlaces, powerOfTen, toScaled } from '../../domain/decimal.ts';
import { EditableBook } from '../../venue/editable-book.ts';
import type { BarType, DataType, SnapshotType } from './data-type.ts';
import {
  type BookChange,
  type BookSnapshot,
  type ComputedRecord,
  dateOf,
  type OptionalLevel,
  type SourceRecord,
  type Trade,
  type TradeBar,
} from './record.ts';

/** Computes records of one symbol of those that its messages gave. */
export interface Computation {
  of(record: SourceRecord): readonly ComputedRecord[];
}

/** Undefined for what messages give by themselves. */
export function computationOf(type: DataType): Computation | undefined {
  if (type.kind === 'book_snapshot') return new BookSnapshots(type);
  return type.kind === 'trade_bar' ? new TradeBars(type) : undefined;
}

const NOTHING: readonly ComputedRecord[] = [];

/**
 * The top of a book, as tardis-node computes it (src/computable/booksnapshot.ts): at first as soon as there is one; then
 * with an interval, when the first change after the end of the interval comes, the book as it was then, with that end as its
 * timestamp; without one, at once. Only when one of its levels is another one by then. Changes before the first snapshot of
 * the book are passed over.
 *
 * Grouped it is exact, which it is not there: floating point puts 0.07 into the group of 0.08, sums amounts to more digits
 * than they have, and groups that are gone stay.
 */
class BookSnapshots implements Computation {
  readonly #type: SnapshotType;
  #book: EditableBook | undefined;
  #bids: readonly OptionalLevel[];
  #asks: readonly OptionalLevel[];
  #hasChanged = false;
  #hasFirst = false;
  #timestampMs = -1;

  constructor(type: SnapshotType) {
    this.#type = type;
    this.#bids = topOf([], [], type, Math.floor);
    this.#asks = this.#bids;
  }

  of(record: SourceRecord): readonly ComputedRecord[] {
    if (record.type !== 'book_change') return NOTHING;
    const made: BookSnapshot[] = [];
    if (this.#isDue(record)) made.push(this.#snapshot(record));
    this.#update(record);
    if (this.#isDue(record)) {
      made.push(this.#snapshot(record));
      this.#hasFirst = true;
    }
    return made;
  }

  #isDue({ timestamp }: BookChange): boolean {
    const { interval } = this.#type;
    if (!this.#hasChanged) return false;
    if (interval === 0 || !this.#hasFirst) return true;
    const current = Math.floor(this.#timestampMs / interval);
    if (Math.floor(timestamp.getTime() / interval) <= current) return false;
    this.#timestampMs = (current + 1) * interval;
    return true;
  }

  #update({ isSnapshot, bids, asks, timestamp }: BookChange): void {
    this.#timestampMs = timestamp.getTime();
    if (isSnapshot) this.#book = new EditableBook();
    const book = this.#book;
    if (book === undefined) return;
    for (const { price, amount } of asks) book.set(false, price, amount);
    for (const { price, amount } of bids) book.set(true, price, amount);
    const bidsNow = topOf(book.bidPrices, book.bidSizes, this.#type, Math.floor);
    const asksNow = topOf(book.askPrices, book.askSizes, this.#type, Math.ceil);
    this.#hasChanged ||= !sameLevels(this.#bids, bidsNow) || !sameLevels(this.#asks, asksNow);
    this.#bids = bidsNow;
    this.#asks = asksNow;
  }

  #snapshot({ symbol, exchange, localTimestamp }: BookChange): BookSnapshot {
    const { name, depth, interval, grouping } = this.#type;
    this.#hasChanged = false;
    return {
      type: 'book_snapshot',
      symbol,
      exchange,
      name,
      depth,
      interval,
      grouping,
      bids: this.#bids,
      asks: this.#asks,
      timestamp: dateOf(this.#timestampMs),
      localTimestamp,
    };
  }
}

const NO_LEVEL: OptionalLevel = {};

/**
 * The best levels of a side, as many as `depth`. With `grouping` prices are put together, those that `round` takes to the same
 * multiple of it: bids at or below their price, asks at or above. Sums are exact.
 */
function topOf(
  prices: readonly number[],
  sizes: readonly number[],
  { depth, grouping }: SnapshotType,
  round: (groups: number) => number,
): OptionalLevel[] {
  const levels: OptionalLevel[] = [];
  const priceAt = (index: number) => (index < prices.length ? groupPrice(prices[index]!, grouping, round) : undefined);
  let price = priceAt(0);
  for (let i = 0; price !== undefined && levels.length < depth; ) {
    const first = i;
    const group: number = price;
    do {
      i += 1;
      price = priceAt(i);
    } while (price === group);
    levels.push({ price: group, amount: i === first + 1 ? sizes[first]! : sumOf(sizes.slice(first, i)) });
  }
  while (levels.length < depth) levels.push(NO_LEVEL);
  return levels;
}

function groupPrice(price: number, grouping: number | undefined, round: (groups: number) => number): number {
  if (grouping === undefined) return price;
  const scale = Math.max(decimalPlaces(price) ?? 0, decimalPlaces(grouping) ?? 0);
  const step = toScaled(grouping, scale);
  return (round(toScaled(price, scale) / step) * step) / powerOfTen(scale);
}

/** In integers, so that no digit comes in that no amount has. */
function sumOf(amounts: readonly number[]): number {
  const scale = Math.max(...amounts.map((amount) => decimalPlaces(amount) ?? 0));
  return amounts.reduce((sum, amount) => sum + toScaled(amount, scale), 0) / powerOfTen(scale);
}

function sameLevels(a: readonly OptionalLevel[], b: readonly OptionalLevel[]): boolean {
  return a.every((level, nth) => level.price === b[nth]!.price && level.amount === b[nth]!.amount);
}

/** A sum of decimals in which no digit appears that none of them has. */
export class DecimalSum {
  /** In units of 10^-DECIMAL_PLACES_MAX. */
  #units = 0n;

  add(value: number): void {
    const scale = decimalPlaces(value) ?? 0;
    this.#units += BigInt(toScaled(value, scale)) * 10n ** BigInt(DECIMAL_PLACES_MAX - scale);
  }

  get value(): number {
    return Number(`${this.#units}e-${DECIMAL_PLACES_MAX}`);
  }
}

/** An open bar. */
class Bar {
  readonly open: Trade;
  close: Trade;
  high: number;
  low: number;
  trades = 0;
  readonly volumes = {
    all: new DecimalSum(),
    buy: new DecimalSum(),
    sell: new DecimalSum(),
    unknown: new DecimalSum(),
  };
  /** The price of all shares whose number is known. */
  notional = 0;

  constructor(open: Trade) {
    this.open = open;
    this.close = open;
    this.high = open.price;
    this.low = open.price;
  }

  add(trade: Trade): void {
    const { price, amount, side } = trade;
    this.high = Math.max(this.high, price);
    this.low = Math.min(this.low, price);
    this.close = trade;
    this.trades += 1;
    this.volumes.all.add(amount);
    this.volumes[side].add(amount);
    this.notional += price * amount;
  }
}

/**
 * Bars of trades, as tardis-node computes them (src/computable/tradebar.ts): one of time comes with the first trade after its
 * end and has that end as its timestamp, the others come with their last trade. Volumes are exact, which they are not there.
 */
class TradeBars implements Computation {
  readonly #type: BarType;
  #bar: Bar | undefined;

  constructor(type: BarType) {
    this.#type = type;
  }

  of(record: SourceRecord): readonly ComputedRecord[] {
    if (record.type !== 'trade') return NOTHING;
    const made: TradeBar[] = [];
    const { barKind, interval } = this.#type;
    if (barKind === 'time' && this.#bar !== undefined) {
      const endMs = (Math.floor(this.#bar.open.timestamp.getTime() / interval) + 1) * interval;
      if (record.timestamp.getTime() >= endMs) made.push(this.#closed(this.#bar, record, dateOf(endMs)));
    }
    this.#bar ??= new Bar(record);
    this.#bar.add(record);
    const { trades, volumes } = this.#bar;
    const size = barKind === 'tick' ? trades : barKind === 'volume' ? volumes.all.value : 0;
    if (size >= interval) made.push(this.#closed(this.#bar, record, record.timestamp));
    return made;
  }

  #closed({ open, high, low, close, trades, volumes, notional }: Bar, last: Trade, timestamp: Date): TradeBar {
    const { name, interval, barKind } = this.#type;
    const volume = volumes.all.value;
    this.#bar = undefined;
    return {
      type: 'trade_bar',
      symbol: last.symbol,
      exchange: last.exchange,
      name,
      interval,
      kind: barKind,
      open: open.price,
      high,
      low,
      close: close.price,
      volume,
      buyVolume: volumes.buy.value,
      sellVolume: volumes.sell.value,
      trades,
      vwap: notional / volume,
      openTimestamp: open.timestamp,
      closeTimestamp: close.timestamp,
      localTimestamp: last.localTimestamp,
      timestamp,
    };
  }
}
