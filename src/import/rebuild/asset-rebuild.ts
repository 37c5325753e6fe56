import { LEVELS_MAX, type OrderBook, sameBook } from '../../domain/orderbook.ts';
import type { Outcome } from '../../domain/outcome.ts';
import { refusal } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { type BestPrices, bestPricesOf } from '../../venue/best-prices.ts';
import { type HashedBook, hashedLevels } from '../../venue/book-hash.ts';
import type { BookMessage, Change } from '../../venue/book-message-parser.ts';
import { EditableBook } from '../../venue/editable-book.ts';
import { changesBetween } from '../../venue/level-change.ts';
import { MIN_ORDER_SIZE } from '../../venue/market-status.ts';
import type { RecordSink, SourceItem } from '../record-sink.ts';
import { AppliedChanges } from './applied-changes.ts';
import type { RebuildChecks } from './checks.ts';
import { type FoundGap, GapWatch } from './gap-watch.ts';
import { HashSearch } from './hash-search.ts';
import type { MarketTrades } from './market-trades.ts';
import type { SnapshotPace } from './pace.ts';
import { ReorderWindow, type Timed } from './reorder-window.ts';

/** Messages are held back until one of the same asset is this much younger: on real captures the latest came 89 ms late. */
const WINDOW_MS = 2000;
/** So many are held at most; beyond that the window is shorter. */
const WINDOW_EVENTS_MAX = 4096;
/** So many late changes in a row are no stragglers: the input went back in time, another recording begins. */
const RESTART_CHANGES = 16;
/** So many late messages are held at most before they are taken for stragglers. */
const LATE_MAX = 256;
/** A snapshot of a whole interval (`--every 1s`) remembers so many of the messages that it is made of. */
const INTERVAL_ITEMS_MAX = 1024;

/** Hashes of changes are tried once in so much time of the venue, and one after the other while they do not match. */
const HASH_EVERY_MS = 100;
/**
 * So many hashes in a row that do not match are no accident (messages of one millisecond have no known order, and a trade
 * may not have been recorded): after that they are tried seldom again, and the end of the book says that it drifted.
 */
const DRIFT_HASHES = 16;
const BEFORE_FIRST_BOOK = 'a change before the first book of this asset';

/** What an asset's book is stored under. */
export interface AssetTarget {
  readonly conditionId: string;
  readonly outcome: Outcome;
  readonly assetId: string;
}

/** What arrives for one asset, with the item that it is counted as. A book has two parts of its item, all others one. */
export type AssetEvent = Timed & { readonly item: SourceItem } & (
    | { readonly kind: 'change'; readonly change: Change }
    | { readonly kind: 'book'; readonly message: BookMessage }
    | { readonly kind: 'tick'; readonly tickSize: string }
    | { readonly kind: 'best'; readonly best: BestPrices }
  );
type BookEvent = Extract<AssetEvent, { kind: 'book' }>;
type ChangeEvent = Extract<AssetEvent, { kind: 'change' }>;

/** What the events of one timestamp did. */
interface Moment {
  readonly timestampMs: number;
  readonly hasBook: boolean;
  isChanged: boolean;
  droppedLevels: number;
  /** Parts of the messages that the book of this time is made of. */
  readonly items: SourceItem[];
}

/**
 * The book of one asset, rebuilt from the messages about it: in the order of the venue's timestamps, and at ties with a full
 * book last. Each timestamp is settled as a whole, when it can no longer change: that is when messages become snapshots.
 *
 * What does not agree opens a gap: from the last time at which the book was known to be right (a recorded book, or a hash
 * that it has) to the time at which it is right again.
 */
