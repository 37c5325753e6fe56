import { DomainError } from '../domain/errors.ts';
import type { Market } from '../domain/market.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Timeframe } from '../domain/timeframe.ts';
import type { Database } from './database.ts';

/** A market as this archive holds it. */
export interface StoredMarket extends Market {
  /** This archive's own handle. */
  readonly key: number;
  /** Grows with every change to the market or to a record of it. */
  readonly revision: number;
}

/** What a recording says about a market: what identifies it, and of the rest what it knows. */
export type MarketStatement = Pick<
  Market,
  'conditionId' | 'slug' | 'symbol' | 'timeframe' | 'clobTokenIds' | 'startMs' | 'endMs'
> &
  OpenFields;

type OpenFields = { readonly [Field in OpenField]?: Market[Field] | undefined };

type OpenField =
  | 'marketId'
  | 'eventId'
  | 'active'
  | 'closed'
  | 'winner'
  | 'volume'
  | 'liquidity'
  | 'resolvedMs'
  | 'priceStart'
  | 'priceEnd'
  | 'createdMs'
  | 'updatedMs';

interface MarketRow {
  readonly market_key: number;
  readonly condition_id: string;
  readonly venue_market_id: string;
  readonly venue_event_id: string;
  readonly slug: string;
  readonly symbol: string;
  readonly timeframe: Timeframe;
  readonly up_asset_id: string;
  readonly down_asset_id: string;
  readonly active: number;
  readonly closed: number;
  readonly winner: Outcome | null;
  readonly start_ms: number;
  readonly end_ms: number;
  readonly volume: number;
  readonly liquidity: number;
  readonly resolved_ms: number | null;
  readonly price_start: number | null;
  readonly price_end: number | null;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly revision: number;
}

const COLUMNS = `market_key, condition_id, venue_market_id, venue_event_id, slug, symbol, timeframe, up_asset_id,
  down_asset_id, active, closed, winner, start_ms, end_ms, volume, liquidity, resolved_ms, price_start, price_end,
  created_ms, updated_ms, revision`;

export const LIST_MARKETS = `SELECT ${COLUMNS} FROM markets WHERE symbol = ?
  ORDER BY start_ms DESC, condition_id DESC LIMIT ? OFFSET ?`;
export const LIST_MARKETS_OF_TIMEFRAME = `SELECT ${COLUMNS} FROM markets WHERE symbol = ? AND timeframe = ?
  ORDER BY start_ms DESC, condition_id DESC LIMIT ? OFFSET ?`;
export const FIND_MARKET = `SELECT ${COLUMNS} FROM markets WHERE condition_id = ?`;
export const FIND_MARKET_BY_SLUG = `SELECT ${COLUMNS} FROM markets WHERE slug = ? AND symbol = ?
  ORDER BY start_ms DESC LIMIT 1`;
export const KNOWS_COIN = 'SELECT 1 AS known FROM markets WHERE symbol = ? LIMIT 1';

const CONDITION_ID = /^0x[0-9a-f]+$/;

export class Markets {
  readonly #list;
  readonly #listOfTimeframe;
  readonly #find;
  readonly #findBySlug;
  readonly #knowsCoin;
  readonly #insert;
  readonly #update;
  readonly #touch;

