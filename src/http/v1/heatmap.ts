import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import type { HeatMap, HeatMapColumn, HeatMapQuery } from '../../domain/heat-map.ts';
import { columnResource } from '../../domain/heat-map-json.ts';
import { HeatMapResource } from '../../domain/heat-map-resource.ts';
import { formatInstant, INSTANT_MAX_MS, type InstantMs } from '../../domain/instant.ts';
import { assetIdOf } from '../../domain/market.ts';
import { openArchiveView } from '../../store/archive.ts';
import { heatMapSteps } from '../../store/heat-map.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { dataOf, described } from '../openapi/described.ts';
import { EXAMPLE_MARKET } from '../openapi/examples.ts';
import { parameters } from '../parameters/parameter.ts';
import { QUERY } from '../parameters/query.ts';
import type { Format, Negotiated, Responder } from '../response/responder.ts';
import { answerAboutMarket, type ControllerDeps, MARKET_PATH, slotsFor } from './controller.ts';
import { refused } from './pagination.ts';

const { from, to, columns, outcome, asOf } = QUERY;
const HEAT_MAP_QUERY = parameters({ from, to, columns, outcome, asOf });

/** Maximum number of heat maps that are made in turns at the same time. Each takes up to 40 MB. */
const HEAT_MAPS_MAX = 32;
/** Maximum number of these with one key. */
export const HEAT_MAPS_PER_KEY_MAX = 8;
/** A column has at most 346 rows of both sides: this number is encoded in under a millisecond. */
const COLUMNS_IN_PIECE_MAX = 16;

const HeatMapAnswer = dataOf('HeatMapAnswer', 'The heat map of one outcome.', HeatMapResource);

/** The books of a market's outcome over time, for a picture. */
export function heatmapController(deps: ControllerDeps) {
  const { access, archive, responder, nextTurn } = deps;
  const slots = slotsFor(deps, 'heat maps', HEAT_MAPS_MAX, HEAT_MAPS_PER_KEY_MAX);

  /** The bytes of the heat map, in a view of its own, with the market as it is there. */
  const madeInTurns = async ({ conditionId }: StoredMarket, query: HeatMapQuery, { format, keyId }: Negotiated) => {
    await nextTurn(keyId);
    using view = openArchiveView(archive.database.path);
    const market = view.markets.findByConditionId(conditionId);
    if (market === undefined) throw new DomainError('not-found', 'this market is not recorded here any more');
    const steps = heatMapSteps(view, market, query);
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) await nextTurn(keyId);
    const { columns: items, ...map } = step.value;
    const fields = heatMapFields(market, query, map);
    const resourceOf = (column: HeatMapColumn) => columnResource(column, query.hasTrades === true);
    const pieces: Uint8Array[] = [];
    for (const piece of documentPieces(responder, format, fields, items, resourceOf)) {
      pieces.push(piece);
      await nextTurn(keyId);
    }
    return { market, body: Buffer.concat(pieces) };
  };

  return new Elysia({ name: 'heatmap' }).use(access).get(
    '/v1/:coin/markets/:conditionId/heatmap',
    ({ params, query, exchange, accessCheck, asOfMs }) => {
      const hasTrades = accessCheck.isGranted('prices', params.coin);
      const variant = hasTrades ? undefined : 'without trades';
      return answerAboutMarket(deps, { ...exchange, variant }, params, asOfMs, (market) => {
        const requested = { ...heatMapQueryOf(query, market, asOfMs), hasTrades };
        return ({ negotiated, etag }) => {
          const first = heatMapSteps(archive, market, requested).next();
          if (first.done === true) {
            const { columns, ...map } = first.value;
            const data = {
              ...heatMapFields(market, requested, map),
              columns: columns.map((column) => columnResource(column, hasTrades)),
            };
            return responder.respondDocument({ data }, negotiated, etag);
          }
          const release = slots.take(exchange.keyId, exchange.set.headers);
          return madeInTurns(market, requested, negotiated)
            .finally(release)
            .then(({ market: shown, body }) => {
              // An import may have changed the market since: the tag is that of the state that is shown.
              const isSame = shown.revision === market.revision;
              const tag = asOfMs === undefined ? responder.entityTag(shown, negotiated) : undefined;
              return responder.giveLarge(body, negotiated, tag, isSame ? market.revision : Number.NaN);
            });
        };
      });
    },
    {
      grant: 'snapshots',
      params: MARKET_PATH,
      query: HEAT_MAP_QUERY,
      detail: described('heatmap', {
        summary: 'Heat map of a market',
        description: `The books of one outcome over time: a column is a part of the window, a row is a range of prices, and a value is the number of shares at these prices. from and to are inclusive; left out, they are the start and the end of the market. The outcome is up if it is left out. Each column shows the book at its end: the snapshot that [the nearest snapshot](#tag/snapshots) with mode=before finds for that instant. There is no book in a column that ends before the first snapshot, that begins after the last one, or where a recorded gap touches the time from the snapshot to the end of the column. If the tier grants prices, each column also has the recorded trades in it: number, shares, lowest and highest price, also by the side of the taker’s order. Rows are 0.01 apart; if a shown book has a finer price, they are 0.001 apart below 0.04 and from 0.96 on. More than ${HEAT_MAPS_PER_KEY_MAX} open requests for large heat maps with one key get a 429, more than ${HEAT_MAPS_MAX} in total a 503.`,
        answer: HeatMapAnswer,
        examples: {
          twoColumns: `${EXAMPLE_MARKET}/heatmap?from=1767868300000&to=2026-01-08T10:31:59.999Z&columns=2&outcome=up`,
        },
      }),
    },
  );
}

