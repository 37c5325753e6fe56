import { t } from 'elysia';
import { formatInstant, type InstantMs, instantOrNull } from '../../domain/instant.ts';
import { assetIdOf } from '../../domain/market.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { PageQuery, Position } from '../../domain/page.ts';
import { failingForGood } from '../../domain/steps.ts';
import type { Received } from '../../segment/segment-header.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { MarketSeries } from '../../store/series.ts';
import { PATH } from '../parameters/path.ts';
import { type Access, earlierLimit } from '../plugins/access.ts';
import type { RequestCounts } from '../plugins/request-counts.ts';
import type { Reader } from '../response/pulled-body.ts';
import { type EntityTag, type Negotiated, negotiate, type Responder } from '../response/responder.ts';
import type { Exchange } from '../response/response.ts';
import { encodeCursor } from './cursor.ts';
import type { Lookup } from './lookup.ts';
import { pageOf, type SeriesQuery, seriesPageOf } from './pagination.ts';
import { Slots } from './slots.ts';

/** Dependencies of every controller of /v1. */
export interface ControllerDeps {
  readonly access: Access;
  readonly archive: Archive;
  readonly lookup: Lookup;
  readonly responder: Responder;
  /** The server that listens now; null while none does. */
  readonly server: () => Reader['server'];
  /** Settles after other requests had their turn. Each turn settles one waiting call; keys take turns (FairQueue). */
  readonly nextTurn: (keyId: string | undefined) => Promise<void>;
  readonly counts: RequestCounts;
}

/** Limits the open requests of one kind, which all processes of the server count. `kind`: see Slots. */
export function slotsFor({ counts }: ControllerDeps, kind: string, max: number, perKeyMax: number): Slots {
  return new Slots(kind, { max, perKeyMax }, counts.openRequests(kind));
}

const { coin, conditionId } = PATH;
/** Paths with the prefix of a replay have one more parameter. */
export const PREFIXED = { additionalProperties: true };
export const COIN_PATH = t.Object({ coin }, PREFIXED);
export const MARKET_PATH = t.Object({ coin, conditionId }, PREFIXED);

/**
 * Answers about one market, as known at `asOfMs` if that is given, from one consistent view of the archive. `prepare` refuses
 * parameters that do not fit the market. The function that it returns makes the response, and is only called if neither the
 * client nor the cache has a current copy. So a request is refused even if the client has a copy (RFC 9110, 13.2.1). `needsBooks`: see Lookup.
 */
export function answerAboutMarket(
  { archive, lookup, responder }: ControllerDeps,
  exchange: Exchange,
  params: typeof MARKET_PATH.static,
  asOfMs: InstantMs | undefined,
  prepare: (
    market: StoredMarket,
  ) => (answered: { negotiated: Negotiated; etag: EntityTag | undefined }) => Response | Promise<Response>,
  needsBooks = true,
): Response | Promise<Response> {
  return archive.database.readShared(() => {
    const market = lookup.market(params.coin, params.conditionId, asOfMs, needsBooks);
    const answer = prepare(market);
    const negotiated = negotiate(exchange, market);
    // With asOf there is no tag: it would change with changes after that instant too.
    const etag = asOfMs === undefined ? responder.entityTag(market, negotiated) : undefined;
    return responder.notModified(exchange, etag) ?? responder.cached(negotiated, etag) ?? answer({ negotiated, etag });
  });
}

/** The stored records of one kind about a market's outcomes. */
interface OutcomeRecords<T> {
  sources(
    market: StoredMarket,
    outcomes: readonly Outcome[],
    asOfMs?: InstantMs,
    receivedByMs?: InstantMs,
  ): readonly MarketSeries[];
  page(
    sources: readonly MarketSeries[],
    query: PageQuery,
  ): { readonly records: readonly T[]; readonly next: Position | undefined };
}

interface SeriesRequest {
  readonly exchange: Exchange;
  readonly params: typeof MARKET_PATH.static;
  readonly query: SeriesQuery;
  readonly asOfMs: InstantMs | undefined;
}

/** Answers with a page of `records`. Its cursors are valid for the series `name` only. */
export function answerRecords<T>(
  deps: ControllerDeps,
  { exchange, params, query: seriesQuery, asOfMs }: SeriesRequest,
  name: string,
  records: OutcomeRecords<T>,
  resourceOf: (market: StoredMarket, record: T, hasArrival: boolean) => object,
): Response | Promise<Response> {
  const page = seriesPageOf(seriesQuery, asOfMs);
  const { include, asOfReceived } = seriesQuery;
  // Markets have no arrivals: both clocks limit what is known of them.
  return answerAboutMarket(deps, exchange, params, earlierLimit(asOfMs, asOfReceived), (market) => {
    const sources = records.sources(market, page.outcomes, asOfMs, asOfReceived);
    // If an import replaces derived quotes with recorded ones, older cursors are refused: their pages would end early.
    const series = sources.map(({ outcome, kind }) => `${outcome}:${kind}`).join();
    const { query, scope } = pageOf(page, `${name} ${market.conditionId} ${series}`);
    return ({ negotiated, etag }) => {
      const { records: found, next } = records.page(sources, query);
      const data = found.map((record) => resourceOf(market, record, include === 'receivedAt'));
      return deps.responder.respondDocument({ data, nextCursor: nextCursor(next, scope) }, negotiated, etag);
    };
  });
}

/** The fields that all records about one outcome have; `hasArrival`: with their arrival. */
export function outcomeFields(
  market: StoredMarket,
  outcome: Outcome,
  { id, timestampMs, receivedMs }: Received,
  hasArrival: boolean,
) {
  const fields = {
    id: String(id),
    assetId: assetIdOf(market, outcome),
    conditionId: market.conditionId,
    symbol: market.symbol,
    outcome,
    timeframe: market.timeframe,
    timestamp: formatInstant(timestampMs),
  };
  return hasArrival ? { ...fields, receivedAt: instantOrNull(receivedMs) } : fields;
}

export function nextCursor(next: Position | undefined, scope: string): string | null {
  return next === undefined ? null : encodeCursor(next, scope);
}

/**
 * Answers about a coin with `{data}`, which `stepsOf` makes in steps of a few milliseconds: other requests have their turn between them,
 * and each step has a view of its own. If the first step is the last one, the answer is made at once.
 */
export function answerAboutCoin(
  { archive: { database }, lookup, responder, nextTurn }: ControllerDeps,
  exchange: Exchange,
  coinText: string,
  asOfMs: InstantMs | undefined,
  stepsOf: (coin: string) => Iterator<void, readonly object[]>,
): Response | Promise<Response> {
  return database.readShared(() => {
    const coin = lookup.coin(coinText, asOfMs);
    const negotiated = negotiate(exchange);
    const cached = responder.cached(negotiated);
    if (cached !== undefined) return cached;
    const { state } = database;
    const give = (data: readonly object[]) =>
      responder.respond(responder.encode({ data }, negotiated.format), negotiated, undefined, state);
    const steps = failingForGood(stepsOf(coin));
    const first = steps.next();
    if (first.done === true) return give(first.value);
    const rest = async () => {
      for (;;) {
        await nextTurn(exchange.keyId);
        const step = database.readShared(() => steps.next());
        if (step.done === true) return await database.readShared(() => give(step.value));
      }
    };
    return rest();
  });
}
