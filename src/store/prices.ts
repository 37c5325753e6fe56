import type { ColumnRange } from '../domain/heat-map.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { PageQuery, Position } from '../domain/page.ts';
import type { PriceKind } from '../domain/price.ts';
import type { TradeDetails } from '../domain/trade.ts';
import { type PriceRecord, priceCodec } from '../segment/price-segment.ts';
import type { Received, SegmentSlice } from '../segment/segment-header.ts';
import type { StoredMarket } from './markets.ts';
import { type RecordPage, recordPage } from './record-page.ts';
import type { Occurring, Segments } from './segments.ts';
import type { MarketSeries, SeriesCatalog } from './series.ts';

export interface OutcomePrice extends Received {
  readonly outcome: Outcome;
  readonly kind: PriceKind;
  readonly price: number;
  readonly trade?: TradeDetails | undefined;
}

export interface CoinPrice extends Position {
  readonly source: string;
  readonly price: number;
}

/** The kinds of prices that the archive keeps: `last-trade` is the price of the last trade that a book states. */
export type StoredPriceKind = PriceKind | 'last-trade';

/**
 * Prices of outcomes (trades, and midpoints: recorded ones, or for outcomes without those, midpoints derived from the
 * snapshots), and reference prices of coins, one series per source.
 */
export class Prices {
  readonly #segments: Segments;
  readonly #series: SeriesCatalog;

  constructor(segments: Segments, series: SeriesCatalog) {
    this.#segments = segments;
    this.#series = series;
  }

  /** See Segments.newRecords; within a write transaction. */
  newRecords<I extends PriceRecord & Occurring>(
    market: StoredMarket,
    outcome: Outcome,
    kind: StoredPriceKind,
    records: readonly I[],
  ): I[] {
    return this.#segments.newRecords(this.#series.ensure(market.key, outcome, kind), records, priceCodec);
  }

  /** Adds new recorded prices of one kind (ascending by timestamp); within a write transaction. */
  add(market: StoredMarket, outcome: Outcome, kind: StoredPriceKind, records: readonly PriceRecord[]): void {
    this.#segments.add(this.#series.ensure(market.key, outcome, kind), records, priceCodec);
  }

  /** See Segments.newRecords; within a write transaction. */
  newRecordsOfCoin<I extends PriceRecord & Occurring>(symbol: string, source: string, records: readonly I[]): I[] {
    return this.#segments.newRecords(this.#series.ensureCoin(symbol, source), records, priceCodec);
  }

  /** Adds new prices of a coin from one source (ascending by timestamp); within a write transaction. */
  addOfCoin(symbol: string, source: string, records: readonly PriceRecord[]): void {
    this.#segments.add(this.#series.ensureCoin(symbol, source), records, priceCodec);
  }

  /** The series of each outcome's midpoints and trades; with `asOfMs`, those known at that time. Missing ones are left out. */
  sources(market: StoredMarket, outcomes: readonly Outcome[], asOfMs?: number, receivedByMs?: number): MarketSeries[] {
    const isKnown = this.#segments.knownBy(asOfMs, receivedByMs);
    return outcomes.flatMap((outcome) => [
      ...this.#series.firstOf(market.key, outcome, ['mid', 'derived-mid'], isKnown),
      ...this.#series.firstOf(market.key, outcome, ['trade'], isKnown),
    ]);
  }

  /** Every recorded price of one kind of an outcome between two times, see Segments.slices. */
  slices(
    market: StoredMarket,
    outcome: Outcome,
    kind: StoredPriceKind,
    fromMs: number,
    toMs: number,
  ): Iterable<SegmentSlice> {
    return this.#segments.slices(this.#series.find(market.key, outcome, kind), fromMs, toMs);
  }

  /** The midpoints that pages have of an outcome: recorded ones or, if it has none, derived ones. For `asOfMs` see `sources`. */
  shownMids(
    market: StoredMarket,
    outcome: Outcome,
    fromMs: number,
    toMs: number,
    asOfMs?: number,
  ): Iterable<SegmentSlice> {
    const [mids] = this.#series.firstOf(market.key, outcome, ['mid', 'derived-mid'], this.#segments.knownBy(asOfMs));
    return this.#segments.slices(mids?.seriesId, fromMs, toMs);
  }

