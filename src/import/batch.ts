import type { Gap } from '../domain/gap.ts';
import type { MarketStatement } from '../domain/market-statement.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import type { Position } from '../domain/page.ts';
import { refusal, rejected } from '../record/fields.ts';
import type { RecordedItem } from '../record/record.ts';
import { bookCodec } from '../segment/book-decoder.ts';
import type { BookRecord } from '../segment/book-format.ts';
import { type PriceRecord, priceCodec } from '../segment/price-segment.ts';
import { type QuoteRecord, quoteCodec } from '../segment/quote-segment.ts';
import type { SegmentCodec } from '../segment/segment-header.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import type { Occurring } from '../store/segments.ts';
import type { BookSource, Contradictions } from './contradictions.ts';
import type { KnownMarket, KnownMarkets } from './known-markets.ts';
import type { Occurrences } from './occurrences.ts';
import { UnknownName } from './unknown-name.ts';

/** A batch is full at this number of records or levels: large enough that fsync costs little, small enough for memory. */
export const BATCH_RECORDS = 8192;
const BATCH_LEVELS = 1_000_000;
/** A book that the archive has this close to the end of a gap covers the time between. */
const COVERED_WITHIN_MS = 50;

/** A record of the batch, the `source` it is counted for, and its result. */
export interface Entry<S> {
  readonly source: S;
  readonly type: RecordedItem['type'];
  stored: boolean;
  /** The archive has other books of its instant, see Contradictions. */
  contradicted: boolean;
  /** The reason if a market record contradicts the archive, or the market of a record was deleted after `add`. */
  refusal: string | undefined;
}

/** A record and its entry. An id of 0 is replaced by a new one. */
type BatchRecord<R extends Position, S> = R & Occurring & { id: number; readonly entry: Entry<S> };

/** The new records of one series, and the function that stores them once they have ids. */
interface Addition<S> {
  readonly records: readonly BatchRecord<Position, S>[];
  readonly store: () => void;
}

interface RecordByKind {
  readonly book: BookRecord & { readonly yields: boolean; readonly from?: BookSource | undefined };
  readonly 'mirrored-book': BookRecord;
  readonly quote: QuoteRecord;
  readonly mid: PriceRecord;
  readonly trade: PriceRecord;
  readonly 'last-trade': PriceRecord;
}
type Kind = keyof RecordByKind;

/** The order of a market's series at one timestamp. Recorded books decide which mirrored books are stored. */
const KINDS: readonly Kind[] = ['book', 'mirrored-book', 'quote', 'mid', 'trade', 'last-trade'];

interface SeriesOf<K extends Kind, S> {
  readonly kind: K;
  readonly outcome: Outcome;
  readonly records: BatchRecord<RecordByKind[K], S>[];
}
type Series<S> = { [K in Kind]: SeriesOf<K, S> }[Kind];

interface CoinSeries<S> {
  readonly symbol: string;
  readonly source: string;
  readonly records: BatchRecord<PriceRecord, S>[];
}

/** The books of an outcome that hashes prove, by time. */
type RightBooks = Map<number, OrderBook>;

/** A time without a gap in the changes of an outcome. */
interface CoveredRange {
  readonly outcome: Outcome;
  readonly fromMs: number;
  readonly toMs: number;
}

interface MarketRecords<S> {
  readonly series: Series<S>[];
  readonly right: Readonly<Record<Outcome, RightBooks>>;
  readonly covered: CoveredRange[];
  readonly gaps: { readonly gap: Gap; readonly outcome: Outcome | undefined; readonly entry: Entry<S> }[];
}

export class Batch<S> {
  readonly #archive: Archive;
  readonly #known: KnownMarkets;
  readonly #occurrences: Occurrences;
  readonly #contradictions: Contradictions;
  readonly #entries: Entry<S>[] = [];
  /** Ids that the recordings gave to records of the batch. */
  readonly #recordedIds: number[] = [];
  readonly #statements: { readonly statement: MarketStatement; readonly entry: Entry<S> }[] = [];
  readonly #markets = new Map<string, MarketRecords<S>>();
  readonly #coins = new Map<string, CoinSeries<S>>();
  #levels = 0;
  #corrections = 0;
  /** Stored snapshots that the batch removed, by conditionId; set by `commit`. */
  readonly corrected = new Map<string, number>();

  /** `occurrences`: of all batches of an import, since a batch may end between two records of one time. */
  constructor(archive: Archive, known: KnownMarkets, occurrences: Occurrences, contradictions: Contradictions) {
    this.#archive = archive;
    this.#known = known;
    this.#occurrences = occurrences;
    this.#contradictions = contradictions;
  }

  get isFull(): boolean {
    return this.#entries.length + this.#corrections >= BATCH_RECORDS || this.#levels >= BATCH_LEVELS;
  }

