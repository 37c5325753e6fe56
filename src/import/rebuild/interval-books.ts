import { type OrderBook, sameBook } from '../../domain/orderbook.ts';
import type { RecordSink } from '../record-sink.ts';
import type { SourceItem } from '../source-item.ts';
import type { AssetTarget } from './asset-event.ts';
import { bookArrival } from './book-arrival.ts';
import { BookRebuild, type RebuildStart, type RebuiltMoment } from './book-rebuild.ts';
import type { RebuildChecks } from './checks.ts';
import type { HashSearch } from './hash-search.ts';
import { endMessages, lastTradesOf, mergedMoments, unionMoments } from './merged-books.ts';
import type { StatedAsset } from './stated-books.ts';
import type { StatedMoment } from './stated-moments.ts';

/** Maximum number of messages that a snapshot is counted for. */
const ITEMS_MAX = 1024;
/** Maximum number of moments that wait for the next one at which the book is confirmed. */
const WAITING_MAX = 4096;

/** The book at the end of the last interval, until another interval begins. */
interface OpenInterval {
  readonly timestampMs: number;
  readonly receivedMs: number | undefined;
  readonly book: OrderBook;
  readonly items: SourceItem[];
  readonly droppedLevels: number;
}

/**
 * Makes one snapshot of each interval of a recording: the last book, at the time of its last change, unless it equals the snapshot
 * before. The archive then lacks the statements that a merge with other recordings needs, so such snapshots are kept as they are.
 */
export class IntervalBooks {
  readonly #everyMs: number;
  readonly #target: AssetTarget;
  readonly #hashes: HashSearch;
  readonly #checks: RebuildChecks;
  #start: RebuildStart | undefined;
  /** All moments up to this time are rebuilt. */
  #doneMs = -1;
  #waiting: readonly StatedMoment[] = [];
  #hasChanges = false;
  #open: OpenInterval | undefined;
  #emitted: OrderBook | undefined;

  constructor(everyMs: number, { target, hashes }: StatedAsset, checks: RebuildChecks) {
    this.#everyMs = everyMs;
    this.#target = target;
    this.#hashes = hashes;
    this.#checks = checks;
  }

  /** Adds the records from messages of the asset to the sink, and ends these messages. `isLast`: no message follows. */
  add(moments: readonly StatedMoment[], isLast: boolean, sink: RecordSink): void {
    const all = [...this.#waiting, ...moments].sort((a, b) => a.timestampMs - b.timestampMs);
    const [first] = all;
    // The input went back in time: another recording begins.
    if (first !== undefined && first.timestampMs <= this.#doneMs) this.#restart(sink);
    const rebuild = new BookRebuild(this.#target, this.#hashes, this.#checks);
    if (this.#start !== undefined) rebuild.begin(this.#start, []);
    this.#hasChanges ||= all.some(({ sources }) => sources.length > 0);
    const rebuilt = rebuild.run(unionMoments([], all, this.#hasChanges), []);
    const count = isLast || all.length > WAITING_MAX ? all.length : confirmedCount(rebuilt.moments);
    this.#waiting = all.slice(count);
    const done = rebuilt.moments.slice(0, count);
    const last = done.at(-1);
    if (last?.book !== undefined) {
      const { timestampMs } = last.moment;
      this.#start = { book: last.book, confirmedMs: timestampMs, isHashed: last.state === 'proved' };
      this.#doneMs = timestampMs;
    }
    for (const moment of done) this.#take(moment, sink);
    const { conditionId } = this.#target;
    for (const { gap } of rebuilt.gaps) {
      if (gap.fromMs < this.#doneMs) sink.add({ type: 'gap', conditionId, gap }, []);
    }
    this.#finishOthers(done, sink);
    if (isLast) this.#restart(sink);
  }

  #restart(sink: RecordSink): void {
    this.#emit(sink);
    this.#start = undefined;
    this.#doneMs = -1;
    this.#emitted = undefined;
    this.#hasChanges = false;
  }

  #take(rebuilt: RebuiltMoment, sink: RecordSink): void {
    const { moment, book, state, before, droppedLevels, refused } = rebuilt;
    const { timestampMs, added } = moment;
    if (book === undefined || state === 'dropped' || added === undefined) return;
    const items = itemsOf(added).filter((item) => refused?.has(item) !== true);
    const open = this.#open;
    const isChanged = before === undefined || !sameBook(before, book);
    if (!isChanged) {
      for (const item of items) sink.finish(item);
      return;
    }
    if (
      open !== undefined &&
      Math.floor(open.timestampMs / this.#everyMs) !== Math.floor(timestampMs / this.#everyMs)
    ) {
      this.#emit(sink);
    }
    const earlier = this.#open?.items ?? [];
    for (const item of items) {
      if (earlier.length < ITEMS_MAX) earlier.push(item);
      else sink.finish(item);
    }
    this.#open = {
      timestampMs,
      receivedMs: bookArrival(rebuilt, book),
      book,
      items: earlier,
      droppedLevels: (this.#open?.droppedLevels ?? 0) + droppedLevels,
    };
  }

  #emit(sink: RecordSink): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    const { items, ...snapshot } = open;
    const { book } = snapshot;
    if (this.#emitted !== undefined && sameBook(this.#emitted, book)) {
      for (const item of items) sink.finish(item);
      return;
    }
    this.#emitted = book;
    sink.add({ type: 'snapshot', ...this.#target, ...snapshot, id: undefined }, items);
  }

  /** Ends the messages that are part of no snapshot, and adds the prices of the last trade. */
  #finishOthers(done: readonly RebuiltMoment[], sink: RecordSink): void {
    for (const { timestampMs, price } of done.flatMap(lastTradesOf)) {
      sink.add({ type: 'lastTradePrice', ...this.#target, timestampMs, id: undefined, price }, []);
    }
    // The messages of kept books end with their snapshot.
    const kept = new Set(
      done.flatMap(({ moment, book, state }) => (book === undefined || state === 'dropped' ? [] : [moment.added])),
    );
    endMessages(mergedMoments(done), (moment) => kept.has(moment), sink);
  }
}

/** The number of moments up to the last one that later ones cannot change. */
function confirmedCount(moments: readonly RebuiltMoment[]): number {
  const isHashed = moments.some(({ state }) => state === 'proved');
  return isHashed ? moments.findLastIndex(({ state }) => state === 'proved' || state === 'full') + 1 : moments.length;
}

/** The items of the changes and whole books of a moment, one for each part that ends with it. */
function itemsOf({ sources, books }: StatedMoment): SourceItem[] {
  return [...sources.flat(), ...books].map(({ item }) => item);
}
