import { type Gap, isRebuiltGap } from '../domain/gap.ts';
import type { MarketStatement } from '../domain/market-statement.ts';
import { type OrderBook, sameBook } from '../domain/orderbook.ts';
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
import type { AssetTarget } from './rebuild/asset-event.ts';
import type { RebuildChecks } from './rebuild/checks.ts';
import { BookMerge, type MergedBooks } from './rebuild/merged-books.ts';
import type { StatedAsset } from './rebuild/stated-books.ts';
import type { StatedMoment } from './rebuild/stated-moments.ts';
import { StoredMoments } from './rebuild/stored-moments.ts';
import type { SourceItem } from './source-item.ts';
import { UnknownName } from './unknown-name.ts';

/** A batch is full at this number of records or levels: large enough that fsync costs little, small enough for memory. */
export const BATCH_RECORDS = 8192;
const BATCH_LEVELS = 1_000_000;

/** A record of the batch, the `source` it is counted for, and its result. */
export interface Entry<S> {
  readonly source: S;
  readonly type: RecordedItem['type'];
  stored: boolean;
  /** True if the archive has different books for the same instant, see Contradictions. */
  contradicted: boolean;
  /** The reason for refusing it: it contradicts the archive, or its market was deleted after `add`. */
  refusal: string | undefined;
}

/** A record and its entry. An id of 0 is replaced by a new one. */
type BatchRecord<R extends Position, S> = R & Occurring & { id: number; readonly entry: Entry<S> };
/** A record that gets its id, and its entry if it has one of its own. */
type AddedRecord<S> = Position & { id: number; readonly entry?: Entry<S> };

/** The new records of one series, and the function that stores them once they have ids. */
interface Addition<S> {
  readonly records: readonly AddedRecord<S>[];
  readonly store: () => void;
}

interface RecordByKind {
  readonly book: BookRecord & { readonly from?: BookSource | undefined };
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

interface MarketRecords<S> {
  readonly series: Series<S>[];
  readonly gaps: { readonly gap: Gap; readonly entry: Entry<S> }[];
}

/** The results for the messages about one asset. */
export interface MergedAsset
  extends Pick<MergedBooks, 'moments' | 'gaps' | 'closed' | 'lastTrades' | 'takenBack' | 'known'> {
  readonly conditionId: string;
  /** Undefined if the market was deleted meanwhile. */
  readonly assetId: string | undefined;
  /** Moments with a snapshot that is new in the archive. */
  readonly added: ReadonlySet<StatedMoment>;
  /** Items of whole books whose price of the last trade is new in the archive. */
  readonly traded: ReadonlySet<SourceItem>;
  readonly snapshots: number;
}

interface StoredAsset extends MergedAsset {
  readonly added: Set<StatedMoment>;
  readonly traded: Set<SourceItem>;
}

/** The counters for all books of a commit, and the last record id before the import. */
export interface MergeContext {
  readonly checks: RebuildChecks;
  /** The highest record id before the import: snapshots with higher ids belong to the import. */
  readonly lastId: number;
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
  /** The keys of the markets whose books or gaps changed. */
  readonly #changed = new Set<number>();
  /** The messages about books; set by `commit`. */
  readonly merged: MergedAsset[] = [];
  /** Stored snapshots that the batch removed, by conditionId; set by `commit`. */
  readonly corrected = new Map<string, number>();

  /** `occurrences` is shared by all batches of an import, since a batch may end between two records of one time. */
  constructor(archive: Archive, known: KnownMarkets, occurrences: Occurrences, contradictions: Contradictions) {
    this.#archive = archive;
    this.#known = known;
    this.#occurrences = occurrences;
    this.#contradictions = contradictions;
  }

