import { LEVELS_MAX, type OrderBook, sameBook } from '../../domain/orderbook.ts';
import type { Outcome } from '../../domain/outcome.ts';
import { refusal } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { type BestPrices, bestPricesOf } from '../../venue/best-prices.ts';
import { type BookMessage, type Change, lastTradePriceIn } from '../../venue/book-message-parser.ts';
import { EditableBook } from '../../venue/editable-book.ts';
import { changesBetween } from '../../venue/level-change.ts';
import type { RecordSink, SourceItem } from '../record-sink.ts';
import { AppliedChanges } from './applied-changes.ts';
import { BookProof, isSameLevel, type OtherOrder } from './book-proof.ts';
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
/** Maximum number of moments that wait for a proof. Those before them are not stored. */
const PENDING_MAX = 32;
/** Maximum number of presumed gaps of an asset. With more, the last one is extended. */
const PRESUMED_MAX = 256;
/** Parts of the item of a full book, see `AssetEvent`. */
const BOOK_PARTS = 3;
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
 * The result of checking a book by hashes. `failed`: none matches; `unproved`: there is none, or none has ever matched; another order:
 * the book is right, but one level has another size in the order in which the venue applied its changes.
 */
type Proof = 'proved' | 'failed' | 'unproved' | OtherOrder;

/** A moment that waits for the next proof. */
interface PendingMoment {
  readonly moment: Moment;
  readonly book: OrderBook;
  /** Undefined if no order of the changes explains the hash. */
  readonly other: OtherOrder | undefined;
  /** The level of `other` was stated again later: a change to the earlier size is missing. */
  isRestated: boolean;
}

interface Judgement {
  readonly verdict: 'kept' | 'damaged' | 'rebuilt is right';
  /** As messages write it. */
  readonly lastTradePrice?: string | undefined;
}

/** The effect of all events of one timestamp. */
interface Moment {
  readonly timestampMs: number;
  readonly hasBook: boolean;
  /** A recorded book of this time was kept. */
  isFull: boolean;
  isChanged: boolean;
  droppedLevels: number;
  /** Items of the messages that changed the book. */
  readonly items: SourceItem[];
  /** A recorded book or a hash of this time proves the book. */
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
 *
 * Until the first change, the recording has only full books, which are complete as they are: each becomes a snapshot, also an
 * unchanged one, and a difference between two of them is a gap only if a change follows.
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
  /** Moments since the last proof, from the first one on that needs another order of the changes or has no matching hash. */
  #pending: PendingMoment[] = [];
  /** The last moment whose hash matched: if the next one matches too, nothing of its time is missing. */
  #lastProved: { readonly moment: Moment; readonly book: OrderBook } | undefined;
  /** Since when each proof followed the one before it; undefined before the first. */
  #coveredFromMs: number | undefined;
  readonly #proof: BookProof;