  get isEmpty(): boolean {
    return this.#entries.length + this.#corrections === 0;
  }

  /** See RecordSink.correct. */
  correct(conditionId: string, outcome: Outcome, timestampMs: number, right: OrderBook): void {
    this.#correctionsOf(conditionId)?.right[outcome].set(timestampMs, right);
  }

  /** See RecordSink.cover. */
  cover(conditionId: string, range: CoveredRange): void {
    this.#correctionsOf(conditionId)?.covered.push(range);
  }

  /** Undefined if another command deleted the market. */
  #correctionsOf(conditionId: string): MarketRecords<S> | undefined {
    const market = this.#known.byConditionId(conditionId);
    if (market === undefined) return undefined;
    this.#corrections += 1;
    return this.#recordsOf(market);
  }

  /**
   * Throws DomainError 'rejected-record' if the record's market is neither in the archive nor stated earlier in the input, or has
   * another asset id.
   */
  add(item: RecordedItem, source: S): void {
    const entry: Entry<S> = { source, type: item.type, stored: false, contradicted: false, refusal: undefined };
    if (item.type === 'market') {
      this.#statements.push({ statement: item.statement, entry });
      this.#known.addStatement(item.statement);
    } else if (item.type === 'coinPrice') this.#addCoinPrice(item, entry);
    else if (item.type === 'gap') {
      const { gap, outcome } = item;
      this.#recordsOf(this.#marketOf(item.conditionId)).gaps.push({ gap, outcome, entry });
    } else this.#addOutcomeRecord(item, entry);
    this.#entries.push(entry);
  }

  /** Stores everything in one transaction. Returns the entries, with their results, in the order of `add`. */
  commit(nowMs: number): readonly Entry<S>[] {
    const { database, givenIds } = this.#archive;
    database.write(() => {
      givenIds.load();
      // A record with a recorded id gets it, also if a record without one comes before it.
      for (const id of this.#recordedIds) givenIds.reserve(id);
      for (const { statement, entry } of this.#statements) this.#putMarket(statement, entry, nowMs);
      const byMarket = Map.groupBy(this.#markets, ([stated]) => this.#marketOf(stated).conditionId);
      const ofMarkets = [...byMarket].sort(byKey).flatMap(([conditionId, stated]) => {
        const parts = stated.map(([, records]) => records);
        return this.#additionsOfMarket(conditionId, parts);
      });
      const ofCoins = [...this.#coins].sort(byKey).map(([, series]) => this.#additionOfCoin(series));
      this.#storeWithIds([...ofCoins, ...ofMarkets]);
      givenIds.save();
    });
    return this.#entries;
  }

  #addCoinPrice(item: Extract<RecordedItem, { type: 'coinPrice' }>, entry: Entry<S>): void {
    const { symbol, source, timestampMs, id = 0, price, trade } = item;
    const name = `${symbol}/${source}`;
    const series = this.#coins.getOrInsertComputed(name, () => ({ symbol, source, records: [] }));
    const record = { timestampMs, id, price, trade };
    this.#enter(series.records, {
      ...record,
      entry,
      occurrence: this.#occurrence(name, record, priceCodec, trade !== undefined),
    });
  }

  #addOutcomeRecord(item: Extract<RecordedItem, { outcome: Outcome }>, entry: Entry<S>): void {
    const market = this.#marketOf(item.conditionId);
    refuseOtherAsset(market, item.outcome, item.assetId);
    const { series } = this.#recordsOf(market);
    const { outcome, timestampMs, id = 0 } = item;
    const ofKind = (kind: string) => `${market.conditionId} ${outcome} ${kind}`;
    if (item.type === 'snapshot') {
      const { records } = seriesIn(series, item.mirrored ? 'mirrored-book' : 'book', outcome);
      const record = { timestampMs, id, book: item.book };
      const isWhole = item.occurrence === undefined && item.mirrored !== true;
      const name = ofKind('book');
      const { from, key = name } = isWhole ? this.#contradictions.statedBy(name, timestampMs) : {};
      const occurrence = item.occurrence ?? this.#occurrence(key, record, bookCodec, item.mirrored === true);
      this.#enter(records, { ...record, yields: item.yields === true, from, entry, occurrence });
      this.#levels += item.book.bidPrices.length + item.book.askPrices.length;
    } else if (item.type === 'quote') {
      const record = { timestampMs, id, quote: item.quote };
      const occurrence = this.#occurrence(ofKind('quote'), record, quoteCodec, false);
      this.#enter(seriesIn(series, 'quote', outcome).records, { ...record, entry, occurrence });
    } else if (item.type === 'lastTradePrice') {
      this.#enter(seriesIn(series, 'last-trade', outcome).records, { timestampMs, id, price: item.price, entry });
    } else {
      const record = { timestampMs, id, price: item.price, trade: item.trade };
      const isTrade = item.kind === 'trade';
      const occurrence = item.occurrence ?? this.#occurrence(ofKind(item.kind), record, priceCodec, isTrade);
      this.#enter(seriesIn(series, item.kind, outcome).records, { ...record, entry, occurrence });
    }
  }

  /**
   * The number of a record among equal ones of its time. A trade may be recorded twice: equal ones are the same unless the recording has
   * ids of them.
   */
  #occurrence<R extends Position>(series: string, record: R, { same }: SegmentCodec<R>, isTrade: boolean): number {
    if (isTrade && record.id === 0) return 1;
    return this.#occurrences.next(series, record, same, isTrade);
  }

  #enter<R extends Position>(records: R[], record: R): void {
    records.push(record);
    if (record.id !== 0) this.#recordedIds.push(record.id);
  }

  #marketOf(conditionId: string): KnownMarket {
    const market = this.#known.byConditionId(conditionId);
    if (market !== undefined) return market;
    this.#known.addMissing(conditionId);
    throw new UnknownName(conditionId, `market ${conditionId} is unknown: import its market record first`);
  }

  #recordsOf({ conditionId }: KnownMarket): MarketRecords<S> {
    return this.#markets.getOrInsertComputed(conditionId, () => ({
      ...{ series: [], gaps: [], covered: [] },
      right: { up: new Map(), down: new Map() },
    }));
  }

  #putMarket(statement: MarketStatement, entry: Entry<S>, nowMs: number): void {
    const { markets } = this.#archive;
    try {
      const { market, changed } = markets.put(statement, nowMs);
      this.#known.keep(market);
      entry.stored = changed;
    } catch (error) {
      entry.refusal = refusal(error).message;
      this.#known.keep(markets.findByConditionId(this.#marketOf(statement.conditionId).conditionId)!);
    }
  }

  /** The new records of a market, of which it stores the gaps. For several `parts` see `seriesOf`. */
  #additionsOfMarket(conditionId: string, parts: readonly MarketRecords<S>[]): Addition<S>[] {
    const market = this.#archive.markets.findByConditionId(conditionId);
    if (market === undefined) {
      this.#refuseDeleted(conditionId, parts);
      return [];
    }
    const removed = this.#removeWrong(market, parts);
    const additions = OUTCOMES.flatMap((outcome) =>
      KINDS.flatMap((kind) => seriesOf(parts, kind, outcome).map((series) => this.#additionTo(market, series))),
    );
    const gaps = parts.flatMap((part) => part.gaps);
    for (const { gap, outcome, entry } of gaps) {
      for (const part of this.#uncovered(market, gap, outcome)) {
        if (this.#archive.gaps.add(market.key, part)) entry.stored = true;
      }
    }
    const isChanged =
      removed || additions.some(({ records }) => records.length > 0) || gaps.some(({ entry }) => entry.stored);
    if (isChanged) this.#archive.markets.touch(market.key);
    return additions;
  }

  /** Removes the books that are wrong, and the gaps that are covered. Returns whether there were any. */
  #removeWrong(market: StoredMarket, parts: readonly MarketRecords<S>[]): boolean {
    const { snapshots, gaps } = this.#archive;
    let removed = 0;
    for (const { right } of parts) {
      for (const outcome of OUTCOMES) removed += snapshots.removeWrong(market, outcome, right[outcome]);
    }
    if (removed > 0) this.corrected.set(market.conditionId, removed);
    let covered = 0;
    for (const { outcome, fromMs, toMs } of parts.flatMap((part) => part.covered)) {
      covered += gaps.cover(market.key, outcome, fromMs, toMs);
    }
    return removed + covered > 0;
  }

  /** The parts of a gap without books of the archive: before the first one within the gap, and after the last one. */
  #uncovered(market: StoredMarket, gap: Gap, outcome: Outcome | undefined): readonly Gap[] {
    // A gap that a recording states stays as it is stated.
    if (outcome === undefined) return [gap];
    const { gaps, snapshots } = this.#archive;
    const isKnown = gaps
      .within(market.key, gap.fromMs, gap.toMs)
      .some(({ fromMs, toMs, reason }) => fromMs <= gap.fromMs && gap.toMs <= toMs && reason === gap.reason);
    if (isKnown) return [];
    const books = snapshots.rangeWithin(market, outcome, gap.fromMs, gap.toMs);
    if (books === undefined) return [gap];
    const parts = [
      { ...gap, toMs: books.fromMs },
      { ...gap, fromMs: books.toMs },
    ];
    return parts.filter(({ fromMs, toMs }) => toMs - fromMs > COVERED_WITHIN_MS);
  }

  /** Another command deleted the market while its records were read. */
  #refuseDeleted(conditionId: string, parts: readonly MarketRecords<S>[]): void {
    this.#known.forget(conditionId);
    const entries = parts.flatMap(({ series, gaps }) => [
      ...series.flatMap(({ records }) => entriesOf(records)),
      ...entriesOf(gaps),
    ]);
    for (const entry of entries)
      entry.refusal = `market ${conditionId} was deleted during the import: import this again`;
  }

  #additionTo(market: StoredMarket, { kind, outcome, records }: Series<S>): Addition<S> {
    const { snapshots, quotes, prices } = this.#archive;
    switch (kind) {
      case 'book': {
        const fresh = snapshots
          .newRecords(market, outcome, inTimeOrder(records))
          .filter(({ yields, timestampMs }) => !yields || !snapshots.hasAt(market, outcome, timestampMs));
        const { conditionId } = market;
        const stored = (fromMs: number, toMs: number) => snapshots.slices(market, outcome, fromMs, toMs);
        const hasPlace = (id: number) => id !== 0 && this.#archive.givenIds.isFree(id);
        const series = { conditionId, name: `${conditionId} ${outcome}`, stored, hasPlace };
        return addition(this.#contradictions.without(inTimeOrder(records), fresh, series), (added) =>
          snapshots.add(market, outcome, added),
        );
      }
      case 'mirrored-book':
        return addition(snapshots.newMirrored(market, outcome, inTimeOrder(records)), (added) =>
          snapshots.addMirrored(market, outcome, added),
        );
      case 'quote':
        return addition(quotes.newRecords(market, outcome, inTimeOrder(records)), (added) =>
          quotes.add(market, outcome, added),
        );
      default:
        return addition(prices.newRecords(market, outcome, kind, inTimeOrder(records)), (added) =>
          prices.add(market, outcome, kind, added),
        );
    }
  }

  #additionOfCoin({ symbol, source, records }: CoinSeries<S>): Addition<S> {
    const { prices } = this.#archive;
    return addition(prices.newRecordsOfCoin(symbol, source, inTimeOrder(records)), (added) =>
      prices.addOfCoin(symbol, source, added),
    );
  }

  /**
   * Stores the records with ids in the order of time across all series, so that ids do not show how many records of another
   * series follow. At one timestamp the order of `additions` decides, then that of arrival.
   */
  #storeWithIds(additions: readonly Addition<S>[]): void {
    for (const record of inTimeOrder(additions.flatMap(({ records }) => records))) {
      record.entry.stored = true;
      record.id = this.#archive.givenIds.take(record.id === 0 ? undefined : record.id);
    }
    for (const { store } of additions) store();
  }
}

