import { decimalPlaces, parseDecimal, powerOfTen, toScaled } from '../../domain/decimal.ts';
import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { MarketStatement } from '../../domain/market-statement.ts';
import { complement, mirrorOf } from '../../domain/mirrored-book.ts';
import type { Outcome } from '../../domain/outcome.ts';
import { arrivalMs } from '../../record/arrival-field.ts';
import { attempt, type Fields, isFields, nonNegative, priceWithinOne, rejected, stated } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { EditableBook } from '../../venue/editable-book.ts';
import { kalshiMarket } from '../../venue/kalshi-ticker.ts';
import type { Codec } from '../codec.ts';
import { DistinctTrades } from '../mapping/distinct-trades.ts';
import { jsonValuesOf } from '../parse/json-values.ts';
import type { RecordSink } from '../record-sink.ts';
import type { RecordingFile } from '../recording-file.ts';
import type { SourceItem } from '../source-item.ts';
import { type LinePart, partsOfLine } from './wrapped-frames.ts';

const TYPES: readonly unknown[] = ['orderbook_snapshot', 'orderbook_delta', 'trade'];
/** Maximum number of markets in memory. */
const MARKETS_MAX = 10_000;
const OUTCOMES: readonly Outcome[] = ['up', 'down'];

/** What is known of a market while a file is read. */
interface Known {
  readonly statement: MarketStatement;
  readonly sid: unknown;
  /** The book of yes: asks are the bids of no at the complement of their prices. Undefined: unknown until the next snapshot. */
  book: EditableBook | undefined;
  /** A snapshot whose time is not known before the next change, with its arrival. */
  waiting: { readonly item: SourceItem; readonly receivedMs: InstantMs | undefined } | undefined;
  lastMs: InstantMs | undefined;
  /** Why the book is unknown since `lastMs`. */
  gap: string | undefined;
}

/**
 * Recordings of Kalshi's WebSocket, bare or wrapped with their arrival: `orderbook_snapshot`, `orderbook_delta` and `trade`. The channels are
 * those of https://docs.kalshi.com/asyncapi.yaml. `seq` counts the messages of a subscription (`sid`): where it jumps or begins again, its
 * books are unknown until their next snapshots, and a gap says so. Prices are cents or dollars; a bid for no is an ask for yes.
 */
export function kalshiFrames(): Codec {
  const distinct = new DistinctTrades();
  return {
    format: 'Kalshi frames',
    input:
      'Messages of Kalshi’s WebSocket, one a line: `orderbook_snapshot`, `orderbook_delta`, `trade`; bare, or wrapped with their arrival',
    becomes: '[Markets](#kalshi), snapshots of both outcomes, trades, and gaps where `seq` jumps.',
    recognises: (sample) => sample.columns === undefined && sample.lines.some((line) => partsOf(line).some(isBook)),
    read: async (file, sink) => {
      const reader = new KalshiReader(sink, file, distinct);
      for await (const { text, number } of jsonValuesOf(file)) {
        for (const part of partsOf(text())) reader.take(part, number);
      }
      reader.end();
    },
  };
}

function partsOf(line: string): LinePart[] {
  return partsOfLine(line, isKalshi);
}

function isKalshi({ type, sid, msg }: Fields): boolean {
  return typeof type === 'string' && isFields(msg) && (sid !== undefined || 'channel' in msg || 'sid' in msg);
}

function isBook(part: LinePart): boolean {
  return 'frame' in part && isKalshi(part.frame) && TYPES.includes(part.frame.type);
}

class KalshiReader {
  readonly #sink: RecordSink;
  readonly #file: RecordingFile;
  readonly #distinct: DistinctTrades;
  readonly #markets = new Map<string, Known>();
  readonly #seqs = new Map<unknown, number>();

  constructor(sink: RecordSink, file: RecordingFile, distinct: DistinctTrades) {
    this.#sink = sink;
    this.#file = file;
    this.#distinct = distinct;
  }

  take(part: LinePart, number: number): void {
    if ('control' in part) this.#sink.ignore(part.control);
    else if ('malformed' in part) this.#sink.reject(this.#sink.item('unknown', number), part.malformed);
    else if (isBook(part)) this.#takeMessage(part.frame, number, part.receivedMs);
    else this.#sink.ignore(String(part.frame.type ?? 'other message').slice(0, 40));
  }

  #takeMessage(frame: Fields, number: number, receivedMs: InstantMs | undefined): void {
    const type = String(frame.type);
    const msg = frame.msg as Fields;
    if (type !== 'trade') this.#follow(frame);
    const known = attempt(() => this.#marketOf(msg, frame.sid));
    if (known === undefined) this.#sink.ignore(`${type} of another kind of market`);
    else if (known instanceof DomainError) this.#sink.reject(this.#sink.item(type, number), known.message);
    else if (type === 'trade') this.#trade(known, msg, number, receivedMs);
    else if (type === 'orderbook_snapshot') this.#snapshot(known, msg, number, receivedMs);
    else if (known.book === undefined) this.#sink.ignore('orderbook_delta of an unknown book');
    else this.#delta(known, msg, number, receivedMs);
  }

