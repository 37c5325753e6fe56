import type { InstantMs } from '../domain/instant.ts';
import { isListed, LISTED_AHEAD_MS_MAX } from '../domain/market-as-of.ts';
import type { MarketSort } from '../domain/market-sort.ts';
import {
  afterStatement,
  compareRank,
  type DefaultedField,
  firstStated,
  type MarketStatement,
  type StatedMarket,
  withDefaults,
} from '../domain/market-statement.ts';
import type { Outcome } from '../domain/outcome.ts';
import { isStandIn, standInConditionId } from '../domain/stand-in-id.ts';
import type { Timeframe } from '../domain/timeframe.ts';
import type { Database } from './database.ts';
import { StoredDetails } from './market-details.ts';

/** A market as this archive stores it. */
export interface StoredMarket extends StatedMarket {
  /** Its id within this archive, ascending in the order of storing. A market that is deleted and imported again gets another one. */
  readonly key: number;
  /** A new number after every change to the market or to a record of it. */
  readonly revision: number;
}

/** Fields that are NULL where they are not known. */
type OptionalField =
  | 'marketIdMs'
  | 'eventIdMs'
  | 'winner'
  | 'resolvedMs'
  | 'priceStart'
  | 'priceEnd'
  | 'statedUpdatedMs';

/** A market's columns under the names of its fields. */
type MarketRow = Omit<StoredMarket, 'clobTokenIds' | 'stated' | DefaultedField | OptionalField> & {
  readonly [Field in OptionalField]: Exclude<StoredMarket[Field], undefined> | null;
} & { readonly [Field in DefaultedField]: number | null } & {
  readonly upAssetId: string;
  readonly downAssetId: string;
};

/** 53 random bits. */
export const NEW_REVISION = '(random() & 9007199254740991)';
/** A key above all that were ever given: an open stream or replay of a deleted market must not find another market. */
export const NEW_KEY = `1 + MAX(
  (SELECT IFNULL(MAX(market_key), 0) FROM markets), (SELECT IFNULL(MAX(last_key), 0) FROM deleted_markets))`;

/** In the order of `valuesOf`. */
const WRITTEN = `condition_id, venue_market_id, venue_event_id, venue_market_id_ms, venue_event_id_ms, slug, symbol, timeframe,
  up_asset_id, down_asset_id, active, closed, winner, start_ms, end_ms, volume, liquidity, resolved_ms, price_start, price_end,
  created_ms, updated_ms, stated_updated_ms, revision`;
const VALUES = `?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${NEW_REVISION}`;
const COLUMNS = `market_key AS key, condition_id AS conditionId, venue_market_id AS marketId, venue_event_id AS eventId,
  venue_market_id_ms AS marketIdMs, venue_event_id_ms AS eventIdMs, slug, symbol, timeframe, up_asset_id AS upAssetId, down_asset_id AS downAssetId, active, closed, winner, start_ms AS startMs,
  end_ms AS endMs, volume, liquidity, resolved_ms AS resolvedMs, price_start AS priceStart, price_end AS priceEnd,
  created_ms AS createdMs, updated_ms AS updatedMs, stated_updated_ms AS statedUpdatedMs, revision`;

const LATEST_FIRST = 'ORDER BY start_ms DESC, condition_id DESC LIMIT ? OFFSET ?';
const LIST = `AND (start_ms, condition_id) < (?, ?) AND (start_ms <= ? OR created_ms <= ?) ${LATEST_FIRST}`;
export const LIST_MARKETS = `SELECT ${COLUMNS} FROM markets WHERE symbol = ? ${LIST}`;
export const LIST_MARKETS_OF_TIMEFRAME = `SELECT ${COLUMNS} FROM markets WHERE symbol = ? AND timeframe = ? ${LIST}`;
// Reads the index only: with listing times, 50,000 markets of a timeframe would take 7 ms instead of 3.
const SKIP = `AND (start_ms, condition_id) < (?, ?) ${LATEST_FIRST}`;
export const SKIP_MARKETS = `SELECT start_ms AS startMs, condition_id AS conditionId FROM markets WHERE symbol = ? ${SKIP}`;
export const SKIP_MARKETS_OF_TIMEFRAME = `SELECT start_ms AS startMs, condition_id AS conditionId FROM markets
  WHERE symbol = ? AND timeframe = ? ${SKIP}`;
export const SKIP_RECORDED_MARKETS = `SELECT start_ms AS startMs, condition_id AS conditionId FROM markets
  INDEXED BY recorded_markets_by_coin WHERE symbol = ? AND first_snapshot_ms IS NOT NULL ${SKIP}`;
