import type { Gap } from '../domain/gap.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { complement, mirrorOf } from '../domain/mirrored-book.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { type Outcome, otherOutcome } from '../domain/outcome.ts';
import { type PriceRecord, priceCodec } from '../segment/price-segment.ts';
import type { SegmentSlice } from '../segment/segment-header.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { changedBook, changesBetween, type LevelChange } from '../venue/level-change.ts';
import { BookCursor, type BookStep } from './book-cursor.ts';
import { bookAt, type KnownBook, type LastTrade, lastTradeAt } from './market-state.ts';
import type { TickChange, TickSizes } from './tick-sizes.ts';

/** What became of one outcome's book. */
export interface OutcomeChange {
  /** The book in front of it; undefined when this is the first one. */
  readonly before: OrderBook | undefined;
  readonly after: OrderBook;
  /** What makes `after` of `before`; empty for the first one, and where nothing changed. */
  readonly changes: readonly LevelChange[];
}

/** Something that is recorded of a market, at `timestampMs`. */
export type PlaybackEvent = { readonly timestampMs: InstantMs } & (
  | { readonly kind: 'books'; readonly up: OutcomeChange | undefined; readonly down: OutcomeChange | undefined }
  | { readonly kind: 'trade'; readonly outcome: Outcome; readonly record: PriceRecord }
  | { readonly kind: 'tick'; readonly change: TickChange }
  | { readonly kind: 'gap'; readonly gap: Gap }
);

/** What is known of one outcome where the playback stands. */
export interface OutcomeState {
  readonly known: KnownBook | undefined;
  readonly lastTrade: LastTrade | undefined;
}

/**
 * One market as it was recorded, in order, from one instant on: what is read follows from the archive and that instant alone. It
 * holds one segment of each series. Records of one timestamp are told in the order in which they stand in the archive, the
 * nth book of up together with the nth of down.
 *
 * An outcome without books of its own by now has those of the other one, mirrored.
 */
export class MarketPlayback {
  readonly market: StoredMarket;
  readonly #ticks: TickSizes;
  readonly #state: Record<Outcome, { -readonly [Field in keyof OutcomeState]: OutcomeState[Field] }>;
  readonly #books: Readonly<Record<Outcome, BookCursor>>;
  readonly #trades: Readonly<Record<Outcome, PriceCursor>>;
  readonly #gaps: Iterator<Gap>;
  #gap: Gap | undefined;
  #tick: TickChange | undefined;
  #tickSize: string;
  #nextMs: InstantMs | undefined;

  /** Everything up to `atMs` has happened, what is later is to come. */
  constructor(archive: Archive, ticks: TickSizes, market: StoredMarket, atMs: InstantMs) {
    this.#ticks = ticks;
    this.market = market;
    const stateOf = (outcome: Outcome) => ({
      known: bookAt(archive, market, outcome, atMs),
      lastTrade: lastTradeAt(archive, market, outcome, atMs),
    });
    this.#state = { up: stateOf('up'), down: stateOf('down') };
    const booksOf = (outcome: Outcome) =>
      new BookCursor(archive.snapshots.slices(market, outcome, atMs + 1, INSTANT_MAX_MS));
    this.#books = { up: booksOf('up'), down: booksOf('down') };
    const tradesOf = (outcome: Outcome) =>
      new PriceCursor(archive.prices.slices(market, outcome, 'trade', atMs + 1, INSTANT_MAX_MS));
    this.#trades = { up: tradesOf('up'), down: tradesOf('down') };
    this.#gaps = gapsBeginningAfter(archive, market, atMs);
    this.#gap = this.#nextGap();
    this.#tickSize = ticks.at(market, atMs);
    this.#tick = ticks.changeAfter(market, atMs);
    this.#nextMs = this.#earliest();
  }

  get tickSize(): string {
    return this.#tickSize;
  }

  state(outcome: Outcome): OutcomeState {
    return this.#state[outcome];
  }

  /** When the next event is; undefined behind the last one. */
  get nextMs(): InstantMs | undefined {
    return this.#nextMs;
  }

  /** The next event, which must be there; the state is the one behind it then. */
  next(): PlaybackEvent {
    const timestampMs = this.#nextMs!;
    const event = this.#take(timestampMs);
    this.#nextMs = this.#earliest();
    return event;
  }

