import type { Gap } from '../domain/gap.ts';
import { INSTANT_MAX_MS, type InstantMs, laterInstant } from '../domain/instant.ts';
import { complement, mirrorOf } from '../domain/mirrored-book.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { OUTCOMES, type Outcome, otherOutcome } from '../domain/outcome.ts';
import { type PriceRecord, pricesIn } from '../segment/price-segment.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { type BestPrices, bestPricesOf } from '../venue/best-prices.ts';
import { EditableBook } from '../venue/editable-book.ts';
import { changesBetween, type LevelChange } from '../venue/level-change.ts';
import { BookCursor } from './book-cursor.ts';
import { Lookahead } from './lookahead.ts';
import {
  chosenBook,
  type KnownBook,
  type LastTrade,
  lastTradeAt,
  laterStated,
  type MirrorMode,
  recordedBookAt,
  tradeInBook,
} from './market-state.ts';
import type { TickChange, TickSizes } from './tick-sizes.ts';

export interface OutcomeChange {
  /** The best prices of the book before; undefined when `after` is the first book. */
  readonly before: BestPrices | undefined;
  /** The next event edits it. */
  readonly after: OrderBook;
  /** The changes from the book before to `after`; empty for the first book, and if nothing changed. */
  readonly changes: readonly LevelChange[];
}

/** `receivedMs`: when the last of its records arrived; undefined if no recording states it. */
export type PlaybackEvent = { readonly timestampMs: InstantMs; readonly receivedMs?: InstantMs | undefined } & (
  | { readonly kind: 'books'; readonly up: OutcomeChange | undefined; readonly down: OutcomeChange | undefined }
  | { readonly kind: 'trade'; readonly outcome: Outcome; readonly record: PriceRecord }
  | { readonly kind: 'tick'; readonly change: TickChange }
  | { readonly kind: 'gap'; readonly gap: Gap }
);

export interface OutcomeState {
  /** The next event may edit the book. */
  readonly known: KnownBook | undefined;
  /** The last trade in the outcome's book, see `tradeInBook`. */
  readonly lastTrade: { readonly price: number } | undefined;
}

/** By arrival, a record that came later than this would hold back everything after it. */
const DELAY_MAX_MS = 60_000;

/**
 * The recording of one market in order, from one instant on. The events depend on the archive and that instant alone. It holds
 * one segment of each series. Records of one timestamp come in the order of the archive, the nth book of up together with the
 * nth of down.
 *
 * An outcome has its own book or the other outcome's, mirrored, as the mirror mode says. In an event of the mode 'fresh' with a
 * book of one outcome, both outcomes change.
 *
 * By arrival, an event is due once it and all events before it had arrived: a book contains the changes before it. One whose arrival is not
 * known arrives at its time, and one that came very late at most DELAY_MAX_MS after it.
 */
export class MarketPlayback {
  readonly market: StoredMarket;
  readonly #ticks: TickSizes;
  readonly #mirror: MirrorMode;
  readonly #state: Record<Outcome, EditableState>;
  /** The outcomes' own series. */
  readonly #books: Readonly<Record<Outcome, BookCursor>>;
  readonly #trades: Readonly<Record<Outcome, Lookahead<PriceRecord>>>;
  readonly #lastTrades: Record<Outcome, LastTrade | undefined>;
  /** The prices of the last trade that the books of each outcome state. */
  readonly #statements: Readonly<Record<Outcome, Lookahead<PriceRecord>>>;
  readonly #stated: Record<Outcome, PriceRecord | undefined>;
  readonly #gaps: Lookahead<Gap>;
  #tick: TickChange | undefined;
  #tickSize: string;
  readonly #isByArrival: boolean;
  /** The time of the next event, and when it is due. */
  #nextMs: InstantMs | undefined;
  #dueMs: InstantMs | undefined;