export class AssetRebuild {
  readonly #target: AssetTarget;
  readonly #every: SnapshotPace;
  readonly #checks: RebuildChecks;
  readonly #hashes: HashSearch;
  readonly #window = new ReorderWindow<AssetEvent>();
  #gaps: GapWatch;
  #late: AssetEvent[] = [];
  readonly #applied = new AppliedChanges();
  #newestMs = -1;
  /** Everything up to here is settled. */
  #settledMs = -1;
  #book: EditableBook | undefined;
  #firstBookMs = Infinity;
  /** The book after the last timestamp that changed it. */
  #latest: OrderBook | undefined;
  #emitted: OrderBook | undefined;
  #interval: Moment | undefined;
  /** Whether any change came since the book was last known to be right. */
  #hasChanges = false;
  #hashTriedMs = -1;
  #hashesFailed = 0;
  #hashesMatched = 0;
  #hasDrifted = false;

  constructor(target: AssetTarget, every: SnapshotPace, checks: RebuildChecks, trades: MarketTrades) {
    this.#target = target;
    this.#every = every;
    this.#checks = checks;
    this.#hashes = new HashSearch(trades);
    this.#gaps = new GapWatch(target.outcome);
  }

  /** How many messages are held back. */
  get waiting(): number {
    return this.#window.length + this.#late.length;
  }

  push(event: AssetEvent, sink: RecordSink): void {
    if (this.#isRepeat(event)) {
      sink.finish(event.item);
      return;
    }
    if (this.#isLate(event)) {
      this.#late.push(event);
      const changes = this.#late.reduce((count, { kind }) => count + (kind === 'change' ? 1 : 0), 0);
      if (changes >= RESTART_CHANGES) this.#restart(sink);
      else if (this.#late.length >= LATE_MAX) this.#endStragglers(sink);
      return;
    }
    if (this.#late.length > 0) {
      if (this.#lateIsRecording()) this.#restart(sink);
      else this.#endStragglers(sink);
    }
    this.#window.push(event);
    this.#newestMs = Math.max(this.#newestMs, event.timestampMs);
    const settledBefore = this.#newestMs - WINDOW_MS;
    while (this.#window.length > WINDOW_EVENTS_MAX || (this.#window.firstMs ?? settledBefore) < settledBefore) {
      this.#applyFirst(sink);
    }
  }

  /** Applies what is held back for order; the book stays. */
  drain(sink: RecordSink): void {
    this.#endStragglers(sink);
    while (this.#window.length > 0) this.#applyFirst(sink);
  }

  /** To be called when nothing more is expected: what is held back becomes records. */
  finish(sink: RecordSink): void {
    if (this.#lateIsRecording()) this.#restart(sink);
    this.drain(sink);
    this.#endInterval(sink);
    const drift = `the hashes of the changes of ${this.#target.outcome} are not those of the book they lead to`;
    if (this.#hasDrifted) this.#gaps.doubt(this.#settledMs, drift);
    this.#addGap(this.#gaps.end(this.#settledMs), sink);
  }

  /** Whether it is a settled change once more: recordings may overlap, and share what they begin and end with. */
  #isRepeat(event: AssetEvent): boolean {
    return event.kind === 'change' && this.#isSettled(event) && this.#applied.has(event.timestampMs, event.change);
  }

  /** Also where nothing of its time is settled: what is so late may begin an earlier recording. */
  #isLate(event: AssetEvent): boolean {
    return this.#isSettled(event) || event.timestampMs < this.#newestMs - WINDOW_MS;
  }

  /** A book at the settled time still counts: it comes after everything else of its time. */
  #isSettled({ timestampMs, isLast }: AssetEvent): boolean {
    return isLast ? timestampMs < this.#settledMs : timestampMs <= this.#settledMs;
  }

  /** Whether what is late makes books by itself. */
  #lateIsRecording(): boolean {
    const firstBook = this.#late.findIndex((event) => event.kind === 'book');
    return firstBook >= 0 && this.#late.slice(firstBook).some((event) => event.kind === 'change');
  }

  /** The input went back in time: the book up to here is finished, and the late messages begin another one. */
  #restart(sink: RecordSink): void {
    const events = this.#late;
    this.#late = [];
    this.finish(sink);
    this.#newestMs = -1;
    this.#settledMs = -1;
    this.#book = undefined;
    this.#firstBookMs = Infinity;
    this.#latest = undefined;
    this.#emitted = undefined;
    this.#gaps = new GapWatch(this.#target.outcome);
    this.#hashTriedMs = -1;
    this.#hashesFailed = 0;
    this.#hashesMatched = 0;
    this.#hasDrifted = false;
    for (const event of events) this.push(event, sink);
  }