  /** Call it at the end of the file. */
  end(): void {
    for (const known of this.#markets.values()) this.#release(known, undefined);
  }

  /** Compares a message's number with that of the message before it. */
  #follow({ sid, seq, type }: Fields): void {
    const number = typeof seq === 'number' ? seq : undefined;
    const before = this.#seqs.get(sid);
    if (number === undefined) return;
    this.#seqs.set(sid, number);
    if (before === undefined || number === before + 1) return;
    const reason =
      number > before + 1
        ? `messages ${before + 1} to ${number - 1} of the subscription are missing`
        : `the subscription began again (${type} ${number} after ${before})`;
    for (const known of this.#markets.values()) if (known.sid === sid) this.#lose(known, reason);
  }

  #lose(known: Known, reason: string): void {
    this.#release(known, undefined);
    if (known.book !== undefined) known.gap = reason;
    known.book = undefined;
  }

  /** The market of a message, whose record is added at first; undefined for one that is not up or down. */
  #marketOf({ market_ticker: ticker }: Fields, sid: unknown): Known | undefined {
    if (typeof ticker !== 'string') throw rejected('market_ticker is missing');
    const before = this.#markets.get(ticker);
    if (before?.sid === sid) return before;
    const statement = before?.statement ?? kalshiMarket(ticker);
    if (statement === undefined) return undefined;
    if (before !== undefined) this.#lose(before, 'the subscription changed');
    if (this.#markets.size >= MARKETS_MAX) this.#markets.clear();
    const { lastMs, gap } = before ?? {};
    const known: Known = { statement, sid, book: undefined, waiting: undefined, lastMs, gap };
    this.#markets.set(ticker, known);
    return known;
  }

  #snapshot(known: Known, msg: Fields, number: number, receivedMs: InstantMs | undefined): void {
    this.#release(known, receivedMs);
    const isNew = this.#sink.markets.byConditionId(known.statement.conditionId) === undefined;
    const item = this.#sink.item('orderbook_snapshot', number, isNew ? 3 : 2);
    if (isNew) this.#sink.addFrom([item], () => ({ type: 'market', statement: known.statement }));
    const book = attempt(() => bookOf(msg));
    if (book instanceof DomainError) {
      this.#lose(known, 'a snapshot cannot be read');
      for (let part = 0; part < 2; part += 1) this.#sink.reject(item, book.message);
      return;
    }
    known.book = book;
    known.waiting = { item, receivedMs };
    if (timeOf(msg) !== undefined) this.#release(known, timeOf(msg));
  }

  #delta(known: Known, msg: Fields, number: number, receivedMs: InstantMs | undefined): void {
    const item = this.#sink.item('orderbook_delta', number, 2);
    const change = attempt(() => changeOf(msg, known.book!));
    const atMs = timeOf(msg) ?? receivedMs;
    const refused =
      change instanceof DomainError ? change.message : atMs === undefined ? 'ts is not a time' : undefined;
    if (change instanceof DomainError || refused !== undefined) {
      this.#lose(known, 'a change cannot be read');
      for (let part = 0; part < 2; part += 1) this.#sink.reject(item, refused!);
      return;
    }
    this.#release(known, atMs);
    known.book!.set(change.isBid, change.price, change.size);
    this.#give(known, item, Math.max(atMs!, known.lastMs ?? 0), receivedMs);
  }

  /** Gives the snapshot that waits for a time: that of its arrival or, if it is earlier, of the next message. */
  #release(known: Known, nextMs: InstantMs | undefined): void {
    const { waiting, book, gap, lastMs } = known;
    if (waiting === undefined || book === undefined) return;
    known.waiting = undefined;
    const { item, receivedMs } = waiting;
    if (nextMs === undefined && receivedMs === undefined) {
      const reason = 'the snapshot has no time: neither its arrival nor a change after it states one';
      for (let part = 0; part < 2; part += 1) this.#sink.reject(item, reason);
      return;
    }
    const atMs = Math.max(Math.min(nextMs ?? Infinity, receivedMs ?? Infinity), lastMs ?? 0);
    if (gap !== undefined && lastMs !== undefined) {
      const { conditionId } = known.statement;
      this.#sink.add({ type: 'gap', conditionId, gap: { fromMs: lastMs, toMs: atMs, reason: gap } }, []);
    }
    known.gap = undefined;
    this.#give(known, item, atMs, receivedMs);
  }

  /** Adds the books of both outcomes, which are one book at the venue. */
  #give(known: Known, item: SourceItem, timestampMs: InstantMs, receivedMs: InstantMs | undefined): void {
    const { conditionId } = known.statement;
    const book = known.book!.snapshot();
    known.lastMs = timestampMs;
    for (const outcome of OUTCOMES) {
      const labels = { conditionId, outcome, timestampMs, receivedMs, id: undefined, assetId: undefined };
      const own = outcome === 'up' ? book : mirrorOf(book);
      this.#sink.addFrom([item], () => ({ type: 'snapshot', ...labels, book: own, droppedLevels: 0 }));
    }
  }

  #trade(known: Known, msg: Fields, number: number, receivedMs: InstantMs | undefined): void {
    this.#sink.take('trade', number, () => {
      const timestampMs = timeOf(msg);
      if (timestampMs === undefined) throw rejected('ts is not a time');
      const side = msg.taker_side;
      if (side !== 'yes' && side !== 'no') throw rejected('taker_side is neither yes nor no');
      const yes = priceOf(msg, 'yes_price');
      const size = nonNegative(stated(msg, 'count_fp') ?? msg.count, 'count');
      if (size === 0) throw rejected('count is 0');
      const { statement } = known;
      const { conditionId } = statement;
      const record: RecordedItem = {
        ...{ type: 'price', kind: 'trade', conditionId, timestampMs, receivedMs, id: undefined, assetId: undefined },
        outcome: side === 'yes' ? 'up' : 'down',
        price: side === 'yes' ? yes : complement(yes),
        trade: { size, side: 'buy', feeRateBps: undefined, transactionHash: undefined },
      };
      const isNew = this.#sink.markets.byConditionId(conditionId) === undefined;
      const numbered = { ...record, occurrence: this.#distinct.next(record, this.#file) };
      return isNew ? [{ type: 'market', statement }, numbered] : [numbered];
    });
  }
}