/**
 * The columns of a walk through a list: each market, and whether the filter takes it. ?5: earliest end; ?6: known until; ?7 and
 * ?8: minimum and maximum of `recorded`, ?9 and ?10 of `closed`, each 0 or 1; ?11: resolution time of a closed market that has
 * none; ?12: timeframe, or NULL; ?13: searched text in lower case, or NULL; ?15: winner, or NULL; ?16 and ?17 of `gaps`; ?18: minimum
 * of the volume, or NULL; ?19 and ?20 of `isNearlyEmpty`.
 */
const WALKED = `market_key AS key, start_ms AS startMs, condition_id AS conditionId,
  IFNULL(first_snapshot_ms, 9e999) <= ?6 AS isRecorded, (
    end_ms >= ?5 AND (start_ms <= ?6 OR created_ms <= ?6)
    AND (IFNULL(first_snapshot_ms, 9e999) <= ?6) BETWEEN ?7 AND ?8
    AND (closed IS 1 AND IFNULL(resolved_ms, ?11) <= ?6) BETWEEN ?9 AND ?10
    AND timeframe = IFNULL(?12, timeframe)
    AND (?13 IS NULL OR INSTR(LOWER(slug), ?13) > 0 OR INSTR(condition_id, ?13) = 1)
    AND (?15 IS NULL OR (winner IS ?15 AND IFNULL(resolved_ms, ?11) <= ?6))
    AND (?16 < ?17 OR ?16 = EXISTS (
      SELECT 1 FROM gaps
      WHERE gaps.market_key = markets.market_key AND from_ms <= end_ms AND to_ms >= start_ms AND to_ms <= ?6
    ))
    AND (?18 IS NULL OR volume >= ?18)
    AND (end_ms <= ?6 AND recorded_ms * 10 < end_ms - start_ms) BETWEEN ?19 AND ?20
  ) AS isTaken`;
const WALK = `(start_ms, condition_id) < (?2, ?3) AND start_ms >= ?4 ORDER BY start_ms DESC, condition_id DESC LIMIT ?14`;
export const WALK_MARKETS = `SELECT ${WALKED} FROM markets WHERE symbol = ?1 AND ${WALK}`;
export const WALK_MARKETS_OF_TIMEFRAME = `SELECT ${WALKED} FROM markets INDEXED BY markets_by_coin_and_timeframe
  WHERE symbol = ?1 AND timeframe = ?12 AND ${WALK}`;
export const WALK_RECORDED_MARKETS = `SELECT ${WALKED} FROM markets INDEXED BY recorded_markets_by_coin
  WHERE symbol = ?1 AND first_snapshot_ms IS NOT NULL AND ${WALK}`;
export const WALK_EARLIEST_MARKETS = `SELECT ${WALKED} FROM markets WHERE symbol = ?1
  AND (start_ms, condition_id) > (?2, ?3) AND start_ms >= ?4 AND start_ms <= ?21 ORDER BY start_ms, condition_id LIMIT ?14`;
/** The values by which lists are sorted, each with the index that has it, and a bound below all. Unknown ones sort below all others. */
const SORTED_VALUES = {
  slug: ['slug', 'markets_by_name', ''],
  winner: ["IFNULL(winner, '')", 'markets_by_winner', -Infinity],
  strike: ['IFNULL(price_start, -1)', 'markets_by_strike', -Infinity],
  final: ['IFNULL(price_end, -1)', 'markets_by_final_price', -Infinity],
  recorded: ['recorded_ms', 'markets_by_recorded_time', -Infinity],
  snapshots: ['snapshot_count', 'markets_by_snapshots', -Infinity],
  volume: ['IFNULL(volume, -1)', 'markets_by_volume', -Infinity],
} as const;
type SortedBy = keyof typeof SORTED_VALUES;
/** A blob is above all numbers and texts. */
const ABOVE_ALL = Uint8Array.of(0xff);

/**
 * The markets after a position in a sorted list: those of its value, or those beyond it. Two statements, since an index of an expression
 * finds no pair of values. ?2, ?22 and ?23: its start, value and key; ?4 and ?21: earliest and latest start.
 */
