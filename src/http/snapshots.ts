import { Elysia } from 'elysia';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import type { Found } from '../store/segments.ts';
import { answerAboutMarket, type ControllerDeps, nextCursor, parametersOf } from './controller.ts';
import { pageOf } from './params.ts';
import type { Format } from './respond.ts';
import { ROUTES, routerPath } from './routes.ts';
import { SnapshotDesk } from './snapshot-desk.ts';
import { JsonForm, MsgpackForm } from './snapshot-form.ts';

/** Snapshots of a market by page, and the nearest to an instant. */
export function snapshotsController(deps: ControllerDeps) {
  const { archive, responder } = deps;
  // Requests are handled one at a time and the response copies: one desk for each format serves them all.
  const desks: Readonly<Record<Format, SnapshotDesk>> = {
    json: new SnapshotDesk(new JsonForm()),
    msgpack: new SnapshotDesk(new MsgpackForm()),
  };
  return new Elysia({ name: 'snapshots' })
    .get(routerPath('snapshots'), ({ params, request, set }) => {
      const asked = parametersOf({ request, set }, ROUTES.snapshots, (parameters) => parameters.series());
      return answerAboutMarket(deps, { request, set }, params, (market) => {
        const { query, scope } = pageOf(asked, `snapshots ${market.conditionId}`);
        return ({ negotiated, etag }) => {
          const page = archive.snapshots.page(market, asked.outcomes, query);
          const desk = desks[negotiated.format];
          const next = desk.writePage(market, page, query.order);
          return responder.give(desk.closePage(nextCursor(next, scope)), negotiated, etag);
        };
      });
    })
    .get(routerPath('nearest'), ({ params, request, set }) => {
      const { timestampMs, outcomes } = parametersOf({ request, set }, ROUTES.nearest, (parameters) => ({
        timestampMs: parameters.instantOfPath('ts', params.ts),
        outcomes: parameters.outcomes(),
      }));
      return answerAboutMarket(deps, { request, set }, params, (market) => ({ negotiated, etag }) => {
        const found = nearestOfEach(outcomes, timestampMs, (outcome) =>
          archive.snapshots.nearest(market, outcome, timestampMs),
        );
        const desk = desks[negotiated.format];
        return responder.give(desk.writeNearest(market, found), negotiated, etag);
      });
    });
}

/** The nearest record of one outcome. */
export interface NearestOfOutcome {
  readonly outcome: Outcome;
  readonly record: Found;
}

/** The nearest record of each outcome that has any; the nearer of the two first, then up before down. */
function nearestOfEach(
  outcomes: readonly Outcome[],
  timestampMs: number,
  find: (outcome: Outcome) => Found | undefined,
): NearestOfOutcome[] {
  const found = outcomes.flatMap((outcome) => {
    const record = find(outcome);
    return record === undefined ? [] : [{ outcome, record }];
  });
  const distance = ({ record }: NearestOfOutcome) => Math.abs(record.head.timestamps[record.index]! - timestampMs);
  return found.sort((a, b) => distance(a) - distance(b) || OUTCOMES.indexOf(a.outcome) - OUTCOMES.indexOf(b.outcome));
}
