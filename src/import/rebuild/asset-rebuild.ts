import { LEVELS_MAX, type OrderBook, sameBook } from '../../domain/orderbook.ts';
import type { Outcome } from '../../domain/outcome.ts';
import { refusal } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { type BestPrices, bestPricesOf } from '../../venue/best-prices.ts';
import { type BookMessage, type Change, lastTradePriceIn } from '../../venue/book-message-parser.ts';
import { EditableBook } from '../../venue/editable-book.ts';
import { changesBetween, type LevelChange } from '../../venue/level-change.ts';
import { LevelTexts } from '../../venue/level-texts.ts';
import { MIN_ORDER_SIZE } from '../../venue/market-status.ts';
import type { RecordSink, SourceItem } from '../record-sink.ts';
import { AppliedChanges } from './applied-changes.ts';
import type { RebuildChecks } from './checks.ts';
import { type FoundGap, GapTracker } from './gap-tracker.ts';
import type { HashSearch } from './hash-search.ts';
import type { SnapshotPace } from './pace.ts';
import { ReorderWindow, type Timed } from './reorder-window.ts';

/** A message waits until one of the same asset is this much later. In real captures messages arrive up to 89 ms late. */
const WINDOW_MS = 2000;
/** Maximum number of waiting messages; with more, the window is shorter. */
const WINDOW_EVENTS_MAX = 4096;
/** This number of late changes in a row means that the input went back in time: another recording begins. */
const RESTART_CHANGES = 16;
/** Maximum number of late messages that wait for the decision whether another recording begins. */
const LATE_MAX = 256;
/** Maximum number of messages that a snapshot of an interval (`--every 1s`) is counted for. */
const INTERVAL_ITEMS_MAX = 1024;

/** After this number of mismatches in a row no other order of the changes is tried. In real captures six may follow each other. */
const FAILED_SEARCHES_MAX = 8;
/** This number of mismatches at the end of a recording, after which no hash follows, proves nothing. */
const UNDECIDED_MAX = 6;
/** Maximum number of moments that wait for a hash that proves them. */
const PENDING_MAX = 4096;
/** Maximum number of presumed gaps of an asset. With more, the last one is extended. */
const PRESUMED_MAX = 256;
/** Changes are in another order than their timestamps at most for this time. */
const OTHER_ORDER_MS = 50;
/** Maximum number of changes that are kept for other orders. */
const RECENT_MAX = 128;
const BEFORE_FIRST_BOOK = 'the change is before the first book of this asset';

/** The series that an asset's book is stored in. */
export interface AssetTarget {
  readonly conditionId: string;
  readonly outcome: Outcome;
  readonly assetId: string;
}

/** A message, or part of one, about one asset. A book ends three parts of its item, any other message one. */
export type AssetEvent = Timed & { readonly item: SourceItem } & (
    | { readonly kind: 'change'; readonly change: Change }
    | { readonly kind: 'book'; readonly message: BookMessage }
    | { readonly kind: 'tick'; readonly tickSize: string }
    | { readonly kind: 'best'; readonly best: BestPrices }
  );
type BookEvent = Extract<AssetEvent, { kind: 'book' }>;
type ChangeEvent = Extract<AssetEvent, { kind: 'change' }>;

/**
 * `explained`: a hash of the changes matches the book in another order of the changes around it; `failed`: none matches;
 * `unproved`: nothing proves the book or contradicts it.
 */
type Proof = 'proved' | 'explained' | 'failed' | 'unproved';

/** A level that differs in the order of changes that a hash proves. */
interface OtherOrder extends LevelChange {
  /** Whether the level had this size before a change, at whose time the recording does not state the size again. */
  readonly isEarlier: boolean;
  /** Whether the level was stated again later: if so, a change to the earlier size is missing. */
  isRestated: boolean;
}

/** A moment that waits for the next proof. */
interface PendingMoment {
  readonly moment: Moment;
  readonly book: OrderBook;
  readonly other: OtherOrder | undefined;
}

interface Judgement {
  readonly verdict: 'kept' | 'damaged' | 'rebuilt is right';
  /** As messages write it. */
  readonly lastTradePrice?: string | undefined;
}

/** A change, and the size that the level had before. */
interface RecentChange extends LevelChange {
  readonly timestampMs: number;
  readonly before: number;
}

