import { Elysia } from 'elysia';
import type { InstantMs } from '../../domain/instant.ts';
import type { Position } from '../../domain/page.ts';
import { nearestOfEach } from '../../store/nearest.ts';
import { pathOf } from '../request-target.ts';
import type { Format } from '../response/responder.ts';
import { jsonEnvelope, msgpackEnvelope } from '../response/snapshot-envelope.ts';
import { SnapshotPageWriter } from '../response/snapshot-page-writer.ts';
import { ROUTES, routerPath } from '../routes.ts';
import { answerAboutMarket, type ControllerDeps, nextCursor, parametersOf } from './controller.ts';
import { pageOf } from './params.ts';

/** Snapshots of a market by page, and the nearest to an instant. */
export function snapshotsController(deps: ControllerDeps) {
  const { gate, archive, responder } = deps;
  // Requests are handled one at a time and the response copies: one writer per format is enough.
  const writers: Readonly<Record<Format, SnapshotPageWriter>> = {
    json: new SnapshotPageWriter(jsonEnvelope()),
    msgpack: new SnapshotPageWriter(msgpackEnvelope()),
  };
  return new Elysia({ name: 'snapshots' })
    .use(gate)
    .get(routerPath('snapshots'), ({ params, exchange }) => {
      const asked = parametersOf(exchange, ROUTES.snapshots, (parameters) => ({
        ...parameters.series(),
        depth: parameters.depth(),
      }));
      return answerAboutMarket(deps, exchange, params, asked, (market) => {
        const { query, scope } = pageOf(asked, `snapshots ${market.conditionId}`);
        return ({ negotiated, etag }) => {
          const page = archive.snapshots.page(market, asked.outcomes, query);
          const cursorOf = (next: Position | undefined) => nextCursor(next, scope);
          const body = writers[negotiated.format].page(market, page, query.order, asked.depth, cursorOf);
          return responder.give(body, negotiated, etag);
        };
      });
    })
    .get(routerPath('nearest'), ({ params, exchange }) => {
      const asked = parametersOf(exchange, ROUTES.nearest, (parameters) => ({
        instantMs: parameters.instantOfPath('ts', params.ts),
        query: parameters.nearest(),
      }));
      const { instantMs, query } = asked;
      return answerAboutMarket(deps, exchange, params, asked, (market) => ({ negotiated, etag }) => {
        const found = nearestOfEach(archive.snapshots, market, instantMs, query);
        return responder.give(writers[negotiated.format].nearest(market, found, query.depth), negotiated, etag);
      });
    })
    .get(routerPath('nearestOfEach'), ({ params, exchange }) => {
      const asked = parametersOf(exchange, ROUTES.nearestOfEach, (parameters) => ({
        // `…/at/` without a list lacks the instant after the slash.
        instants: parameters.instants(pathOf(exchange.request).endsWith('/') ? 'path' : 'query'),
        query: parameters.nearest(),
      }));
      const { instants, query } = asked;
      return answerAboutMarket(deps, exchange, params, asked, (market) => ({ negotiated, etag }) => {
        const find = (instantMs: InstantMs) => nearestOfEach(archive.snapshots, market, instantMs, query);
        const body = writers[negotiated.format].nearestOfEach(market, instants, find, query.depth);
        return responder.give(body, negotiated, etag);
      });
    });
}
