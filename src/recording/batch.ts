import type { BookRecord } from '../book/book-segment.ts';
import type { PriceRecord } from '../book/price-segment.ts';
import type { QuoteRecord } from '../book/quote-segment.ts';
import { DomainError } from '../domain/errors.ts';
import { knownTokenIds, type MarketStatement } from '../domain/market-statement.ts';
import type { Outcome } from '../domain/outcome.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import type { Place } from '../domain/page.ts';
import type { Archive } from '../store/archive.ts';
import type { Gap } from '../store/gaps.ts';
import type { StoredMarket } from '../store/markets.ts';
import { rejected } from './fields.ts';
import type { RecordedItem, TokenIds } from './record.ts';
import type { FileTally } from './report.ts';

/**
 * One transaction takes this many records, or records with this many levels in all: large enough that fsync does not
 * count, small enough to hold in memory.
 */
export const BATCH_RECORDS = 8192;
const BATCH_LEVELS = 4_000_000;

/** One item of the input and what becomes of it. */
interface Entry {
  readonly tally: FileTally;
  readonly line: number;
  stored: boolean;
  refusal: string | undefined;
}

/** The records of a batch that go into one series. An id of 0 asks for a new one. */
type Lane =
  | { readonly series: 'book'; readonly outcome: Outcome; readonly records: BookRecord[] }
  | { readonly series: 'quote'; readonly outcome: Outcome; readonly records: QuoteRecord[] }
  | { readonly series: 'mid' | 'trade'; readonly outcome: Outcome; readonly records: PriceRecord[] };

interface CoinLane {
  readonly symbol: string;
  readonly source: string;
  readonly records: PriceRecord[];
}

interface MarketLanes {
  readonly lanes: Map<string, Lane>;
  readonly gaps: { readonly gap: Gap; readonly entry: Entry }[];
}

interface Refusal {
  readonly tally: FileTally;
  readonly line: number;
  readonly reason: string;
}

export interface CommitOutcome {
  readonly stored: number;
  /** Market records that contradict what is held. */
  readonly refusals: readonly Refusal[];
}

/**
 * Items collected for one transaction. Records find their market in the archive, or among the market records that came
 * before them in the input.
 */
export class Batch {
  readonly #archive: Archive;
  /** Asset ids of markets that are known, kept from batch to batch. */
  readonly #tokens: Map<string, TokenIds>;
  readonly #entries: Entry[] = [];
  readonly #entryOf = new Map<Place, Entry>();
  readonly #statements: { readonly statement: MarketStatement; readonly entry: Entry }[] = [];
  readonly #markets = new Map<string, MarketLanes>();
  readonly #coins = new Map<string, CoinLane>();
  #levels = 0;

  constructor(archive: Archive, tokens: Map<string, TokenIds>) {
    this.#archive = archive;
    this.#tokens = tokens;
  }

  /** Whether it is time to commit. */
  get isFull(): boolean {
    return this.#entries.length >= BATCH_RECORDS || this.#levels >= BATCH_LEVELS;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** Throws DomainError 'rejected-record' when the item's market is unknown or contradicts it. */
  add(item: RecordedItem, tally: FileTally, line: number): void {
    const entry: Entry = { tally, line, stored: false, refusal: undefined };
    if (item.type === 'market') this.#addMarket(item.statement, entry);
    else if (item.type === 'coinPrice') this.#addCoinPrice(item, entry);
    else if (item.type === 'gap') this.#marketLanes(item.conditionId).gaps.push({ gap: item.gap, entry });
    else this.#addOutcomeRecord(item, entry);
    this.#entries.push(entry);
  }

  /** Stores everything in one transaction and, once that is on disk, counts it in the files' tallies. */
  commit(nowMs: number): CommitOutcome {
    const { database, givenIds } = this.#archive;
    database.write(() => {
      givenIds.load();
      // Records that bring an id come first in getting it, wherever they stand in the batch.
      for (const { id } of this.#entryOf.keys()) if (id !== 0) givenIds.reserve(id);
      for (const { statement, entry } of this.#statements) this.#putMarket(statement, entry, nowMs);
      for (const [conditionId, { lanes, gaps }] of this.#markets) {
        const market = this.#archive.markets.findByConditionId(conditionId)!;
        let stored = 0;
        for (const lane of lanes.values()) stored += this.#storeLane(market, lane);
        for (const { gap, entry } of gaps) {
          entry.stored = this.#archive.gaps.add(market.key, gap);
          if (entry.stored) stored += 1;
        }
        if (stored > 0) this.#archive.markets.touch(market.key);
      }
      for (const { symbol, source, records } of this.#coins.values()) {
        this.#archive.prices.addOfCoin(symbol, source, inTimeOrder(records), this.#giveId);
      }
      givenIds.save();
    });
    return this.#settle();
  }

  #addMarket(statement: MarketStatement, entry: Entry): void {
    const { conditionId, clobTokenIds } = statement;
    this.#statements.push({ statement, entry });
    // Of a market that is held already, what is held decides, and the statement adds what was not known; a contradiction
    // is found when the statement is stored.
    this.#tokens.set(conditionId, knownTokenIds(this.#tokensOf(conditionId) ?? clobTokenIds, clobTokenIds));
  }

  #addCoinPrice(item: Extract<RecordedItem, { type: 'coinPrice' }>, entry: Entry): void {
    const { symbol, source, timestampMs, id = 0, price } = item;
    const key = `${symbol}/${source}`;
    const lane = this.#coins.get(key) ?? { symbol, source, records: [] };
    this.#coins.set(key, lane);
    this.#push(lane.records, { timestampMs, id, price }, entry);
  }

  #addOutcomeRecord(item: Extract<RecordedItem, { outcome: Outcome }>, entry: Entry): void {
    const { lanes } = this.#marketLanes(item.conditionId);
    this.#refuseOtherAsset(item.conditionId, item.outcome, item.assetId);
    const { outcome, timestampMs, id = 0 } = item;
    if (item.type === 'snapshot') {
      const lane = laneOf(lanes, { series: 'book', outcome, records: [] });
      this.#push(lane.records, { timestampMs, id, book: item.book }, entry);
      entry.tally.droppedLevels += item.droppedLevels;
      this.#levels += item.book.bidPrices.length + item.book.askPrices.length;
    } else if (item.type === 'quote') {
      const lane = laneOf(lanes, { series: 'quote', outcome, records: [] });
      this.#push(lane.records, { timestampMs, id, quote: item.quote }, entry);
    } else {
      const lane = laneOf(lanes, { series: item.kind, outcome, records: [] });
      this.#push(lane.records, { timestampMs, id, price: item.price }, entry);
    }
  }

