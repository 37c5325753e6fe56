import { parseDecimal } from '../domain/decimal.ts';
import type { MarketStatement } from '../domain/market-statement.ts';
import { parseOutcome } from '../domain/outcome.ts';
import { parsePriceKind } from '../domain/price.ts';
import type { Quote } from '../domain/quote.ts';
import { parseTimeframe, TIMEFRAMES } from '../domain/timeframe.ts';
import {
  bookFields,
  coinField,
  conditionIdField,
  type Fields,
  instantField,
  isFields,
  nonNegative,
  numericField,
  outcomeField,
  priceWithinOne,
  recordIdField,
  rejected,
  stated,
  textField,
  wordField,
} from './fields.ts';
import type { RecordedItem } from './record.ts';

/** bookreel's own recording format: one JSON object a line, `type` says what it is, the fields are those of the API. */
const RECORD_TYPES = ['market', 'snapshot', 'quote', 'price', 'coinPrice', 'gap'] as const;

const OUTCOMES_WANTED = 'not up and down';
const SLUG = /^[A-Za-z0-9._-]{1,200}$/;
/** A number in a place where JSON has one that is long enough, or written so, that a double may not be what it says. */
const PERHAPS_INEXACT = /[:,[\s]-?(?:\d[\d.]{15,}|\d[\d.]*[eE])/;

/** Throws DomainError 'rejected-record' with the reason when the line is not a record that can be kept. */
export function parseRecordLine(line: string): RecordedItem {
  return parseRecord(parseJsonExactly(line));
}

/** Whether `line` is a record of this format, good or not: what a file is recognised by. */
export function looksLikeRecord(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return isFields(value) && RECORD_TYPES.some((type) => type === value.type);
  } catch {
    // Not JSON is an answer here, not an error.
    return false;
  }
}

function parseRecord(value: unknown): RecordedItem {
  if (!isFields(value)) throw rejected('the line is not a JSON object');
  switch (value.type) {
    case 'market':
      return { type: 'market', statement: marketStatement(value) };
    case 'snapshot':
      return { type: 'snapshot', ...outcomeFields(value), ...bookFields(value) };
    case 'quote':
      return { type: 'quote', ...outcomeFields(value), quote: quoteFields(value) };
    case 'price':
      return { type: 'price', ...outcomeFields(value), ...priceFields(value) };
    case 'coinPrice':
      return {
        type: 'coinPrice',
        symbol: coinField(value),
        source: textField(value, 'source'),
        timestampMs: instantField(value, 'timestamp'),
        id: recordIdField(value),
        price: nonNegative(value.price, 'price'),
      };
    case 'gap':
      return { type: 'gap', conditionId: conditionIdField(value), gap: gapFields(value) };
    default:
      throw rejected(`type is not one of ${RECORD_TYPES.join(', ')}`);
  }
}

function outcomeFields(fields: Fields) {
  return {
    conditionId: conditionIdField(fields),
    outcome: outcomeField(fields),
    timestampMs: instantField(fields, 'timestamp'),
    id: recordIdField(fields),
    assetId: stated(fields, 'assetId') === undefined ? undefined : numericField(fields, 'assetId'),
  };
}

function quoteFields(fields: Fields): Quote {
  const [bidPrice, bidSize] = quoteSide(fields, 'bid');
  const [askPrice, askSize] = quoteSide(fields, 'ask');
  return { bidPrice, bidSize, askPrice, askSize };
}

function quoteSide(fields: Fields, side: 'bid' | 'ask'): [number, number] | [undefined, undefined] {
  const price = stated(fields, `${side}Price`);
  const size = stated(fields, `${side}Size`);
  if (price === undefined && size === undefined) return [undefined, undefined];
  if (price === undefined || size === undefined) throw rejected(`${side}Price and ${side}Size must come together`);
  const sizeValue = nonNegative(size, `${side}Size`);
  if (sizeValue === 0) throw rejected(`${side}Size is 0: a missing side is null`);
  return [priceWithinOne(price, `${side}Price`), sizeValue];
}

function priceFields(fields: Fields) {
  const kind = wordField(fields, 'kind', parsePriceKind, 'neither "mid" nor "trade"');
  return { kind, price: priceWithinOne(fields.price, 'price') };
}

