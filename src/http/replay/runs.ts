import { Elysia } from 'elysia';
import type { ReplayRun } from '../../replay/replay-run.ts';
import type { ReplayRuns } from '../../replay/replay-runs.ts';
import type { Admitted, ResponseHeaders } from '../access.ts';
import type { AddressSource } from '../client-address.ts';
import { NOT_STORED } from './replay-response.ts';
import { maySee, refuseUnseen, replayedBy } from './run-access.ts';
import { type RunChange, runChangeIn, runRequestIn } from './run-request.ts';
import { replayResource } from './run-resource.ts';

/** A request, as the router has it. */
export interface Asking {
  readonly request: Request;
  readonly set: { headers: ResponseHeaders };
  readonly server: AddressSource | null;
}

export interface RunsDeps {
  readonly runs: ReplayRuns;
  /** Who asks; throws what a key is refused with. */
  readonly admitted: (asking: Asking) => Admitted;
}

const RUNS = '/v1/replay/runs';

/** The replays of this process: listed, made, steered, ended. Whom a key does not let see a replay does not see it listed. */
export function runsController({ runs, admitted }: RunsDeps) {
  const answer = (run: ReplayRun) => Response.json({ data: replayResource(runs, run) }, { headers: NOT_STORED });
  const found = (by: Admitted, id: string) => {
    const run = runs.find(id);
    refuseUnseen(by, replayedBy(run));
    return run;
  };
  return new Elysia({ name: 'runs' })
    .derive(({ request, set, server }) => ({ by: admitted({ request, set, server }) }))
    .get(RUNS, ({ by }) => {
      const seen = runs.list().filter((run) => maySee(by, replayedBy(run)));
      return Response.json({ data: seen.map((run) => replayResource(runs, run)) }, { headers: NOT_STORED });
    })
    .post(RUNS, async ({ by, request }) => {
      const { options, isPaused } = runRequestIn(await request.text());
      const run = runs.make(options);
      try {
        refuseUnseen(by, replayedBy(run));
      } catch (error) {
        runs.end(run.id);
        throw error;
      }
      if (!isPaused) run.clock.resume();
      const headers = { ...NOT_STORED, location: `${RUNS}/${run.id}` };
      return Response.json({ data: replayResource(runs, run) }, { status: 201, headers });
    })
    .get(`${RUNS}/:run`, ({ by, params }) => answer(found(by, params.run)))
    .patch(`${RUNS}/:run`, async ({ by, params, request }) => {
      const run = found(by, params.run);
      steer(run, runChangeIn(await request.text()));
      return answer(run);
    })
    .delete(`${RUNS}/:run`, ({ by, params }) => {
      runs.end(found(by, params.run).id);
      return new Response(null, { status: 204 });
    });
}

function steer(run: ReplayRun, { nowMs, speed, paused, step }: RunChange): void {
  const { clock } = run;
  if (nowMs !== undefined) clock.seek(nowMs);
  if (speed !== undefined) clock.setSpeed(speed);
  if (paused === true) clock.pause();
  if (paused === false) clock.resume();
  if (step === true) run.step();
}
