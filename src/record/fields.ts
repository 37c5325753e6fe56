import { parseCoin, RESERVED_NAMES } from '../domain/coin.ts';
import { isExactDecimal, parseDecimal, parseFigure } from '../domain/decimal.ts';
import { DomainError } from '../domain/errors.ts';
import { isInstant, parseInstant, parsePlainInteger } from '../domain/instant.ts';
import { LEVELS_MAX, type OrderBook } from '../domain/orderbook.ts';
import { type Outcome, parseOutcome } from '../domain/outcome.ts';

/** A parsed JSON object whose fields are not checked yet. */
export type Fields = Readonly<Record<string, unknown>>;

const CONDITION_ID = /^0x[0-9a-fA-F]{1,64}$/;
const NUMERIC = /^(?:0|[1-9][0-9]{0,99})$/;
const TEXT_CHARS_MAX = 200;
/** The beginning of a CSV cell that spreadsheets run as a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** The error for a record that cannot be stored; `reason` is one clause without file and line. */
export function rejected(reason: string): DomainError {
  return new DomainError('rejected-record', reason);
}

/** Returns `error` if it is 'rejected-record', throws it otherwise. */
export function refusal(error: unknown): DomainError {
  if (error instanceof DomainError && error.kind === 'rejected-record') return error;
  throw error;
}

/** The result of `read`, or its 'rejected-record' error: for records that are counted before they are checked. */
export function attempt<T>(read: () => T): T | DomainError {
  try {
    return read();
  } catch (error) {
    return refusal(error);
  }
}

/** The result of an attempt; throws its error. */
export function attempted<T>(result: T | DomainError): T {
  if (result instanceof DomainError) throw result;
  return result;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members of an object as a list, as maps of Parquet are read. */
export function pairsOf(fields: Fields): readonly { readonly key: string; readonly value: unknown }[] {
  return Object.entries(fields).map(([key, value]) => ({ key, value }));
}

/** The value of a JSON text; undefined when the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: the caller decides.
    return undefined;
  }
}

/** The value of a field; undefined when it is null or missing, which both mean unknown. */
export function stated(fields: Fields, name: string): unknown {
  return fields[name] ?? undefined;
}

/** The field as `read` returns it; undefined when it is not stated. */
export function optional<T>(fields: Fields, name: string, read: (fields: Fields, name: string) => T): T | undefined {
  return stated(fields, name) === undefined ? undefined : read(fields, name);
}

export function booleanField(fields: Fields, name: string): boolean {
  const value = fields[name];
  if (typeof value !== 'boolean') throw rejected(`${name} is neither true nor false`);
  return value;
}

export function textField(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string' || value === '') throw rejected(`${name} is missing or not a text`);
  if (value.length > TEXT_CHARS_MAX) throw rejected(`${name} is longer than ${TEXT_CHARS_MAX} characters`);
  if (FORMULA.test(value)) {
    throw rejected(
      `${name} begins with =, +, -, @, a tab or a carriage return, which spreadsheets run: begin it otherwise`,
    );
  }
  // UTF-8 cannot encode half of a pair: it would be stored as another character.
  if (!value.isWellFormed()) throw rejected(`${name} has half of a surrogate pair`);
  return value;
}

export function conditionIdField(fields: Fields, name = 'conditionId'): string {
  const value = fields[name];
  if (typeof value !== 'string' || !CONDITION_ID.test(value)) {
    throw rejected(`${name} is missing or not 0x and up to 64 hex digits`);
  }
  return value.toLowerCase();
}

/** The code of a coin from a field with its code or name, in any case. */
export function coinField(fields: Fields, name = 'symbol'): string {
  const value = fields[name];
  const word = typeof value === 'string' ? value : '';
  const coin = parseCoin(word);
  if (coin !== undefined) return coin;
  const reserved = word.toLowerCase();
  if (RESERVED_NAMES.has(reserved))
    throw rejected(`${name} ${reserved} is a path of the API: a coin needs another name`);
  throw rejected(`${name} is not a coin code of 1 to 16 letters and digits`);
}

/** A field with a word that `parse` knows; the error for any other is "NAME is PROBLEM". */
export function wordField<T>(fields: Fields, name: string, parse: (text: string) => T | undefined, problem: string): T {
  const value = fields[name];
  const word = typeof value === 'string' ? parse(value) : undefined;
  if (word === undefined) throw rejected(`${name} is ${problem}`);
  return word;
}

export function outcomeField(fields: Fields): Outcome {
  return wordField(fields, 'outcome', parseOutcome, 'neither "up" nor "down"');
}

/**
 * ISO 8601 with a zone, or integer Unix milliseconds; between 1970 and 9999. Refuses integers that are seconds from 2001 to
 * 2286, or milliseconds of early 1970: a wrong unit would be stored for good.
 */
export function instantField(fields: Fields, name: string): number {
  const value = fields[name];
  if ((typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value))) && isInSeconds(Number(value))) {
    throw rejected(`${name} ${value} looks like Unix seconds: write milliseconds`);
  }
  const instantMs = typeof value === 'string' ? parseInstant(value) : typeof value === 'number' ? value : Number.NaN;
  if (instantMs === undefined || !isInstant(instantMs)) {
    throw rejected(`${name} is missing or not a time (ISO 8601 with a zone, or integer Unix milliseconds)`);
  }
  return instantMs;
}