function gapFields(fields: Fields) {
  const fromMs = instantField(fields, 'from');
  const toMs = instantField(fields, 'to');
  if (fromMs > toMs) throw rejected('from lies behind to');
  return { fromMs, toMs, reason: textField(fields, 'reason') };
}

function marketStatement(fields: Fields): MarketStatement {
  const timeframe = wordField(fields, 'timeframe', parseTimeframe, `not one of ${TIMEFRAMES.join(', ')}`);
  const slug = textField(fields, 'slug');
  if (!SLUG.test(slug) || /^0x[0-9a-f]+$/i.test(slug)) {
    throw rejected('slug is not made of letters, digits, ".", "_" and "-", or looks like a conditionId');
  }
  const startMs = instantField(fields, 'startTime');
  const endMs = instantField(fields, 'endTime');
  if (startMs >= endMs) throw rejected('startTime is not before endTime');
  return {
    conditionId: conditionIdField(fields),
    slug,
    symbol: coinField(fields),
    timeframe,
    clobTokenIds: tokenIds(fields),
    startMs,
    endMs,
    marketId: optional(fields, 'marketId', numericField),
    eventId: optional(fields, 'eventId', numericField),
    active: optional(fields, 'active', booleanField),
    closed: optional(fields, 'closed', booleanField),
    winner: optional(fields, 'winner', winnerField),
    volume: optional(fields, 'volume', nonNegativeField),
    liquidity: optional(fields, 'liquidity', nonNegativeField),
    resolvedMs: optional(fields, 'resolvedAt', instantField),
    priceStart: optional(fields, 'priceStart', nonNegativeField),
    priceEnd: optional(fields, 'priceEnd', nonNegativeField),
    createdMs: optional(fields, 'createdAt', instantField),
    updatedMs: optional(fields, 'updatedAt', instantField),
  };
}

/** Asset ids in the order up, down, whichever order the recording's `outcomes` have. */
function tokenIds(fields: Fields): readonly [string, string] {
  const outcomes = fields.outcomes;
  const tokens = fields.clobTokenIds;
  if (!Array.isArray(outcomes) || outcomes.length !== 2) throw rejected('outcomes is not an array of two labels');
  if (!Array.isArray(tokens) || tokens.length !== 2) throw rejected('clobTokenIds is not an array of two asset ids');
  const [first, second] = outcomes.map((outcome) =>
    wordField({ outcomes: outcome }, 'outcomes', parseOutcome, OUTCOMES_WANTED),
  );
  if (first === second) throw rejected(`outcomes is ${OUTCOMES_WANTED}`);
  const ids = [0, 1].map((index) => numericField({ clobTokenIds: tokens[index] }, 'clobTokenIds'));
  if (ids[0] === ids[1] && ids[0] !== '0') throw rejected('clobTokenIds names one asset twice');
  return first === 'up' ? [ids[0]!, ids[1]!] : [ids[1]!, ids[0]!];
}

function optional<T>(fields: Fields, name: string, read: (fields: Fields, name: string) => T): T | undefined {
  return stated(fields, name) === undefined ? undefined : read(fields, name);
}

function booleanField(fields: Fields, name: string): boolean {
  const value = fields[name];
  if (typeof value !== 'boolean') throw rejected(`${name} is neither true nor false`);
  return value;
}

function winnerField(fields: Fields, name: string) {
  return wordField(fields, name, parseOutcome, 'neither "up" nor "down" nor null');
}

function nonNegativeField(fields: Fields, name: string): number {
  return nonNegative(fields[name], name);
}

/** JSON whose numbers are what they say: one that a double would round is refused, not rounded. */
export function parseJsonExactly(text: string): unknown {
  try {
    return PERHAPS_INEXACT.test(text) ? JSON.parse(text, refuseInexact) : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw rejected('the line is not JSON');
    throw error;
  }
}

function refuseInexact(key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number') return value;
  const source = context?.source ?? '';
  // Ids and times are integers of up to 16 digits; whether a size may have so many is asked where sizes are read.
  const exact = /^\d+$/.test(source) && Number.isSafeInteger(value) ? value : parseDecimal(source);
  if (exact === undefined) {
    throw rejected(`${key} ${source.slice(0, 40)} is not a decimal of at most 12 decimals and 15 significant digits`);
  }
  return exact;
}