  constructor(database: Database) {
    this.#list = database.query<MarketRow, [string, number, number]>(LIST_MARKETS);
    this.#listOfTimeframe = database.query<MarketRow, [string, Timeframe, number, number]>(LIST_MARKETS_OF_TIMEFRAME);
    this.#find = database.query<MarketRow, [string]>(FIND_MARKET);
    this.#findBySlug = database.query<MarketRow, [string, string]>(FIND_MARKET_BY_SLUG);
    this.#knowsCoin = database.query<{ known: number }, [string]>(KNOWS_COIN);
    this.#insert = database.query<MarketRow, (string | number | null)[]>(
      `INSERT INTO markets (condition_id, venue_market_id, venue_event_id, slug, symbol, timeframe, up_asset_id,
         down_asset_id, active, closed, winner, start_ms, end_ms, volume, liquidity, resolved_ms, price_start, price_end,
         created_ms, updated_ms, revision)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
       RETURNING ${COLUMNS}`,
    );
    this.#update = database.query<MarketRow, (string | number | null)[]>(
      `UPDATE markets SET venue_market_id = ?, venue_event_id = ?, up_asset_id = ?, down_asset_id = ?, active = ?,
         closed = ?, winner = ?, volume = ?, liquidity = ?, resolved_ms = ?, price_start = ?, price_end = ?,
         created_ms = ?, updated_ms = ?, revision = revision + 1
       WHERE market_key = ? RETURNING ${COLUMNS}`,
    );
    this.#touch = database.query<never, [number]>('UPDATE markets SET revision = revision + 1 WHERE market_key = ?');
  }

  /** A coin's markets, the latest window first, ties by conditionId descending; `timeframe` undefined takes all. */
  list(symbol: string, timeframe: Timeframe | undefined, limit: number, skip: number): StoredMarket[] {
    const rows =
      timeframe === undefined
        ? this.#list.all(symbol, limit, skip)
        : this.#listOfTimeframe.all(symbol, timeframe, limit, skip);
    return rows.map(toMarket);
  }

  findByConditionId(conditionId: string): StoredMarket | undefined {
    const row = this.#find.get(conditionId.toLowerCase());
    return row === null ? undefined : toMarket(row);
  }

  /** A coin's market by conditionId or slug, neither with regard to case; of markets with one slug the latest. */
  find(symbol: string, conditionIdOrSlug: string): StoredMarket | undefined {
    const name = conditionIdOrSlug.toLowerCase();
    const row = CONDITION_ID.test(name) ? this.#find.get(name) : this.#findBySlug.get(name, symbol);
    return row === null || row.symbol !== symbol ? undefined : toMarket(row);
  }

  /** Whether any market of the coin was ever recorded. */
  knowsCoin(symbol: string): boolean {
    return this.#knowsCoin.get(symbol) !== null;
  }

  /**
   * Adds a market, or brings a known one up to date: what the statement says replaces what is held, what it leaves
   * undefined stays. A statement older than what is held (by updatedMs) changes nothing but what was unknown.
   * Throws 'rejected-record' when it contradicts what identifies the market.
   */
  put(statement: MarketStatement, nowMs: number): { market: StoredMarket; changed: boolean } {
    const held = this.findByConditionId(statement.conditionId);
    if (held === undefined) return { market: this.#add(statement, nowMs), changed: true };
    refuseContradiction(held, statement);
    const stale = isStale(held, statement);
    const clobTokenIds = mergeTokenIds(held.clobTokenIds, statement.clobTokenIds);
    const merged: Market = stale
      ? overlay({ ...overlay(held, statement), clobTokenIds }, held)
      : { ...overlay(held, statement), clobTokenIds };
    if (sameMarket(held, merged)) return { market: held, changed: false };
    const updatedMs = stale ? held.updatedMs : (statement.updatedMs ?? nowMs);
    return { market: this.#change(held.key, { ...merged, updatedMs }), changed: true };
  }

  /** Notes that a record of the market was added. */
  touch(key: number): void {
    this.#touch.run(key);
  }

  #add(statement: MarketStatement, nowMs: number): StoredMarket {
    const row = this.#insert.get(
      statement.conditionId,
      statement.marketId ?? '0',
      statement.eventId ?? '0',
      statement.slug,
      statement.symbol,
      statement.timeframe,
      statement.clobTokenIds[0],
      statement.clobTokenIds[1],
      (statement.active ?? true) ? 1 : 0,
      (statement.closed ?? false) ? 1 : 0,
      statement.winner ?? null,
      statement.startMs,
      statement.endMs,
      statement.volume ?? 0,
      statement.liquidity ?? 0,
      statement.resolvedMs ?? null,
      statement.priceStart ?? null,
      statement.priceEnd ?? null,
      statement.createdMs ?? nowMs,
      statement.updatedMs ?? nowMs,
    );
    return toMarket(row!);
  }

  #change(key: number, market: Market): StoredMarket {
    const row = this.#update.get(
      market.marketId,
      market.eventId,
      market.clobTokenIds[0],
      market.clobTokenIds[1],
      market.active ? 1 : 0,
      market.closed ? 1 : 0,
      market.winner ?? null,
      market.volume,
      market.liquidity,
      market.resolvedMs ?? null,
      market.priceStart ?? null,
      market.priceEnd ?? null,
      market.createdMs,
      market.updatedMs,
      key,
    );
    return toMarket(row!);
  }
}