function sortedWalk(by: SortedBy, isDescending: boolean, isOfValue: boolean): string {
  const [value, index] = SORTED_VALUES[by];
  const [sign, direction] = isDescending ? ['<', 'DESC'] : ['>', 'ASC'];
  const after = isOfValue ? `= ?22 AND (start_ms, market_key) ${sign} (?2, ?23)` : `${sign} ?22`;
  const first = isOfValue ? '' : `${value} ${direction}, `;
  return `SELECT ${WALKED.replace('end_ms >=', 'start_ms BETWEEN ?4 AND ?21 AND end_ms >=')}, ${value} AS value
    FROM markets INDEXED BY ${index} WHERE symbol = ?1 AND ${value} ${after}
    ORDER BY ${first}start_ms ${direction}, market_key ${direction} LIMIT ?14`;
}
/** By `slug`, `-slug` and so on: the statements for the markets of the same value, and for those beyond. */
export const SORTED_WALKS: Readonly<Record<string, readonly [ofValue: string, beyond: string]>> = Object.fromEntries(
  (Object.keys(SORTED_VALUES) as SortedBy[]).flatMap((by) =>
    [true, false].map((isDescending) => [
      `${isDescending ? '-' : ''}${by}`,
      [sortedWalk(by, isDescending, true), sortedWalk(by, isDescending, false)],
    ]),
  ),
);
export const LONGEST_WINDOW = `SELECT end_ms - start_ms AS lengthMs FROM markets WHERE symbol = ?
  ORDER BY end_ms - start_ms DESC LIMIT 1`;
/** Finds an id, ?1, by an index that has only its last 10 characters. */
const hasId = (column: string) => `SUBSTR(${column}, -10) = SUBSTR(?1, -10) AND ${column} = ?1`;
export const HAS_CONDITION_ID = hasId('condition_id');
export const FIND_MARKET = `SELECT ${COLUMNS} FROM markets WHERE ${HAS_CONDITION_ID}`;
export const FIND_MARKET_BY_UP_ASSET = `SELECT ${COLUMNS} FROM markets
  WHERE ${hasId('up_asset_id')} AND up_asset_id <> '0'`;
export const FIND_MARKET_BY_DOWN_ASSET = `SELECT ${COLUMNS} FROM markets
  WHERE ${hasId('down_asset_id')} AND down_asset_id <> '0'`;
export const NEXT_MARKET = `SELECT ${COLUMNS} FROM markets WHERE symbol = ? AND (start_ms, condition_id) > (?, ?)
  ORDER BY start_ms, condition_id LIMIT 1`;
const FIND_MARKET_BY_KEY = `SELECT ${COLUMNS} FROM markets WHERE market_key = ?`;
export const NEXT_MARKET_BY_KEY = `SELECT ${COLUMNS} FROM markets NOT INDEXED WHERE market_key > ?
  ORDER BY market_key LIMIT 1`;
export const LIST_MARKETS_OF_SLUG = `SELECT ${COLUMNS} FROM markets WHERE symbol = ? AND slug = ? ORDER BY start_ms`;
/** From each coin to the next by the index: DISTINCT would read all of it. */
export const LIST_COINS = `WITH RECURSIVE coins (symbol) AS (
    SELECT MIN(symbol) FROM markets
    UNION ALL SELECT (SELECT MIN(symbol) FROM markets WHERE symbol > coins.symbol) FROM coins WHERE symbol IS NOT NULL
  ) SELECT symbol FROM coins WHERE symbol IS NOT NULL`;
export const KNOWS_COIN = 'SELECT 1 AS known FROM markets WHERE symbol = ? LIMIT 1';

const IS_SEALED_SERIES = 'sealed_series.market_key = series.market_key AND sealed_series.series_id = series.series_id';
/** A series' first record is in its first segment. */
const FIRST_OF_SERIES = `IFNULL(
    (SELECT first_ms FROM segments WHERE segments.series_id = series.series_id ORDER BY last_ms, last_id LIMIT 1),
    (SELECT first_ms FROM sealed_series WHERE ${IS_SEALED_SERIES})
  )`;
const FIRST_RECORD = `SELECT MIN(${FIRST_OF_SERIES}) AS first_ms FROM series WHERE market_key = ?`;

const SENT_SPAN = `SELECT MIN(first_ms) AS first_ms, MAX(last_ms) AS last_ms FROM (
    SELECT
      ${FIRST_OF_SERIES} AS first_ms,
      IFNULL(
        (SELECT MAX(last_ms) FROM segments WHERE segments.series_id = series.series_id),
        (SELECT last_ms FROM sealed_series WHERE ${IS_SEALED_SERIES})
      ) AS last_ms
    FROM series WHERE market_key = ?1
    UNION ALL SELECT from_ms, from_ms FROM gaps WHERE market_key = ?1
  )`;

const CONDITION_ID = /^0x[0-9a-f]+$/;
/** No conditionId begins with another one. */
const WHOLE_CONDITION_ID = /^0x[0-9a-f]{64}$/;

/** A market's position in its coin's list: latest first, ties by conditionId descending. */
export interface ListPosition {
  readonly startMs: number;
  readonly conditionId: string;
  /** The place among the sorted values; undefined in a list by window. */
  readonly sorted?: { readonly value: string | number; readonly key: number };
  /** The part of a list by books that the position is in. */
  readonly part?: number;
}

