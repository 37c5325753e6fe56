import type { Outcome } from '../domain/outcome.ts';
import type { NearestMode, PageQuery, Position } from '../domain/page.ts';
import { bookCodec } from '../segment/book-decoder.ts';
import type { BookRecord } from '../segment/book-format.ts';
import { deriveMids, deriveQuotes } from '../segment/derive.ts';
import { priceCodec } from '../segment/price-segment.ts';
import { quoteCodec } from '../segment/quote-segment.ts';
import type { SegmentSlice } from '../segment/segment-header.ts';
import type { StoredMarket } from './markets.ts';
import type { PagePlan, Segments } from './segments.ts';
import type { SeriesCatalog } from './series.ts';
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

  /** See Segments.newRecords; of recorded snapshots, which replace mirrored ones. Within a write transaction. */
  newRecords<I extends BookRecord>(market: StoredMarket, outcome: Outcome, records: readonly I[]): I[] {
    const held = this.#series.books(market.key, outcome);
    if (held?.mirrored === true) this.#clear(market, outcome, held.seriesId);
    return this.#segments.newRecords(this.#series.ensure(market.key, outcome, 'book'), records, bookCodec);
  }

  /** Of mirrored snapshots; none is new if the outcome has recorded ones. Within a write transaction. */
  newMirrored<I extends BookRecord>(market: StoredMarket, outcome: Outcome, records: readonly I[]): I[] {
    if (this.isRecorded(market, outcome)) return [];
    const seriesId = this.#series.ensure(market.key, outcome, 'book');
    this.#series.markMirrored(seriesId, true);
    return this.#segments.newRecords(seriesId, records, bookCodec);
  }

  /** Adds new snapshots, recorded or mirrored (ascending by timestamp); within a write transaction. */
  add(market: StoredMarket, outcome: Outcome, records: readonly BookRecord[]): void {
    const series = this.#series.ensure(market.key, outcome, 'book');
    for (const range of this.#segments.add(series, records, bookCodec)) this.#derive(market, outcome, range);
    if (records.length > 0) this.#totals.update(market.key, records.length);
  }

  /** Whether the outcome has books, and they were recorded. */
  isRecorded(market: StoredMarket, outcome: Outcome): boolean {
    return this.#series.books(market.key, outcome)?.mirrored === false;
  }

  /** Whether the outcome has books that were made from the other outcome's. */
  isMirrored(market: StoredMarket, outcome: Outcome): boolean {
    return this.#series.books(market.key, outcome)?.mirrored === true;
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
  nearest(market: StoredMarket, outcome: Outcome, timestampMs: number, mode?: NearestMode): Found | undefined {
    return this.#segments.nearest(this.#series.find(market.key, outcome, 'book'), timestampMs, mode);
  }

  #clear(market: StoredMarket, outcome: Outcome, books: number): void {
    const cleared = this.#segments.until(books).count;
    this.#segments.clear(books);
    this.#totals.update(market.key, -cleared);
    this.#series.markMirrored(books, false);
    for (const kind of ['derived-quote', 'derived-mid'] as const) {
      const derived = this.#series.find(market.key, outcome, kind);
      if (derived !== undefined) this.#segments.clear(derived);
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
