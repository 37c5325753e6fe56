import { Elysia, t } from 'elysia';
import { Type } from 'typebox';
import { DomainError } from '../../domain/errors.ts';
import type { InstantMs } from '../../domain/instant.ts';
import type { Replay } from '../../replay/replay.ts';
import { REPLAYS_MAX } from '../../replay/replays.ts';
import { dataOf, described } from '../openapi/described.ts';
import { KEYED_REFUSALS } from '../openapi/refusals.ts';
import { PATH } from '../parameters/path.ts';
import { keyIdOf } from '../plugins/access.ts';
import type { Caller } from '../plugins/authentication.ts';
import { NO_STORE, type ResponseSettings, respond, respondJson } from '../response/response.ts';
import { paperAccountsController } from './paper-accounts.ts';
import { type CallerPlugin, mayAccess, refuseWithoutAccess, scopeOf } from './replay-access.ts';
import {
  type ClockChange,
  ReplayChange,
  ReplayRequest,
  ReplayResource,
  type ReplaysAndDesks,
  replayChangeIn,
  replayRequestIn,
  replayResource,
} from './replay-resource.ts';

const REPLAYS = '/v1/replays';
/** A body is JSON whatever its content type, and an empty one is an empty object. The framework reads it as its type says. */
const JSON_BODY = { parse: 'none' } as const;
/** The page of a market. */
const PAGE = /^\/view\/[\w-]+\/[\w.-]+(?:\?replay=[\w-]+)?$/;
/** A field of a form that is not a text. */
const LITERAL = /^(?:true|false|\d+(?:\.\d+)?)$/;
const REPLAY_PATH = t.Object({ replay: PATH.replay });

const ReplayList = dataOf(
  'ReplayList',
  'The replays that the key may see.',
  Type.Array(ReplayResource, { maxItems: REPLAYS_MAX, description: 'In the order of creation.' }),
);
const ReplayAnswer = dataOf('ReplayAnswer', 'One replay.', ReplayResource);
const DESCRIBED = {
  answer: ReplayAnswer,
  refusals: ['NotFound', ...KEYED_REFUSALS],
} as const;

/**
 * Lists, creates, steers and stops the replays of this process. A key's own are for that key only; all keys may read those of the process.
 * Replays that the key may not access are not listed. `isKey`: see callerPlugin.
 */