/** The markets of a coin's list that a walk takes; an undefined field does not restrict. */
export interface MarketFilter {
  readonly timeframe: Timeframe | undefined;
  /** Part of a slug, or the beginning of a conditionId, in upper or lower case. */
  readonly search?: string | undefined;
  /** True for markets with an order book snapshot, with `asOfMs` one at that instant or before; false for markets without. */
  readonly recorded: boolean | undefined;
  /** True for closed markets only, false for open ones only, as known at `asOfMs`. */
  readonly closed: boolean | undefined;
  /** The range that a market's window must overlap, both ends inclusive. */
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  /** The range in which a market's window must begin, both ends inclusive. */
  readonly begins?: { readonly fromMs: InstantMs; readonly toMs: InstantMs } | undefined;
  /** As known at `asOfMs`. */
  readonly winner?: Outcome | undefined;
  /** True for markets with a gap that touches their window. */
  readonly gaps?: boolean | undefined;
  /** Markets of unknown volume do not have it. */
  readonly volumeMin?: number | undefined;
  /** True for markets over by `asOfMs` of less than a tenth of whose window books are recorded, false for the others. */
  readonly isNearlyEmpty?: boolean | undefined;
  /** `-window` by default. */
  readonly sort?: MarketSort | undefined;
}

type BooksPart = Pick<MarketFilter, 'recorded' | 'isNearlyEmpty'>;
/** A list by books has these parts one after another, each the latest window first. */
const PARTS_BY_BOOKS: readonly BooksPart[] = [
  { recorded: true, isNearlyEmpty: false },
  { recorded: true, isNearlyEmpty: true },
  { recorded: false },
];

/** ?1 to ?23 of WALKED and the walks. */
type WalkBounds = [
  ...[symbol: string, startMs: number, conditionId: string, sinceMs: number, fromMs: number, knownToMs: number],
  ...[recordedMin: number, recordedMax: number, closedMin: number, closedMax: number, unresolvedMs: number],
  ...[timeframe: Timeframe | null, search: string | null, count: number, winner: Outcome | null],
  ...[gapsMin: number, gapsMax: number, volumeMin: number | null, emptyMin: number, emptyMax: number],
];
type SortedBounds = [...WalkBounds, toMs: number, value: string | number | Uint8Array, ...key: number[]];

interface WalkedRow extends ListPosition {
  readonly key: number;
  readonly isTaken: number;
  readonly isRecorded: number;
  readonly value?: string | number;
}

const WALKED_AT_ONCE = 1000;

/** A step of a walk through a list. */
interface Walk {
  /** The keys of the markets that the filter takes. */
  readonly keys: readonly number[];
  /** How many of them have a snapshot. */
  readonly recorded: number;
  /** Undefined: the list ends here. */
  readonly last: ListPosition | undefined;
}

/** A position before every market. */
const LIST_START: ListPosition = { startMs: Number.MAX_SAFE_INTEGER, conditionId: '' };

export class Markets {
  readonly details: StoredDetails;
  readonly #database: Database;
  readonly #sql;