function isInSeconds(value: number): boolean {
  return value >= 1e9 && value < 1e10;
}

/** An id of decimal digits, as a string. */
export function numericField(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value === 'string' && NUMERIC.test(value)) return value;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return String(value);
  throw rejected(`${name} is not a string of decimal digits`);
}

/** A record id: decimal digits, 1 to 2^53-1; undefined when the recording has none. */
export function recordIdField(fields: Fields): number | undefined {
  const value = stated(fields, 'id');
  if (value === undefined) return undefined;
  const id = typeof value === 'string' ? parsePlainInteger(value) : value;
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1) throw rejected('id is not between 1 and 2^53-1');
  return id;
}

/** A JSON number or a decimal string; refused unless a double has its exact value. */
function decimal(value: unknown, name: string): number {
  if (typeof value === 'number' && isExactDecimal(value)) return value;
  const parsed = typeof value === 'string' ? parseDecimal(value) : undefined;
  if (parsed !== undefined) return parsed;
  if (typeof value === 'number' || typeof value === 'string') {
    throw rejected(`${name} ${shown(value)} is not a decimal of at most 12 decimals and 15 significant digits`);
  }
  throw rejected(`${name} is missing or not a number`);
}

export function nonNegative(value: unknown, name: string): number {
  const number = decimal(value, name);
  if (number < 0) throw rejected(`${name} ${number} is negative`);
  return number;
}

/**
 * A number that its publisher computed in floating point (a reference price, a volume): accepted when a double keeps it
 * unchanged, see parseFigure. The JSON parser has already checked JSON numbers.
 */
export function figure(value: unknown, name: string): number {
  const number = typeof value === 'string' ? parseFigure(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) {
    throw rejected(`${name} is missing, not a number, or has more digits than can be kept exactly`);
  }
  if (number < 0) throw rejected(`${name} ${number} is negative`);
  return number;
}

/** A price that its publisher computed in floating point, see `figure`. */
export function figureWithinOne(value: unknown, name: string): number {
  const price = figure(value, name);
  if (price > 1) throw rejected(`${name} ${price} lies outside 0…1`);
  return price;
}

export function priceWithinOne(value: unknown, name: string): number {
  const price = decimal(value, name);
  if (price < 0 || price > 1) throw rejected(`${name} ${price} lies outside 0…1`);
  return price;
}

/** Both sides of a book from arrays of `{price, size}` in any order; levels of size 0 are dropped and counted. */
export function bookFields(fields: Fields): { book: OrderBook; droppedLevels: number } {
  const bids = side(fields.bids, 'bids', -1);
  const asks = side(fields.asks, 'asks', 1);
  return {
    book: { bidPrices: bids.prices, bidSizes: bids.sizes, askPrices: asks.prices, askSizes: asks.sizes },
    droppedLevels: bids.dropped + asks.dropped,
  };
}

/** `away`: the direction from the best price to the others, -1 for bids and 1 for asks. */
function side(levels: unknown, name: string, away: -1 | 1) {
  if (!Array.isArray(levels)) throw rejected(`${name} is missing or not an array`);
  if (levels.length > LEVELS_MAX) throw rejected(`${name} has more than ${LEVELS_MAX} levels`);
  const prices: number[] = [];
  const sizes: number[] = [];
  let isBestFirst = true;
  let isWorstFirst = true;
  let dropped = 0;
  for (const level of levels) {
    if (!isFields(level)) throw rejected(`${name} has a level that is not an object with price and size`);
    const price = priceWithinOne(level.price, `a price in ${name}`);
    const size = nonNegative(level.size, `a size in ${name}`);
    if (size === 0) {
      dropped += 1;
      continue;
    }
    const before = prices.at(-1);
    if (before !== undefined) {
      if ((price - before) * away <= 0) isBestFirst = false;
      if ((price - before) * away >= 0) isWorstFirst = false;
    }
    prices.push(price);
    sizes.push(size);
  }
  if (isBestFirst) return { prices, sizes, dropped };
  if (isWorstFirst) return { prices: prices.reverse(), sizes: sizes.reverse(), dropped };
  return { ...sorted(prices, sizes, name, away), dropped };
}

function sorted(prices: number[], sizes: number[], name: string, away: -1 | 1) {
  const order = prices.map((_, index) => index).sort((a, b) => (prices[a]! - prices[b]!) * away);
  for (let i = 1; i < order.length; i += 1) {
    const price = prices[order[i]!]!;
    if (price === prices[order[i - 1]!]) throw rejected(`${name} has the price ${price} twice`);
  }
  return { prices: order.map((index) => prices[index]!), sizes: order.map((index) => sizes[index]!) };
}

function shown(value: string | number): string {
  const text = String(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
