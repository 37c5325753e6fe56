import { formatInstant, type InstantMs } from '../../domain/instant.ts';
import { assetIdOf } from '../../domain/market.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { PageQuery, Position } from '../../domain/page.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { MarketSeries } from '../../store/series.ts';
import type { Gate } from '../plugins/access.ts';
import { searchOf } from '../request-target.ts';
import { type Negotiated, negotiate, type Responder } from '../response/responder.ts';
import type { Exchange } from '../response/response.ts';
import type { Route } from '../routes.ts';
import { encodeCursor } from './cursor.ts';
import type { Lookup } from './lookup.ts';
import { Parameters, pageOf } from './params.ts';

/** Dependencies of every controller of /v1. */
export interface ControllerDeps {
  readonly gate: Gate;
  readonly archive: Archive;
  readonly lookup: Lookup;
  readonly responder: Responder;
  /** Settles for one of all who wait each time that the process has looked for requests, first come first served. */
  readonly nextTurn: () => Promise<void>;
}

/** Parameter of every path of /v1. */
export interface Timed {
  /** Nothing later is in the answer; undefined: there is no limit. */
  readonly asOfMs: InstantMs | undefined;
}

/** The parameters of a path that names a market. */
interface MarketPath {
  readonly coin: string;
  readonly conditionId: string;
}

/**
 * Reads the parameters with `read`, throws what they refuse, and passes hints on to the client. It decides for every route up
 * to when the answer may know things: no controller asks for it, and none gets its parameters without it.
 */
export function parametersOf<T extends object>(
  { request, set, knownUntilMs }: Exchange,
  route: Route,
  read: (parameters: Parameters) => T,
): T & Timed {
  const parameters = new Parameters(searchOf(request), route, knownUntilMs);
  const asked = read(parameters);
  const asOfMs = parameters.asOf();
  parameters.done();
  const warning = parameters.warning();
  if (warning !== undefined) set.headers['x-bookreel-warning'] = warning;
  return { ...asked, asOfMs };
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
  { asOfMs }: Timed,
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
  exchange: Exchange,
  params: MarketPath,
  route: Route,
  name: string,
  records: OutcomeRecords<T>,
  resourceOf: (market: StoredMarket, record: T) => object,
): Response | Promise<Response> {
  const asked = parametersOf(exchange, route, (parameters) => parameters.series());
  return answerAboutMarket(deps, exchange, params, asked, (market) => {
    const sources = records.sources(market, asked.outcomes, asked.asOfMs);
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
