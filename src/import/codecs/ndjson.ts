import { DomainError } from '../../domain/errors.ts';
import type { MarketStatement } from '../../domain/market-statement.ts';
import { parseOutcome } from '../../domain/outcome.ts';
import { parsePriceKind } from '../../domain/price.ts';
import type { Quote } from '../../domain/quote.ts';
import { parseTimeframe, TIMEFRAMES } from '../../domain/timeframe.ts';
import { ownDetails } from '../../record/detail-fields.ts';
import { parseJsonExactly } from '../../record/exact-json.ts';
import {
  attempt,
  attempted,
  bookFields,
  booleanField,
  coinField,
  conditionIdField,
  type Fields,
  figure,
  figureWithinOne,
  instantField,
  isFields,
  nonNegative,
  numericField,
  optional,
  outcomeField,
  parsedJson,
  priceWithinOne,
  recordIdField,
  rejected,
  stated,
  textField,
  wordField,
} from '../../record/fields.ts';
import { RECORD_TYPES, type RecordedItem } from '../../record/record.ts';
import { OWN_TRADE_NAMES, tradeFields } from '../../record/trade-fields.ts';
import { tokensByLabel } from '../../venue/metadata-fields.ts';
import { slugField } from '../../venue/slug.ts';
import type { Codec } from '../codec.ts';
import { BookScanner } from '../parse/book-scanner.ts';
import { visitLines } from '../parse/lines.ts';
import type { RecordSink } from '../record-sink.ts';

/** The kind of a record without a known type. */
const UNKNOWN_KIND = 'unknown';

/**
 * bookreel's own format as lines of JSON: one record per line, with its `type` and the fields of the API. Also recognises every
 * pipe, and a file named `.ndjson` unless it has objects of another recorder, so that its bad lines are reported.
 */
export function bookreelNdjson(): Codec {
  return {
    format: 'bookreel NDJSON',
    input: "bookreel's own records as NDJSON (see [below](#bookreels-own-records))",
    becomes: 'Every type of record, with the ids that they had.',
    lines: 'json',
    recognises: ({ name, lines, piped }) =>
      piped || lines.some(isRecord) || (/\.ndjson$/i.test(name) && !lines.some(isOtherObject)),
    holdsMarkets: ({ head }) => Buffer.from(head.buffer, head.byteOffset, head.length).includes('"market"'),
    read: async (file, sink) => {
      const scanner = BookScanner.ofSnapshots();
      await visitLines(file.bytes(), (line) => {
        const snapshot = scanner.scan(line);
        if (snapshot === undefined) takeRecord(line.number, () => parseJsonExactly(line.text()), sink);
        else sink.take(snapshot.type, line.number, () => [snapshot]);
      });
    },
  };
}

/** Returns true for a whole record: other recorders have objects with a `type` of the same name. */
function isRecord(line: string): boolean {
  return !(attempt(() => parseRecord(parseJsonExactly(line))) instanceof DomainError);
}

/** Returns true for an object that is not a record of ours, not even an invalid one: it lacks the fields that name a market or coin. */
function isOtherObject(line: string): boolean {
  const value = parsedJson(line);
  return isFields(value) && !('conditionId' in value && kindOf(value) !== UNKNOWN_KIND) && !isCoinPrice(value);
}

function isCoinPrice(value: Fields): boolean {
  return value.type === 'coinPrice' && 'symbol' in value;
}

/** Adds the record that `read` returns. `read` may throw 'rejected-record'. */
export function takeRecord(number: number, read: () => unknown, sink: RecordSink): void {
  const value = attempt(read);
  sink.take(kindOf(value), number, () => [parseRecord(attempted(value))]);
}

function kindOf(value: unknown): string {
  const type = isFields(value) ? value.type : undefined;
  return RECORD_TYPES.find((known) => known === type) ?? UNKNOWN_KIND;
}

