import { DomainError } from '../../domain/errors.ts';
import { complement } from '../../domain/mirrored-book.ts';
import { OUTCOMES, type Outcome } from '../../domain/outcome.ts';
import { midOf } from '../../domain/quote.ts';
import { TRADE_SIDES } from '../../domain/trade.ts';
import { parseJsonTexts } from '../../record/exact-json.ts';
import {
  attempt,
  bookFields,
  type Fields,
  figureWithinOne,
  nonNegative,
  priceWithinOne,
  rejected,
  textField,
} from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { tradeFields } from '../../record/trade-fields.ts';
import { coinOf, UNKNOWN_TOKEN } from '../../venue/metadata-fields.ts';
import type { KnownMarket } from '../known-markets.ts';
import { jsonOfPython } from '../parse/python-literal.ts';
import { coinPrice, usdPrice } from '../parse/spot-price.ts';
import { UnknownName } from '../unknown-name.ts';
import { DistinctTrades } from './distinct-trades.ts';
import type { Level, LevelRow } from './level-groups.ts';
import { type MarketNames, type MarketReader, marketReader, type RowMarket } from './mapped-market.ts';
import { sideReader } from './mapped-side.ts';
import { isRelative, type Remark, type TimeReader, timeReader } from './mapped-time.ts';
import { fieldReader, type MappedRow, rowTest, textOf, type ValueReader, valueReader } from './mapped-value.ts';
import { wordReader } from './mapped-words.ts';
import type { MappedFigure, MappedSection, Mapping } from './mapping-schema.ts';
import { RecentRecords } from './recent-records.ts';

/** Makes records of rows. It remembers what earlier rows stated, so every import needs one of its own. */
export interface RecordMaker {
  /**
   * The records of a row; undefined if the row states none, and an empty list if everything that it states is known. Throws
   * 'rejected-record' if its market cannot be read.
   */
  records(row: MappedRow, number: number, markets: MarketNames): RowRecords | undefined;
}

export interface RowRecords {
  readonly records: readonly RecordedItem[];
  /** Levels, which are parts of books. */
  readonly levels: readonly LevelRow[];
  /** The first error of a record of the row that cannot be stored; undefined if there is none. */
  readonly refused: DomainError | undefined;
}

type OutcomeItem = Extract<RecordedItem, { outcome: Outcome }> | LevelRow;
/** The fields of a record of an outcome, without its market, outcome and time. */
type Body<Item = OutcomeItem> = Item extends OutcomeItem
  ? Omit<Item, 'conditionId' | 'outcome' | 'timestampMs' | 'id' | 'assetId'>
  : never;
type BodyReader = (row: MappedRow) => Body | undefined;

interface Section {
  readonly rows: (row: MappedRow) => readonly MappedRow[];
  readonly time: TimeReader;
  /** True if the time is counted from the window of the market. */
  readonly isRelative: boolean;
  /** Reads the record of an outcome; set unless `coinPrice` is. */
  readonly body?: BodyReader;
  readonly outcome?: ((row: MappedRow) => Outcome | undefined) | undefined;
  readonly coinPrice?: (row: MappedRow, readTime: () => number) => RecordedItem | undefined;
}

/** A record whose market is not read yet. */
interface Found {
  readonly outcome: Outcome | undefined;
  /** Its time; undefined if it is counted from the window of the market. */
  readonly timestampMs: number | undefined;
  readonly timeIn: (market: KnownMarket) => number;
  readonly body: Body;
}

/** Facts about a market that make a row worth reading without a record. */
const FACTS = [
  'winner',
  'price_start',
  'price_end',
  'volume',
  'liquidity',
  'market_id',
  'event_id',
  'resolved',
] as const;