  #push<R extends Place>(records: R[], record: R, entry: Entry): void {
    records.push(record);
    this.#entryOf.set(record, entry);
  }

  #marketLanes(conditionId: string): MarketLanes {
    if (this.#tokensOf(conditionId) === undefined) {
      throw rejected(`market ${conditionId} is neither known nor earlier in the input: import its market record first`);
    }
    const held = this.#markets.get(conditionId) ?? { lanes: new Map(), gaps: [] };
    this.#markets.set(conditionId, held);
    return held;
  }

  #tokensOf(conditionId: string): TokenIds | undefined {
    const known = this.#tokens.get(conditionId);
    if (known !== undefined) return known;
    const held = this.#archive.markets.findByConditionId(conditionId);
    if (held !== undefined) this.#tokens.set(conditionId, held.clobTokenIds);
    return held?.clobTokenIds;
  }

  #refuseOtherAsset(conditionId: string, outcome: Outcome, assetId: string | undefined): void {
    const held = this.#tokens.get(conditionId)![OUTCOMES.indexOf(outcome)]!;
    if (assetId === undefined || held === '0' || held === assetId) return;
    throw rejected(`assetId ${assetId} is not the ${outcome} asset of market ${conditionId}, which is ${held}`);
  }

  #putMarket(statement: MarketStatement, entry: Entry, nowMs: number): void {
    try {
      const { market, changed } = this.#archive.markets.put(statement, nowMs);
      this.#tokens.set(market.conditionId, market.clobTokenIds);
      entry.stored = changed;
    } catch (error) {
      if (!(error instanceof DomainError) || error.kind !== 'rejected-record') throw error;
      entry.refusal = error.message;
      this.#tokens.set(
        statement.conditionId,
        this.#archive.markets.findByConditionId(statement.conditionId)!.clobTokenIds,
      );
    }
  }

  #storeLane(market: StoredMarket, lane: Lane): number {
    const { snapshots, quotes, prices } = this.#archive;
    switch (lane.series) {
      case 'book':
        return snapshots.add(market, lane.outcome, inTimeOrder(lane.records), this.#giveId).stored;
      case 'quote':
        return quotes.add(market, lane.outcome, inTimeOrder(lane.records), this.#giveId).stored;
      default:
        return prices.add(market, lane.outcome, lane.series, inTimeOrder(lane.records), this.#giveId).stored;
    }
  }

  readonly #giveId = <R extends Place>(record: R): R => {
    this.#entryOf.get(record)!.stored = true;
    return { ...record, id: this.#archive.givenIds.take(record.id === 0 ? undefined : record.id) };
  };

  #settle(): CommitOutcome {
    const refusals: Refusal[] = [];
    let total = 0;
    for (const { tally, line, stored, refusal } of this.#entries) {
      if (refusal !== undefined) {
        tally.rejected += 1;
        refusals.push({ tally, line, reason: refusal });
      } else if (stored) {
        tally.stored += 1;
        total += 1;
      } else {
        tally.duplicate += 1;
      }
    }
    return { stored: total, refusals };
  }
}

function laneOf<L extends Lane>(lanes: Map<string, Lane>, empty: L): L {
  const key = `${empty.series}/${empty.outcome}`;
  const held = lanes.get(key);
  // The key names the series, so what is held under it has the type of `empty`.
  if (held !== undefined) return held as L;
  lanes.set(key, empty);
  return empty;
}

/** Those of one timestamp stay in the order in which they came. */
function inTimeOrder<R extends Place>(records: readonly R[]): R[] {
  return [...records].sort((a, b) => a.timestampMs - b.timestampMs);
}
