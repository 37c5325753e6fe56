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
import { visitJsonValues } from '../parse/json-values.ts';
import type { RecordSink } from '../record-sink.ts';
import type { RecordingFile } from '../recording-file.ts';
import type { SourceItem } from '../source-item.ts';
import { partsOf } from './frame-reader.ts';
import type { LinePart } from './wrapped-frames.ts';

const TYPES: readonly unknown[] = ['orderbook_snapshot', 'orderbook_delta', 'trade'];
/** Maximum numbers in memory; the oldest one makes room. */
const MARKETS_MAX = 10_000;
const SUBSCRIPTIONS_MAX = 10_000;
const TRADE_IDS_MAX = 65_536;
/** The venue's ids of trades have 36 characters. Longer ones are not kept. */
const TRADE_ID_CHARS_MAX = 64;
const OUTCOMES: readonly Outcome[] = ['up', 'down'];

/** Why the books of a market are unknown, and since when. */
interface Loss {
  readonly reason: string;
  readonly fromMs: InstantMs;
  /** The file of the last message before it. */
  readonly file: RecordingFile;
  /** True if another file begins with a message that does not come after it: it may be a recording of its own. */
  readonly isElsewhere: boolean;
}

/** The messages of a `sid` whose numbers follow each other. */
interface Subscription {
  seq: number | undefined;
  /** The latest time that the venue states in them; 0 without any. */
  lastMs: InstantMs;
  file: RecordingFile;
  /** Set when its messages end. */
  loss: Loss | undefined;
}

/** What is known of a market. */
interface Known {
  readonly statement: MarketStatement;
  subscription: Subscription;
  /** The book of yes: asks are the bids of no at the complement of their prices. Undefined: unknown until the next snapshot. */
  book: EditableBook | undefined;
  /** A snapshot whose time is not known before the next change, with its arrival. */
  waiting:
    | { readonly item: SourceItem; readonly receivedMs: InstantMs | undefined; readonly file: RecordingFile }
    | undefined;
  lastMs: InstantMs | undefined;
  /** Set while a book that was known is unknown. */
  loss: Loss | undefined;
  /** The time of the last change that was left out since the loss. */
  leftOutMs: InstantMs | undefined;
}

/**
 * Recordings of Kalshi's WebSocket, bare or wrapped with their arrival: `orderbook_snapshot`, `orderbook_delta` and `trade`. The channels are
 * those of https://docs.kalshi.com/asyncapi.yaml. `seq` counts the messages of a subscription (`sid`): where it jumps or begins again, its
 * books are unknown until their next snapshots, and a gap says so. Books go on in the next file if its numbers do. Prices are cents or
 * dollars; a bid for no is an ask for yes.
 */
export function kalshiFrames(): Codec {
  let reader: KalshiReader | undefined;
  return {
    format: 'Kalshi frames',
    input:
      'Messages of Kalshi’s WebSocket, one a line: `orderbook_snapshot`, `orderbook_delta`, `trade`; bare, or wrapped with their arrival',
    becomes: '[Markets](#kalshi), snapshots of both outcomes, trades, and gaps where `seq` jumps.',
    recognises: (sample) => sample.columns === undefined && sample.lines.some(hasKalshiFrame),
    read: async (file, sink) => {
      reader ??= new KalshiReader(sink);
      reader.begin(file);
      const kept = reader;
      await visitJsonValues(file, ({ text, number }) => kept.take(text, number));
    },
    finish: () => reader?.end(),
  };
}

/** Returns true if a text has a message of Kalshi about a book or a trade. */
export function hasKalshiFrame(text: string): boolean {
  return partsOf(() => text, undefined, isKalshi).some(isBook);
}

function isKalshi({ type, sid, msg }: Fields): boolean {
  return typeof type === 'string' && isFields(msg) && (sid !== undefined || 'channel' in msg || 'sid' in msg);
}

function isBook(part: LinePart): boolean {
  return 'frame' in part && isKalshi(part.frame) && TYPES.includes(part.frame.type);
}

