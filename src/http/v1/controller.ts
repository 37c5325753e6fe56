import { t } from 'elysia';
import { formatInstant, type InstantMs } from '../../domain/instant.ts';
import { assetIdOf } from '../../domain/market.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { PageQuery, Position } from '../../domain/page.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { MarketSeries } from '../../store/series.ts';
import { PATH } from '../parameters/path.ts';
import type { Access } from '../plugins/access.ts';
import { type Negotiated, negotiate, type Responder } from '../response/responder.ts';
import type { Exchange } from '../response/response.ts';
import { encodeCursor } from './cursor.ts';
import type { Lookup } from './lookup.ts';
import { pageOf, type SeriesPage } from './pagination.ts';

/** Dependencies of every controller of /v1. */
export interface ControllerDeps {
  readonly access: Access;
  readonly archive: Archive;
  readonly lookup: Lookup;
  readonly responder: Responder;
  /** Settles for one of all who wait each time that the process has looked for requests, first come first served. */
  readonly nextTurn: () => Promise<void>;
}

const { coin, conditionId } = PATH;
/** Under the prefix of a replay a path has one parameter more. */
export const PREFIXED = { additionalProperties: true };
/** The parameters of a path that names a coin, and of one that names a market. */
export const COIN_PATH = t.Object({ coin }, PREFIXED);
export const MARKET_PATH = t.Object({ coin, conditionId }, PREFIXED);

interface MarketPath {
  readonly coin: string;
  readonly conditionId: string;
}

/**
 * Answers about one market, as it was known at `asOfMs` where that is given, from one consistent view of the archive. `prepare`
 * refuses what does not fit the market; the function that it returns makes the response unless the client's copy will do: a
 * request that would be refused is refused whatever copy the client holds (RFC 9110, 13.2.1).
 */
export function answerAboutMarket(
  { archive, lookup, responder }: ControllerDeps,
  exchange: Exchange,
  params: MarketPath,
  asOfMs: InstantMs | undefined,
  prepare: (
    market: StoredMarket,
  ) => (form: { negotiated: Negotiated; etag: string | undefined }) => Response | Promise<Response>,
): Response | Promise<Response> {
  return archive.database.readShared(() => {
    const market = lookup.market(params.coin, params.conditionId, asOfMs);
    const answer = prepare(market);
    const negotiated = negotiate(exchange);
    // A tag changes with every change, also with those that this answer must not know of.
    const etag = asOfMs === undefined ? responder.entityTag(market, negotiated) : undefined;
    return responder.notModified(exchange, etag) ?? responder.cached(negotiated, etag) ?? answer({ negotiated, etag });
  });
}

/** Records of one kind about a market's outcomes. */
interface OutcomeRecords<T> {
  sources(market: StoredMarket, outcomes: readonly Outcome[], asOfMs?: InstantMs): readonly MarketSeries[];
  page(
    sources: readonly MarketSeries[],
    query: PageQuery,
  ): { readonly records: readonly T[]; readonly next: Position | undefined };
}

/** Answers with a page of `records`, which cursors call `name`. */
export function answerRecords<T>(
  deps: ControllerDeps,
  { exchange, params, asOfMs }: { exchange: Exchange; params: MarketPath; asOfMs: InstantMs | undefined },
  asked: SeriesPage,
  name: string,
  records: OutcomeRecords<T>,
  resourceOf: (market: StoredMarket, record: T) => object,
): Response | Promise<Response> {
  return answerAboutMarket(deps, exchange, params, asOfMs, (market) => {
    const sources = records.sources(market, asked.outcomes, asOfMs);
    // When an import brings recorded quotes in place of derived ones, a walk under way is refused instead of ending early.
    const series = sources.map(({ outcome, kind }) => `${outcome}:${kind}`).join();
    const { query, scope } = pageOf(asked, `${name} ${market.conditionId} ${series}`);
    return ({ negotiated, etag }) => {
      const page = records.page(sources, query);
      const data = page.records.map((record) => resourceOf(market, record));
      return deps.responder.giveDocument({ data, nextCursor: nextCursor(page.next, scope) }, negotiated, etag);
    };
  });
}

/** The fields of a record about one outcome besides its values. */
export function outcomeFields(market: StoredMarket, outcome: Outcome, position: Position) {
  return {
    id: String(position.id),
    assetId: assetIdOf(market, outcome),
    conditionId: market.conditionId,
    symbol: market.symbol,
    outcome,
    timeframe: market.timeframe,
    timestamp: formatInstant(position.timestampMs),
  };
}

export function nextCursor(next: Position | undefined, scope: string): string | null {
  return next === undefined ? null : encodeCursor(next, scope);
}