/** `remark` is told what is doubtful. */
export function recordMaker(mapping: Mapping, remark?: Remark): RecordMaker {
  const { market, rows = {}, time, received } = mapping;
  const sections = mapping.sections.map((section) => compiled(section, mapping, remark));
  // Markets and arrivals are not written like times that are counted from a window.
  const usual = time === undefined || isRelative(time, undefined) ? undefined : time;
  const readTime = usual === undefined ? undefined : timeReader(usual, 'time', undefined);
  const readArrival = received === undefined ? undefined : timeReader(received, 'received', usual);
  const readOutcome = mapping.outcome === undefined ? undefined : wordReader(mapping.outcome, OUTCOMES);
  const markets = market === undefined ? undefined : marketReader(market, usual);
  const statesMarkets =
    market !== undefined && (sections.length === 0 || FACTS.some((fact) => market[fact] !== undefined));
  const recent = rows.repeats === 'keep' ? undefined : new RecentRecords();
  const distinct = new DistinctTrades();
  const numbered = (record: RecordedItem, { file }: MappedRow): RecordedItem =>
    record.type === 'price' && record.occurrence !== undefined
      ? { ...record, occurrence: distinct.next(record, file) }
      : record;
  return {
    records: (given, number, known) => {
      const row = withJson(given, rows.json ?? []);
      const outcome = readOutcome?.(row);
      const found: Found[] = [];
      const coinPrices: RecordedItem[] = [];
      let refused: DomainError | undefined;
      const unlessRefused = <T>(work: () => T): T | undefined => {
        const result = attempt(work);
        if (!(result instanceof DomainError)) return result;
        refused ??= result;
        return undefined;
      };
      for (const section of sections) {
        for (const element of unlessRefused(() => section.rows(row)) ?? []) {
          unlessRefused(() => {
            const timeOf = (window?: KnownMarket) => section.time(element, window) ?? missingTime(mapping);
            if (section.coinPrice !== undefined) {
              const price = section.coinPrice(element, timeOf);
              if (price !== undefined) coinPrices.push(price);
              return;
            }
            const body = section.body!(element);
            if (body === undefined) return;
            const timestampMs = section.isRelative ? undefined : timeOf();
            const timeIn = (market: KnownMarket) => timestampMs ?? timeOf(market);
            found.push({ outcome: section.outcome?.(element) ?? outcome, timestampMs, timeIn, body });
          });
        }
      }
      const hasRecords = found.length > 0 || coinPrices.length > 0 || statesMarkets;
      if (!hasRecords) return refused === undefined ? undefined : { records: [], levels: [], refused };
      const isRead = markets !== undefined && (found.length > 0 || statesMarkets);
      const atMs = found[0]?.timestampMs ?? readTime?.(row);
      const read = isRead ? markets.read(row, known, atMs, outcome) : undefined;
      const receivedMs = unlessRefused(() => readArrival?.(row));
      const labels = found.flatMap((one) => unlessRefused(() => labelled(one, read!)) ?? []);
      const levels = labels.flatMap((one) => (one.type === 'levels' ? [{ ...one, receivedMs }] : []));
      const made = [
        ...coinPrices.map((price) => ({ ...price, receivedMs })),
        ...labels.flatMap((one) => (one.type === 'levels' ? [] : [{ ...numbered(one, row), receivedMs }])),
      ];
      const records = made.filter((record) => unlessRefused(() => recent?.take(record, number) ?? true) === true);
      return { records: read === undefined ? records : withMarket(records, read, markets!), levels, refused };
    },
  };
}

/** The records, after the market record that the row gives. */
function withMarket(records: readonly RecordedItem[], read: RowMarket, markets: MarketReader): readonly RecordedItem[] {
  markets.remember(read);
  return read.statement === undefined ? records : [{ type: 'market', statement: read.statement }, ...records];
}

function labelled({ outcome: stated, timeIn, body }: Found, { market, token }: RowMarket): RecordedItem | LevelRow {
  const outcome = stated ?? token?.outcome;
  if (outcome === undefined && token !== undefined) {
    throw new UnknownName(
      token.id,
      `no market record states whether asset ${token.id} is up or down: import the market records first`,
    );
  }
  if (outcome === undefined) throw rejected('the row does not state its outcome');
  const assetId = market.clobTokenIds[outcome === 'up' ? 0 : 1];
  const labels = { conditionId: market.conditionId, outcome, timestampMs: timeIn(market), id: undefined };
  return { ...body, ...labels, assetId: assetId === UNKNOWN_TOKEN ? undefined : assetId };
}

function missingTime({ name }: Mapping): never {
  throw rejected(`the time that the mapping '${name}' names is missing`);
}

/** The row with the values of the fields that have JSON as text. */
function withJson(row: MappedRow, names: readonly string[]): MappedRow {
  if (names.length === 0) return row;
  const parsed = names.map((name) => {
    const text = fieldReader(name)(row);
    return [name, typeof text === 'string' ? parsedField(text, name) : text] as const;
  });
  return { ...row, fields: { ...(row.fields as Fields), ...Object.fromEntries(parsed) } };
}

/** Parses the JSON text of a field, or a list or dict of Python, and names the field in the refusal: a row may have several such fields. */
function parsedField(text: string, name: string): unknown {
  let value = attempt(() => parseJsonTexts(text));
  const python = value instanceof DomainError ? jsonOfPython(text) : undefined;
  if (python !== undefined) value = attempt(() => parseJsonTexts(python));
  if (value instanceof DomainError) throw rejected(value.message.replace(/the (?:line|JSON)/, name));
  return value;
}

