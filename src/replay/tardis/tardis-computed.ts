import { DECIMAL_PLACES_MAX, decimalPlaces, toScaled } from '../../domain/decimal.ts';
import { TardisBook } from './tardis-book.ts';
import type { DataType } from './tardis-data-type.ts';
import {
  type BookChange,
  type BookSnapshot,
  type ComputedRecord,
  dateOf,
  type OptionalLevel,
  type SourceRecord,
  type Trade,
  type TradeBar,
} from './tardis-record.ts';

type SnapshotType = Extract<DataType, { kind: 'book_snapshot' }>;
type BarType = Extract<DataType, { kind: 'trade_bar' }>;

/** Makes records of one symbol out of those that its messages gave. */
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
 * with an interval, when the first change behind the end of the interval comes, the book as it was then, stamped with that
 * end; without one, at once. Only when a level of those that it has is another one by then.
 *
 * Grouped it is exact, which it is not there: floating point puts 0.07 into the group of 0.08, sums amounts to more digits
 * than they have, and groups that are gone stay.
 */
class BookSnapshots implements Computation {
  readonly #type: SnapshotType;
  readonly #book = new TardisBook();
  #bids: readonly OptionalLevel[];
  #asks: readonly OptionalLevel[];
  #hasChanged = false;
  #isFirstOut = false;
  #timestampMs = -1;

  constructor(type: SnapshotType) {
    this.#type = type;
    this.#bids = this.#top(true);
    this.#asks = this.#top(false);
  }

  of(record: SourceRecord): readonly ComputedRecord[] {
    if (record.type !== 'book_change') return NOTHING;
    const made: BookSnapshot[] = [];
    if (this.#isDue(record)) made.push(this.#snapshot(record));
    this.#update(record);
    if (this.#isDue(record)) {
      made.push(this.#snapshot(record));
      this.#isFirstOut = true;
    }
    return made;
  }

  #isDue({ timestamp }: BookChange): boolean {
    const { interval } = this.#type;
    if (!this.#hasChanged) return false;
    if (interval === 0 || !this.#isFirstOut) return true;
    const held = Math.floor(this.#timestampMs / interval);
    if (Math.floor(timestamp.getTime() / interval) <= held) return false;
    this.#timestampMs = (held + 1) * interval;
    return true;
  }

  #update(change: BookChange): void {
    this.#book.update(change);
    const [bidsNow, asksNow] = [this.#top(true), this.#top(false)];
    this.#hasChanged ||= !sameLevels(this.#bids, bidsNow) || !sameLevels(this.#asks, asksNow);
    this.#bids = bidsNow;
    this.#asks = asksNow;
    this.#timestampMs = change.timestamp.getTime();
  }

  #top(isBid: boolean): OptionalLevel[] {
    const { depth, grouping } = this.#type;
    return this.#book.top(isBid, depth, grouping);
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
  readonly volume = new DecimalSum();
  readonly buyVolume = new DecimalSum();
  readonly sellVolume = new DecimalSum();
  high: number;
  low: number;
  close: Trade;
  trades = 0;
  /** What was paid for the shares whose number is known. */
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
    this.volume.add(amount);
    if (side === 'buy') this.buyVolume.add(amount);
    if (side === 'sell') this.sellVolume.add(amount);
    this.notional += price * amount;
  }
}

/**
 * Bars of trades, as tardis-node computes them (src/computable/tradebar.ts): one of time is told with the first trade behind its
 * end and stamped with that end, the others with their last trade. Volumes are exact, which they are not there.
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
    const endMs = this.#endMs();
    if (this.#bar !== undefined && record.timestamp.getTime() >= endMs) {
      made.push(this.#closed(this.#bar, record, dateOf(endMs)));
    }
    this.#bar ??= new Bar(record);
    this.#bar.add(record);
    if (this.#isFull(this.#bar)) made.push(this.#closed(this.#bar, record, record.timestamp));
    return made;
  }

  /** Of the open bar of time; Infinity for any other. */
  #endMs(): number {
    const { barKind, interval } = this.#type;
    if (barKind !== 'time' || this.#bar === undefined) return Infinity;
    return (Math.floor(this.#bar.open.timestamp.getTime() / interval) + 1) * interval;
  }

  #isFull({ trades, volume }: Bar): boolean {
    const { barKind, interval } = this.#type;
    if (barKind === 'time') return false;
    return (barKind === 'tick' ? trades : volume.value) >= interval;
  }

  #closed(bar: Bar, told: Trade, timestamp: Date): TradeBar {
    const { name, interval, barKind } = this.#type;
    const { open, high, low, close, trades } = bar;
    const volume = bar.volume.value;
    this.#bar = undefined;
    return {
      type: 'trade_bar',
      symbol: told.symbol,
      exchange: told.exchange,
      name,
      interval,
      kind: barKind,
      open: open.price,
      high,
      low,
      close: close.price,
      volume,
      buyVolume: bar.buyVolume.value,
      sellVolume: bar.sellVolume.value,
      trades,
      vwap: bar.notional / volume,
      openTimestamp: open.timestamp,
      closeTimestamp: close.timestamp,
      localTimestamp: told.localTimestamp,
      timestamp,
    };
  }
}

function sameLevels(a: readonly OptionalLevel[], b: readonly OptionalLevel[]): boolean {
  return a.every((level, nth) => level.price === b[nth]!.price && level.amount === b[nth]!.amount);
}
