import { DomainError } from '../../domain/errors.ts';
import { LEVELS_MAX } from '../../domain/orderbook.ts';

export interface SnapshotType {
  readonly kind: 'book_snapshot';
  readonly name: string;
  /** The number of levels of a side. */
  readonly depth: number;
  /** Milliseconds between two snapshots; 0 for one at each change of these levels. */
  readonly interval: number;
  /** The width of a group of prices; undefined if prices are not grouped. */
  readonly grouping: number | undefined;
}

export interface BarType {
  readonly kind: 'trade_bar';
  readonly name: string;
  /** The measure of a bar's length: time, the number of trades, or the number of shares. */
  readonly barKind: 'time' | 'tick' | 'volume';
  /** The length of a bar in milliseconds, trades, or shares. */
  readonly interval: number;
}

/** A kind of record, with tardis-machine's names; `name` is the text of the request. */
export type DataType = { readonly kind: 'trade' | 'book_change' | 'book_ticker' } | SnapshotType | BarType;

/** The name of Polymarket among tardis' exchanges. */
export const EXCHANGE = 'polymarket';

const PLAIN = ['trade', 'book_change', 'book_ticker'] as const;
/** Types of tardis-machine that the venue has no records for. */
const OF_OTHER_VENUES = ['derivative_ticker', 'liquidation', 'option_summary'];
const BOOK_SNAPSHOT = /^book_snapshot_(\d{1,5})(?:_grouped(\d{1,3}(?:\.\d{1,12})?|\.\d{1,12}))?_(\d{1,9})(ms|s|m)$/;
const QUOTE = /^quote_(\d{1,9})(ms|s|m)$/;
const TRADE_BAR = /^trade_bar_(\d{1,9})(ms|s|m|ticks|vol)$/;
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, ticks: 1, vol: 1 };

/** Throws 'invalid-parameter' for any other name. */
export function dataTypeOf(name: string): DataType {
  const plain = PLAIN.find((each) => each === name);
  if (plain !== undefined) return { kind: plain };
  const [, quoteCount, quoteUnit] = QUOTE.exec(name) ?? [];
  if (quoteCount !== undefined || name === 'quote') return bookSnapshot(name, '1', undefined, quoteCount, quoteUnit);
  const [, levels, group, count, unit] = BOOK_SNAPSHOT.exec(name) ?? [];
  if (levels !== undefined) return bookSnapshot(name, levels, group, count, unit);
  const [, length, barUnit] = TRADE_BAR.exec(name) ?? [];
  if (length !== undefined) return tradeBar(name, length, barUnit!);
  if (OF_OTHER_VENUES.includes(name)) throw refusal(`data type '${name}': ${EXCHANGE} has no such records`);
  // The message does not repeat the name, which may be a key by mistake.
  throw refusal(
    `a data type is not known: use trade, book_change, book_ticker, book_snapshot_{depth}_{n}{ms|s|m}, book_snapshot_{depth}_grouped{g}_{n}{ms|s|m}, quote, quote_{n}{ms|s|m}, trade_bar_{n}{ms|s|m|ticks|vol}`,
  );
}

function bookSnapshot(name: string, levels: string, group: string | undefined, count = '0', unit = 'ms'): DataType {
  const depth = Number(levels);
  if (depth < 1 || depth > LEVELS_MAX)
    throw refusal(`data type '${name}': a book snapshot has 1 to ${LEVELS_MAX} levels a side`);
  const grouping = group === undefined ? undefined : Number(group);
  if (grouping === 0) throw refusal(`data type '${name}': prices cannot be grouped by 0`);
  return { kind: 'book_snapshot', name, depth, interval: Number(count) * UNITS[unit]!, grouping };
}

function tradeBar(name: string, count: string, unit: string): DataType {
  const interval = Number(count) * UNITS[unit]!;
  if (interval === 0) throw refusal(`data type '${name}': the length of a bar must be above 0`);
  return { kind: 'trade_bar', name, barKind: unit === 'vol' ? 'volume' : unit === 'ticks' ? 'tick' : 'time', interval };
}

export function refusal(sentence: string): DomainError {
  return new DomainError('invalid-parameter', sentence);
}