function compiled(section: MappedSection, { time: usual }: Mapping, remark: Remark | undefined): Section {
  const { each, name } = section;
  const own = section.time;
  // Elements of a list have the time of their row, unless the section states another.
  const read =
    own === undefined ? timeReader(usual!, 'time', undefined, remark) : timeReader(own, `${name}.time`, usual, remark);
  const rows = each === undefined ? (row: MappedRow) => [row] : elementsOf(each);
  const time: TimeReader =
    own === undefined && each !== undefined ? (row, window) => read(parentOf(row), window) : read;
  const timed = { rows, time, isRelative: isRelative(own ?? usual!, usual) };
  if (section.kind === 'coin_prices') return { ...timed, coinPrice: coinPriceReader(section) };
  const outcome = section.outcome === undefined ? undefined : wordReader(section.outcome, OUTCOMES);
  return { ...timed, outcome, body: bodyReader(section) };
}

/** An element of a list, with the row that has the list. */
interface ElementRow extends MappedRow {
  readonly parent: MappedRow;
}

function parentOf(row: MappedRow): MappedRow {
  return 'parent' in row ? (row as ElementRow).parent : row;
}

function elementsOf(path: string): (row: MappedRow) => readonly MappedRow[] {
  const read = fieldReader(path);
  return (row) => {
    const list = read(row);
    if (list === undefined) return [];
    if (typeof list === 'string') throw rejected(`${path} is a text: add it to rows.json in the mapping if it is JSON`);
    if (!Array.isArray(list)) throw rejected(`${path} is not a list`);
    return list.map((element: unknown): ElementRow => {
      if (typeof element !== 'object' || element === null)
        throw rejected(`${path} has an element that is neither object nor list`);
      return { fields: element as Fields, file: row.file, parent: row };
    });
  };
}

function bodyReader(section: Exclude<MappedSection, { kind: 'coin_prices' }>): BodyReader {
  switch (section.kind) {
    case 'books':
      return bookReader(section);
    case 'levels':
      return rowReader(section);
    case 'quotes':
      return quoteReader(section);
    case 'midpoints':
      return midpointReader(section);
    case 'trades':
      return tradeReader(section);
  }
}

function bookReader(section: Extract<MappedSection, { kind: 'books' }>): BodyReader {
  const sides = { bids: sideReader(section.bids), asks: sideReader(section.asks) };
  return (row) => {
    const [bids, asks] = [sides.bids.read(row), sides.asks.read(row)];
    if (bids === undefined && asks === undefined) return undefined;
    for (const [levels, { name, isEmptyIfMissing }] of [
      [bids, sides.bids],
      [asks, sides.asks],
    ] as const) {
      if (levels === undefined && !isEmptyIfMissing) throw rejected(`${name} is missing, and the other side is stated`);
    }
    return { type: 'snapshot', ...bookFields({ bids: bids ?? [], asks: asks ?? [] }) };
  };
}

/** Reads the levels of a row; undefined if it has none. */
function rowReader(section: Extract<MappedSection, { kind: 'levels' }>): BodyReader {
  const {
    side,
    price,
    size,
    bid,
    bid_size: bidSize,
    ask,
    ask_size: askSize,
    snapshot,
    complement: isOfOther,
  } = section;
  const readSide = side === undefined ? undefined : wordReader(side, ['bid', 'ask']);
  const readLevel = (ofPrice: MappedFigure, ofSize: MappedFigure, isBidIn: (row: MappedRow) => boolean) => {
    const [prices, sizes] = [valueReader(ofPrice), valueReader(ofSize)];
    return (row: MappedRow): Level[] => {
      const [priceValue, sizeValue] = [prices.read(row), sizes.read(row)];
      if (priceValue === undefined && sizeValue === undefined) return [];
      if (priceValue === undefined) throw rejected(`${sizes.name} is stated without ${prices.name}`);
      if (sizeValue === undefined) throw rejected(`${prices.name} is stated without ${sizes.name}`);
      const [stated, isBid] = [priceWithinOne(priceValue, prices.name), isBidIn(row)];
      const ownPrice = isOfOther === true && !isBid ? complement(stated) : stated;
      return [{ price: ownPrice, size: nonNegative(sizeValue, sizes.name), isBid }];
    };
  };
  const isBidIn = (row: MappedRow) => {
    const word = readSide!(row);
    if (word === undefined) throw rejected('the row does not state the side of its level');
    return word === 'bid';
  };
  const readers =
    price === undefined
      ? [readLevel(bid!, bidSize!, () => true), readLevel(ask!, askSize!, () => false)]
      : [readLevel(price, size!, isBidIn)];
  const isSnapshot = snapshot === undefined ? () => true : rowTest(snapshot);
  return (row) => {
    const levels = readers.flatMap((read) => read(row));
    return levels.length === 0 ? undefined : { type: 'levels', levels, isSnapshot: isSnapshot(row) };
  };
}