/** The effect of all events of one timestamp. */
interface Moment {
  readonly timestampMs: number;
  readonly hasBook: boolean;
  /** Whether a recorded book of this time was kept. */
  isFull: boolean;
  isChanged: boolean;
  droppedLevels: number;
  /** Items of the messages that changed the book. */
  readonly items: SourceItem[];
  /** Whether a recorded book or a hash of this time proves the book: only then is one of the archive corrected. */
  isProved: boolean;
  /** The last time before at which the book was confirmed; -1 without any. */
  readonly provedMs: number;
}

/**
 * Rebuilds the book of one asset from the messages about it, in the order of the venue's timestamps; at ties full books come
 * last. All messages of one timestamp are applied together, once WINDOW_MS have passed, and become one snapshot.
 *
 * A contradiction opens a gap: from the last time at which the book was confirmed (by an equal recorded book or a matching hash)
 * to the next one. Once hashes of changes have matched, a book that none matches is stored only if another order of the changes
 * around it explains its hash: the venue's timestamps do not always have the order in which it applied them.
 */
export class AssetRebuild {
  readonly #target: AssetTarget;
  readonly #every: SnapshotPace;
  readonly #checks: RebuildChecks;
  readonly #hashes: HashSearch;
  readonly #window = new ReorderWindow<AssetEvent>();
  #gaps: GapTracker;
  #late: AssetEvent[] = [];
  readonly #applied = new AppliedChanges();
  #newestMs = -1;
  /** All messages up to this time are applied. */
  #appliedMs = -1;
  #book: EditableBook | undefined;
  #firstBookMs = Infinity;
  /** The book after the last timestamp that changed it. */
  #latest: OrderBook | undefined;
  /** The book of the last moment that was kept, for its interval. */
  #kept: OrderBook | undefined;
  #emitted: OrderBook | undefined;
  #interval: Moment | undefined;
  /** Whether the recording has changes of this asset, not only full books. */
  #isChannel = false;
  /** Time ranges between different books before the first change. */
  #presumed: { fromMs: number; toMs: number }[] = [];
  /** Whether a change was applied since the last confirmation. */
  #hasChanges = false;
  #hashesFailed = 0;
  #hashesMatched = 0;
  /** The order of changes that the last proof needs; undefined if it is theirs. */
  #other: OtherOrder | undefined;
  /** Moments since the first mismatch after the last proof. */
  #pending: PendingMoment[] = [];
  /** The last moment whose hash matched: if the next one matches too, nothing of its time is missing. */
  #lastProved: { readonly moment: Moment; readonly book: OrderBook } | undefined;
  /** Since when each proof followed the one before it; undefined before the first. */
  #coveredFromMs: number | undefined;
  /** Changes of the last moments and the sizes before them, for other orders. */
  #recent: RecentChange[] = [];
  readonly #texts = new LevelTexts();

  constructor(target: AssetTarget, every: SnapshotPace, checks: RebuildChecks, hashes: HashSearch) {
    this.#target = target;
    this.#every = every;
    this.#checks = checks;
    this.#hashes = hashes;
    this.#gaps = new GapTracker(target.outcome);
  }

  /** Number of waiting messages. */
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
      else if (this.#late.length >= LATE_MAX) this.#finishLate(sink);
      return;
    }
    if (this.#late.length > 0) {
      if (this.#lateIsRecording()) this.#restart(sink);
      else this.#finishLate(sink);
    }
    this.#await(event, sink);
    this.#advance(event.timestampMs, sink);
  }

  #await(event: AssetEvent, sink: RecordSink): void {
    if (event.kind === 'change' && !this.#isChannel) this.#beginChannel(sink);
    this.#window.push(event);
  }