/** Reads the messages of an import in their order; the books go on from file to file. */
export class KalshiReader {
  readonly #sink: RecordSink;
  readonly #distinct = new DistinctTrades();
  readonly #tradeIds = new Set<string>();
  /** By ticker, the market with the oldest last message first. */
  readonly #markets = new Map<string, Known>();
  readonly #subscriptions = new Map<number, Subscription>();
  #file!: RecordingFile;
  /** The latest time that the venue states in a message about a book. */
  #latestMs: InstantMs = 0;

  constructor(sink: RecordSink) {
    this.#sink = sink;
  }

  /** Call it before the messages of a file. */
  begin(file: RecordingFile): void {
    this.#file = file;
  }

  /**
   * Takes the messages in a value, either text or parsed JSON. `read` may throw 'rejected-record'. `number` is that of the line or row;
   * `receivedMs` the arrival of messages that do not state their own.
   */
  take(read: () => unknown, number: number, receivedMs?: InstantMs): void {
    for (const part of partsOf(read, receivedMs, isKalshi)) this.#takePart(part, number);
  }

  #takePart(part: LinePart, number: number): void {
    if ('control' in part) this.#sink.ignore(part.control);
    else if ('malformed' in part) this.#sink.reject(this.#sink.item('unknown', number), part.malformed);
    else if (isBook(part)) this.#takeMessage(part.frame, number, part.receivedMs);
    else this.#sink.ignore(String(part.frame.type ?? 'other message').slice(0, 40));
  }

  #takeMessage(frame: Fields, number: number, receivedMs: InstantMs | undefined): void {
    const type = String(frame.type);
    const msg = frame.msg as Fields;
    const ticker = msg.market_ticker;
    // Without a ticker it may be about any book of its subscription, so its number is missing there.
    const subscription = type === 'trade' || typeof ticker !== 'string' ? undefined : this.#follow(frame, timeOf(msg));
    const statement = attempt(() => this.#statementOf(ticker));
    if (statement === undefined) this.#sink.ignore(`${type} of another kind of market`);
    else if (statement instanceof DomainError) this.#sink.reject(this.#sink.item(type, number), statement.message);
    else if (type === 'trade') this.#trade(statement, msg, number, receivedMs);
    else if (subscription === undefined) {
      const known = this.#markets.get(String(ticker));
      if (known !== undefined) this.#loseMessage(known, 'a message has no sid');
      this.#sink.reject(this.#sink.item(type, number), 'sid is not a number');
    } else {
      const known = this.#marketOf(String(ticker), statement, subscription);
      if (type === 'orderbook_snapshot') this.#snapshot(known, msg, number, receivedMs);
      else if (known.book !== undefined) this.#delta(known, msg, number, receivedMs);
      else {
        known.leftOutMs = timeOf(msg) ?? receivedMs ?? known.leftOutMs;
        this.#sink.ignore('orderbook_delta of an unknown book');
      }
    }
  }

  /** The market of a ticker; undefined for one that is not up or down. */
  #statementOf(ticker: unknown): MarketStatement | undefined {
    if (typeof ticker !== 'string') throw rejected('market_ticker is missing');
    return this.#markets.get(ticker)?.statement ?? kalshiMarket(ticker);
  }

  /** Call it after the last file. */
  end(): void {
    for (const known of this.#markets.values()) this.#close(known, this.#latestMs);
    this.#markets.clear();
  }

  /**
   * The subscription of a message: a new one where its number does not follow that of the message before it. In another file only the
   * next number follows. Undefined if `sid` is not a number.
   */
  #follow({ sid, seq, type }: Fields, atMs = 0): Subscription | undefined {
    if (typeof sid !== 'number') return undefined;
    this.#latestMs = Math.max(this.#latestMs, atMs);
    const number = typeof seq === 'number' ? seq : undefined;
    const before = this.#subscriptions.get(sid);
    const isSameFile = before?.file === this.#file;
    const isUnnumbered = number === undefined || before?.seq === undefined;
    if (before !== undefined && (isUnnumbered ? isSameFile : number === before.seq! + 1)) {
      before.seq = number ?? before.seq;
      before.lastMs = Math.max(before.lastMs, atMs);
      before.file = this.#file;
      return before;
    }
    if (before !== undefined) {
      const isJump = !isUnnumbered && number > before.seq! + 1;
      const reason = isJump
        ? `messages ${before.seq! + 1} to ${number - 1} of the subscription are missing`
        : `the subscription began again (${type} ${number ?? 'without number'} after ${before.seq ?? 'one without'})`;
      endSubscription(before, reason, !isSameFile && !isJump);
    }
    const begun: Subscription = { seq: number, lastMs: atMs, file: this.#file, loss: undefined };
    this.#subscriptions.delete(sid);
    this.#subscriptions.set(sid, begun);
    if (this.#subscriptions.size > SUBSCRIPTIONS_MAX) {
      const [oldest, ended] = this.#subscriptions.entries().next().value!;
      endSubscription(ended, `more than ${SUBSCRIPTIONS_MAX} subscriptions were open`, false);
      this.#subscriptions.delete(oldest);
    }
    return begun;
  }

  /** The market of a message about its book. */
  #marketOf(ticker: string, statement: MarketStatement, subscription: Subscription): Known {
    const known: Known = this.#markets.get(ticker) ?? {
      ...{ statement, subscription, book: undefined, waiting: undefined },
      ...{ lastMs: undefined, loss: undefined, leftOutMs: undefined },
    };
    if (known.subscription !== subscription) {
      this.#loseSubscription(known);
      known.subscription = subscription;
    }
    this.#markets.delete(ticker);
    this.#markets.set(ticker, known);
    if (this.#markets.size > MARKETS_MAX) {
      const [oldest, evicted] = this.#markets.entries().next().value!;
      this.#loseSubscription(evicted, `more than ${MARKETS_MAX} markets were open`);
      this.#close(evicted, evicted.statement.endMs);
      this.#markets.delete(oldest);
    }
    return known;
  }

  #loseSubscription(known: Known, reason = 'the subscription changed'): void {
    const { lastMs, file, loss } = known.subscription;
    this.#lose(known, loss ?? { reason, fromMs: lastMs, file, isElsewhere: file !== this.#file });
  }

  /** A message that cannot be used: the book is unknown since the change before it. */
  #loseMessage(known: Known, reason: string): void {
    this.#lose(known, { reason, fromMs: 0, file: this.#file, isElsewhere: false });
  }

  #lose(known: Known, loss: Loss): void {
    this.#release(known, undefined);
    const { book, lastMs } = known;
    known.book = undefined;
    if (book !== undefined && lastMs !== undefined) known.loss ??= { ...loss, fromMs: Math.max(loss.fromMs, lastMs) };
  }

  /** Ends what is open of a market of which no more is read. */
  #close(known: Known, untilMs: InstantMs): void {
    if (known.subscription.loss !== undefined) this.#loseSubscription(known);
    this.#release(known, undefined);
    this.#endLoss(known, untilMs);
  }

  /** Ends a loss without a snapshot after it: its gap ends with the window or what is recorded. */
  #endLoss(known: Known, untilMs: InstantMs): void {
    const { loss, leftOutMs = 0, statement } = known;
    if (loss === undefined) return;
    const toMs = Math.min(loss.isElsewhere ? leftOutMs : untilMs, statement.endMs);
    if (loss.fromMs < toMs) this.#giveGap(known, toMs);
    known.loss = undefined;
  }

  /** Adds the gap of a loss, if it began within the window. */
  #giveGap({ statement, loss }: Known, toMs: InstantMs): void {
    const { conditionId, endMs } = statement;
    if (loss === undefined || loss.fromMs >= endMs) return;
    const gap = { fromMs: Math.min(loss.fromMs, toMs), toMs, reason: loss.reason };
    // A market whose record comes later is refused, and read a second time.
    attempt(() => this.#sink.add({ type: 'gap', conditionId, gap }, []));
  }

  #snapshot(known: Known, msg: Fields, number: number, receivedMs: InstantMs | undefined): void {
    this.#release(known, receivedMs);
    const isNew = this.#sink.markets.byConditionId(known.statement.conditionId) === undefined;
    const item = this.#sink.item('orderbook_snapshot', number, isNew ? 3 : 2);
    if (isNew) this.#sink.addFrom([item], () => ({ type: 'market', statement: known.statement }));
    const book = attempt(() => bookOf(msg));
    if (book instanceof DomainError) {
      this.#loseMessage(known, 'a snapshot cannot be read');
      for (let part = 0; part < 2; part += 1) this.#sink.reject(item, book.message);
      return;
    }
    known.book = book;
    known.waiting = { item, receivedMs, file: this.#file };
    if (timeOf(msg) !== undefined) this.#release(known, timeOf(msg));
  }

  #delta(known: Known, msg: Fields, number: number, receivedMs: InstantMs | undefined): void {
    const item = this.#sink.item('orderbook_delta', number, 2);
    const change = attempt(() => changeOf(msg, known.book!));
    const atMs = timeOf(msg) ?? receivedMs;
    const refused =
      change instanceof DomainError ? change.message : atMs === undefined ? 'ts is not a time' : undefined;
    if (change instanceof DomainError || refused !== undefined) {
      this.#loseMessage(known, 'a change cannot be read');
      for (let part = 0; part < 2; part += 1) this.#sink.reject(item, refused!);
      return;
    }
    this.#release(known, atMs);
    known.book!.set(change.isBid, change.price, change.size);
    this.#give(known, item, Math.max(atMs!, known.lastMs ?? 0), receivedMs);
  }

  /** Gives the snapshot that waits for a time: that of its arrival or, if it is earlier, of the next message. */
  #release(known: Known, nextMs: InstantMs | undefined): void {
    const { waiting, book, loss } = known;
    if (waiting === undefined || book === undefined) return;
    known.waiting = undefined;
    const { item, receivedMs, file } = waiting;
    if (nextMs === undefined && receivedMs === undefined) {
      const reason = 'the snapshot has no time: neither its arrival nor a change after it states one';
      for (let part = 0; part < 2; part += 1) this.#sink.reject(item, reason);
      return;
    }
    const statedMs = Math.min(nextMs ?? Infinity, receivedMs ?? Infinity);
    if (loss !== undefined && loss.file !== file && statedMs < loss.fromMs) {
      // Another file records the same time, or an earlier one.
      this.#endLoss(known, this.#latestMs);
      known.lastMs = undefined;
    }
    const atMs = Math.max(statedMs, known.lastMs ?? 0);
    this.#giveGap(known, atMs);
    known.loss = undefined;
    known.leftOutMs = undefined;
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

  #trade(statement: MarketStatement, msg: Fields, number: number, receivedMs: InstantMs | undefined): void {
    this.#sink.take('trade', number, () => {
      const timestampMs = timeOf(msg);
      if (timestampMs === undefined) throw rejected('ts is not a time');
      const side = msg.taker_side;
      if (side !== 'yes' && side !== 'no') throw rejected('taker_side is neither yes nor no');
      const yes = priceOf(msg, 'yes_price');
      const size = nonNegative(stated(msg, 'count_fp') ?? msg.count, 'count');
      if (size === 0) throw rejected('count is 0');
      if (this.#hasTrade(msg.trade_id)) return [];
      const { conditionId } = statement;
      const record: RecordedItem = {
        ...{ type: 'price', kind: 'trade', conditionId, timestampMs, receivedMs, id: undefined, assetId: undefined },
        outcome: side === 'yes' ? 'up' : 'down',
        price: side === 'yes' ? yes : complement(yes),
        trade: { size, side: 'buy', feeRateBps: undefined, transactionHash: undefined },
      };
      const isNew = this.#sink.markets.byConditionId(conditionId) === undefined;
      const numbered = { ...record, occurrence: this.#distinct.next({ ...record, receivedMs: undefined }, this.#file) };
      return isNew ? [{ type: 'market', statement }, numbered] : [numbered];
    });
  }

  /** Returns true for a trade that this import has already read, and keeps its id. */
  #hasTrade(id: unknown): boolean {
    if (typeof id !== 'string' || id === '' || id.length > TRADE_ID_CHARS_MAX) return false;
    if (this.#tradeIds.has(id)) return true;
    this.#tradeIds.add(id);
    if (this.#tradeIds.size > TRADE_IDS_MAX) this.#tradeIds.delete(this.#tradeIds.keys().next().value!);
    return false;
  }
}

function endSubscription(subscription: Subscription, reason: string, isElsewhere: boolean): void {
  const { lastMs, file } = subscription;
  subscription.loss = { reason, fromMs: lastMs, file, isElsewhere };
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
