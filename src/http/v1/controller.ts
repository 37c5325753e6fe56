import { formatInstant, type InstantMs } from '../../domain/instant.ts';
import { assetIdOf } from '../../domain/market.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { Position } from '../../domain/page.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { MarketSeries } from '../../store/series.ts';
import type { Gate } from '../plugins/access.ts';
import { searchOf } from '../plugins/request-target.ts';
import { type Negotiated, negotiate, type Responder } from '../response/responder.ts';
import type { Exchange } from '../response/response.ts';
import type { Route } from '../routes.ts';
import { encodeCursor } from './cursor.ts';
import type { Lookup } from './lookup.ts';
import { Parameters } from './params.ts';

/** What every controller of /v1 stands on. */
export interface ControllerDeps {
  readonly gate: Gate;
  readonly archive: Archive;
  readonly lookup: Lookup;
  readonly responder: Responder;
  /** Settles when it is one's turn: one of all who wait, each time that the process has looked for requests. */
  readonly nextTurn: () => Promise<void>;
}

/** What every question of /v1 comes with. */
export interface Timed {
  /** Nothing later is in the answer; undefined: everything is. */
  readonly asOfMs: InstantMs | undefined;
}

/**
 * Reads the parameters with `read`, throws what they refuse, and passes hints on to the client. Here it is decided, for every
 * route alike, up to when the answer may know things: no controller asks for it, and none gets its parameters without it.
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

/** The form of an answer about one market. */
export interface AnswerForm {
  readonly negotiated: Negotiated;
  readonly etag: string | undefined;
}

/**
 * Answers about one market, as it was known at `asOfMs` where that is given, from one consistent view of the archive. `prepare`
 * refuses what does not fit the market, and what it returns makes the response when the client's copy will not do: a request
 * that would be refused is refused whatever copy the client holds (RFC 9110, 13.2.1).
 */
export function answerAboutMarket(
  { archive, lookup, responder }: ControllerDeps,
  exchange: Exchange,
  params: { readonly coin: string; readonly conditionId: string },
  { asOfMs }: Timed,
  prepare: (market: StoredMarket) => (form: AnswerForm) => Response | Promise<Response>,
): Response | Promise<Response> {
  return archive.database.readShared(() => {
    const market = lookup.market(params.coin, params.conditionId, asOfMs);
    const answer = prepare(market);
    const negotiated = negotiate(exchange);
    // A tag tells of every change, also of those that this answer must not know of.
    const etag = asOfMs === undefined ? responder.entityTag(market, negotiated) : undefined;
    return responder.notModified(exchange, etag) ?? responder.held(negotiated, etag) ?? answer({ negotiated, etag });
  });
}

/** What a record about one outcome says beside its values. */
export function outcomeFields(market: StoredMarket, outcome: Outcome, place: Position) {
  return {
    id: String(place.id),
    assetId: assetIdOf(market, outcome),
    conditionId: market.conditionId,
    symbol: market.symbol,
    outcome,
    timeframe: market.timeframe,
    timestamp: formatInstant(place.timestampMs),
  };
}

/**
 * The series a page is made of, for the scope of its cursor: when an import brings recorded quotes in place of derived
 * ones, a walk under way is refused instead of ending early.
 */
export function namesOf(sources: readonly MarketSeries[]): string {
  return sources.map(({ outcome, kind }) => `${outcome}:${kind}`).join();
}

export function nextCursor(next: Position | undefined, scope: string): string | null {
  return next === undefined ? null : encodeCursor(next, scope);
}