/** The time of the venue: `ts_ms`, or `ts` in ISO 8601 or in seconds. */
function timeOf({ ts_ms, ts }: Fields): InstantMs | undefined {
  return arrivalMs(ts_ms ?? ts);
}

/** A price in dollars or cents: `price_dollars` before `price`. */
function priceOf(msg: Fields, name: string): number {
  const dollars = stated(msg, `${name}_dollars`);
  return dollars === undefined ? centsOf(msg[name], name) : priceWithinOne(dollars, `${name}_dollars`);
}

function centsOf(value: unknown, name: string): number {
  const cents = nonNegative(value, name);
  if (!Number.isInteger(cents)) throw rejected(`${name} ${cents} is not a number of cents`);
  return priceWithinOne(cents / 100, name);
}

function bookOf(msg: Fields): EditableBook {
  const book = new EditableBook();
  for (const side of ['yes', 'no']) {
    const name = [`${side}_dollars_fp`, `${side}_dollars`, side].find((one) => stated(msg, one) !== undefined);
    const levels = name === undefined ? [] : msg[name];
    if (!Array.isArray(levels)) throw rejected(`${name} is not a list of levels`);
    for (const level of levels) {
      if (!Array.isArray(level) || level.length !== 2) throw rejected(`${name} has a level that is not a pair`);
      const price =
        name === side ? centsOf(level[0], `a price in ${name}`) : priceWithinOne(level[0], `a price in ${name}`);
      const size = nonNegative(level[1], `a size in ${name}`);
      const [isBid, own] = [side === 'yes', side === 'yes' ? price : complement(price)];
      if (book.sizeAt(isBid, own) > 0) throw rejected(`${name} has the price ${price} twice`);
      if (!book.hasRoomFor(isBid, own)) throw rejected(`${name} has too many levels`);
      book.set(isBid, own, size);
    }
  }
  return book;
}

/** The new size of a level. `delta` is the change of its size. */
function changeOf(msg: Fields, book: EditableBook) {
  const { side } = msg;
  if (side !== 'yes' && side !== 'no') throw rejected('side is neither yes nor no');
  const isBid = side === 'yes';
  const own = priceOf(msg, 'price');
  const price = isBid ? own : complement(own);
  const delta = parseDecimal(String(stated(msg, 'delta_fp') ?? msg.delta));
  if (delta === undefined) throw rejected('delta is not a decimal');
  const before = book.sizeAt(isBid, price);
  const places = Math.max(decimalPlaces(before) ?? 0, decimalPlaces(delta) ?? 0);
  const size = (toScaled(before, places) + toScaled(delta, places)) / powerOfTen(places);
  if (size < 0) throw rejected(`delta ${delta} takes more than the ${before} of ${side} at ${own}`);
  if (!book.hasRoomFor(isBid, price)) throw rejected('the book has too many levels');
  return { isBid, price, size };
}