/** Throws 'invalid-parameter' for a window without an instant that can be written. */
function heatMapQueryOf(
  { from, to, columns, outcome = 'up' }: typeof HEAT_MAP_QUERY.static,
  market: StoredMarket,
  asOfMs: InstantMs | undefined,
): HeatMapQuery {
  const fromMs = from ?? market.startMs;
  const toMs = to ?? Math.max(market.endMs, market.startMs);
  if (fromMs > INSTANT_MAX_MS) throw refused('from', 'must not be after the year 9999');
  if (toMs > INSTANT_MAX_MS) throw refused('to', 'must not be after the year 9999');
  if (fromMs <= toMs) return { outcome, fromMs, toMs, columns, asOfMs };
  throw from === undefined
    ? refused('to', 'must not be earlier than the start of the market: give from too')
    : refused('from', 'must not be later than the end of the market: give to too');
}

function heatMapFields(
  market: StoredMarket,
  query: HeatMapQuery,
  { prices }: Pick<HeatMap, 'prices'>,
): Omit<HeatMapResource, 'columns'> {
  const { conditionId, slug, symbol, timeframe } = market;
  return {
    assetId: assetIdOf(market, query.outcome),
    conditionId,
    slug,
    symbol,
    outcome: query.outcome,
    timeframe,
    from: formatInstant(query.fromMs),
    to: formatInstant(query.toMs),
    prices: [...prices],
  };
}

/** The bytes after the list of a document as JSON: the ends of the list, of `data` and of the document. */
const JSON_END = Buffer.from(']}}');
const COMMA = Buffer.from(',');

/** `{data: {...fields, columns}}` as `Responder.encode` writes it, in pieces of at most COLUMNS_IN_PIECE_MAX columns. */
function* documentPieces(
  responder: Responder,
  format: Format,
  fields: object,
  columns: readonly HeatMapColumn[],
  resourceOf: (column: HeatMapColumn) => object,
): Generator<Uint8Array> {
  const isJson = format === 'json';
  // In msgpack a list begins with its length, and a zero is one byte.
  const zeros = isJson ? [] : columns.map(() => 0);
  const empty = responder.encode({ data: { ...fields, columns: zeros } }, format);
  yield empty.subarray(0, empty.length - (isJson ? JSON_END.length : zeros.length));
  for (let from = 0; from < columns.length; from += COLUMNS_IN_PIECE_MAX) {
    const encoded = columns
      .slice(from, from + COLUMNS_IN_PIECE_MAX)
      .map((column) => responder.encode(resourceOf(column), format).slice());
    yield Buffer.concat(
      isJson ? encoded.flatMap((column, i) => (from + i === 0 ? [column] : [COMMA, column])) : encoded,
    );
  }
  if (isJson) yield JSON_END;
}