  #earliest(): InstantMs | undefined {
    const { up, down } = this.#books;
    const earliestMs = Math.min(
      up.nextMs,
      down.nextMs,
      this.#trades.up.nextMs,
      this.#trades.down.nextMs,
      this.#tick?.timestampMs ?? Infinity,
      this.#gap?.fromMs ?? Infinity,
    );
    return earliestMs === Infinity ? undefined : earliestMs;
  }

  /** Of events of one timestamp: ticks come before the books that need them, trades behind them, a gap at the end. */
  #take(timestampMs: InstantMs): PlaybackEvent {
    const isNow = ({ nextMs }: { readonly nextMs: InstantMs }) => nextMs === timestampMs;
    if (this.#tick?.timestampMs === timestampMs) return this.#takeTick(this.#tick);
    if (isNow(this.#books.up) || isNow(this.#books.down)) return this.#takeBooks(timestampMs);
    if (isNow(this.#trades.up) || isNow(this.#trades.down)) return this.#takeTrade(timestampMs);
    const gap = this.#gap!;
    this.#gap = this.#nextGap();
    return { kind: 'gap', timestampMs, gap };
  }

  #takeTick(change: TickChange): PlaybackEvent {
    this.#tickSize = change.newTickSize;
    this.#tick = this.#ticks.changeAfter(this.market, change.timestampMs);
    return { kind: 'tick', timestampMs: change.timestampMs, change };
  }

  #takeBooks(timestampMs: InstantMs): PlaybackEvent {
    const up = this.#books.up.takeAt(timestampMs, this.#own('up'));
    const down = this.#books.down.takeAt(timestampMs, this.#own('down'));
    return {
      kind: 'books',
      timestampMs,
      up: this.#change('up', up, down, timestampMs),
      down: this.#change('down', down, up, timestampMs),
    };
  }

  /** The outcome's last book if that was one of its own. */
  #own(outcome: Outcome): OrderBook | undefined {
    const { known } = this.#state[outcome];
    return known?.isOwn === true ? known.book : undefined;
  }

  /** Brings an outcome's book up to date; undefined where nothing was recorded that bears on it. */
  #change(
    outcome: Outcome,
    own: BookStep | undefined,
    other: BookStep | undefined,
    timestampMs: InstantMs,
  ): OutcomeChange | undefined {
    const state = this.#state[outcome];
    const { known } = state;
    const step = own === undefined ? mirroredStep(known, other) : ownStep(known, own);
    if (step === undefined) return undefined;
    state.known = { book: step.after, timestampMs, isOwn: own !== undefined };
    return { before: known?.book, ...step };
  }

  #takeTrade(timestampMs: InstantMs): PlaybackEvent {
    const { up, down } = this.#trades;
    const outcome: Outcome = up.nextMs === timestampMs ? 'up' : 'down';
    const record = (outcome === 'up' ? up : down).take();
    const { price } = record;
    const other = otherOutcome(outcome);
    this.#state[outcome].lastTrade = { price, timestampMs, isOwn: true };
    const told = this.#state[other].lastTrade;
    // Of two of one time an outcome goes by its own.
    if (told?.isOwn !== true || told.timestampMs !== timestampMs) {
      this.#state[other].lastTrade = { price: complement(price), timestampMs, isOwn: false };
    }
    return { kind: 'trade', timestampMs, outcome, record };
  }

  #nextGap(): Gap | undefined {
    const { done, value } = this.#gaps.next();
    return done === true ? undefined : value;
  }
}

/** A recorded book takes the place of a mirrored one as any later one would. */
function ownStep(known: KnownBook | undefined, own: BookStep): BookStep {
  if (known === undefined || known.isOwn) return own;
  return { after: own.after, changes: changesBetween(known.book, own.after) };
}

/** What the other outcome's step is of this one; undefined where this one goes by its own books. */
function mirroredStep(known: KnownBook | undefined, other: BookStep | undefined): BookStep | undefined {
  if (other === undefined || known?.isOwn === true) return undefined;
  if (known === undefined) return { after: mirrorOf(other.after), changes: [] };
  const changes = other.changes.map(({ isBid, price, size }) => ({ isBid: !isBid, price: complement(price), size }));
  return { after: changedBook(known.book, changes), changes };
}

/** Those that reach into the time before have begun: whoever comes now was not connected. */
function* gapsBeginningAfter({ gaps }: Archive, market: StoredMarket, atMs: InstantMs): Generator<Gap> {
  for (const gap of gaps.within(market.key, atMs + 1, INSTANT_MAX_MS)) if (gap.fromMs > atMs) yield gap;
}

/** The prices of one series, one after another. */
class PriceCursor {
  readonly #slices: Iterator<SegmentSlice>;
  #records: readonly PriceRecord[] = [];
  #index = 0;

  constructor(slices: Iterable<SegmentSlice>) {
    this.#slices = slices[Symbol.iterator]();
    this.#enter();
  }

  /** Infinity behind the last one. */
  get nextMs(): number {
    return this.#records[this.#index]?.timestampMs ?? Infinity;
  }

  take(): PriceRecord {
    const record = this.#records[this.#index]!;
    this.#index += 1;
    if (this.#index >= this.#records.length) this.#enter();
    return record;
  }

  #enter(): void {
    const { done, value } = this.#slices.next();
    this.#records = done === true ? [] : priceCodec.decode(value.payload).slice(value.from, value.to);
    this.#index = 0;
  }
}
