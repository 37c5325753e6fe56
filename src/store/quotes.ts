import type { Outcome } from '../domain/outcome.ts';
import type { PageQuery } from '../domain/page.ts';
import type { Quote } from '../domain/quote.ts';
import { type QuoteRecord, quoteCodec } from '../segment/quote-segment.ts';
import type { Received, SegmentSlice } from '../segment/segment-header.ts';
import type { StoredMarket } from './markets.ts';
import { type RecordPage, recordPage } from './record-page.ts';
import type { Occurring, Segments } from './segments.ts';
import type { MarketSeries, SeriesCatalog } from './series.ts';

export interface OutcomeQuote extends Received {
  readonly outcome: Outcome;
  readonly quote: Quote;
}

/** Tops of books: recorded ones, and for outcomes without these, those derived from the snapshots. */
export class Quotes {
  readonly #segments: Segments;
  readonly #series: SeriesCatalog;

  constructor(segments: Segments, series: SeriesCatalog) {
    this.#segments = segments;
    this.#series = series;
  }

  /** See Segments.newRecords; within a write transaction. */
  newRecords<I extends QuoteRecord & Occurring>(market: StoredMarket, outcome: Outcome, records: readonly I[]): I[] {
    return this.#segments.newRecords(this.#series.ensure(market.key, outcome, 'quote'), records, quoteCodec);
  }

  /** Adds new recorded quotes (ascending by timestamp); within a write transaction. */
  add(market: StoredMarket, outcome: Outcome, records: readonly QuoteRecord[]): void {
    this.#segments.add(this.#series.ensure(market.key, outcome, 'quote'), records, quoteCodec);
  }

  /** The series of each outcome's quotes; with `asOfMs`, those known at that time. Outcomes without quotes are left out. */
  sources(market: StoredMarket, outcomes: readonly Outcome[], asOfMs?: number, receivedByMs?: number): MarketSeries[] {
    const isKnown = this.#segments.knownBy(asOfMs, receivedByMs);
    return outcomes.flatMap((outcome) =>
      this.#series.firstOf(market.key, outcome, ['quote', 'derived-quote'], isKnown),
    );
  }

  /** Every recorded quote of an outcome between two times, see Segments.slices. */
  slices(market: StoredMarket, outcome: Outcome, fromMs: number, toMs: number): Iterable<SegmentSlice> {
    return this.#segments.slices(this.#series.find(market.key, outcome, 'quote'), fromMs, toMs);
  }

  /** The quotes that pages have of an outcome: recorded ones or, if it has none, derived ones. For `asOfMs` see `sources`. */
  shownSlices(
    market: StoredMarket,
    outcome: Outcome,
    fromMs: number,
    toMs: number,
    asOfMs?: number,
  ): Iterable<SegmentSlice> {
    return this.#segments.slices(this.sources(market, [outcome], asOfMs)[0]?.seriesId, fromMs, toMs);
  }

  page(sources: readonly MarketSeries[], query: PageQuery): RecordPage<OutcomeQuote> {
    return recordPage(this.#segments, sources, query, quoteCodec, (record, { outcome }) => ({ ...record, outcome }));
  }
}
