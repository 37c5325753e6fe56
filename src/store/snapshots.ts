import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { NearestMode, PageQuery, Position } from '../domain/page.ts';
import { bookCodec } from '../segment/book-decoder.ts';
import type { BookRecord } from '../segment/book-format.ts';
import { deriveMids, deriveQuotes } from '../segment/derive.ts';
import { priceCodec } from '../segment/price-segment.ts';
import { quoteCodec } from '../segment/quote-segment.ts';
import type { SegmentSlice } from '../segment/segment-header.ts';
import type { StoredMarket } from './markets.ts';
import type { Occurring, PagePlan, Segments } from './segments.ts';
import type { BookSeries, SeriesCatalog } from './series.ts';
import type { Found } from './series-walk.ts';
import type { SnapshotTotals } from './snapshot-totals.ts';

/** The requested outcomes that have snapshots, and the page over them. */
export interface OutcomePage {
  readonly outcomes: readonly Outcome[];
  readonly plan: PagePlan;
}

/** Order book snapshots, and the quotes and midpoints derived from them, which every change updates. */
export class Snapshots {
  readonly #segments: Segments;
  readonly #series: SeriesCatalog;
  readonly #totals: SnapshotTotals;

  constructor(segments: Segments, series: SeriesCatalog, totals: SnapshotTotals) {
    this.#segments = segments;
    this.#series = series;
    this.#totals = totals;
  }

  /** The recorded snapshots that are new, see Segments.newRecords; they replace mirrored ones, see `add`. Within a write transaction. */
  newRecords<I extends BookRecord & Occurring>(market: StoredMarket, outcome: Outcome, records: readonly I[]): I[] {
    return this.#segments.newRecords(this.#recordedSeries(market, outcome, records), records, bookCodec);
  }

  /** The mirrored snapshots that are new: none from the first recorded one on. Within a write transaction. */
  newMirrored<I extends BookRecord & Occurring>(market: StoredMarket, outcome: Outcome, records: readonly I[]): I[] {
    const { seriesId, recordedFromMs } = this.#series.ensureBooks(market.key, outcome);
    const earlier = records.filter(({ timestampMs }) => timestampMs < recordedFromMs);
    return this.#segments.newRecords(seriesId, earlier, bookCodec);
  }

  /**
   * Adds new recorded snapshots (ascending by timestamp). From the first recorded snapshot on there are no mirrored ones; those
   * before it are kept, because nothing else was known at their time. Within a write transaction.
   */
  add(market: StoredMarket, outcome: Outcome, records: readonly BookRecord[]): void {
    this.#add(market, outcome, this.#recordedSeries(market, outcome, records), records);
  }

  /** Adds new mirrored snapshots (ascending by timestamp); within a write transaction. */
  addMirrored(market: StoredMarket, outcome: Outcome, records: readonly BookRecord[]): void {
    this.#add(market, outcome, this.#series.ensure(market.key, outcome, 'book'), records);
  }

  /** Removes the snapshots of an outcome at these times. Returns their number. Within a write transaction. */
  removeAt(market: StoredMarket, outcome: Outcome, times: ReadonlySet<InstantMs>): number {
    const seriesId = times.size === 0 ? undefined : this.#series.find(market.key, outcome, 'book');
    if (seriesId === undefined) return 0;
    let [fromMs, toMs] = [Infinity, -Infinity];
    for (const timestampMs of times) {
      fromMs = Math.min(fromMs, timestampMs);
      toMs = Math.max(toMs, timestampMs + 1);
    }
    const isRemoved = ({ timestampMs }: BookRecord) => times.has(timestampMs);
    const removed = this.#segments.remove(seriesId, fromMs, toMs, bookCodec, isRemoved);
    this.#totals.update(market.key, -removed);
    this.#deriveBetween(market, outcome, seriesId, fromMs, toMs);
    return removed;
  }

  /** The recorded snapshots of an outcome between two times, both inclusive, ascending. */
  recordsBetween(market: StoredMarket, outcome: Outcome, fromMs: InstantMs, toMs: InstantMs): BookRecord[] {
    const recordedMs = Math.max(fromMs, this.recordedFromMs(market, outcome));
    return [...this.slices(market, outcome, recordedMs, toMs)].flatMap(({ payload, from, to }) =>
      bookCodec.decode(payload).slice(from, to),
    );
  }

  /** The times of the recorded snapshots of an outcome between two times, both inclusive, ascending; no book is read. */
  timesBetween(market: StoredMarket, outcome: Outcome, fromMs: InstantMs, toMs: InstantMs): InstantMs[] {
    const recordedMs = Math.max(fromMs, this.recordedFromMs(market, outcome));
    return [...this.slices(market, outcome, recordedMs, toMs)].flatMap(({ head, from, to }) => [
      ...head.timestamps.subarray(from, to),
    ]);
  }

