import { Elysia } from 'elysia';
import { DAYS_MAX, DayResource, dayResource, type RecordedDay } from '../../domain/recorded-day.ts';
import { dataOf, described, listOf } from '../openapi/described.ts';
import { parameters } from '../parameters/parameter.ts';
import { QUERY } from '../parameters/query.ts';
import { answerAboutCoin, COIN_PATH, type ControllerDeps } from './controller.ts';
import { windowOf } from './pagination.ts';

const { tf, from, to, asOf } = QUERY;

const DayList = dataOf('DayList', 'The days with markets.', listOf(DayResource, DAYS_MAX, 'Ascending.'));

/** How much is recorded of a coin, by day. */
export function daysController(deps: ControllerDeps) {
  return new Elysia({ name: 'days' })
    .use(deps.access)
    .get(
      '/v1/:coin/days',
      ({ params, query, exchange, asOfMs }) =>
        answerAboutCoin(deps, exchange, params.coin, asOfMs, (symbol) =>
          dayResources(deps.archive.recordedDays.steps({ symbol, timeframe: query.tf, ...windowOf(query), asOfMs })),
        ),
      {
        grant: 'markets',
        params: COIN_PATH,
        query: parameters({ tf, from, to, asOf }),
        detail: described('days', {
          summary: 'Recorded days of a coin',
          description: `The number of markets, recorded markets and snapshots of each day, for a calendar. A market belongs to the day (UTC) in which its window starts; days without markets are left out. from and to, both inclusive, keep the markets whose window starts in this range. If there are more than ${DAYS_MAX} days, the answer has the latest: use to for earlier ones.`,
          answer: DayList,
          examples: { days: '/v1/btc/days', asOf: '/v1/btc/days?tf=5m&asOf=2026-01-08T10:31:40Z' },
        }),
      },
    );
}

function* dayResources(steps: Generator<void, readonly RecordedDay[]>): Generator<void, readonly DayResource[]> {
  return (yield* steps).map(dayResource);
}