  /** Applies what is WINDOW_MS older than the newest message. */
  #advance(timestampMs: number, sink: RecordSink): void {
    this.#newestMs = Math.max(this.#newestMs, timestampMs);
    const windowMs = this.#newestMs - WINDOW_MS;
    while (this.#window.length > WINDOW_EVENTS_MAX || (this.#window.firstMs ?? windowMs) < windowMs) {
      this.#applyFirst(sink);
    }
  }

  /** Applies all waiting messages; the book stays. */
  drain(sink: RecordSink): void {
    this.#finishLate(sink);
    while (this.#window.length > 0) this.#applyFirst(sink);
  }

  /** Call it after the last message: everything that waits becomes records. */
  finish(sink: RecordSink): void {
    if (this.#lateIsRecording()) this.#restart(sink);
    this.drain(sink);
    // A recording that continues this one may have the changes that are still missing.
    if (this.#hashesFailed > UNDECIDED_MAX) this.#dropPending(sink);
    else this.#keepPending(sink);
    this.#keepLast(false, sink);
    this.#endInterval(sink);
    this.#addGap(this.#gaps.end(this.#appliedMs), sink);
    this.#endCovered(this.#gaps.confirmedMs, sink);
  }

  /** Whether a change was applied before: recordings may overlap. */
  #isRepeat(event: AssetEvent): boolean {
    return event.kind === 'change' && this.#isApplied(event) && this.#applied.has(event.timestampMs, event.change);
  }

  /** Whether its time is applied already, or it is later than the window allows: it may begin an earlier recording. */
  #isLate(event: AssetEvent): boolean {
    return this.#isApplied(event) || event.timestampMs < this.#newestMs - WINDOW_MS;
  }

  /** Whether its time is applied. A full book may still come at the latest applied time, because it is the last of its time. */
  #isApplied({ timestampMs, isLast }: AssetEvent): boolean {
    return isLast ? timestampMs < this.#appliedMs : timestampMs <= this.#appliedMs;
  }

  /** Whether the late messages are a separate recording: a book and changes after it. */
  #lateIsRecording(): boolean {
    const firstBook = this.#late.findIndex((event) => event.kind === 'book');
    return firstBook >= 0 && this.#late.slice(firstBook).some((event) => event.kind === 'change');
  }

  /** The input went back in time: finishes the book and starts another one with the late messages. */
  #restart(sink: RecordSink): void {
    const events = this.#late;
    this.#late = [];
    this.finish(sink);
    this.#newestMs = -1;
    this.#appliedMs = -1;
    this.#book = undefined;
    this.#firstBookMs = Infinity;
    this.#latest = undefined;
    this.#kept = undefined;
    this.#emitted = undefined;
    this.#isChannel = false;
    this.#presumed = [];
    this.#gaps = new GapTracker(this.#target.outcome);
    this.#hashesFailed = 0;
    this.#hashesMatched = 0;
    this.#recent = [];
    for (const event of events) this.push(event, sink);
  }

  /** Ends the late messages, which are too late to change the book. */
  #finishLate(sink: RecordSink): void {
    const events = this.#late;
    this.#late = [];
    for (const event of events) {
      if (!this.#isApplied(event)) this.#await(event, sink);
      else if (event.kind === 'change') this.#rejectLate(event, sink);
      else if (event.kind === 'book') this.#keepLateBook(event, sink);
      else sink.finish(event.item);
    }
  }

  #rejectLate(event: ChangeEvent, sink: RecordSink): void {
    if (!this.#isChannel) this.#beginChannel(sink);
    const { timestampMs, item } = event;
    if (timestampMs <= this.#firstBookMs) {
      // The first book contains the change.
      if (this.#firstBookMs - timestampMs <= WINDOW_MS) sink.finish(item);
      else sink.reject(item, BEFORE_FIRST_BOOK);
      return;
    }
    const lateMs = this.#newestMs - timestampMs;
    sink.reject(
      item,
      `the change arrived ${lateMs} ms late, more than the ${WINDOW_MS} ms that are allowed: it is left out and opens a gap`,
    );
    this.#gaps.miss(timestampMs, this.#appliedMs);
  }

  /** A full book needs no other message: it is stored at its own time, however late it is. */
  #keepLateBook({ message, item }: BookEvent, sink: RecordSink): void {
    const { verdict, lastTradePrice } = this.#judge(message, undefined);
    if (verdict === 'damaged') {
      this.#refuse(item, sink);
      return;
    }
    this.#keepLastTrade(message.timestampMs, lastTradePrice, item, sink);
    this.#add(this.#snapshot(message.timestampMs, message.book, message.droppedLevels), [item], sink);
    sink.finish(item);
  }

  #applyFirst(sink: RecordSink): void {
    const events = this.#window.takeFirst();
    const { timestampMs } = events[0]!;
    const hasBook = events.at(-1)!.kind === 'book';
    const moment: Moment = {
      ...{ timestampMs, hasBook, isFull: false, isChanged: false, droppedLevels: 0, items: [] },
      ...{ isProved: false, provedMs: this.#gaps.confirmedMs },
    };
    this.#appliedMs = timestampMs;
    for (const event of events) this.#apply(event, moment, sink);
    this.#checkBest(events, sink);
    this.#endMoment(moment, moment.isFull ? 'proved' : this.#proofOf(events, timestampMs), sink);
  }

  #apply(event: AssetEvent, moment: Moment, sink: RecordSink): void {
    if (event.kind === 'change') {
      this.#applyChange(event, moment, sink);
    } else if (event.kind === 'book') {
      this.#applyBook(event, moment, sink);
    } else if (event.kind === 'tick') {
      // The book stays: a finer tick allows new prices and removes none.
      this.#hashes.noteTick(event.tickSize);
      sink.finish(event.item);
    }
  }

  #note(change: RecentChange): void {
    this.#recent.push(change);
    if (this.#recent.length > RECENT_MAX) this.#recent.shift();
    for (const { other } of this.#pending) {
      if (other !== undefined && isSame(other, change.isBid, change.price)) other.isRestated = true;
    }
  }

  #applyChange(event: ChangeEvent, moment: Moment, sink: RecordSink): void {
    const { item, change } = event;
    const { isBid, price, size } = change;
    if (this.#book !== undefined && size > 0 && !this.#book.hasRoomFor(isBid, price)) {
      sink.reject(
        item,
        `the book has the maximum of ${LEVELS_MAX} levels on this side: the change is left out and opens a gap`,
      );
      this.#gaps.doubt(moment.timestampMs, `a book of ${this.#target.outcome} had more than ${LEVELS_MAX} levels`);
    } else if (this.#book !== undefined) {
      this.#applied.add(moment.timestampMs, change);
      this.#note({ timestampMs: moment.timestampMs, isBid, price, before: this.#book.sizeAt(isBid, price), size });
      if (this.#book.set(isBid, price, size)) moment.isChanged = true;
      this.#hasChanges = true;
      moment.items.push(item);
    } else if (moment.hasBook || this.#window.some((event) => event.kind === 'book')) {
      // The first book follows at once and contains the change.
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
    const { verdict, lastTradePrice } = this.#judge(message, isEqual || !this.#isChannel ? undefined : this.#book);
    if (verdict === 'damaged' || verdict === 'rebuilt is right') {
      this.#refuse(item, sink);
      if (verdict === 'rebuilt is right') this.#confirm(moment, sink);
      else if (!isFirst) this.#gaps.doubt(timestampMs, `a recorded book of ${this.#target.outcome} is damaged`);
      return;
    }
    this.#keepLastTrade(timestampMs, lastTradePrice, item, sink);
    moment.isFull = true;
    this.#book ??= new EditableBook();
    if (isFirst) this.#firstBookMs = timestampMs;
    if (!this.#isChannel) {
      if (!isFirst && !isEqual && timestampMs > this.#gaps.confirmedMs) this.#presumeGap(timestampMs);
      this.#keepFullBook(event, moment, isEqual, sink);
      return;
    }
    if (!isFirst) this.#checks.booksCompared += 1;
    if (isEqual) this.#checks.booksEqual += 1;
    if (isFirst || isEqual) {
      // The book was right although no hash matched: the hashes are unreliable.
      if (isEqual && this.#hashesFailed > 0 && !moment.isChanged) {
        this.#hashesMatched = 0;
        this.#keepPending(sink);
      } else if (this.#hashesFailed > 0) this.#dropPending(sink);
      this.#confirm(moment, sink);
      sink.finish(item);
    } else {
      const levels = changesBetween(this.#book, message.book).length;
      if (this.#hashesFailed > 0) this.#rejectPending(sink);
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

  /** Keeps a book of a recording without changes: it needs no other message. */
  #keepFullBook({ message, item }: BookEvent, moment: Moment, isEqual: boolean, sink: RecordSink): void {
    const { book, droppedLevels } = message;
    this.#confirm(moment, sink);
    sink.finish(item);
    if (!isEqual) this.#book!.replace(book);
    if (this.#every === 'change') {
      this.#latest = book;
      this.#add(this.#snapshot(moment.timestampMs, book, droppedLevels), [item], sink);
      return;
    }
    moment.isChanged ||= !isEqual;
    moment.droppedLevels += droppedLevels;
    moment.items.push(item);
  }

  #presumeGap(toMs: number): void {
    const fromMs = this.#gaps.confirmedMs;
    const last = this.#presumed.at(-1);
    if (last !== undefined && (last.toMs === fromMs || this.#presumed.length >= PRESUMED_MAX)) last.toMs = toMs;
    else this.#presumed.push({ fromMs, toMs });
  }

  /** Call it at the first change: changes between the books before it were lost. */
  #beginChannel(sink: RecordSink): void {
    this.#isChannel = true;
    const reason = `the book of ${this.#target.outcome} changed, and no change was recorded`;
    for (const range of this.#presumed) this.#addGap({ gap: { ...range, reason }, item: undefined }, sink);
    this.#presumed = [];
  }

  #keepLastTrade(timestampMs: number, text: string | undefined, item: SourceItem, sink: RecordSink): void {
    const price = lastTradePriceIn(text);
    if (price === undefined) sink.finish(item);
    else this.#add({ type: 'lastTradePrice', ...this.#target, timestampMs, id: undefined, price }, [item], sink);
  }

  /** Rejects a damaged book: ends all parts of its item. */
  #refuse(item: SourceItem, sink: RecordSink): void {
    this.#checks.booksDamaged += 1;
    sink.reject(item, 'the book is damaged: its hash does not match its levels');
    sink.finish(item);
    sink.finish(item);
  }

  /** Call it when the rebuilt book equals the venue's at the time of a moment. */
  #confirm({ timestampMs }: Moment, sink: RecordSink): void {
    this.#addGap(this.#gaps.confirm(timestampMs), sink);
    this.#coveredFromMs ??= timestampMs;
    this.#startAgain();
  }

  /** Evidence against an earlier book does not count against the current one. */
  #startAgain(): void {
    this.#hasChanges = false;
    this.#hashesFailed = 0;
  }

  #addGap(found: FoundGap | undefined, sink: RecordSink): void {
    if (found === undefined) return;
    const { gap, item } = found;
    this.#endCovered(gap.fromMs, sink);
    this.#coveredFromMs = gap.toMs;
    const { conditionId, outcome } = this.#target;
    const record: RecordedItem = {
      type: 'gap',
      conditionId,
      gap,
      outcome: this.#hashesMatched > 0 ? outcome : undefined,
    };
    this.#add(record, item === undefined ? [] : [item], sink);
  }

  /** The changes until `toMs` are complete, as hashes prove: gaps of other recordings in this time are covered. */
  #endCovered(toMs: number, sink: RecordSink): void {
    const fromMs = this.#coveredFromMs;
    if (fromMs !== undefined && fromMs < toMs && this.#hashesMatched > 0) sink.cover(this.#target, fromMs, toMs);
    this.#coveredFromMs = undefined;
  }

  /** Keeps the book of a moment, or lets it wait until a hash proves it. */
  #endMoment(moment: Moment, proof: Proof, sink: RecordSink): void {
    if ((proof === 'proved' || proof === 'explained') && this.#hashesFailed > 0) this.#dropPending(sink);
    if (proof === 'failed' || proof === 'explained') this.#keepLast(false, sink);
    if (proof === 'failed') {
      // What was explained before does not depend on what is missing now.
      if (this.#hashesFailed === 0) this.#keepPending(sink);
      this.#hashesFailed += 1;
    } else if (proof !== 'unproved' && !moment.isFull) {
      this.#confirm(moment, sink);
    }
    moment.isProved = proof === 'proved';
    // What waits is proved with this book.
    if (proof === 'proved') this.#keepPending(sink);
    if (this.#book !== undefined && !moment.isFull && (this.#hashesFailed > 0 || proof === 'explained')) {
      this.#wait(moment, proof === 'explained' ? this.#other : undefined, sink);
      return;
    }
    this.#keepPending(sink);
    this.#finishMoment(moment, this.#book, sink);
  }

  #wait(moment: Moment, other: OtherOrder | undefined, sink: RecordSink): void {
    const book = this.#book!.snapshot();
    this.#pending.push({ moment, book, other });
    if (this.#pending.length <= PENDING_MAX) return;
    const [oldest] = this.#pending.splice(0, 1);
    for (const item of oldest!.moment.items) sink.contradict(item);
  }

  /** Keeps the books that wait, apart from those that lack a change: nothing is stored of these, and a gap says so. */
  #keepPending(sink: RecordSink): void {
    const pending = this.#pending;
    this.#pending = [];
    for (const { moment, book, other } of pending) {
      if (other?.isEarlier === true && other.isRestated) {
        for (const item of moment.items) sink.contradict(item);
        const { provedMs: fromMs } = moment;
        const gap = { fromMs, toMs: this.#appliedMs, reason: this.#driftReason() };
        if (fromMs >= 0) this.#addGap({ gap, item: undefined }, sink);
      } else this.#finishMoment(moment, book, sink);
    }
  }

  #driftReason(): string {
    return `the hashes of the changes of ${this.#target.outcome} do not match the rebuilt book`;
  }

  /** The books since the first mismatch are wrong: nothing is stored of them, and a gap says so. */
  #dropPending(sink: RecordSink): void {
    const [first] = this.#pending;
    this.#rejectPending(sink);
    if (this.#gaps.confirmedMs < 0) this.#gaps.confirm(first?.moment.timestampMs ?? this.#appliedMs);
    this.#gaps.doubt(this.#appliedMs, this.#driftReason());
  }

  #rejectPending(sink: RecordSink): void {
    const pending = this.#pending;
    this.#pending = [];
    for (const { moment } of pending) for (const item of moment.items) sink.contradict(item);
  }

  #finishMoment(moment: Moment, book: OrderBook | undefined, sink: RecordSink): void {
    this.#keepLast(moment.isProved, sink);
    if (book === undefined || !moment.isChanged || (this.#latest !== undefined && sameBook(this.#latest, book))) {
      finishAll(moment.items, sink);
      return;
    }
    this.#latest = book instanceof EditableBook ? book.snapshot() : book;
    if (moment.isProved && this.#hashesMatched > 0) this.#lastProved = { moment, book: this.#latest };
    else this.#keep(moment, this.#latest, sink);
  }

  /** Adds the last moment whose hash matched. `isFollowed`: the next one matches too, so that it proves the archive's books wrong. */
  #keepLast(isFollowed: boolean, sink: RecordSink): void {
    const last = this.#lastProved;
    this.#lastProved = undefined;
    if (last === undefined) return;
    if (isFollowed && this.#every === 'change') sink.correct(this.#target, last.moment.timestampMs, last.book);
    this.#keep({ ...last.moment, isProved: isFollowed }, last.book, sink);
  }

  #keep(moment: Moment, book: OrderBook, sink: RecordSink): void {
    const interval = this.#interval;
    if (interval !== undefined && !this.#isOneInterval(interval.timestampMs, moment.timestampMs)) {
      this.#endInterval(sink);
    }
    this.#kept = book;
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

  #emit({ timestampMs, items, droppedLevels, isProved }: Moment, sink: RecordSink): void {
    const book = this.#kept!;
    if (this.#emitted !== undefined && this.#every !== 'change' && sameBook(this.#emitted, book)) {
      finishAll(items, sink);
      return;
    }
    this.#emitted = book;
    const snapshot = this.#snapshot(timestampMs, book, droppedLevels);
    const yields = this.#hashesMatched > 0 && !isProved;
    this.#add(yields ? { ...snapshot, yields } : snapshot, items, sink);
  }

  #snapshot(timestampMs: number, book: OrderBook, droppedLevels: number): RecordedItem & { readonly type: 'snapshot' } {
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
      else sink.reject(event.item, 'best prices have no sizes: they only check a book, and this asset has no book yet');
    }
  }

  /** Checks the book at the end of a moment by the hashes of its changes: each is the hash of the book after its change. */
  #proofOf(events: readonly AssetEvent[], timestampMs: number): Proof {
    const hashes = new Set<string>();
    for (const event of events) {
      if (event.kind === 'change' && event.change.hash !== undefined) hashes.add(event.change.hash);
    }
    const book = this.#book;
    if (hashes.size === 0 || book === undefined) return 'unproved';
    this.#checks.changeHashesTried += 1;
    const proof = this.#proofBy(hashes, timestampMs, book);
    if (proof === 'failed') return this.#hashesMatched > 0 ? 'failed' : 'unproved';
    this.#checks.changeHashesVerified += 1;
    this.#hashesMatched += 1;
    return proof;
  }

  #proofBy(hashes: ReadonlySet<string>, timestampMs: number, book: EditableBook): Exclude<Proof, 'unproved'> {
    const isHashed = (levels: OrderBook, thoroughly: boolean) =>
      this.#hashes.isOneOf(hashes, this.#hashedBook(levels, timestampMs), thoroughly);
    if (this.#hashes.isUsuallyOneOf(hashes, this.#hashedBook(book, timestampMs)) || isHashed(book, false))
      return 'proved';
    if (this.#hashesMatched === 0 || this.#hashesFailed >= FAILED_SEARCHES_MAX) return 'failed';
    for (const other of this.#otherOrders(timestampMs)) {
      const { isBid, price, size } = other;
      const now = book.sizeAt(isBid, price);
      if (now === size) continue;
      book.set(isBid, price, size);
      const isExplained = isHashed(book, false);
      book.set(isBid, price, now);
      this.#other = other;
      if (isExplained) return 'explained';
    }
    // The price of a trade that was not recorded.
    return this.#hashesFailed === 0 && isHashed(book, true) ? 'proved' : 'failed';
  }

  /** Levels as they were before the last changes, or as they are after the next ones: the nearest changes first. */
  *#otherOrders(timestampMs: number): Generator<OtherOrder> {
    const recent = this.#recent;
    for (let at = recent.length - 1; at >= 0; at -= 1) {
      const change = recent[at]!;
      const { isBid, price, before, size, timestampMs: changedMs } = change;
      if (timestampMs - changedMs > OTHER_ORDER_MS) break;
      for (const other of [before, size]) {
        // The recording itself states in which order the level had two sizes at one time.
        const isOrdered = recent.some(
          (one) => one.timestampMs === changedMs && isSame(one, isBid, price) && one.size === other,
        );
        yield { isBid, price, size: other, isEarlier: !isOrdered, isRestated: false };
      }
    }
    const later = { isEarlier: false, isRestated: false };
    for (const event of this.#window.from()) {
      if (event.timestampMs - timestampMs > OTHER_ORDER_MS) return;
      if (event.kind === 'change') yield { ...event.change, ...later };
    }
  }

  #hashedBook(levels: OrderBook, timestampMs: number) {
    const { conditionId: market, assetId } = this.#target;
    const asset = { market, assetId, timestamp: String(timestampMs), minOrderSize: MIN_ORDER_SIZE, negRisk: false };
    return { ...asset, ...this.#texts.of(levels) };
  }

  /**
   * Judges a recorded book by its hash. `rebuilt`: the book rebuilt from the changes, if it differs. If the hash matches that book,
   * the recorded one is damaged and the rebuilt one is right. If it matches neither, it proves damage only if the message states
   * everything that the hash depends on, and other hashes of such messages matched. Of a book that is kept, the price of the last
   * trade is the one that its hash proves, else the one that it states.
   */
  #judge({ claim, book, lastTradePrice }: BookMessage, rebuilt: OrderBook | undefined): Judgement {
    if (claim === undefined) return { verdict: 'kept', lastTradePrice };
    // The recorder may have changed the order of levels or the spelling of numbers.
    const proven = this.#hashes.lastTradePriceOf(claim) ?? this.#hashes.lastTradePriceOf(claim, book);
    if (proven !== undefined) {
      this.#checks.hashesVerified += 1;
      if (claim.isComplete) this.#checks.completeHashesVerified += 1;
      return { verdict: 'kept', lastTradePrice: proven };
    }
    if (rebuilt !== undefined && this.#hashes.lastTradePriceOf(claim, rebuilt) !== undefined) {
      return { verdict: 'rebuilt is right' };
    }
    if (claim.isComplete && this.#checks.completeHashesVerified > 0) return { verdict: 'damaged' };
    this.#checks.hashesUnverifiable += 1;
    return { verdict: 'kept', lastTradePrice };
  }
}

function isSame(change: LevelChange, isBid: boolean, price: number): boolean {
  return change.isBid === isBid && change.price === price;
}

function finishAll(items: readonly SourceItem[], sink: RecordSink): void {
  for (const item of items) sink.finish(item);
}