  constructor(target: AssetTarget, every: SnapshotPace, checks: RebuildChecks, hashes: HashSearch) {
    this.#target = target;
    this.#every = every;
    this.#checks = checks;
    this.#hashes = hashes;
    this.#proof = new BookProof(target, hashes);
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
    this.#proof.clear();
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
      timestampMs,
      hasBook,
      isFull: false,
      isChanged: false,
      droppedLevels: 0,
      items: [],
      isProved: false,
      provedMs: this.#gaps.confirmedMs,
    };
    this.#appliedMs = timestampMs;
    for (const event of this.#isChannel ? events : withoutEarlierEqual(events, sink)) this.#apply(event, moment, sink);
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
      const before = this.#book.sizeAt(isBid, price);
      this.#proof.add({ timestampMs: moment.timestampMs, isBid, price, size, before });
      for (const one of this.#pending) one.isRestated ||= one.other !== undefined && isSameLevel(one.other, change);
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
      const isUnreliable = isEqual && this.#hashesFailed > 0 && !moment.isChanged;
      if (isUnreliable && this.#hashesFailed <= PENDING_MAX) {
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

  /** Keeps the book of a moment, or lets it wait until the next proof. */
  #endMoment(moment: Moment, proof: Proof, sink: RecordSink): void {
    const isProved = proof === 'proved';
    const other = typeof proof === 'object' ? proof : undefined;
    moment.isProved = isProved;
    if (!isProved && proof !== 'unproved') this.#keepLast(false, sink);
    if (isProved || other !== undefined) {
      if (this.#hashesFailed > 0) this.#dropPending(sink);
      if (!moment.isFull) this.#confirm(moment, sink);
    } else if (proof === 'failed') {
      // The moments before the first mismatch are proved by their own hashes.
      if (this.#hashesFailed === 0) this.#keepPending(sink);
      this.#hashesFailed += 1;
    }
    if (this.#book !== undefined && (this.#hashesFailed > 0 || other !== undefined)) {
      this.#wait(moment, this.#book, other, sink);
      return;
    }
    this.#keepPending(sink);
    this.#finishMoment(moment, this.#book, sink);
  }

  #wait(moment: Moment, book: EditableBook, other: OtherOrder | undefined, sink: RecordSink): void {
    this.#pending.push({ moment, book: book.snapshot(), other, isRestated: false });
    if (this.#pending.length <= PENDING_MAX) return;
    const [oldest] = this.#pending.splice(0, 1);
    if (oldest!.other === undefined) contradictAll(oldest!.moment.items, sink);
    else this.#finishMoment(oldest!.moment, oldest!.book, sink);
  }

  /** Keeps the books that wait, apart from those that lack a change: nothing is stored of these, and a gap says so. */
  #keepPending(sink: RecordSink): void {
    const pending = this.#pending;
    this.#pending = [];
    let gapFromMs: number | undefined;
    for (const { moment, book, other, isRestated } of pending) {
      if (other?.isEarlier === true && isRestated) {
        gapFromMs ??= moment.provedMs < 0 ? moment.timestampMs : moment.provedMs;
        contradictAll(moment.items, sink);
        continue;
      }
      if (gapFromMs !== undefined) this.#addHashGap(gapFromMs, moment.timestampMs, sink);
      gapFromMs = undefined;
      this.#finishMoment(moment, book, sink);
    }
    if (gapFromMs !== undefined) this.#addHashGap(gapFromMs, this.#appliedMs, sink);
  }

  #addHashGap(fromMs: number, toMs: number, sink: RecordSink): void {
    this.#addGap({ gap: { fromMs, toMs, reason: this.#driftReason() }, item: undefined }, sink);
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
    for (const { moment } of pending) contradictAll(moment.items, sink);
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
    last.moment.isProved = isFollowed;
    this.#keep(last.moment, last.book, sink);
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
    // Messages of several recordings may be among each other: a book of one time is the same one, however often it is stated.
    return { type: 'snapshot', ...this.#target, timestampMs, id: undefined, book, droppedLevels, occurrence: 1 };
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
    if (proof === undefined) return this.#hashesMatched > 0 ? 'failed' : 'unproved';
    this.#checks.changeHashesVerified += 1;
    this.#hashesMatched += 1;
    return proof;
  }

  /** Tries what is likely first, and the rest only at the first mismatch, or at the first few. */
  #proofBy(hashes: ReadonlySet<string>, timestampMs: number, book: EditableBook): 'proved' | OtherOrder | undefined {
    if (this.#proof.proves(book, hashes, timestampMs, 'likely')) return 'proved';
    if (this.#hashesMatched === 0 || this.#hashesFailed >= FAILED_SEARCHES_MAX) return undefined;
    const other = this.#proof.otherOrder(book, hashes, timestampMs, this.#laterChanges());
    if (other !== undefined) return other;
    // The last trade may not have been recorded.
    return this.#hashesFailed === 0 && this.#proof.proves(book, hashes, timestampMs, 'every') ? 'proved' : undefined;
  }

  *#laterChanges() {
    for (const event of this.#window) {
      if (event.kind === 'change') yield { ...event.change, timestampMs: event.timestampMs };
    }
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

/** Of equal full books of one time only the last: X, Y, X ends on X. */
function withoutEarlierEqual(events: readonly AssetEvent[], sink: RecordSink): readonly AssetEvent[] {
  if (events.length < 2) return events;
  return events.filter((event, at) => {
    if (event.kind !== 'book') return true;
    const isRepeated = events
      .slice(at + 1)
      .some((one) => one.kind === 'book' && sameBook(one.message.book, event.message.book));
    if (isRepeated) for (let part = 0; part < BOOK_PARTS; part += 1) sink.finish(event.item);
    return !isRepeated;
  });
}

function contradictAll(items: readonly SourceItem[], sink: RecordSink): void {
  for (const item of items) sink.contradict(item);
}

function finishAll(items: readonly SourceItem[], sink: RecordSink): void {
  for (const item of items) sink.finish(item);
}