function addition<R extends Position, S>(
  records: readonly BatchRecord<R, S>[],
  add: (records: readonly R[]) => void,
): Addition<S> {
  return { records, store: () => add(records) };
}

function entriesOf<S>(items: readonly { readonly entry: Entry<S> }[]): Entry<S>[] {
  return items.map(({ entry }) => entry);
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

function refuseOtherAsset(market: KnownMarket, outcome: Outcome, assetId: string | undefined): void {
  const held = market.clobTokenIds[OUTCOMES.indexOf(outcome)]!;
  if (assetId === undefined || held === '0' || held === assetId) return;
  throw rejected(`assetId ${assetId} is not the ${outcome} asset of market ${market.conditionId}: that is ${held}`);
}

function seriesIn<K extends Kind, S>(all: Series<S>[], kind: K, outcome: Outcome): SeriesOf<K, S> {
  // The kind determines the type of the records.
  const known = all.find((series) => series.kind === kind && series.outcome === outcome) as SeriesOf<K, S> | undefined;
  if (known !== undefined) return known;
  const series: SeriesOf<K, S> = { kind, outcome, records: [] };
  all.push(series as Series<S>);
  return series;
}

/**
 * A series of a market, if it is in the batch. The market has several parts if a real conditionId replaced a stand-in within the
 * batch; their series are joined, so that repeats are found.
 */
function seriesOf<S>(parts: readonly MarketRecords<S>[], kind: Kind, outcome: Outcome): readonly Series<S>[] {
  const found = parts.flatMap(({ series }) => series.filter((one) => one.kind === kind && one.outcome === outcome));
  if (found.length < 2) return found;
  return [{ kind, outcome, records: found.flatMap<unknown>(({ records }) => records) } as Series<S>];
}

/** The records by timestamp; at ties in the order of arrival. */
function inTimeOrder<R extends Position>(records: readonly R[]): readonly R[] {
  const inOrder = records.every((record, i) => i === 0 || records[i - 1]!.timestampMs <= record.timestampMs);
  return inOrder ? records : [...records].sort((a, b) => a.timestampMs - b.timestampMs);
}