export function replaysController(
  deps: ReplaysAndDesks,
  authentication: CallerPlugin,
  isKey: (keyId: string) => boolean,
) {
  const { replays, desks } = deps;
  const answer = (set: ResponseSettings, replay: Replay, headers = {}, status = 200) =>
    respondJson(set, { data: replayResource(deps, replay) }, { ...NO_STORE, ...headers }, status);
  const found = (caller: Caller, id: string | undefined) => {
    const replay = replays.findFor(id, keyIdOf(caller));
    refuseWithoutAccess(caller, scopeOf(replay));
    return replay;
  };
  const owned = (caller: Caller, id: string | undefined) => {
    const replay = found(caller, id);
    if (replay.owner === keyIdOf(caller)) return replay;
    throw new DomainError(
      'forbidden',
      `this replay belongs to the operator of this process: create one of your own with 'POST ${REPLAYS}'`,
    );
  };
  /** Keys that are no longer valid leave room for others. */
  const stopOrphans = () => {
    for (const { id, owner } of replays.list()) if (owner !== undefined && !isKey(owner)) replays.stop(id);
  };
  return new Elysia({ name: 'replays' })
    .use(authentication)
    .get(
      REPLAYS,
      ({ caller, set }) => {
        const seen = replays.listFor(keyIdOf(caller)).filter((replay) => mayAccess(caller, scopeOf(replay)));
        const data = seen.map((replay) => replayResource(deps, replay));
        return respondJson(set, { data }, NO_STORE);
      },
      {
        detail: described('listReplays', {
          ...DESCRIBED,
          summary: 'Replays',
          description:
            'The replays that the key may access, in the order of creation: those that it created, and those of the process.',
          answer: ReplayList,
          refusals: KEYED_REFUSALS,
        }),
      },
    )
    .post(
      REPLAYS,
      async ({ caller, request, set }) => {
        const { options, isPaused, paper } = replayRequestIn(await request.text());
        stopOrphans();
        const replay = replays.create(options, keyIdOf(caller));
        try {
          refuseWithoutAccess(caller, scopeOf(replay));
        } catch (error) {
          replays.stop(replay.id);
          throw error;
        }
        if (paper !== undefined) desks.open(replay, paper);
        if (!isPaused) replay.resume();
        return answer(set, replay, { location: `${REPLAYS}/${replay.id}` }, 201);
      },
      {
        ...JSON_BODY,
        detail: described('createReplay', {
          ...DESCRIBED,
          summary: 'Create a replay',
          description:
            'The replay has the markets that the body selects, and its own clock, which runs at once unless paused is true. Without a body it has all markets. Only the key that creates it can see, steer and stop it. 404: no such market is recorded.',
          body: { required: false, schema: ReplayRequest },
          answers: { 201: 'The new replay.' },
          headers: ['Location'],
          refusals: ['Conflict', 'NotFound', ...KEYED_REFUSALS],
        }),
      },
    )
    .get(`${REPLAYS}/:replay`, ({ caller, params, set }) => answer(set, found(caller, params.replay)), {
      params: REPLAY_PATH,
      detail: described('showReplay', {
        ...DESCRIBED,
        summary: 'One replay',
        description: 'The state of its clock, and the number of its clients.',
      }),
    })
    .patch(
      `${REPLAYS}/:replay`,
      async ({ caller, params, request, set }) => {
        const replay = owned(caller, params.replay);
        steer(replay, replayChangeIn(await request.text()));
        return answer(set, replay);
      },
      {
        params: REPLAY_PATH,
        ...JSON_BODY,
        detail: described('steerReplay', {
          ...DESCRIBED,
          summary: 'Steer a replay',
          description:
            'Applies the fields of the body in this order: now, speed, paused, step. A refused body changes nothing.',
          body: { required: true, schema: ReplayChange },
          answers: { 200: 'The replay after the change.' },
        }),
      },
    )
    .post(
      '/',
      async ({ caller, request, set }) => {
        const { replay: id, recording, page, change } = formIn(await request.text());
        const replay = owned(caller, id);
        const nowMs = recording === undefined ? undefined : recordingMs(replay, recording);
        steer(replay, recording === undefined ? replayChangeIn(JSON.stringify(change)) : { nowMs });
        return respond(set, null, { ...NO_STORE, location: PAGE.test(page) ? page : '/' }, 303);
      },
      { ...JSON_BODY, detail: { hide: true } },
    )
    .delete(
      `${REPLAYS}/:replay`,
      ({ caller, params, set }) => {
        replays.stop(owned(caller, params.replay).id);
        return respond(set, null, {}, 204);
      },
      {
        params: REPLAY_PATH,
        detail: described('stopReplay', {
          ...DESCRIBED,
          summary: 'Stop a replay',
          description: 'Stops it for good and closes its sockets with 1001.',
          answer: undefined,
          answers: { 204: 'The replay is stopped.' },
        }),
      },
    )
    .use(paperAccountsController({ found, owned, deskOf: (replay) => desks.existing(replay) }, authentication));
}

/**
 * Reads a form of the page at `/` or of a market, which are for people where no key is needed: a replay (the first one if it is empty), the
 * page to show after it, and fields of a ReplayChange.
 */
function formIn(text: string) {
  const { replay = '', recording, page = '', ...fields } = Object.fromEntries(new URLSearchParams(text));
  const change = Object.entries(fields).map(([name, value]) => [name, LITERAL.test(value) ? JSON.parse(value) : value]);
  return { replay: replay || undefined, recording, page, change: Object.fromEntries(change) };
}

/** The first record of the recording that is over by the clock, or begins after it; undefined without one. Throws 'invalid-parameter'. */
function recordingMs({ clock: { nowMs, span }, recordedSpans }: Replay, which: string): InstantMs | undefined {
  if (which !== 'previous' && which !== 'next') {
    throw new DomainError('invalid-parameter', 'recording is neither previous nor next');
  }
  const starts = recordedSpans
    .filter(({ fromMs, toMs }) => (which === 'next' ? fromMs > nowMs : toMs < nowMs))
    .flatMap(({ fromMs }) => (fromMs >= span.fromMs && fromMs <= span.toMs ? fromMs : []))
    .sort((a, b) => a - b);
  return which === 'next' ? starts[0] : starts.at(-1);
}

function steer(replay: Replay, { nowMs, speed, paused, step }: ClockChange): void {
  const { clock } = replay;
  if (nowMs !== undefined) replay.seek(nowMs);
  if (speed !== undefined) clock.setSpeed(speed);
  if (paused === true) clock.pause();
  if (paused === false) replay.resume();
  if (step === true) replay.step();
}
