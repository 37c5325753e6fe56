import { Elysia } from 'elysia';
import { Type } from 'typebox';
import { columnsOf } from '../../domain/heat-map.ts';
import { formatInstant, type InstantMs } from '../../domain/instant.ts';
import { MIDPOINT_MARKETS_MAX, MidpointsResource } from '../../domain/midpoints.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { dataOf, described } from '../openapi/described.ts';
import { parameters } from '../parameters/parameter.ts';
import { QUERY } from '../parameters/query.ts';
import { answerAboutCoin, COIN_PATH, type ControllerDeps } from './controller.ts';

const { markets, points, outcome, asOf } = QUERY;

const MidpointsList = dataOf(
  'MidpointsList',
  'The midpoints of markets.',
  Type.Array(MidpointsResource, { maxItems: MIDPOINT_MARKETS_MAX, description: 'In the requested order.' }),
);

interface MidpointsQuery {
  /** ConditionIds or slugs. */
  readonly markets: readonly string[];
  readonly points: number;
  readonly outcome: Outcome;
  readonly asOfMs: InstantMs | undefined;
}

/** The midpoints of several markets over their windows, for small pictures in a list. */
export function midpointsController(deps: ControllerDeps) {
  return new Elysia({ name: 'midpoints' })
    .use(deps.access)
    .get(
      '/v1/:coin/midpoints',
      ({ params, query: { outcome = 'up', ...query }, exchange, asOfMs }) =>
        answerAboutCoin(deps, exchange, params.coin, asOfMs, (coin) =>
          midpointSteps(deps.archive, coin, { ...query, outcome, asOfMs }),
        ),
      {
        grant: 'prices',
        params: COIN_PATH,
        query: parameters({ markets, points, outcome, asOf }),
        detail: described('midpoints', {
          summary: 'Midpoints of several markets',
          description: `The midpoint of one outcome over the window of each market, for small pictures in a list. The midpoints are those of [the prices of a market](#tag/prices). Markets that are not recorded are left out. The outcome is up if it is left out.`,
          answer: MidpointsList,
          examples: {
            midpoints: '/v1/btc/midpoints?markets=simulated-btc-updown-5m-1767868200&points=5',
            down: '/v1/btc/midpoints?markets=simulated-btc-updown-5m-1767868200&points=2&outcome=down',
          },
        }),
      },
    );
}

/** One market in each step. */
function* midpointSteps(
  archive: Archive,
  coin: string,
  { markets, points, outcome, asOfMs }: MidpointsQuery,
): Generator<void, readonly MidpointsResource[]> {
  const found: MidpointsResource[] = [];
  for (const [index, name] of markets.entries()) {
    if (index > 0) yield;
    const market = archive.markets.find(coin, name, asOfMs);
    if (market !== undefined) found.push(midpointsOf(archive, market, { points, outcome, asOfMs }));
  }
  return found;
}

function midpointsOf(
  { prices }: Archive,
  market: StoredMarket,
  { points, outcome, asOfMs }: Omit<MidpointsQuery, 'markets'>,
): MidpointsResource {
  const { conditionId, slug, startMs } = market;
  const endMs = Math.max(market.endMs, startMs);
  const mids = prices.midpoints(market, outcome, columnsOf(startMs, endMs, points), asOfMs);
  return {
    conditionId,
    slug,
    outcome,
    from: formatInstant(startMs),
    to: formatInstant(endMs),
    mids: mids.map((mid) => mid ?? null),
  };
}
