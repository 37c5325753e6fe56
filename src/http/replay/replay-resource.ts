import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { canonicalCoin } from '../../domain/coin.ts';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant, type InstantMs, instantText, isInstant, parseInstant } from '../../domain/instant.ts';
import { TimeframeName } from '../../domain/timeframe.ts';
import { parsedJson } from '../../record/fields.ts';
import { GAP_MODES, type Replay, type ReplayOptions } from '../../replay/replay.ts';
import { SPEED_MAX, SPEED_MIN } from '../../replay/replay-clock.ts';
import type { Replays } from '../../replay/replays.ts';
import { INSTANT_PATTERN } from '../v1/instant-pattern.ts';

/** Names that a selection may have. */
const NAMES_MAX = 1000;

const Speed = Type.Union([Type.Number({ minimum: SPEED_MIN, maximum: SPEED_MAX }), Type.Literal('max')], {
  description: 'Recorded seconds for each second; max: as fast as its clients take what they are sent.',
});
const Gaps = Type.Union(
  GAP_MODES.map((mode) => Type.Literal(mode)),
  { description: 'Whether a socket is closed where the recording has a gap, as it was, or stays.' },
);
const Rebase = Type.Union([Type.Literal('now'), Type.Null()], {
  description: 'now: times are as if the replay had begun when it was started; null: as they were recorded.',
});

/** A replay on the wire. */
export const ReplayResource = Type.Object(
  {
    id: Type.String({ pattern: '^[0-9a-f]{12}$', description: 'Names it in paths.' }),
    isFirst: Type.Boolean({ description: 'Whether paths that name no replay speak of it.' }),
    state: Type.Union([Type.Literal('running'), Type.Literal('paused'), Type.Literal('ended')], {
      description: 'ended: its clock stands at its end.',
    }),
    now: instantText('Where its clock stands: nothing later is sent.'),
    from: instantText('Where it begins.'),
    to: instantText('Where it ends, inclusive.'),
    speed: Speed,
    gaps: Gaps,
    rebase: Rebase,
    coins: Type.Array(Type.String(), { description: 'The coins of its markets.' }),
    markets: Type.Integer({ minimum: 1, description: 'How many markets it has.' }),
    clients: Type.Integer({ minimum: 0, description: 'Sockets that listen to it.' }),
    paths: Type.Object(
      {
        rest: Type.String({ description: 'The venue’s REST interface.' }),
        socket: Type.String({ description: 'The venue’s market channel.' }),
        api: Type.String({ description: 'This API, as at its clock.' }),
      },
      { description: 'Where it is to be found.' },
    ),
  },
  { $id: 'Replay', description: 'A replay: markets, and the clock that drives everything about them.' },
);
export type ReplayResource = Static<typeof ReplayResource>;

const Instant = (description: string) =>
  Type.Union([Type.String({ pattern: INSTANT_PATTERN }), Type.Integer({ minimum: 0 })], {
    description: `${description} Unix milliseconds, or ISO 8601 with Z or an offset.`,
  });
const Names = (description: string) => Type.Array(Type.String({ minLength: 1 }), { maxItems: NAMES_MAX, description });

/** What a replay is made of. Everything may be left out. */
export const ReplayRequest = Type.Partial(
  Type.Object({
    markets: Names('conditionIds or slugs; none: all.'),
    coins: Names('Only markets of these coins; none: of all.'),
    timeframes: Type.Array(TimeframeName, { description: 'Only markets of these timeframes; none: of all.' }),
    from: Instant(
      'Where it begins; without: at the first book of its markets, or at their first record if no book is recorded.',
    ),
    to: Instant('Where it ends; without: at the last record, end of a window or resolution.'),
    speed: Speed,
    gaps: Gaps,
    rebase: Rebase,
    paused: Type.Boolean({ description: 'Whether its clock waits to be resumed.' }),
  }),
  { $id: 'ReplayRequest', additionalProperties: false, description: 'What a replay is made of.' },
);

