import { DomainError } from '../../domain/errors.ts';
import { OUTCOMES, parseOutcome } from '../../domain/outcome.ts';
import { BINANCE, CHAINLINK, COINBASE } from '../../domain/publisher.ts';
import { standInConditionId } from '../../domain/stand-in-id.ts';
import { parseJsonFigures } from '../../record/exact-json.ts';
import {
  attempt,
  attempted,
  bookFields,
  type Fields,
  instantField,
  isFields,
  parsedJson,
  rejected,
  stated,
  wordField,
} from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { levelObjects } from '../../venue/levels.ts';
import { timeField, UNKNOWN_TOKENS } from '../../venue/metadata-fields.ts';
import { slugField, windowOfSlug } from '../../venue/slug.ts';
import type { Codec } from '../codec.ts';
import type { KnownMarket, KnownMarkets } from '../known-markets.ts';
import { type Line, visitLines } from '../parse/lines.ts';
import { coinPrice, usdPrice } from '../parse/spot-price.ts';
import type { RecordSink } from '../record-sink.ts';

const TYPES = ['slot', 'orderbook_snapshot', 'ticker', 'market_price', 'resolution', 'remaining'] as const;
type Type = (typeof TYPES)[number];
const UNKNOWN_KIND = 'unknown';

const TICKER_SOURCES = [
  ['assetPrice', CHAINLINK],
  ['binancePrice', BINANCE],
  ['coinbasePrice', COINBASE],
] as const;

/**
 * JSON lines of a trading program that sampled once per second, with `type` and `ts` (Unix ms). Books have the best five levels per
 * side and are stored as snapshots. A line belongs to the market of the `slot` line before it, or else to the market whose slug is
 * the file's name up to the first point or underscore.
 */
export function oneSecondSnapshots(): Codec {
  return {
    format: 'one-second snapshots',
    input: 'One snapshot a second: the best five levels of each side, with ticker and resolution',
    becomes: 'Snapshots, coin prices, winners.',
    recognises: ({ lines }) => lines.some(isLine),
    read: async (file, sink) => {
      const latest = { slug: file.name.replace(/[._].*$/, '') };
      await visitLines(file.bytes(), (line) => takeLine(line, latest, sink));
    },
  };
}

function isLine(text: string): boolean {
  const value = parsedJson(text);
  return isFields(value) && typeOf(value) !== undefined && 'ts' in value;
}

function typeOf({ type }: Fields): Type | undefined {
  return TYPES.find((candidate) => candidate === type);
}

/** The slug of the market of the latest line; before the first `slot` line the slug in the file's name. */
interface Latest {
  slug: string;
}

function takeLine(line: Line, latest: Latest, sink: RecordSink): void {
  const value = attempt(() => parseJsonFigures(line.text()));
  const fields: Fields = isFields(value) && !(value instanceof DomainError) ? value : {};
  const type = typeOf(fields);
  const emptyKind = type === undefined ? undefined : kindWithoutRecord(type, fields);
  if (emptyKind !== undefined) {
    sink.ignore(emptyKind);
    return;
  }
  sink.take(type ?? UNKNOWN_KIND, line.number, () => {
    if (!isFields(attempted(value))) throw rejected('the line is not a JSON object');
    if (type === undefined) throw rejected(`type is not one of ${TYPES.join(', ')}`);
    return itemsOf(type, fields, latest, sink.markets);
  });
}

function itemsOf(type: Type, fields: Fields, latest: Latest, markets: KnownMarkets): readonly RecordedItem[] {
  const atMs = instantField(fields, 'ts');
  const slug = type === 'slot' ? slugField(fields) : latest.slug;
  const endMs = timeField(fields, 'endTime');
  const market = marketOf(slug, endMs === undefined ? atMs : endMs - 1, markets);
  latest.slug = slug;
  if (type === 'ticker') return pricesOf(fields, market.symbol, atMs);
  const statement = { ...market, ...settlementOf(type, fields, market, atMs) };
  if (type !== 'orderbook_snapshot') return [{ type: 'market', statement }];
  const books = booksOf(fields, market, atMs);
  return markets.byConditionId(market.conditionId) === undefined ? [{ type: 'market', statement }, ...books] : books;
}

/** The kind that a line without records is counted as; undefined for a line that must have records. */
function kindWithoutRecord(type: Type, fields: Fields): string | undefined {
  const areNull = (...names: string[]) => names.every((name) => fields[name] === null);
  if (type === 'remaining') return type;
  if (type === 'slot' && fields.action === 'end') return 'slot end';
  if (type === 'orderbook_snapshot' && areNull(...OUTCOMES)) return 'orderbook_snapshot without books';
  if (type === 'ticker' && areNull(...TICKER_SOURCES.map(([name]) => name))) return 'ticker without prices';
  return undefined;
}

/** The market of a slug. An unknown market gets a stand-in conditionId and no asset ids. */
function marketOf(slug: string, nearMs: number, markets: KnownMarkets): KnownMarket {
  const window = windowOfSlug(slug, nearMs);
  const known = markets.bySlug(slug, window?.startMs);
  if (known !== undefined) return known;
  if (window === undefined) {
    throw rejected('the market is unknown: there is no slot line before, and the name of the file is not a slug');
  }
  return { conditionId: standInConditionId(slug, window.startMs), slug, ...window, clobTokenIds: UNKNOWN_TOKENS };
}

function settlementOf(type: Type, fields: Fields, market: KnownMarket, atMs: number) {
  const price = (name: string) => (stated(fields, name) === undefined ? undefined : usdPrice(fields[name], name));
  if (type === 'market_price') {
    const priceStart = price('priceToBeat') ?? price('openPrice');
    if (priceStart === undefined) throw rejected('priceToBeat and openPrice are both missing');
    return { priceStart };
  }
  if (type !== 'resolution') return {};
  const winner = wordField(fields, 'direction', parseOutcome, 'neither "up" nor "down"');
  if (atMs < market.endMs) throw rejected('the resolution is before the end of the window');
  const prices = { priceStart: price('openPrice'), priceEnd: price('closePrice') };
  return { ...prices, winner, closed: true, active: false, resolvedMs: atMs };
}

function pricesOf(fields: Fields, symbol: string, atMs: number): RecordedItem[] {
  const items = TICKER_SOURCES.filter(([name]) => stated(fields, name) !== undefined).map(([name, source]) =>
    coinPrice(symbol, source, atMs, usdPrice(fields[name], name)),
  );
  if (items.length === 0) throw rejected(`${TICKER_SOURCES.map(([name]) => name).join(', ')} are all missing`);
  return items;
}

function booksOf(fields: Fields, { conditionId }: KnownMarket, timestampMs: number): RecordedItem[] {
  const items = OUTCOMES.flatMap((outcome): RecordedItem[] => {
    const book = stated(fields, outcome);
    if (book === undefined) return [];
    if (!isFields(book)) throw rejected(`${outcome} is not an object with bids and asks`);
    const sides = bookFields({ bids: levelObjects(book.bids, 'bids'), asks: levelObjects(book.asks, 'asks') });
    return [{ type: 'snapshot', conditionId, outcome, timestampMs, id: undefined, assetId: undefined, ...sides }];
  });
  if (items.length === 0) throw rejected('up and down are both missing');
  return items;
}
