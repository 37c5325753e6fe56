import { bearer } from '@elysiajs/bearer';
import { Elysia } from 'elysia';
import type { ReplayRun } from '../../replay/replay.ts';
import type { ReplayRuns } from '../../replay/replays.ts';
import type { Admitted } from '../plugins/access.ts';
import type { AddressSource } from '../plugins/client-address.ts';
import { NO_STORE, type ResponseSettings, respond, respondJson } from '../response/response.ts';
import { maySee, refuseUnseen, replayedBy } from './replay-access.ts';
import { type RunChange, runChangeIn, runRequestIn } from './replay-request.ts';
import { replayResource } from './replay-resource.ts';

/** A request, as the router has it. */
export interface Asking {
  readonly request: Request;
  readonly set: ResponseSettings;
  readonly server: AddressSource | null;
  /** The token that the bearer plugin read. */
  readonly token: string | undefined;
}

export interface RunsDeps {
  readonly runs: ReplayRuns;
  /** Who asks; throws what a key is refused with. */
  readonly admitted: (asking: Asking) => Admitted;
}

const RUNS = '/v1/replay/runs';

/** The replays of this process: listed, made, steered, ended. Whom a key does not let see a replay does not see it listed. */
export function runsController({ runs, admitted }: RunsDeps) {
  const answer = (
    set: ResponseSettings,
    run: ReplayRun,
    headers: Readonly<Record<string, string>> = NO_STORE,
    status = 200,
  ) => respondJson(set, { data: replayResource(runs, run) }, headers, status);
  const found = (by: Admitted, id: string) => {
    const run = runs.find(id);
    refuseUnseen(by, replayedBy(run));
    return run;
  };
  return new Elysia({ name: 'runs' })
    .use(bearer())
    .derive(({ request, set, server, bearer: token }) => ({ by: admitted({ request, set, server, token }) }))
    .get(RUNS, ({ by, set }) => {
      const seen = runs.list().filter((run) => maySee(by, replayedBy(run)));
      const data = seen.map((run) => replayResource(runs, run));
      return respondJson(set, { data }, NO_STORE);
    })
    .post(RUNS, async ({ by, request, set }) => {
      const { options, isPaused } = runRequestIn(await request.text());
      const run = runs.make(options);
      try {
        refuseUnseen(by, replayedBy(run));
      } catch (error) {
        runs.end(run.id);
        throw error;
      }
      if (!isPaused) run.clock.resume();
      return answer(set, run, { ...NO_STORE, location: `${RUNS}/${run.id}` }, 201);
    })
    .get(`${RUNS}/:run`, ({ by, params, set }) => answer(set, found(by, params.run)))
    .patch(`${RUNS}/:run`, async ({ by, params, request, set }) => {
      const run = found(by, params.run);
      steer(run, runChangeIn(await request.text()));
      return answer(set, run);
    })
    .delete(`${RUNS}/:run`, ({ by, params, set }) => {
      runs.end(found(by, params.run).id);
      return respond(set, null, {}, 204);
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
