import { Elysia } from 'elysia';
import type { Replay } from '../../replay/replay.ts';
import type { Replays } from '../../replay/replays.ts';
import type { Caller } from '../plugins/authentication.ts';
import { NO_STORE, type ResponseSettings, respond, respondJson } from '../response/response.ts';
import { type CallerPlugin, maySee, refuseUnseen, replayedBy } from './replay-access.ts';
import { type ClockChange, replayChangeIn, replayRequestIn, replayResource } from './replay-resource.ts';

const REPLAYS = '/v1/replays';

/** Lists, creates, steers and stops the replays of this process. Replays that the key may not access are not listed. */
export function replaysController(replays: Replays, authentication: CallerPlugin) {
  const answer = (set: ResponseSettings, replay: Replay, headers = {}, status = 200) =>
    respondJson(set, { data: replayResource(replays, replay) }, { ...NO_STORE, ...headers }, status);
  const found = (caller: Caller, id: string) => {
    const replay = replays.find(id);
    refuseUnseen(caller, replayedBy(replay));
    return replay;
  };
  return new Elysia({ name: 'replays' })
    .use(authentication)
    .get(REPLAYS, ({ caller, set }) => {
      const seen = replays.list().filter((replay) => maySee(caller, replayedBy(replay)));
      const data = seen.map((replay) => replayResource(replays, replay));
      return respondJson(set, { data }, NO_STORE);
    })
    .post(REPLAYS, async ({ caller, request, set }) => {
      const { options, isPaused } = replayRequestIn(await request.text());
      const replay = replays.create(options);
      try {
        refuseUnseen(caller, replayedBy(replay));
      } catch (error) {
        replays.stop(replay.id);
        throw error;
      }
      if (!isPaused) replay.clock.resume();
      return answer(set, replay, { location: `${REPLAYS}/${replay.id}` }, 201);
    })
    .get(`${REPLAYS}/:replay`, ({ caller, params, set }) => answer(set, found(caller, params.replay)))
    .patch(`${REPLAYS}/:replay`, async ({ caller, params, request, set }) => {
      const replay = found(caller, params.replay);
      steer(replay, replayChangeIn(await request.text()));
      return answer(set, replay);
    })
    .delete(`${REPLAYS}/:replay`, ({ caller, params, set }) => {
      replays.stop(found(caller, params.replay).id);
      return respond(set, null, {}, 204);
    });
}

function steer(replay: Replay, { nowMs, speed, paused, step }: ClockChange): void {
  const { clock } = replay;
  if (nowMs !== undefined) clock.seek(nowMs);
  if (speed !== undefined) clock.setSpeed(speed);
  if (paused === true) clock.pause();
  if (paused === false) clock.resume();
  if (step === true) replay.step();
}