type ReplayRequest = Static<typeof ReplayRequest>;
/** The same, where what is left out may also be undefined. */
export type AskedReplay = {
  readonly [Field in keyof ReplayRequest]?: Readonly<ReplayRequest[Field]> | undefined;
};

/** How a replay is steered: what is given is done, in this order. */
export const ReplayChange = Type.Partial(
  Type.Object({
    now: Instant('Goes there, forwards or back: whoever listens begins anew.'),
    speed: Speed,
    paused: Type.Boolean({ description: 'true pauses its clock, false resumes it.' }),
    step: Type.Literal(true, { description: 'Goes to the next thing that is recorded, and pauses there.' }),
  }),
  { $id: 'ReplayChange', additionalProperties: false, description: 'How a replay is steered.' },
);

export function replayResource(replays: Replays, replay: Replay): ReplayResource {
  const { id, clock, options, coins, marketCount } = replay;
  return {
    id,
    isFirst: replays.list()[0] === replay,
    state: clock.state,
    now: formatInstant(clock.nowMs),
    from: formatInstant(clock.span.fromMs),
    to: formatInstant(clock.span.toMs),
    speed: clock.speed,
    gaps: options.gaps,
    rebase: options.rebase ? 'now' : null,
    coins: [...coins],
    markets: marketCount,
    clients: replay.clients,
    paths: { rest: `/replays/${id}`, socket: `/replays/${id}/ws/market`, api: `/replays/${id}/v1` },
  };
}

/** A body that asks for a replay; and whether its clock waits. Throws 'invalid-parameter'. */
export function replayRequestIn(text: string): { readonly options: ReplayOptions; readonly isPaused: boolean } {
  const asked = bodyOf(ReplayRequest, text);
  return { options: replayOptionsOf(asked), isPaused: asked.paused ?? false };
}

/** A replay's options. Throws 'invalid-parameter'. */
export function replayOptionsOf({ markets = [], coins = [], timeframes = [], ...asked }: AskedReplay): ReplayOptions {
  return {
    selection: { names: markets, coins: coins.map(canonicalCoin), timeframes },
    fromMs: instantIn('from', asked.from),
    toMs: instantIn('to', asked.to),
    speed: asked.speed ?? 1,
    gaps: asked.gaps ?? 'disconnect',
    rebase: asked.rebase === 'now',
  };
}

/** What a replay's clock is to do. */
export interface ClockChange extends Pick<Static<typeof ReplayChange>, 'speed' | 'paused' | 'step'> {
  readonly nowMs: InstantMs | undefined;
}

/** A body that steers a replay. Throws 'invalid-parameter'. */
export function replayChangeIn(text: string): ClockChange {
  const { now, ...change } = bodyOf(ReplayChange, text);
  if (now === undefined && Object.keys(change).length === 0) {
    throw new DomainError('invalid-parameter', `nothing is to be changed: ${wantedBy(ReplayChange)}`);
  }
  return { ...change, nowMs: instantIn('now', now) };
}

/** An empty body is an empty object. */
function bodyOf<T extends TSchema>(schema: T, text: string): Static<T> {
  const body = text.trim() === '' ? {} : parsedJson(text);
  if (Value.Check(schema, body)) return body;
  const name = Value.Errors(schema, body).First()?.path.split('/')[1] ?? '';
  const properties: Readonly<Record<string, TSchema>> = schema.properties ?? {};
  const about = properties[name]?.description;
  throw new DomainError(
    'invalid-parameter',
    about === undefined ? wantedBy(schema) : `'${name}' is not what it may be. ${about}`,
  );
}

function wantedBy({ properties = {} }: TSchema): string {
  return `send a JSON object with any of ${Object.keys(properties).join(', ')}`;
}

function instantIn(name: string, given: string | number | undefined): InstantMs | undefined {
  if (given === undefined) return undefined;
  const instantMs = parseInstant(String(given));
  if (instantMs !== undefined && isInstant(instantMs)) return instantMs;
  throw new DomainError(
    'invalid-parameter',
    `'${name}' must be Unix milliseconds, or an ISO 8601 date or time with Z or an offset, up to the year 9999`,
  );
}