  get isFull(): boolean {
    return this.#entries.length >= BATCH_RECORDS || this.#levels >= BATCH_LEVELS;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** Throws 'rejected-record' if the market is neither in the archive nor stated earlier, or has another asset. */
  add(item: RecordedItem, source: S): void {
    const entry: Entry<S> = { source, type: item.type, stored: false, contradicted: false, refusal: undefined };
    if (item.type === 'market') {
      this.#statements.push({ statement: item.statement, entry });
      this.#known.addStatement(item.statement);
    } else if (item.type === 'coinPrice') this.#addCoinPrice(item, entry);
    else if (item.type === 'gap') {
      this.#recordsOf(this.#marketOf(item.conditionId)).gaps.push({ gap: item.gap, entry });
    } else this.#addOutcomeRecord(item, entry);
    this.#entries.push(entry);
  }

  /** Stores all in one transaction, and merges `books` with the archive's. Returns entries in the order of `add`. */
  commit(nowMs: number, books: readonly StatedAsset[], context: MergeContext): readonly Entry<S>[] {
    const { database, givenIds, recordedTimes } = this.#archive;
    database.write(() => {
      givenIds.load();
      // A record with a recorded id keeps it, even if a record without one comes before it.
      for (const id of this.#recordedIds) givenIds.reserve(id);
      for (const { statement, entry } of this.#statements) this.#putMarket(statement, entry, nowMs);
      const byMarket = Map.groupBy(this.#markets, ([stated]) => this.#marketOf(stated).conditionId);
      const booksByMarket = Map.groupBy(books, ({ target }) => this.#currentIdOf(target.conditionId));
      const conditionIds = [...new Set([...byMarket.keys(), ...booksByMarket.keys()])].sort();
      const ofMarkets = conditionIds.flatMap((conditionId) => {
        const parts = (byMarket.get(conditionId) ?? []).map(([, records]) => records);
        return this.#additionsOfMarket(conditionId, parts, booksByMarket.get(conditionId) ?? [], context);
      });
      const ofCoins = [...this.#coins].sort(byKey).map(([, series]) => this.#additionOfCoin(series));
      this.#storeWithIds([...ofCoins, ...ofMarkets]);
      // The books of the batch show which times no change is missing from.
      for (const [conditionId, parts] of byMarket) this.#addGaps(conditionId, parts);
      for (const key of this.#changed) recordedTimes.update(key);
      givenIds.save();
    });
    return this.#entries;
  }

  #addCoinPrice(item: Extract<RecordedItem, { type: 'coinPrice' }>, entry: Entry<S>): void {
    const { symbol, source, timestampMs, receivedMs, id = 0, price, trade } = item;
    const name = `${symbol}/${source}`;
    const series = this.#coins.getOrInsertComputed(name, () => ({ symbol, source, records: [] }));
    const record = { timestampMs, receivedMs, id, price, trade };
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
    const { outcome, timestampMs, receivedMs, id = 0 } = item;
    const ofKind = (kind: string) => `${market.conditionId} ${outcome} ${kind}`;
    if (item.type === 'snapshot') {
      const { records } = seriesIn(series, item.mirrored ? 'mirrored-book' : 'book', outcome);
      const record = { timestampMs, receivedMs, id, book: item.book };
      const name = ofKind('book');
      const { from, key = name } = item.mirrored === true ? {} : this.#contradictions.statedBy(name, timestampMs);
      const occurrence = this.#occurrence(key, record, bookCodec, item.mirrored === true);
      this.#enter(records, { ...record, from, entry, occurrence });
      this.#levels += item.book.bidPrices.length + item.book.askPrices.length;
    } else if (item.type === 'quote') {
      const record = { timestampMs, receivedMs, id, quote: item.quote };
      const occurrence = this.#occurrence(ofKind('quote'), record, quoteCodec, false);
      this.#enter(seriesIn(series, 'quote', outcome).records, { ...record, entry, occurrence });
    } else if (item.type === 'lastTradePrice') {
      this.#enter(seriesIn(series, 'last-trade', outcome).records, { timestampMs, id, price: item.price, entry });
    } else {
      const record = { timestampMs, receivedMs, id, price: item.price, trade: item.trade };
      const isTrade = item.kind === 'trade';
      const occurrence = item.occurrence ?? this.#occurrence(ofKind(item.kind), record, priceCodec, isTrade);
      this.#enter(seriesIn(series, item.kind, outcome).records, { ...record, entry, occurrence });
    }
  }

  /**
   * The number of a record among equal records of the same time. A trade may be recorded twice: equal trades are one trade unless the recording
   * gives them ids.
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

  /** A real conditionId may have replaced the stand-in of messages. */
  #currentIdOf(conditionId: string): string {
    return this.#known.byConditionId(conditionId)?.conditionId ?? conditionId;
  }

  #recordsOf({ conditionId }: KnownMarket): MarketRecords<S> {
    return this.#markets.getOrInsertComputed(conditionId, () => ({ series: [], gaps: [] }));
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

  /** Returns the new records of a market. For several `parts` see `seriesOf`. */
  #additionsOfMarket(
    conditionId: string,
    parts: readonly MarketRecords<S>[],
    books: readonly StatedAsset[],
    context: MergeContext,
  ): Addition<S>[] {
    const market = this.#archive.markets.findByConditionId(conditionId);
    if (market === undefined) {
      this.#refuseDeleted(conditionId, parts, books);
      return [];
    }
    let isChanged = false;
    const mergedBooks: Record<Outcome, ReadonlyMap<number, OrderBook>> = { up: new Map(), down: new Map() };
    const additions = books.flatMap((asset) => {
      const merge = new BookMerge(this.#archive, market, asset.target, { ...asset, ...context });
      const merged = merge.merge(asset.moments, asset.waiting);
      if (merged.corrected > 0) this.#addCorrected(conditionId, merged.corrected);
      isChanged ||= merged.isChanged;
      mergedBooks[asset.target.outcome] = new Map(merged.added.map(({ timestampMs, book }) => [timestampMs, book]));
      return this.#additionsOfBooks(market, asset.target, merged);
    });
    additions.push(
      ...OUTCOMES.flatMap((outcome) =>
        KINDS.flatMap((kind) =>
          seriesOf(parts, kind, outcome).map((series) => this.#additionTo(market, series, mergedBooks[outcome])),
        ),
      ),
    );
    isChanged ||= additions.some(({ records }) => records.length > 0);
    if (isChanged) this.#touch(market);
    return additions;
  }

  #touch({ key }: StoredMarket): void {
    this.#archive.markets.touch(key);
    this.#changed.add(key);
  }

  /** Stores the gaps that recordings state of a market, if it is not deleted. */
  #addGaps(conditionId: string, parts: readonly (readonly [string, MarketRecords<S>])[]): void {
    const gaps = parts.flatMap(([, part]) => part.gaps);
    const market = gaps.length === 0 ? undefined : this.#archive.markets.findByConditionId(conditionId);
    if (market === undefined) return;
    const before = this.#archive.gaps.list(market.key);
    for (const { gap, entry } of gaps) entry.stored = this.#addGap(market, gap);
    if (!Bun.deepEquals(before, this.#archive.gaps.list(market.key))) this.#touch(market);
  }

  #addCorrected(conditionId: string, count: number): void {
    this.corrected.set(conditionId, (this.corrected.get(conditionId) ?? 0) + count);
  }

  /**
   * Adds a gap that a recording states, except for the times for which hashes prove that no change is missing, and those of gaps that hashes
   * show. Returns true if a part of it is new.
   */
  #addGap(market: StoredMarket, gap: Gap): boolean {
    const { gaps } = this.#archive;
    if (!gaps.add(market.key, gap)) return false;
    for (const outcome of OUTCOMES) {
      for (const { fromMs, toMs } of new StoredMoments(this.#archive, market, outcome).covered(gap)) {
        gaps.cover(market.key, outcome, fromMs, toMs);
      }
      for (const found of gaps.within(market.key, gap.fromMs, gap.toMs).toArray()) {
        if (isRebuiltGap(found, outcome)) gaps.join(market.key, outcome, found);
      }
    }
    return [...gaps.within(market.key, gap.fromMs, gap.toMs)].some(({ reason }) => reason === gap.reason);
  }

  /** The snapshots and prices that a merge adds. */
  #additionsOfBooks(market: StoredMarket, { outcome, assetId }: AssetTarget, merged: MergedBooks): Addition<S>[] {
    const { snapshots, prices } = this.#archive;
    const { conditionId } = market;
    const snapshotCount = merged.added.length;
    const asset: StoredAsset = {
      ...merged,
      ...{ conditionId, assetId },
      added: new Set(),
      traded: new Set(),
      snapshots: snapshotCount,
    };
    this.merged.push(asset);
    for (const { moment } of merged.added) if (moment !== undefined) asset.added.add(moment);
    const books = merged.added.map(({ timestampMs, receivedMs, book }) => ({ timestampMs, receivedMs, id: 0, book }));
    const trades = merged.lastTrades.map(({ timestampMs, price, item }) => ({ timestampMs, id: 0, price, item }));
    const newTrades = prices.newRecords(market, outcome, 'last-trade', trades);
    for (const { item } of newTrades) asset.traded.add(item);
    return [
      addition(books, (added) => snapshots.add(market, outcome, added)),
      addition(newTrades, (added) => prices.add(market, outcome, 'last-trade', added)),
    ];
  }

  /** Refuses the records of a market that another command deleted while they were read. */
  #refuseDeleted(conditionId: string, parts: readonly MarketRecords<S>[], books: readonly StatedAsset[]): void {
    this.#known.forget(conditionId);
    const reason = `market ${conditionId} was deleted during the import: import the file again`;
    const moments = books.flatMap((asset) => asset.moments);
    const refused = moments.map((moment) => ({ moment, end: { reason }, refused: undefined }));
    const nothing = {
      gaps: [],
      closed: [],
      lastTrades: [],
      known: new Set<StatedMoment>(),
      takenBack: 0,
      snapshots: 0,
    };
    this.merged.push({
      ...nothing,
      conditionId,
      assetId: undefined,
      moments: refused,
      added: new Set(),
      traded: new Set(),
    });
    const entries = parts.flatMap(({ series, gaps }) => [
      ...series.flatMap(({ records }) => entriesOf(records)),
      ...entriesOf(gaps),
    ]);
    for (const entry of entries) entry.refusal = reason;
  }

  /** `merged`: the books that messages of this batch add, by time. */
  #additionTo(
    market: StoredMarket,
    { kind, outcome, records }: Series<S>,
    merged: ReadonlyMap<number, OrderBook>,
  ): Addition<S> {
    const { snapshots, quotes, prices } = this.#archive;
    switch (kind) {
      case 'book':
        return this.#additionOfSnapshots(market, outcome, inTimeOrder(records), merged);
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

  /** Adds snapshots as they are: changes are not applied to them. If messages give a book for the same time, that book is stored instead. */
  #additionOfSnapshots(
    market: StoredMarket,
    outcome: Outcome,
    records: readonly BatchRecord<RecordByKind['book'], S>[],
    merged: ReadonlyMap<number, OrderBook>,
  ): Addition<S> {
    const { snapshots, statements } = this.#archive;
    const fresh = snapshots.newRecords(market, outcome, records).filter(({ timestampMs, book, entry }) => {
      const other = merged.get(timestampMs);
      if (other !== undefined && !sameBook(other, book)) entry.contradicted = true;
      return other === undefined;
    });
    const { conditionId } = market;
    const stored = (fromMs: number, toMs: number) => snapshots.slices(market, outcome, fromMs, toMs);
    const isIdFree = (id: number) => id !== 0 && this.#archive.givenIds.isFree(id);
    const series = { conditionId, name: `${conditionId} ${outcome}`, stored, isIdFree };
    return addition(this.#contradictions.consistent(records, fresh, series), (added) => {
      snapshots.add(market, outcome, added);
      if (!statements.exist(market, outcome)) return;
      statements.markForeign(market, outcome, [...new Set(added.map(({ timestampMs }) => timestampMs))]);
    });
  }

  #additionOfCoin({ symbol, source, records }: CoinSeries<S>): Addition<S> {
    const { prices } = this.#archive;
    return addition(prices.newRecordsOfCoin(symbol, source, inTimeOrder(records)), (added) =>
      prices.addOfCoin(symbol, source, added),
    );
  }

  /**
   * Stores the records with ids in the order of time across all series, so that ids do not show how many records of another
   * series follow. Ties of the timestamp are broken by the order of `additions`, then by the order of arrival.
   */
  #storeWithIds(additions: readonly Addition<S>[]): void {
    for (const record of inTimeOrder(additions.flatMap(({ records }) => records))) {
      if (record.entry !== undefined) record.entry.stored = true;
      record.id = this.#archive.givenIds.take(record.id === 0 ? undefined : record.id);
    }
    for (const { store } of additions) store();
  }
}

function addition<R extends Position, S>(
  records: readonly (R & AddedRecord<S>)[],
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
  const known = market.clobTokenIds[OUTCOMES.indexOf(outcome)]!;
  if (assetId === undefined || known === '0' || known === assetId) return;
  throw rejected(`assetId ${assetId} is not the ${outcome} asset of market ${market.conditionId}: that is ${known}`);
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