  constructor(database: Database) {
    this.details = new StoredDetails(database);
    this.#database = database;
    type Listed = [number, string, number, number, number, number];
    this.#sql = {
      list: database.query<MarketRow, [string, ...Listed]>(LIST_MARKETS),
      listOfTimeframe: database.query<MarketRow, [string, Timeframe, ...Listed]>(LIST_MARKETS_OF_TIMEFRAME),
      skip: database.query<ListPosition, [string, number, string, number, number]>(SKIP_MARKETS),
      skipOfTimeframe: database.query<ListPosition, [string, Timeframe, number, string, number, number]>(
        SKIP_MARKETS_OF_TIMEFRAME,
      ),
      skipRecorded: database.query<ListPosition, [string, number, string, number, number]>(SKIP_RECORDED_MARKETS),
      walk: database.query<WalkedRow, WalkBounds>(WALK_MARKETS),
      walkOfTimeframe: database.query<WalkedRow, WalkBounds>(WALK_MARKETS_OF_TIMEFRAME),
      walkRecorded: database.query<WalkedRow, WalkBounds>(WALK_RECORDED_MARKETS),
      walkEarliest: database.query<WalkedRow, [...WalkBounds, toMs: number]>(WALK_EARLIEST_MARKETS),
      longest: database.query<{ lengthMs: number }, [string]>(LONGEST_WINDOW),
      find: database.query<MarketRow, [string]>(FIND_MARKET),
      byKey: database.query<MarketRow, [number]>(FIND_MARKET_BY_KEY),
      findByUpAsset: database.query<MarketRow, [string]>(FIND_MARKET_BY_UP_ASSET),
      findByDownAsset: database.query<MarketRow, [string]>(FIND_MARKET_BY_DOWN_ASSET),
      next: database.query<MarketRow, [string, number, string]>(NEXT_MARKET),
      coins: database.query<{ symbol: string }, []>(LIST_COINS),
      nextByKey: database.query<MarketRow, [number]>(NEXT_MARKET_BY_KEY),
      listOfSlug: database.query<MarketRow, [string, string]>(LIST_MARKETS_OF_SLUG),
      count: database.query<{ count: number }, [string]>('SELECT COUNT(*) AS count FROM markets WHERE symbol = ?'),
      countOfTimeframe: database.query<{ count: number }, [string, Timeframe]>(
        'SELECT COUNT(*) AS count FROM markets WHERE symbol = ? AND timeframe = ?',
      ),
      knowsCoin: database.query<{ known: number }, [string]>(KNOWS_COIN),
      sentSpan: database.query<{ first_ms: number | null; last_ms: number | null }, [number]>(SENT_SPAN),
      firstRecord: database.query<{ first_ms: number | null }, [number]>(FIRST_RECORD),
      insert: database.query<MarketRow, (string | number | null)[]>(
        `INSERT INTO markets (market_key, ${WRITTEN}) VALUES (${NEW_KEY}, ${VALUES}) RETURNING ${COLUMNS}`,
      ),
      update: database.query<MarketRow, (string | number | null)[]>(
        `UPDATE markets SET (${WRITTEN}) = (${VALUES}) WHERE market_key = ? RETURNING ${COLUMNS}`,
      ),
      touch: database.query<never, [number]>(`UPDATE markets SET revision = ${NEW_REVISION} WHERE market_key = ?`),
    };
  }

  /**
   * A coin's markets, the latest window first, ties by conditionId descending; `timeframe` undefined takes all. The first
   * `skip` after `from` are left out, which takes time in proportion to their number. With `asOfMs` only those that were
   * listed by then, see `isListed`.
   */
  list(
    symbol: string,
    timeframe: Timeframe | undefined,
    limit: number,
    skip: number,
    { startMs, conditionId }: ListPosition = LIST_START,
    asOfMs: number = Number.MAX_SAFE_INTEGER,
  ): StoredMarket[] {
    const before = Math.min(startMs, asOfMs + LISTED_AHEAD_MS_MAX);
    const bounds = [before, before === startMs ? conditionId : '', asOfMs, asOfMs, limit, skip] as const;
    const rows =
      timeframe === undefined
        ? this.#sql.list.all(symbol, ...bounds)
        : this.#sql.listOfTimeframe.all(symbol, timeframe, ...bounds);
    return rows.map(toMarket);
  }

  /** The market with `key`, which this archive gave; undefined if it was deleted. */
  byKey(key: number): StoredMarket | undefined {
    return marketOrNone(this.#sql.byKey.get(key));
  }

  /** The position of the `count`th recorded market of a coin after `from`, undefined when the list has fewer. */
  skipRecorded(
    symbol: string,
    count: number,
    { startMs, conditionId }: ListPosition = LIST_START,
  ): ListPosition | undefined {
    return this.#sql.skipRecorded.get(symbol, startMs, conditionId, 1, count - 1) ?? undefined;
  }

  /** The position of the `count`th market of such a list, undefined when the list has fewer. */
  skip(
    symbol: string,
    timeframe: Timeframe | undefined,
    count: number,
    from: ListPosition = LIST_START,
    asOfMs?: number,
  ): ListPosition | undefined {
    if (asOfMs !== undefined) return this.list(symbol, timeframe, 1, count - 1, from, asOfMs)[0];
    const { startMs, conditionId } = from;
    const row =
      timeframe === undefined
        ? this.#sql.skip.get(symbol, startMs, conditionId, 1, count - 1)
        : this.#sql.skipOfTimeframe.get(symbol, timeframe, startMs, conditionId, 1, count - 1);
    return row ?? undefined;
  }

  /**
   * Looks at the next `count` markets of a coin's list after `from`, in the list's order. Ties of a sorted list are in the order of windows;
   * a list by books has the recorded markets before the nearly empty ones, and those before the others. For `asOfMs` see `list`.
   */
  walk(symbol: string, filter: MarketFilter, count: number, from?: ListPosition, asOfMs?: InstantMs): Walk {
    if (filter.sort === 'books') return this.#walkByBooks(symbol, filter, count, from, asOfMs);
    const { timeframe, recorded, sort = '-window' } = filter;
    const { sinceMs, beforeMs, bounds } = this.#boundsOfWalk(symbol, filter, asOfMs);
    let rows: WalkedRow[];
    if (sort === '-window') {
      const { startMs, conditionId } = from ?? LIST_START;
      const before = Math.min(startMs, beforeMs);
      const statement =
        recorded === true
          ? this.#sql.walkRecorded
          : timeframe === undefined
            ? this.#sql.walk
            : this.#sql.walkOfTimeframe;
      rows = statement.all(...bounds(before, before === startMs ? conditionId : '', count));
    } else if (sort === 'window') {
      const { startMs, conditionId } = from ?? { startMs: sinceMs, conditionId: '' };
      rows = this.#sql.walkEarliest.all(...bounds(startMs, conditionId, count), beforeMs - 1);
    } else rows = this.#walkSorted(sort, bounds, count, beforeMs - 1, from);
    const taken = rows.filter(({ isTaken }) => isTaken === 1);
    const last = rows.length < count ? undefined : rows.at(-1)!;
    const sorted = last?.value === undefined ? {} : { sorted: { value: last.value, key: last.key } };
    return {
      keys: taken.map(({ key }) => key),
      recorded: taken.filter(({ isRecorded }) => isRecorded === 1).length,
      last: last && { startMs: last.startMs, conditionId: last.conditionId, ...sorted },
    };
  }

  #walkByBooks(symbol: string, filter: MarketFilter, count: number, from?: ListPosition, asOfMs?: InstantMs): Walk {
    const parts = PARTS_BY_BOOKS.filter(({ recorded }) => recorded === (filter.recorded ?? recorded));
    const part = from?.part ?? 0;
    const walk = this.walk(symbol, { ...filter, ...parts[part], sort: '-window' }, count, from, asOfMs);
    if (walk.last !== undefined) return { ...walk, last: { ...walk.last, part } };
    return part === parts.length - 1 ? walk : { ...walk, last: { ...LIST_START, part: part + 1 } };
  }

  /** The starts of windows between which a walk is, and the parameters of its statement from a position on. */
  #boundsOfWalk(symbol: string, filter: MarketFilter, asOfMs: InstantMs | undefined) {
    const { timeframe, search: text, recorded, closed, fromMs, winner, gaps, volumeMin, isNearlyEmpty } = filter;
    const knownToMs = asOfMs ?? Number.MAX_SAFE_INTEGER;
    const search = text?.toLowerCase();
    // A whole conditionId finds its market by the index.
    const only = search !== undefined && WHOLE_CONDITION_ID.test(search) ? this.findByConditionId(search) : undefined;
    const lastMs = Math.min(filter.toMs, filter.begins?.toMs ?? Infinity, only?.startMs ?? Infinity);
    const beforeMs = Math.min(LIST_START.startMs, lastMs + 1, knownToMs + LISTED_AHEAD_MS_MAX);
    const longestMs = this.#sql.longest.get(symbol)?.lengthMs ?? 0;
    const sinceMs = Math.max(fromMs - longestMs, filter.begins?.fromMs ?? 0, only?.startMs ?? 0);
    const bounds = (startMs: number, conditionId: string, limit: number): WalkBounds => [
      ...([symbol, startMs, conditionId, sinceMs, fromMs, knownToMs] as const),
      ...boundsOf(recorded),
      ...boundsOf(closed),
      ...([asOfMs === undefined ? 0 : Infinity, timeframe ?? null, search ?? null, limit, winner ?? null] as const),
      ...boundsOf(gaps),
      volumeMin ?? null,
      ...boundsOf(isNearlyEmpty),
    ];
    return { sinceMs, beforeMs, bounds };
  }

  /** First the markets of the value at which the walk stopped, then those beyond it. */
  #walkSorted(
    sort: keyof typeof SORTED_WALKS,
    bounds: (startMs: number, conditionId: string, limit: number) => WalkBounds,
    count: number,
    toMs: InstantMs,
    from: ListPosition | undefined,
  ): WalkedRow[] {
    const [ofValue, beyond] = SORTED_WALKS[sort]!.map((sql) => this.#database.query<WalkedRow, SortedBounds>(sql));
    const { value, key } = from?.sorted ?? { value: startOf(sort), key: 0 };
    const same = from === undefined ? [] : ofValue!.all(...bounds(from.startMs, '', count), toMs, value, key);
    if (same.length === count) return same;
    return [...same, ...beyond!.all(...bounds(0, '', count - same.length), toMs, value)];
  }

  /** The markets of a coin's list that the filter takes, see `walk`. */
  *filtered(symbol: string, filter: MarketFilter, asOfMs?: InstantMs): Generator<StoredMarket> {
    let from: ListPosition | undefined;
    do {
      const { keys, last } = this.walk(symbol, filter, WALKED_AT_ONCE, from, asOfMs);
      for (const key of keys) {
        const market = this.byKey(key);
        if (market !== undefined) yield market;
      }
      from = last;
    } while (from !== undefined);
  }

  findByConditionId(conditionId: string): StoredMarket | undefined {
    return marketOrNone(this.#sql.find.get(conditionId.toLowerCase()));
  }

  /**
   * A coin's market by conditionId or slug, in upper or lower case. Of several markets with one slug it is the latest, with
   * `asOfMs` the latest that was listed by then, see `isListed`.
   */
  find(symbol: string, conditionIdOrSlug: string, asOfMs?: number): StoredMarket | undefined {
    return this.named(conditionIdOrSlug, [symbol]).findLast(
      (market) => market.symbol === symbol && (asOfMs === undefined || this.isListed(market, asOfMs)),
    );
  }

  /** A market by its slug, in lower case. Of several with one slug it is the one that starts at `startMs`, or the latest. */
  findBySlug(slug: string, startMs?: number): StoredMarket | undefined {
    const found = this.coins().flatMap((symbol) => this.#ofSlug(symbol, slug));
    const wantedMs = startMs ?? Math.max(...found.map((market) => market.startMs));
    return found.find((market) => market.startMs === wantedMs);
  }

  /** The market that an asset belongs to, as up or as down. */
  findByAsset(assetId: string): StoredMarket | undefined {
    return marketOrNone(this.#sql.findByUpAsset.get(assetId) ?? this.#sql.findByDownAsset.get(assetId));
  }

  /** A coin's markets one after another by (startMs, conditionId): the one after `previous`, or the first. */
  after(symbol: string, previous: ListPosition | undefined): StoredMarket | undefined {
    return marketOrNone(this.#sql.next.get(symbol, previous?.startMs ?? -1, previous?.conditionId ?? ''));
  }

  /** The number of a coin's markets, of one timeframe or of all. */
  count(symbol: string, timeframe?: Timeframe): number {
    const row =
      timeframe === undefined ? this.#sql.count.get(symbol) : this.#sql.countOfTimeframe.get(symbol, timeframe);
    return row!.count;
  }

  /** Coins with markets, by name. */
  coins(): string[] {
    return this.#sql.coins.all().map((row) => row.symbol);
  }

  /** The next market after the one with `key`, in the order of storing; 0 gives the first. */
  afterKey(key: number): StoredMarket | undefined {
    return marketOrNone(this.#sql.nextByKey.get(key));
  }

  /**
   * Markets by conditionId, of any coin, or by slug, in upper or lower case; ordered by coin, then start. `coins`: the coins whose slugs are
   * searched, by name; default: all.
   */
  named(conditionIdOrSlug: string, coins?: readonly string[]): StoredMarket[] {
    const name = conditionIdOrSlug.toLowerCase();
    const market = CONDITION_ID.test(name) ? this.findByConditionId(name) : undefined;
    if (market !== undefined) return [market];
    return (coins ?? this.coins()).flatMap((symbol) => this.#ofSlug(symbol, name));
  }

  /** The markets of a coin with a slug, by start. */
  #ofSlug(symbol: string, slug: string): StoredMarket[] {
    return this.#sql.listOfSlug.all(symbol, slug).map(toMarket);
  }

  /** Returns true if a market was listed by `asOfMs`, see `isListed` of the domain. Lists ignore first records. */
  isListed(market: StoredMarket, asOfMs: number): boolean {
    return isListed(market, asOfMs) || isListed(market, asOfMs, this.firstRecordMs(market.key));
  }

  /** The time of a market's first record of any kind; undefined without any. */
  firstRecordMs(key: number): number | undefined {
    return this.#sql.firstRecord.get(key)?.first_ms ?? undefined;
  }

  /** From the first to the last event that a replay sends of a market: records and starts of gaps; undefined without any. */
  sentSpan(key: number): { readonly firstMs: number; readonly lastMs: number } | undefined {
    const { first_ms: firstMs, last_ms: lastMs } = this.#sql.sentSpan.get(key)!;
    return firstMs === null || lastMs === null ? undefined : { firstMs, lastMs };
  }

  /** Returns true if the archive has a market of the coin; with `asOfMs`, one that was listed by then. */
  knowsCoin(symbol: string, asOfMs?: number): boolean {
    if (asOfMs === undefined) return this.#sql.knowsCoin.get(symbol) !== null;
    // The index finds a market that had started at once; those that were listed before their start are looked through after it.
    const started = { startMs: asOfMs + 1, conditionId: '' };
    return [started, LIST_START].some((from) => this.list(symbol, undefined, 1, 0, from, asOfMs).length > 0);
  }

  /**
   * Adds a market, or updates a known one, see `afterStatement`, whose 'rejected-record' this throws. A market that is stored
   * under a stand-in for its conditionId (domain/condition-id.ts) gets the real one from the first record that has it. Within
   * a write transaction.
   */
  put(statement: MarketStatement, nowMs: number): { market: StoredMarket; changed: boolean } {
    const known = this.findByConditionId(statement.conditionId) ?? this.#standInOrReal(statement);
    const { details = {} } = statement;
    if (known === undefined) {
      const market = toMarket(this.#sql.insert.get(...valuesOf(firstStated(statement, nowMs)))!);
      this.details.put(market.key, details, true);
      return { market, changed: true };
    }
    const next = afterStatement(known, statement, nowMs);
    const named = isStandIn(known.conditionId) ? statement.conditionId : known.conditionId;
    const hasNewDetails = this.details.put(known.key, details, compareRank(known, statement) > 0);
    if (next === known && named === known.conditionId && !hasNewDetails) return { market: known, changed: false };
    const row = this.#sql.update.get(...valuesOf({ ...next, conditionId: named }), known.key);
    return { market: toMarket(row!), changed: true };
  }

  /** The market of the same slug and window, where one of the two has a stand-in for its conditionId. */
  #standInOrReal({ conditionId, slug, symbol, startMs }: MarketStatement): StoredMarket | undefined {
    if (!isStandIn(conditionId)) return this.findByConditionId(standInConditionId(slug, startMs));
    return this.#ofSlug(symbol, slug).find((market) => market.startMs === startMs);
  }

  /** Gives the market a new revision, because a record of it was added. */
  touch(key: number): void {
    this.#sql.touch.run(key);
  }
}

/** All fields of a market, in the order of WRITTEN. */
function valuesOf(market: StatedMarket): (string | number | null)[] {
  const { stated } = market;
  return [
    market.conditionId,
    market.marketId,
    market.eventId,
    market.marketIdMs ?? null,
    market.eventIdMs ?? null,
    market.slug,
    market.symbol,
    market.timeframe,
    ...market.clobTokenIds,
    bit(stated.active),
    bit(stated.closed),
    market.winner ?? null,
    market.startMs,
    market.endMs,
    stated.volume ?? null,
    stated.liquidity ?? null,
    market.resolvedMs ?? null,
    market.priceStart ?? null,
    market.priceEnd ?? null,
    market.createdMs,
    market.updatedMs,
    market.statedUpdatedMs ?? null,
  ];
}

/** A bound before all values of a sorted list. */
function startOf(sort: string): string | number | Uint8Array {
  return sort.startsWith('-') ? ABOVE_ALL : SORTED_VALUES[sort as SortedBy][2];
}

/** The minimum and maximum of a flag in SQL that a filter accepts: 0 and 1 if it accepts both. */
function boundsOf(wanted: boolean | undefined): [number, number] {
  return wanted === undefined ? [0, 1] : [Number(wanted), Number(wanted)];
}

function bit(value: boolean | undefined): number | null {
  return value === undefined ? null : Number(value);
}

function marketOrNone(row: MarketRow | null = null): StoredMarket | undefined {
  return row === null ? undefined : toMarket(row);
}

function toMarket(row: MarketRow): StoredMarket {
  return withDefaults({
    key: row.key,
    revision: row.revision,
    conditionId: row.conditionId,
    marketId: row.marketId,
    eventId: row.eventId,
    marketIdMs: row.marketIdMs ?? undefined,
    eventIdMs: row.eventIdMs ?? undefined,
    slug: row.slug,
    symbol: row.symbol,
    timeframe: row.timeframe,
    clobTokenIds: [row.upAssetId, row.downAssetId] as const,
    winner: row.winner ?? undefined,
    startMs: row.startMs,
    endMs: row.endMs,
    resolvedMs: row.resolvedMs ?? undefined,
    priceStart: row.priceStart ?? undefined,
    priceEnd: row.priceEnd ?? undefined,
    createdMs: row.createdMs,
    updatedMs: row.updatedMs,
    statedUpdatedMs: row.statedUpdatedMs ?? undefined,
    stated: {
      active: row.active === null ? undefined : row.active === 1,
      closed: row.closed === null ? undefined : row.closed === 1,
      volume: row.volume ?? undefined,
      liquidity: row.liquidity ?? undefined,
    },
  });
}
