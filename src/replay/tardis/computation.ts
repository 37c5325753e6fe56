import { DecimalSum, decimalPlaces, powerOfTen, toScaled } from '../../domain/decimal.ts';
import { EditableBook } from '../../venue/editable-book.ts';
import type { BarType, DataType, SnapshotType } from './data-type.ts';
import type {
  BookChange,
  BookSnapshot,
  ComputedRecord,
  OptionalLevel,
  SourceRecord,
  Trade,
  TradeBar,
} from './normalized-record.ts';

/** Computes records of one symbol from the records of its messages. */
export interface Computation {
  of(record: SourceRecord): readonly ComputedRecord[];
}

/** Undefined for types that need no computation. */
export function computationOf(type: DataType): Computation | undefined {
  if (type.kind === 'book_snapshot') return new BookSnapshots(type);
  return type.kind === 'trade_bar' ? new TradeBars(type) : undefined;
}

const NOTHING: readonly ComputedRecord[] = [];

/**
 * The top of a book, as tardis-node computes it (src/computable/booksnapshot.ts): the first one as soon as there is a book.
 * With an interval, the first change after its end gives the book before that change, with the end as its timestamp; without
 * one, every change gives a book. A book is left out if none of its levels changed. Changes before the first snapshot of the
 * book are skipped.
 *
 * Grouped books are exact. In tardis-node floating point puts 0.07 into the group of 0.08 and adds digits to sums, and empty
 * groups stay.
 */
class BookSnapshots implements Computation {
  readonly #type: Omit<SnapshotType, 'kind'>;
  #book: EditableBook | undefined;
  #bids: readonly OptionalLevel[];
  #asks: readonly OptionalLevel[];
  #hasChanged = false;
  #hasFirst = false;
  #timestampMs = -1;

  constructor({ kind: _, ...type }: SnapshotType) {
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
    this.#hasChanged = false;
    const levels = { bids: this.#bids, asks: this.#asks };
    const timestamp = new Date(this.#timestampMs);
    return { type: 'book_snapshot', symbol, exchange, ...this.#type, ...levels, timestamp, localTimestamp };
  }
}

const NO_LEVEL: OptionalLevel = {};

/**
 * The best `depth` levels of a side. With `grouping` a level has all prices that `round` takes to the same multiple of it: bids
 * are rounded down, asks up. Sums are exact.
 */
function topOf(
  prices: readonly number[],
  sizes: readonly number[],
  { depth, grouping }: Pick<SnapshotType, 'depth' | 'grouping'>,
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

/** In integers, so that the sum is exact. */
function sumOf(amounts: readonly number[]): number {
  const scale = Math.max(...amounts.map((amount) => decimalPlaces(amount) ?? 0));
  return amounts.reduce((sum, amount) => sum + toScaled(amount, scale), 0) / powerOfTen(scale);
}

function sameLevels(a: readonly OptionalLevel[], b: readonly OptionalLevel[]): boolean {
  return a.every((level, nth) => level.price === b[nth]!.price && level.amount === b[nth]!.amount);
}

/** An open bar and its record, which gets its volumes and times when the bar closes. */
interface OpenBar {
  readonly record: { -readonly [Field in keyof TradeBar]: TradeBar[Field] };
  readonly volumes: Readonly<Record<'all' | Trade['side'], DecimalSum>>;
  /** The sum of price times size over its trades. */
  notional: number;
}

/**
 * Bars of trades, as tardis-node computes them (src/computable/tradebar.ts): a time bar is complete with the first trade after
 * its end and has that end as its timestamp, the others with their last trade. Volumes are exact, unlike those of tardis-node.
 */
class TradeBars implements Computation {
  readonly #type: BarType;
  #bar: OpenBar | undefined;

  constructor(type: BarType) {
    this.#type = type;
  }

  of(trade: SourceRecord): readonly ComputedRecord[] {
    if (trade.type !== 'trade') return NOTHING;
    const made: TradeBar[] = [];
    const { barKind, interval } = this.#type;
    if (barKind === 'time' && this.#bar !== undefined) {
      const endMs = (Math.floor(this.#bar.record.openTimestamp.getTime() / interval) + 1) * interval;
      if (trade.timestamp.getTime() >= endMs) made.push(this.#closed(this.#bar, trade, new Date(endMs)));
    }
    this.#bar ??= this.#opened(trade);
    add(this.#bar, trade);
    const { record, volumes } = this.#bar;
    const size = barKind === 'tick' ? record.trades : barKind === 'volume' ? volumes.all.value : 0;
    if (size >= interval) made.push(this.#closed(this.#bar, trade, trade.timestamp));
    return made;
  }

  #opened({ symbol, exchange, price, timestamp, localTimestamp }: Trade): OpenBar {
    const { name, interval, barKind: kind } = this.#type;
    const prices = { open: price, high: price, low: price, close: price };
    const sums = { volume: 0, buyVolume: 0, sellVolume: 0, trades: 0, vwap: Number.NaN };
    const times = { openTimestamp: timestamp, closeTimestamp: timestamp, localTimestamp, timestamp };
    return {
      record: { type: 'trade_bar', symbol, exchange, name, interval, kind, ...prices, ...sums, ...times },
      volumes: { all: new DecimalSum(), buy: new DecimalSum(), sell: new DecimalSum(), unknown: new DecimalSum() },
      notional: 0,
    };
  }

  #closed({ record, volumes, notional }: OpenBar, last: Trade, timestamp: Date): TradeBar {
    this.#bar = undefined;
    record.volume = volumes.all.value;
    record.buyVolume = volumes.buy.value;
    record.sellVolume = volumes.sell.value;
    record.vwap = notional / record.volume;
    record.localTimestamp = last.localTimestamp;
    record.timestamp = timestamp;
    return record;
  }
}

function add(bar: OpenBar, { price, amount, side, timestamp }: Trade): void {
  const { record, volumes } = bar;
  record.high = Math.max(record.high, price);
  record.low = Math.min(record.low, price);
  record.close = price;
  record.closeTimestamp = timestamp;
  record.trades += 1;
  volumes.all.add(amount);
  volumes[side].add(amount);
  bar.notional += price * amount;
}