  /** Late messages that others of the present follow: what they would have changed is settled. */
  #endStragglers(sink: RecordSink): void {
    const events = this.#late;
    this.#late = [];
    for (const event of events) {
      if (!this.#isSettled(event)) this.#window.push(event);
      else if (event.kind === 'change') this.#lose(event, sink);
      else if (event.kind === 'book') this.#keepLateBook(event, sink);
      else sink.finish(event.item);
    }
  }

  #lose(event: ChangeEvent, sink: RecordSink): void {
    const { timestampMs, item } = event;
    if (timestampMs <= this.#firstBookMs) {
      // The first book has it.
      if (this.#firstBookMs - timestampMs <= WINDOW_MS) sink.finish(item);
      else sink.reject(item, BEFORE_FIRST_BOOK);
      return;
    }
    const lateMs = this.#newestMs - timestampMs;
    sink.reject(item, `the change arrived ${lateMs} ms behind a later one: the book of its time is settled`);
    this.#gaps.lose(timestampMs, this.#settledMs);
  }

  /** A full book needs no other message: it is kept at its own time, however late it comes. */
  #keepLateBook({ message, item }: BookEvent, sink: RecordSink): void {
    if (this.#judge(message, undefined) === 'damaged') {
      this.#refuse(item, sink);
      return;
    }
    this.#add(this.#snapshot(message.timestampMs, message.book, message.droppedLevels), [item], sink);
    sink.finish(item);
  }

  #applyFirst(sink: RecordSink): void {
    const events = this.#window.takeFirst();
    const { timestampMs } = events[0]!;
    const hasBook = events.at(-1)!.kind === 'book';
    const moment: Moment = { timestampMs, hasBook, isChanged: false, droppedLevels: 0, items: [] };
    if (this.#interval !== undefined && !this.#isOneInterval(this.#interval.timestampMs, timestampMs)) {
      this.#endInterval(sink);
    }
    this.#settledMs = timestampMs;
    for (const event of events) this.#apply(event, moment, sink);
    this.#checkBest(events, sink);
    this.#checkChangeHash(events, timestampMs, sink);
    if (moment.isChanged) this.#keep(moment, sink);
    else finishAll(moment.items, sink);
  }

  #apply(event: AssetEvent, moment: Moment, sink: RecordSink): void {
    if (event.kind === 'change') {
      this.#applyChange(event, moment, sink);
    } else if (event.kind === 'book') {
      this.#applyBook(event, moment, sink);
    } else if (event.kind === 'tick') {
      // The book goes on: a finer tick allows new prices and takes none away.
      this.#hashes.noteTick(event.tickSize);
      sink.finish(event.item);
    }
  }

  #applyChange(event: ChangeEvent, moment: Moment, sink: RecordSink): void {
    const { item, change } = event;
    const { isBid, price, size } = change;
    if (this.#book !== undefined && size > 0 && !this.#book.hasRoomFor(isBid, price)) {
      sink.reject(item, `the book has ${LEVELS_MAX} levels on this side already: it takes no more`);
      this.#gaps.doubt(moment.timestampMs, `a book of ${this.#target.outcome} grew past ${LEVELS_MAX} levels`);
    } else if (this.#book !== undefined) {
      this.#applied.add(moment.timestampMs, change);
      if (this.#book.set(isBid, price, size)) moment.isChanged = true;
      this.#hasChanges = true;
      moment.items.push(item);
    } else if (moment.hasBook || this.#window.some((event) => event.kind === 'book')) {
      // The first book follows at once and has it.
      sink.finish(item);
    } else {
      sink.reject(item, BEFORE_FIRST_BOOK);
    }
  }

  #applyBook(event: BookEvent, moment: Moment, sink: RecordSink): void {
    const { message, item } = event;
    const { timestampMs } = moment;
    const isFirst = this.#book === undefined;
    const isEqual = this.#book !== undefined && sameBook(this.#book, message.book);
    const verdict = this.#judge(message, isEqual ? undefined : this.#book);
    if (verdict === 'damaged' || verdict === 'rebuilt is right') {
      this.#refuse(item, sink);
      if (verdict === 'rebuilt is right') this.#confirm(timestampMs, sink);
      else if (!isFirst) this.#gaps.doubt(timestampMs, `a recorded book of ${this.#target.outcome} is damaged`);
      return;
    }
    this.#book ??= new EditableBook();
    if (isFirst) this.#firstBookMs = timestampMs;
    if (!isFirst) this.#checks.booksCompared += 1;
    if (isEqual) this.#checks.booksEqual += 1;
    if (isFirst || isEqual) {
      // The book is right, and all hashes said that it was not: they are not to be relied on.
      if (this.#hashesFailed >= DRIFT_HASHES) this.#hashesMatched = 0;
      this.#confirm(timestampMs, sink);
      sink.finish(item);
    } else {
      const levels = changesBetween(this.#book, message.book).length;
      const isNeeded = this.#gaps.disagree(timestampMs, levels, this.#hasChanges, item);
      if (!isNeeded) sink.finish(item);
      this.#startAgain();
    }
    if (!isEqual) {
      this.#book.replace(message.book);
      moment.isChanged = true;
    }
    moment.droppedLevels += message.droppedLevels;
    moment.items.push(item);
  }

  /** Both parts of a book's item end. */
  #refuse(item: SourceItem, sink: RecordSink): void {
    this.#checks.booksDamaged += 1;
    sink.reject(item, 'the book is damaged: its hash is not that of its levels');
    sink.finish(item);
  }

  /** The rebuilt book is the venue's at this time. */
  #confirm(timestampMs: number, sink: RecordSink): void {
    this.#addGap(this.#gaps.confirm(timestampMs), sink);
    this.#startAgain();
  }

  /** What spoke against the book before says nothing about the one that is there now. */
  #startAgain(): void {
    this.#hasChanges = false;
    this.#hashesFailed = 0;
    this.#hasDrifted = false;
  }

  #addGap(found: FoundGap | undefined, sink: RecordSink): void {
    if (found === undefined) return;
    const { gap, item } = found;
    const { conditionId } = this.#target;
    this.#add({ type: 'gap', conditionId, gap }, item === undefined ? [] : [item], sink);
  }

  #keep(moment: Moment, sink: RecordSink): void {
    const book = this.#book!;
    if (this.#latest !== undefined && sameBook(this.#latest, book)) {
      finishAll(moment.items, sink);
      return;
    }
    this.#latest = book.snapshot();
    if (this.#every === 'change') this.#emit(moment, sink);
    else this.#interval = this.#interval === undefined ? moment : this.#joined(this.#interval, moment, sink);
  }

  #joined(interval: Moment, moment: Moment, sink: RecordSink): Moment {
    const { items } = interval;
    for (const item of moment.items) {
      if (items.length < INTERVAL_ITEMS_MAX) items.push(item);
      else sink.finish(item);
    }
    return { ...moment, items, droppedLevels: interval.droppedLevels + moment.droppedLevels };
  }

  #isOneInterval(aMs: number, bMs: number): boolean {
    const every = this.#every;
    return every !== 'change' && Math.floor(aMs / every) === Math.floor(bMs / every);
  }

  #endInterval(sink: RecordSink): void {
    const interval = this.#interval;
    this.#interval = undefined;
    if (interval !== undefined) this.#emit(interval, sink);
  }

  #emit({ timestampMs, items, droppedLevels }: Moment, sink: RecordSink): void {
    const book = this.#latest!;
    if (this.#emitted !== undefined && this.#every !== 'change' && sameBook(this.#emitted, book)) {
      finishAll(items, sink);
      return;
    }
    this.#emitted = book;
    this.#add(this.#snapshot(timestampMs, book, droppedLevels), items, sink);
  }

  #snapshot(timestampMs: number, book: OrderBook, droppedLevels: number): RecordedItem {
    return { type: 'snapshot', ...this.#target, timestampMs, id: undefined, book, droppedLevels };
  }

  #add(record: RecordedItem, items: readonly SourceItem[], sink: RecordSink): void {
    try {
      sink.add(record, items);
    } catch (error) {
      const { message } = refusal(error);
      for (const item of items) sink.reject(item, message);
    }
  }

  #checkBest(events: readonly AssetEvent[], sink: RecordSink): void {
    const book = this.#book;
    for (const event of events) {
      const best = event.kind === 'best' ? event.best : event.kind === 'change' ? event.change.best : undefined;
      if (best !== undefined && book !== undefined) {
        this.#checks.bestCompared += 1;
        const { bid, ask } = bestPricesOf(book);
        if (best.bid !== bid || best.ask !== ask) this.#checks.bestMismatches += 1;
      }
      if (event.kind !== 'best') continue;
      if (book !== undefined) sink.finish(event.item);
      else sink.reject(event.item, 'best prices without sizes, and no book of this asset to compare them with');
    }
  }

  /** A change's hash is that of the book after it: one that matches proves the book right, another proves nothing. */
  #checkChangeHash(events: readonly AssetEvent[], timestampMs: number, sink: RecordSink): void {
    const isDue = timestampMs - this.#hashTriedMs >= HASH_EVERY_MS;
    const isUrgent = this.#hashesMatched > 0 && this.#hashesFailed > 0 && this.#hashesFailed < DRIFT_HASHES;
    if (!isDue && !isUrgent) return;
    const hashes = new Set<string>();
    for (const event of events) {
      // The hash of a book that is here too was checked with it.
      if (event.kind === 'book') return;
      if (event.kind === 'change' && event.change.hash !== undefined) hashes.add(event.change.hash);
    }
    const book = this.#book;
    if (hashes.size === 0 || book === undefined) return;
    this.#hashTriedMs = timestampMs;
    this.#checks.changeHashesTried += 1;
    // With the last failure that is looked into, any price is tried: the last trade may not have been recorded.
    const isLastTry = this.#hashesFailed === DRIFT_HASHES - 1;
    if (this.#hashes.isOneOf(hashes, this.#hashed(book, timestampMs), isLastTry)) {
      this.#checks.changeHashesVerified += 1;
      this.#hashesMatched += 1;
      this.#confirm(timestampMs, sink);
    } else {
      this.#hashesFailed += 1;
      this.#hasDrifted ||= isLastTry && this.#hashesMatched > 0;
    }
  }

  #hashed(book: OrderBook, timestampMs: number): HashedBook {
    const { conditionId: market, assetId } = this.#target;
    const timestamp = String(timestampMs);
    return { market, assetId, timestamp, ...hashedLevels(book), minOrderSize: MIN_ORDER_SIZE, negRisk: false };
  }

  /**
   * What a book's hash says about it. `rebuilt`: the book that the changes lead to, where it is another one: when the hash is that
   * one's, the recorded book is damaged and the rebuilt one right. Beyond that a hash that does not match proves damage
   * only where the message states all it depends on, and other such hashes were found right.
   */
  #judge({ claim, book }: BookMessage, rebuilt: OrderBook | undefined): 'kept' | 'damaged' | 'rebuilt is right' {
    if (claim === undefined) return 'kept';
    // Recorders may have put the best level first, or written the numbers in their own way.
    if (this.#hashes.isHashOf(claim) || this.#hashes.isHashOf(claim, book)) {
      this.#checks.hashesVerified += 1;
      if (claim.isComplete) this.#checks.completeHashesVerified += 1;
      return 'kept';
    }
    if (rebuilt !== undefined && this.#hashes.isHashOf(claim, rebuilt)) return 'rebuilt is right';
    if (claim.isComplete && this.#checks.completeHashesVerified > 0) return 'damaged';
    this.#checks.hashesUnverifiable += 1;
    return 'kept';
  }
}

function finishAll(items: readonly SourceItem[], sink: RecordSink): void {
  for (const item of items) sink.finish(item);
}
