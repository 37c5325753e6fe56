import { Elysia, t } from 'elysia';
import { Type } from 'typebox';
import { type InstantMs, instantText } from '../../domain/instant.ts';
import type { Position } from '../../domain/page.ts';
import { perhapsReceived, SnapshotResource } from '../../domain/snapshot-resource.ts';
import { type NearestQuery, nearestOfEach } from '../../store/nearest.ts';
import { dataOf, described, describedPages, listOf, orNull } from '../openapi/described.ts';
import { EXAMPLE_MARKET } from '../openapi/examples.ts';
import { parameters } from '../parameters/parameter.ts';
import { PATH } from '../parameters/path.ts';
import { ARRIVAL_QUERY, INSTANTS_MAX, QUERY } from '../parameters/query.ts';
import { earlierLimit } from '../plugins/access.ts';
import type { Format } from '../response/responder.ts';
import { jsonEnvelope, msgpackEnvelope } from '../response/snapshot-envelope.ts';
import { SnapshotPageWriter, shownSnapshot } from '../response/snapshot-page-writer.ts';
import { answerAboutMarket, type ControllerDeps, MARKET_PATH, nextCursor, PREFIXED } from './controller.ts';
import { OUTCOME_SERIES_QUERY, outcomesOf, pageOf, seriesPageOf } from './pagination.ts';

const { ts, outcome, mode, maxDistance, depth, asOf } = QUERY;
const NEAREST_QUERY = parameters({ outcome, mode, maxDistance, depth, asOf, ...ARRIVAL_QUERY });

const Snapshot = perhapsReceived(SnapshotResource);
const NearestSnapshots = dataOf('NearestSnapshots', 'The nearest snapshot of each outcome.', listOf(Snapshot, 2));
const NearestOfEach = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        ts: instantText('The requested instant.'),
        distance: orNull(
          Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
          'Milliseconds from ts to the first snapshot; null without a snapshot.',
        ),
        data: listOf(Snapshot, 2),
      }),
      { maxItems: INSTANTS_MAX, description: 'One answer per instant, in the order of ts.' },
    ),
    next: orNull(
      instantText('The first instant without an answer here.'),
      'Continue with this instant; null: the list is complete.',
    ),
  },
  { $id: 'NearestOfEach', description: 'The nearest snapshot of each outcome at many instants.' },
);

/** Snapshots of a market: in pages, and the nearest to an instant. */
export function snapshotsController(deps: ControllerDeps) {
  const { access, archive, responder } = deps;
  // A page is written and copied before the next one: one writer per format serves all requests.
  const writers: Readonly<Record<Format, SnapshotPageWriter>> = {
    json: new SnapshotPageWriter(jsonEnvelope()),
    msgpack: new SnapshotPageWriter(msgpackEnvelope()),
  };
  return new Elysia({ name: 'snapshots' })
    .use(access)
    .get(
      '/v1/:coin/markets/:conditionId/snapshots',
      ({ params, query, exchange, asOfMs }) => {
        const requested = seriesPageOf(query, asOfMs);
        return answerAboutMarket(deps, exchange, params, earlierLimit(asOfMs, query.asOfReceived), (market) => {
          const { query: range, scope } = pageOf(requested, `snapshots ${market.conditionId}`);
          return ({ negotiated, etag }) => {
            const page = archive.snapshots.page(market, requested.outcomes, range);
            const cursorOf = (next: Position | undefined) => nextCursor(next, scope);
            const body = writers[negotiated.format].page(market, page, range.order, shownSnapshot(query), cursorOf);
            return responder.respond(body, negotiated, etag);
          };
        });
      },
      {
        grant: 'snapshots',
        params: MARKET_PATH,
        query: parameters({ ...OUTCOME_SERIES_QUERY.properties, depth }),
        detail: describedPages('snapshots', 'SnapshotPage', Snapshot, {
          summary: 'Order book snapshots of a market',
          description: 'Each snapshot is a full book.',
          firstPage: [`${EXAMPLE_MARKET}/snapshots`, 'limit=2&order=asc&outcome=up'],
          cursor: 'AZudKX0nAAAAAAAA5suY9IjDRFEP',
        }),
      },
    )
    .get(
      '/v1/:coin/markets/:conditionId/snapshots/at/:ts',
      ({ params, query, exchange, asOfMs }) => {
        const requested = nearestQueryOf(query, asOfMs);
        return answerAboutMarket(
          deps,
          exchange,
          params,
          earlierLimit(asOfMs, query.asOfReceived),
          (market) =>
            ({ negotiated, etag }) => {
              const found = nearestOfEach(archive.snapshots, market, params.ts, requested);
              return responder.respond(
                writers[negotiated.format].nearest(market, found, shownSnapshot(query)),
                negotiated,
                etag,
              );
            },
        );
      },
      {
        grant: 'snapshots',
        params: t.Object({ ...MARKET_PATH.properties, ts: PATH.ts }, PREFIXED),
        query: NEAREST_QUERY,
        detail: described('nearest', {
          summary: 'Snapshots nearest to an instant',
          description:
            'With outcome: the nearest snapshot of this outcome. Without: the nearest snapshot of each outcome that has any; the nearer one is first, and up is first at equal distance. Ties: of an earlier and a later snapshot at equal distance the earlier one, of several with one timestamp the one with the highest id. The list is empty for a market without snapshots.',
          answer: NearestSnapshots,
          examples: { nearest: `${EXAMPLE_MARKET}/snapshots/at/2026-01-08T10:31:40Z?outcome=up` },
        }),
      },
    )
    .get(
      '/v1/:coin/markets/:conditionId/snapshots/at',
      ({ params, query, exchange, asOfMs }) => {
        const requested = nearestQueryOf(query, asOfMs);
        return answerAboutMarket(
          deps,
          exchange,
          params,
          earlierLimit(asOfMs, query.asOfReceived),
          (market) =>
            ({ negotiated, etag }) => {
              const find = (instantMs: InstantMs) => nearestOfEach(archive.snapshots, market, instantMs, requested);
              const body = writers[negotiated.format].nearestOfEach(market, query.ts, find, shownSnapshot(query));
              return responder.respond(body, negotiated, etag);
            },
        );
      },
      {
        grant: 'snapshots',
        params: MARKET_PATH,
        query: parameters({ ts, ...NEAREST_QUERY.properties }),
        detail: described('nearestOfEach', {
          summary: 'Snapshots nearest to many instants',
          description:
            'One answer per instant, in the order of ts: the snapshots that the path with one instant sends, and their distance. A list of more than 6 MiB or 40,000 levels ends early: next is then the first instant without an answer.',
          answer: NearestOfEach,
          examples: {
            before: `${EXAMPLE_MARKET}/snapshots/at?ts=2026-01-08T10:31:40Z,1767868310000&outcome=up&mode=before&maxDistance=60000&depth=2`,
          },
        }),
      },
    );
}

function nearestQueryOf(
  { mode, depth, asOfReceived: receivedByMs, ...query }: typeof NEAREST_QUERY.static,
  asOfMs: InstantMs | undefined,
): NearestQuery {
  return {
    mode,
    depth,
    asOfMs,
    receivedByMs,
    outcomes: outcomesOf(query.outcome),
    maxDistanceMs: query.maxDistance ?? Infinity,
  };
}
