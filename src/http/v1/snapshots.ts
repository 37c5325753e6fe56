import { Elysia, t } from 'elysia';
import { Type } from 'typebox';
import { type InstantMs, instantText } from '../../domain/instant.ts';
import { SnapshotResource } from '../../domain/orderbook.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { NearestMode, Position } from '../../domain/page.ts';
import { type NearestQuery, nearestOfEach } from '../../store/nearest.ts';
import {
  dataOf,
  described,
  EXAMPLE_MARKET,
  examplesOfPages,
  listOf,
  MARKET_HEADERS,
  orNull,
  PAGED,
  packable,
  pageSchema,
  TIES,
} from '../openapi/described.ts';
import { parameters } from '../parameters/parameter.ts';
import { PATH } from '../parameters/path.ts';
import { INSTANTS_MAX, QUERY } from '../parameters/query.ts';
import type { Format } from '../response/responder.ts';
import { jsonEnvelope, msgpackEnvelope } from '../response/snapshot-envelope.ts';
import { SnapshotPageWriter } from '../response/snapshot-page-writer.ts';
import { answerAboutMarket, type ControllerDeps, MARKET_PATH, nextCursor, PREFIXED } from './controller.ts';
import { OUTCOME_SERIES_QUERY, outcomesOf, pageOf, seriesPageOf } from './pagination.ts';

const { ts, outcome, mode, maxDistance, depth, asOf } = QUERY;
const NEAREST_QUERY = { outcome, mode, maxDistance, depth, asOf };

/** A query of NEAREST_QUERY. */
interface AskedNearest {
  readonly outcome?: Outcome;
  readonly mode: NearestMode;
  readonly maxDistance?: number;
  readonly depth?: number;
}

const SnapshotPage = pageSchema('SnapshotPage', SnapshotResource);
const NearestSnapshots = dataOf('NearestSnapshots', 'The nearest of each outcome.', listOf(SnapshotResource, 2));
const NearestOfEach = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        ts: instantText('The instant that was asked about.'),
        distance: orNull(
          Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
          'Milliseconds to the first snapshot; null where there is none.',
        ),
        data: listOf(SnapshotResource, 2),
      }),
      { maxItems: INSTANTS_MAX, description: 'One answer per instant, in the order of ts.' },
    ),
    next: orNull(instantText('The first instant that is not answered here.'), 'To go on with; null: all are answered.'),
  },
  { $id: 'NearestOfEach', description: 'The nearest of each outcome at many instants.' },
);

/** Snapshots of a market by page, and the nearest to an instant. */
export function snapshotsController(deps: ControllerDeps) {
  const { access, archive, responder } = deps;
  // Requests are handled one at a time and the response copies: one writer per format is enough.
  const writers: Readonly<Record<Format, SnapshotPageWriter>> = {
    json: new SnapshotPageWriter(jsonEnvelope()),
    msgpack: new SnapshotPageWriter(msgpackEnvelope()),
  };
  return new Elysia({ name: 'snapshots' })
    .use(access)
    .get(
      '/v1/:coin/markets/:conditionId/snapshots',
      ({ params, query, exchange, asOfMs }) => {
        const asked = seriesPageOf(query, asOfMs);
        return answerAboutMarket(deps, exchange, params, asOfMs, (market) => {
          const { query: range, scope } = pageOf(asked, `snapshots ${market.conditionId}`);
          return ({ negotiated, etag }) => {
            const page = archive.snapshots.page(market, asked.outcomes, range);
            const cursorOf = (next: Position | undefined) => nextCursor(next, scope);
            const body = writers[negotiated.format].page(market, page, range.order, query.depth, cursorOf);
            return responder.give(body, negotiated, etag);
          };
        });
      },
      {
        grant: 'snapshots',
        params: MARKET_PATH,
        query: parameters({ ...OUTCOME_SERIES_QUERY, depth }),
        detail: described('snapshots', {
          summary: 'Order book snapshots of a market',
          description: `${TIES} ${PAGED}`,
          tag: 'books',
          content: packable(SnapshotPage),
          headers: MARKET_HEADERS,
          examples: examplesOfPages(
            `${EXAMPLE_MARKET}/snapshots`,
            'limit=2&order=asc&outcome=up',
            'AZudKX0nAAAAAAAA5suY9IjDRFEP',
          ),
        }),
      },
    )
    .get(
      '/v1/:coin/markets/:conditionId/snapshots/at/:ts',
      ({ params, query, exchange, asOfMs }) => {
        const asked = nearestQueryOf(query, asOfMs);
        return answerAboutMarket(deps, exchange, params, asOfMs, (market) => ({ negotiated, etag }) => {
          const found = nearestOfEach(archive.snapshots, market, params.ts, asked);
          return responder.give(writers[negotiated.format].nearest(market, found, query.depth), negotiated, etag);
        });
      },
      {
        grant: 'snapshots',
        params: t.Object({ ...MARKET_PATH.properties, ts: PATH.ts }, PREFIXED),
        query: parameters(NEAREST_QUERY),
        detail: described('nearest', {
          summary: 'Snapshots nearest to an instant',
          description:
            'With outcome: the nearest record of that outcome. Without: the nearest of each outcome that has any, the nearer one first, then up before down. As near before as after: the earlier one. Several records with that timestamp: the one with the highest id. A market without snapshots: an empty list.',
          tag: 'books',
          content: packable(NearestSnapshots),
          headers: MARKET_HEADERS,
          examples: { nearest: `${EXAMPLE_MARKET}/snapshots/at/2026-01-08T10:31:40Z?outcome=up` },
        }),
      },
    )
    .get(
      '/v1/:coin/markets/:conditionId/snapshots/at',
      ({ params, query, exchange, asOfMs }) => {
        const asked = nearestQueryOf(query, asOfMs);
        return answerAboutMarket(deps, exchange, params, asOfMs, (market) => ({ negotiated, etag }) => {
          const find = (instantMs: InstantMs) => nearestOfEach(archive.snapshots, market, instantMs, asked);
          const body = writers[negotiated.format].nearestOfEach(market, query.ts, find, query.depth);
          return responder.give(body, negotiated, etag);
        });
      },
      {
        grant: 'snapshots',
        params: MARKET_PATH,
        query: parameters({ ts, ...NEAREST_QUERY }),
        detail: described('nearestOfEach', {
          summary: 'Snapshots nearest to many instants',
          description:
            'One answer per instant, in the order of ts, each as the path with one instant gives it, with its distance. What would come to more than 6 MiB, or 40,000 levels, ends early: next is the first instant that is not answered.',
          tag: 'books',
          content: packable(NearestOfEach),
          headers: MARKET_HEADERS,
          examples: {
            before: `${EXAMPLE_MARKET}/snapshots/at?ts=2026-01-08T10:31:40Z,1767868310000&outcome=up&mode=before&maxDistance=60000&depth=2`,
          },
        }),
      },
    );
}

function nearestQueryOf({ mode, depth, ...query }: AskedNearest, asOfMs: InstantMs | undefined): NearestQuery {
  return { mode, depth, asOfMs, outcomes: outcomesOf(query.outcome), maxDistanceMs: query.maxDistance ?? Infinity };
}