  /** The last recorded price of one kind of an outcome that is not later than `timestampMs`; with `receivedByMs`, of those that had arrived. */
  latest(
    market: StoredMarket,
    outcome: Outcome,
    kind: StoredPriceKind,
    timestampMs: InstantMs,
    receivedByMs?: InstantMs,
  ): PriceRecord | undefined {
    return this.#latest(this.#series.find(market.key, outcome, kind), timestampMs, receivedByMs);
  }

  /**
   * The last midpoint of an outcome at or before the end of each of `parts`, which ascend. With `asOfMs` of those known then, and
   * undefined for parts that begin later; undefined also before the first midpoint. Each part takes two seeks, and a segment is
   * decoded once.
   */
  midpoints(
    market: StoredMarket,
    outcome: Outcome,
    parts: readonly ColumnRange[],
    asOfMs: InstantMs = INSTANT_MAX_MS,
  ): (number | undefined)[] {
    const isKnown = this.#segments.knownBy(asOfMs);
    const [series] = this.#series.firstOf(market.key, outcome, ['mid', 'derived-mid'], isKnown);
    let open: readonly PriceRecord[] = [];
    return parts.map(({ fromMs, toMs }) => {
      if (fromMs > asOfMs) return undefined;
      const found = this.#segments.nearest(series?.seriesId, Math.min(toMs, asOfMs), 'before');
      if (found === undefined) return undefined;
      const [first] = open;
      const { ids, timestamps } = found.head;
      if (first?.id !== ids[0] || first?.timestampMs !== timestamps[0]) open = priceCodec.decode(found.payload);
      return open[found.index]?.price;
    });
  }

  /** Every price of a coin between two times, by source. */
  slicesOfCoin(symbol: string, fromMs: number, toMs: number): { source: string; slices: Iterable<SegmentSlice> }[] {
    return this.#series.ofCoin(symbol).map(({ seriesId, source }) => ({
      source,
      slices: this.#segments.slices(seriesId, fromMs, toMs),
    }));
  }

  /** Every price of a coin from one source between two times, see Segments.slices. */
  slicesOfSource(symbol: string, source: string, fromMs: number, toMs: number): Iterable<SegmentSlice> {
    return this.#segments.slices(this.#series.findCoin(symbol, source), fromMs, toMs);
  }

  /** The last price of a coin from one source that is not later than `timestampMs`. */
  latestOfSource(symbol: string, source: string, timestampMs: InstantMs): PriceRecord | undefined {
    return this.#latest(this.#series.findCoin(symbol, source), timestampMs);
  }

  #latest(seriesId: number | undefined, timestampMs: InstantMs, receivedByMs?: InstantMs): PriceRecord | undefined {
    const found = this.#segments.nearest(seriesId, timestampMs, 'before', receivedByMs);
    return found === undefined ? undefined : priceCodec.decode(found.payload)[found.index];
  }

  page(sources: readonly MarketSeries[], query: PageQuery): RecordPage<OutcomePrice> {
    return recordPage(this.#segments, sources, query, priceCodec, (record, { outcome, kind }) => ({
      ...record,
      outcome,
      kind: kind === 'trade' ? ('trade' as const) : ('mid' as const),
    }));
  }

  /** Prices of a coin from all sources, or from one. */
  pageOfCoin(symbol: string, query: PageQuery, only?: string): RecordPage<CoinPrice> {
    const series = this.#series.ofCoin(symbol).filter(({ source }) => only === undefined || source === only);
    return recordPage(this.#segments, series, query, priceCodec, (record, { source }) => ({ ...record, source }));
  }

  /** Coins with prices of their own, by name. */
  coins(): string[] {
    return this.#series.coins();
  }

  /** Returns true if the archive has a price of the coin; with `asOfMs`, one that is not later. */
  knowsCoin(symbol: string, asOfMs?: number): boolean {
    const isKnown = this.#segments.knownBy(asOfMs);
    return this.#series.ofCoin(symbol).some(({ seriesId }) => isKnown(seriesId));
  }
}