/** Throws DomainError 'rejected-record', with the reason, if the fields are not a valid record. */
export function parseRecord(value: unknown): RecordedItem {
  if (!isFields(value)) throw rejected('the record is not an object');
  switch (value.type) {
    case 'market':
      return { type: 'market', statement: marketStatement(value) };
    case 'snapshot':
      return {
        type: 'snapshot',
        ...outcomeFields(value),
        ...bookFields(value),
        mirrored: optional(value, 'mirrored', booleanField) ?? false,
      };
    case 'quote':
      return { type: 'quote', ...outcomeFields(value), quote: quoteFields(value) };
    case 'price':
      return { type: 'price', ...outcomeFields(value), ...priceFields(value) };
    case 'lastTradePrice':
      return { type: 'lastTradePrice', ...outcomeFields(value), price: priceWithinOne(value.price, 'price') };
    case 'coinPrice':
      return {
        type: 'coinPrice',
        symbol: coinField(value),
        source: textField(value, 'source'),
        timestampMs: instantField(value, 'timestamp'),
        receivedMs: optional(value, 'receivedAt', instantField),
        id: recordIdField(value),
        price: figure(value.price, 'price'),
        trade: tradeFields(value, OWN_TRADE_NAMES),
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
    receivedMs: optional(fields, 'receivedAt', instantField),
    id: recordIdField(fields),
    assetId: optional(fields, 'assetId', numericField),
  };
}

function quoteFields(fields: Fields): Quote {
  const [bidPrice, bidSize] = quoteSide(fields, 'bid');
  const [askPrice, askSize] = quoteSide(fields, 'ask');
  return { bidPrice, bidSize, askPrice, askSize };
}

function quoteSide(fields: Fields, side: 'bid' | 'ask'): [price: number | undefined, size: number | undefined] {
  const price = stated(fields, `${side}Price`);
  const size = stated(fields, `${side}Size`);
  if (price === undefined && size === undefined) return [undefined, undefined];
  if (price === undefined) throw rejected(`${side}Size is stated without ${side}Price`);
  // A price without a size: it is unknown.
  if (size === undefined) return [priceWithinOne(price, `${side}Price`), undefined];
  const sizeValue = nonNegative(size, `${side}Size`);
  if (sizeValue === 0) throw rejected(`${side}Size is 0: write null for an empty side`);
  return [priceWithinOne(price, `${side}Price`), sizeValue];
}

function priceFields(fields: Fields) {
  const kind = wordField(fields, 'kind', parsePriceKind, 'neither "mid" nor "trade"');
  // The venue computes mean prices of trades in floating point.
  const price = kind === 'trade' ? figureWithinOne(fields.price, 'price') : priceWithinOne(fields.price, 'price');
  return kind === 'trade' ? { kind, price, trade: tradeFields(fields, OWN_TRADE_NAMES) } : { kind, price };
}

function gapFields(fields: Fields) {
  const fromMs = instantField(fields, 'from');
  const toMs = instantField(fields, 'to');
  if (fromMs > toMs) throw rejected('from is after to');
  return { fromMs, toMs, reason: textField(fields, 'reason') };
}

function marketStatement(fields: Fields): MarketStatement {
  const timeframe = wordField(fields, 'timeframe', parseTimeframe, `not one of ${TIMEFRAMES.join(', ')}`);
  const slug = slugField(fields);
  const startMs = instantField(fields, 'startTime');
  const endMs = instantField(fields, 'endTime');
  if (startMs >= endMs) throw rejected('startTime is not before endTime');
  return {
    conditionId: conditionIdField(fields),
    slug,
    symbol: coinField(fields),
    timeframe,
    clobTokenIds: tokensByLabel(fields.outcomes, fields.clobTokenIds, 'clobTokenIds'),
    startMs,
    endMs,
    marketId: optional(fields, 'marketId', numericField),
    eventId: optional(fields, 'eventId', numericField),
    active: optional(fields, 'active', booleanField),
    closed: optional(fields, 'closed', booleanField),
    winner: optional(fields, 'winner', winnerField),
    volume: optional(fields, 'volume', figureField),
    liquidity: optional(fields, 'liquidity', figureField),
    resolvedMs: optional(fields, 'resolvedAt', instantField),
    priceStart: optional(fields, 'priceStart', figureField),
    priceEnd: optional(fields, 'priceEnd', figureField),
    createdMs: optional(fields, 'createdAt', instantField),
    updatedMs: optional(fields, 'updatedAt', instantField),
    details: ownDetails(fields),
  };
}

function winnerField(fields: Fields, name: string) {
  return wordField(fields, name, parseOutcome, 'neither "up" nor "down" nor null');
}

function figureField(fields: Fields, name: string): number {
  return figure(fields[name], name);
}