function quoteReader(section: Extract<MappedSection, { kind: 'quotes' }>): BodyReader {
  const bid = quoteSideReader(section.bid, section.bid_size);
  const ask = quoteSideReader(section.ask, section.ask_size);
  return (row) => {
    const [bids, asks] = [bid(row), ask(row)];
    if (bids === undefined && asks === undefined) return undefined;
    const [bidPrice, bidSize] = bids ?? [];
    const [askPrice, askSize] = asks ?? [];
    return { type: 'quote', quote: { bidPrice, bidSize, askPrice, askSize } };
  };
}

/** An empty side has no values, or the size 0; undefined if it has no values. A size that is missing beside a price is unknown. */
function quoteSideReader(
  ofPrice: MappedFigure,
  ofSize: MappedFigure | undefined,
): (row: MappedRow) => readonly [price: number, size?: number] | readonly [] | undefined {
  const price = valueReader(ofPrice);
  const size = ofSize === undefined ? { name: 'size', read: () => undefined } : valueReader(ofSize);
  return (row) => {
    const [priceValue, sizeValue] = [price.read(row), size.read(row)];
    if (sizeValue === undefined) return priceValue === undefined ? undefined : [priceWithinOne(priceValue, price.name)];
    const amount = nonNegative(sizeValue, size.name);
    if (amount === 0) return [];
    if (priceValue === undefined) throw rejected(`${size.name} is stated without ${price.name}`);
    return [priceWithinOne(priceValue, price.name), amount];
  };
}

/** The stated midpoint, or the exact one of bid and ask; without one of them there is none. */
function midpointReader({ price, bid, ask }: Extract<MappedSection, { kind: 'midpoints' }>): BodyReader {
  const mid = (value: number): Body => ({ type: 'price', kind: 'mid', price: value });
  if (price !== undefined) {
    const { name, read } = valueReader(price);
    return (row) => {
      const value = read(row);
      return value === undefined ? undefined : mid(priceWithinOne(value, name));
    };
  }
  const [bids, asks] = [valueReader(bid!), valueReader(ask!)];
  return (row) => {
    const [bidValue, askValue] = [bids.read(row), asks.read(row)];
    if (bidValue === undefined || askValue === undefined) return undefined;
    const bidPrice = priceWithinOne(bidValue, bids.name);
    const askPrice = priceWithinOne(askValue, asks.name);
    return mid(midOf({ bidPrice, askPrice })!);
  };
}

function tradeReader(section: Extract<MappedSection, { kind: 'trades' }>): BodyReader {
  const price = valueReader(section.price);
  const optional = (place: MappedFigure | undefined) => (place === undefined ? undefined : valueReader(place));
  const size = optional(section.size);
  const fee = optional(section.fee_rate_bps);
  const hash = optional(section.transaction_hash);
  const side = section.side === undefined ? undefined : wordReader(section.side, TRADE_SIDES);
  const names = {
    size: size?.name ?? 'size',
    side: 'side',
    feeRateBps: fee?.name ?? 'fee_rate_bps',
    transactionHash: hash?.name ?? 'transaction_hash',
  };
  return (row) => {
    const value = price.read(row);
    if (value === undefined) return undefined;
    const details = {
      [names.size]: size?.read(row),
      [names.side]: side?.(row),
      [names.feeRateBps]: fee?.read(row),
      [names.transactionHash]: hash?.read(row),
    };
    return {
      type: 'price',
      kind: 'trade',
      price: figureWithinOne(value, price.name),
      trade: tradeFields(details, names),
      // The number is given when the market is known.
      ...(section.distinct === true ? { occurrence: 1 } : {}),
    };
  };
}

function coinPriceReader(section: Extract<MappedSection, { kind: 'coin_prices' }>): NonNullable<Section['coinPrice']> {
  const [coin, source, price] = [valueReader(section.coin), valueReader(section.source), valueReader(section.price)];
  const symbolOf = remembering(coin, (fields) => {
    const symbol = coinOf(fields, coin.name);
    if (symbol === undefined) throw rejected(`${coin.name} is missing`);
    return symbol;
  });
  const sourceOf = remembering(source, (fields) => textField(fields, source.name));
  return (row, readTime) => {
    const value = price.read(row);
    if (value === undefined) return undefined;
    return coinPrice(symbolOf(row), sourceOf(row), readTime(), usdPrice(value, price.name));
  };
}

/** Reads a text that is mostly the same as in the row before: then it is not parsed again. */
function remembering<T>({ name, read }: ValueReader, parse: (fields: Fields) => T): (row: MappedRow) => T {
  let last: { readonly text: string | undefined; readonly value: T } | undefined;
  return (row) => {
    const text = textOf(read(row), name);
    if (last === undefined || last.text !== text) last = { text, value: parse({ [name]: text }) };
    return last.value;
  };
}