const OPEN_FIELDS: readonly OpenField[] = [
  'marketId',
  'eventId',
  'active',
  'closed',
  'winner',
  'volume',
  'liquidity',
  'resolvedMs',
  'priceStart',
  'priceEnd',
  'createdMs',
  'updatedMs',
];

/** `base` with every open field that `over` really knows: "0" stands for an id that it does not. */
function overlay(base: Market, over: OpenFields): Market {
  const isKnown = (field: OpenField) =>
    over[field] !== undefined && !((field === 'marketId' || field === 'eventId') && over[field] === '0');
  return { ...base, ...Object.fromEntries(OPEN_FIELDS.filter(isKnown).map((field) => [field, over[field]])) };
}

function mergeTokenIds(held: Market['clobTokenIds'], said: Market['clobTokenIds']): Market['clobTokenIds'] {
  return [held[0] === '0' ? said[0] : held[0], held[1] === '0' ? said[1] : held[1]];
}

/** Whether the statement was made before what is held: by its own time, or because it does not know the winner yet. */
function isStale(held: StoredMarket, said: MarketStatement): boolean {
  if (held.winner !== undefined && said.winner === undefined) return true;
  return said.updatedMs !== undefined && said.updatedMs < held.updatedMs;
}

function refuseContradiction(held: StoredMarket, said: MarketStatement): void {
  const contradicts = (field: string, before: string | number, after: string | number) => {
    if (before === after) return;
    throw new DomainError(
      'rejected-record',
      `market ${said.conditionId} is held with ${field} ${before}, and this record says ${after}: one of the two recordings is wrong`,
    );
  };
  contradicts('slug', held.slug, said.slug);
  contradicts('symbol', held.symbol, said.symbol);
  contradicts('timeframe', held.timeframe, said.timeframe);
  contradicts('startTime', held.startMs, said.startMs);
  contradicts('endTime', held.endMs, said.endMs);
  if (held.winner !== undefined && said.winner !== undefined) contradicts('winner', held.winner, said.winner);
  for (const index of [0, 1] as const) {
    if (held.clobTokenIds[index] !== '0' && said.clobTokenIds[index] !== '0') {
      contradicts('clobTokenIds', held.clobTokenIds[index], said.clobTokenIds[index]);
    }
  }
}

function sameMarket(a: Market, b: Market): boolean {
  return (
    a.clobTokenIds[0] === b.clobTokenIds[0] &&
    a.clobTokenIds[1] === b.clobTokenIds[1] &&
    OPEN_FIELDS.every((field) => a[field] === b[field])
  );
}

function toMarket(row: MarketRow): StoredMarket {
  return {
    key: row.market_key,
    revision: row.revision,
    conditionId: row.condition_id,
    marketId: row.venue_market_id,
    eventId: row.venue_event_id,
    slug: row.slug,
    symbol: row.symbol,
    timeframe: row.timeframe,
    clobTokenIds: [row.up_asset_id, row.down_asset_id],
    active: row.active === 1,
    closed: row.closed === 1,
    winner: row.winner ?? undefined,
    startMs: row.start_ms,
    endMs: row.end_ms,
    volume: row.volume,
    liquidity: row.liquidity,
    resolvedMs: row.resolved_ms ?? undefined,
    priceStart: row.price_start ?? undefined,
    priceEnd: row.price_end ?? undefined,
    createdMs: row.created_ms,
    updatedMs: row.updated_ms,
  };
}