  /** Records that are due up to `fromMs`, inclusive, become the state, later ones events. */
  constructor(
    archive: Archive,
    ticks: TickSizes,
    market: StoredMarket,
    fromMs: InstantMs,
    mirror: MirrorMode,
    isByArrival = false,
  ) {
    // Delays are capped: earlier records have all arrived by then.
    const atMs = isByArrival ? Math.max(0, fromMs - DELAY_MAX_MS) : fromMs;
    this.#isByArrival = isByArrival;
    this.#ticks = ticks;
    this.market = market;
    this.#mirror = mirror;
    const { snapshots, prices } = archive;
    const recorded = byOutcome((outcome) => recordedBookAt(archive, market, outcome, atMs));
    this.#state = byOutcome((outcome) => {
      const known = chosenBook(recorded[outcome], recorded[otherOutcome(outcome)], mirror);
      return { known: known && { ...known, book: EditableBook.of(known.book) }, lastTrade: undefined };
    });
    this.#books = byOutcome((outcome) => {
      return new BookCursor(snapshots.slices(market, outcome, atMs + 1, INSTANT_MAX_MS), recorded[outcome]?.book);
    });
    this.#lastTrades = byOutcome((outcome) => lastTradeAt(archive, market, outcome, atMs));
    this.#stated = byOutcome((outcome) => prices.latest(market, outcome, 'last-trade', atMs));
    this.#statements = byOutcome((outcome) => {
      return new Lookahead(pricesIn(prices.slices(market, outcome, 'last-trade', atMs + 1, INSTANT_MAX_MS)));
    });
    this.#setTradesInBooks();
    this.#trades = byOutcome((outcome) => {
      return new Lookahead(pricesIn(prices.slices(market, outcome, 'trade', atMs + 1, INSTANT_MAX_MS)));
    });
    this.#gaps = new Lookahead(gapsBeginningAfter(archive, market, atMs));
    this.#tickSize = ticks.at(market, atMs);
    this.#tick = ticks.changeAfter(market, atMs);
    this.#findNext();
    if (isByArrival) while (this.nextMs !== undefined && this.nextMs <= fromMs) this.next();
  }

  get tickSize(): string {
    return this.#tickSize;
  }

  state(outcome: Outcome): OutcomeState {
    return this.#state[outcome];
  }

  /** When the next event is due; undefined after the last one. */
  get nextMs(): InstantMs | undefined {
    return this.#dueMs;
  }

  /** Returns the next event, which must exist, and applies it to the state. */
  next(): PlaybackEvent {
    const timestampMs = this.#nextMs!;
    this.reach(timestampMs);
    const event = this.#take(timestampMs);
    this.#findNext();
    return event;
  }

  /** Applies the records up to an instant, inclusive, that are not events. All events before that instant must have been taken. */
  reach(instantMs: InstantMs): void {
    for (const outcome of OUTCOMES) {
      const statements = this.#statements[outcome];
      if (!(statements.next !== undefined && statements.next.timestampMs <= instantMs)) continue;
      do this.#stated[outcome] = statements.take();
      while (statements.next !== undefined && statements.next.timestampMs <= instantMs);
      this.#setTradesInBooks();
    }
  }

  #setTradesInBooks(): void {
    for (const outcome of OUTCOMES) {
      const stated = laterStated(this.#stated[outcome], this.#stated[otherOutcome(outcome)]);
      this.#state[outcome].lastTrade = tradeInBook(this.#lastTrades[outcome], stated);
    }
  }

  #earliest(): InstantMs | undefined {
    const { up, down } = this.#books;
    const earliestMs = Math.min(
      up.nextMs,
      down.nextMs,
      this.#trades.up.next?.timestampMs ?? Infinity,
      this.#trades.down.next?.timestampMs ?? Infinity,
      this.#tick?.timestampMs ?? Infinity,
      this.#gaps.next?.fromMs ?? Infinity,
    );
    return earliestMs === Infinity ? undefined : earliestMs;
  }

  #findNext(): void {
    const earlierMs = this.#dueMs ?? 0;
    this.#nextMs = this.#earliest();
    this.#dueMs = this.#nextMs;
    if (this.#nextMs === undefined || !this.#isByArrival) return;
    const receivedMs = this.#arrivalOfNext(this.#nextMs) ?? this.#nextMs;
    this.#dueMs = Math.max(earlierMs, Math.min(receivedMs, this.#nextMs + DELAY_MAX_MS));
  }

  /** The arrival of the event that `#take` returns. */
  #arrivalOfNext(timestampMs: InstantMs): InstantMs | undefined {
    if (this.#tick?.timestampMs === timestampMs) return undefined;
    const books = OUTCOMES.map((outcome) => this.#books[outcome]).filter(({ nextMs }) => nextMs === timestampMs);
    if (books.length > 0) return laterInstant(books[0]!.nextReceivedMs, books[1]?.nextReceivedMs);
    const trades = OUTCOMES.map((outcome) => this.#trades[outcome].next);
    return trades.find((trade) => trade?.timestampMs === timestampMs)?.receivedMs;
  }

  /** At one timestamp ticks come before the books that need them, trades after the books, a gap last. */
  #take(timestampMs: InstantMs): PlaybackEvent {
    const { up, down } = this.#books;
    if (this.#tick?.timestampMs === timestampMs) return this.#takeTick(this.#tick);
    if (up.nextMs === timestampMs || down.nextMs === timestampMs) return this.#takeBooks(timestampMs);
    for (const outcome of OUTCOMES) {
      if (this.#trades[outcome].next?.timestampMs === timestampMs) return this.#takeTrade(outcome);
    }
    return { kind: 'gap', timestampMs, gap: this.#gaps.take() };
  }

  #takeTick(change: TickChange): PlaybackEvent {
    this.#tickSize = change.newTickSize;
    this.#tick = this.#ticks.changeAfter(this.market, change.timestampMs);
    return { kind: 'tick', timestampMs: change.timestampMs, change };
  }

  #takeBooks(timestampMs: InstantMs): PlaybackEvent {
    const up = this.#takeOwn('up', timestampMs);
    const down = this.#takeOwn('down', timestampMs);
    const receivedMs = laterInstant(up && this.#books.up.receivedMs, down && this.#books.down.receivedMs);
    return {
      kind: 'books',
      timestampMs,
      receivedMs,
      up: up ?? this.#takeMirrored('up', down!, timestampMs),
      down: down ?? this.#takeMirrored('down', up!, timestampMs),
    };
  }

  /** Updates an outcome's book from its own series; undefined if that has no book at this time. */
  #takeOwn(outcome: Outcome, timestampMs: InstantMs): OutcomeChange | undefined {
    const cursor = this.#books[outcome];
    const state = this.#state[outcome];
    const { known } = state;
    const before = known && bestPricesOf(known.book);
    const changes = cursor.takeAt(timestampMs);
    if (changes === undefined) return undefined;
    const after = cursor.book!;
    state.known = { book: after, timestampMs, id: cursor.id, isOwn: true };
    if (known === undefined || known.isOwn) return { before, after, changes };
    // A recorded book replaces a mirrored one as any later book does.
    return { before, after, changes: changesBetween(known.book, after) };
  }

  /** Updates an outcome's book to the other outcome's, which has changed; undefined if it keeps its own. */
  #takeMirrored(outcome: Outcome, other: OutcomeChange, timestampMs: InstantMs): OutcomeChange | undefined {
    const state = this.#state[outcome];
    const { known } = state;
    const keepsOwn = this.#mirror === 'recorded' || known?.timestampMs === timestampMs;
    if (known?.isOwn === true && keepsOwn) return undefined;
    const { id } = this.#books[otherOutcome(outcome)];
    if (known === undefined || known.isOwn) {
      const after = EditableBook.of(mirrorOf(other.after));
      state.known = { book: after, timestampMs, id, isOwn: false };
      if (known === undefined) return { before: undefined, after, changes: [] };
      return { before: bestPricesOf(known.book), after, changes: changesBetween(known.book, after) };
    }
    const { book } = known;
    const before = bestPricesOf(book);
    const changes = other.changes.map(mirroredChange);
    book.apply(changes);
    state.known = { book, timestampMs, id, isOwn: false };
    return { before, after: book, changes };
  }

  #takeTrade(outcome: Outcome): PlaybackEvent {
    const record = this.#trades[outcome].take();
    const { timestampMs } = record;
    const last = this.#lastTrades;
    const other = otherOutcome(outcome);
    last[outcome] = { ...record, isOwn: true };
    // If both outcomes have a trade at one time, each keeps its own.
    if (last[other]?.isOwn !== true || last[other].timestampMs !== timestampMs) {
      last[other] = { ...record, price: complement(record.price), isOwn: false };
    }
    this.#setTradesInBooks();
    return { kind: 'trade', timestampMs, receivedMs: record.receivedMs, outcome, record };
  }
}

interface EditableState {
  known: (KnownBook & { readonly book: EditableBook }) | undefined;
  lastTrade: OutcomeState['lastTrade'];
}

function byOutcome<T>(make: (outcome: Outcome) => T): Record<Outcome, T> {
  return { up: make('up'), down: make('down') };
}

function mirroredChange({ isBid, price, size }: LevelChange): LevelChange {
  return { isBid: !isBid, price: complement(price), size };
}

/** The gaps that begin after an instant. Earlier ones do not matter: a client that connects now was not connected then. */
function* gapsBeginningAfter({ gaps }: Archive, market: StoredMarket, atMs: InstantMs): Generator<Gap> {
  for (const gap of gaps.within(market.key, atMs + 1, INSTANT_MAX_MS)) if (gap.fromMs > atMs) yield gap;
}