  /** The time of the first recorded snapshot, or Infinity. Earlier ones were made from the other outcome's. */
  recordedFromMs(market: StoredMarket, outcome: Outcome): InstantMs {
    return this.#series.books(market.key, outcome)?.recordedFromMs ?? Infinity;
  }

  /** Every snapshot of an outcome between two times, see Segments.slices. */
  slices(market: StoredMarket, outcome: Outcome, fromMs: number, toMs: number): Iterable<SegmentSlice> {
    return this.#segments.slices(this.#series.find(market.key, outcome, 'book'), fromMs, toMs);
  }

  page(market: StoredMarket, outcomes: readonly Outcome[], query: PageQuery): OutcomePage {
    const series = outcomes.flatMap((outcome) => this.#series.firstOf(market.key, outcome, ['book']));
    const seriesIds = series.map(({ seriesId }) => seriesId);
    return { outcomes: series.map(({ outcome }) => outcome), plan: this.#segments.plan(seriesIds, query) };
  }

  /** See Segments.nearest; undefined when the outcome has no snapshots. */
  nearest(
    market: StoredMarket,
    outcome: Outcome,
    timestampMs: number,
    mode?: NearestMode,
    receivedByMs?: InstantMs,
  ): Found | undefined {
    return this.#segments.nearest(this.#series.find(market.key, outcome, 'book'), timestampMs, mode, receivedByMs);
  }

  #add(market: StoredMarket, outcome: Outcome, seriesId: number, records: readonly BookRecord[]): void {
    for (const range of this.#segments.add(seriesId, records, bookCodec)) this.#derive(market, outcome, range);
    if (records.length > 0) this.#totals.update(market.key, records.length);
  }

  /** The series of the books that gets the recorded `records`; removes mirrored books from the first of them on. */
  #recordedSeries(market: StoredMarket, outcome: Outcome, records: readonly BookRecord[]): number {
    const books = this.#series.ensureBooks(market.key, outcome);
    const fromMs = records[0]?.timestampMs ?? Infinity;
    if (fromMs < books.recordedFromMs) {
      this.#removeMirrored(market, outcome, books, fromMs);
      this.#series.setRecordedFrom(books.seriesId, fromMs);
    }
    return books.seriesId;
  }

  #removeMirrored(market: StoredMarket, outcome: Outcome, books: BookSeries, fromMs: InstantMs): void {
    const { seriesId, recordedFromMs: toMs } = books;
    const removed = this.#segments.remove(seriesId, fromMs, toMs, bookCodec);
    if (removed === 0) return;
    this.#totals.update(market.key, -removed);
    this.#segments.remove(this.#series.ensure(market.key, outcome, 'derived-quote'), fromMs, toMs, quoteCodec);
    this.#segments.remove(this.#series.ensure(market.key, outcome, 'derived-mid'), fromMs, toMs, priceCodec);
    const [next] = this.#segments.slices(seriesId, toMs, INSTANT_MAX_MS);
    if (next !== undefined) this.#derive(market, outcome, [bookCodec.decode(next.payload)[next.from]!]);
  }

  /** Derives quotes and midpoints again from `fromMs`, inclusive, to `toMs`, exclusive, after snapshots were removed. */
  #deriveBetween(market: StoredMarket, outcome: Outcome, seriesId: number, fromMs: InstantMs, toMs: InstantMs): void {
    this.#segments.remove(this.#series.ensure(market.key, outcome, 'derived-quote'), fromMs, toMs, quoteCodec);
    this.#segments.remove(this.#series.ensure(market.key, outcome, 'derived-mid'), fromMs, toMs, priceCodec);
    for (const { payload, from, to } of this.#segments.slices(seriesId, fromMs, INSTANT_MAX_MS)) {
      const records = bookCodec.decode(payload).slice(from, to);
      const next = records.findIndex(({ timestampMs }) => timestampMs >= toMs);
      this.#derive(market, outcome, next < 0 ? records : records.slice(0, next + 1));
      if (next >= 0) return;
    }
  }

  /** Derives quotes and midpoints again between the first and the last snapshot of a changed range. */
  #derive(market: StoredMarket, outcome: Outcome, range: readonly BookRecord[]): void {
    const first: Position = range[0]!;
    const last: Position = range.at(-1)!;
    const quotes = this.#series.ensure(market.key, outcome, 'derived-quote');
    const before = this.#segments.recordBefore(quotes, first, quoteCodec)?.quote;
    this.#segments.replace(quotes, first, last, deriveQuotes(before, range), quoteCodec);
    const mids = this.#series.ensure(market.key, outcome, 'derived-mid');
    this.#segments.replace(mids, first, last, deriveMids(before, range), priceCodec);
  }
}
