import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { canonicalCoin } from '../../domain/coin.ts';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant, type InstantMs, instantText, isInstant, parseInstant } from '../../domain/instant.ts';
import { TimeframeName } from '../../domain/timeframe.ts';
import { parsedJson } from '../../record/fields.ts';
import { MIRROR_MODES } from '../../replay/market-state.ts';
import { GAP_MODES, type Replay, type ReplayOptions } from '../../replay/replay.ts';
import { SPEED_MAX, SPEED_MIN } from '../../replay/replay-clock.ts';
import type { Replays } from '../../replay/replays.ts';
import { INSTANT_PATTERN } from '../parameters/instant-pattern.ts';

const NAMES_MAX = 1000;

const Speed = Type.Union([Type.Number({ minimum: SPEED_MIN, maximum: SPEED_MAX }), Type.Literal('max')], {
  description: 'Playback speed, 0.1 to 1000: 1 is real time; max: as fast as its clients read.',
});
const Gaps = Type.Union(
  GAP_MODES.map((mode) => Type.Literal(mode)),
  { description: 'disconnect: a gap in the recording closes the sockets of its market; ignore: they stay open.' },
);
const Mirror = Type.Union(
  MIRROR_MODES.map((mode) => Type.Literal(mode)),
  {
    description:
      'fresh: each outcome has the later one of its own book and the mirror of the other outcome’s; recorded: its own book, once it has one.',
  },
);
const Arrival = Type.Boolean({
  description:
    'true: the venue’s sockets and books have each record when its recorder had received it and all before it; false: at the venue’s time.',
});
const Strict = Type.Boolean({
  description:
    'true: its sockets refuse what the venue refuses: a second opening frame, and PING before a subscription; false: they serve such clients.',
});
const Rebase = Type.Union([Type.Literal('now'), Type.Null()], {
  description:
    'now: moves times, slugs and titles so that the market of the present is open when the replay starts; null: they are the recorded ones.',
});
const Loop = Type.Boolean({
  description: 'true: a rebased replay begins again with the next window when it ends; false: it stays at its end.',
});

export const ReplayResource = Type.Object(
  {
    id: Type.String({ pattern: '^[0-9a-f]{12}$', description: 'Its name in paths.' }),
    isFirst: Type.Boolean({ description: 'Whether paths without a replay are about this one.' }),
    state: Type.Union([Type.Literal('running'), Type.Literal('paused'), Type.Literal('ended')], {
      description: 'ended: its clock has reached its end.',
    }),
    now: instantText('The instant of its clock: nothing later is sent.'),
    from: instantText('Its beginning.'),
    to: instantText('Its end, inclusive.'),
    speed: Speed,
    gaps: Gaps,
    mirror: Mirror,
    arrival: Arrival,
    strict: Strict,
    rebase: Rebase,
    loop: Loop,
    coins: Type.Array(Type.String(), { description: 'The coins of its markets.' }),
    markets: Type.Integer({ minimum: 1, description: 'The number of its markets.' }),
    simulated: Type.Array(Type.String(), {
      description: 'Those of its coins whose markets are simulated: their prices are simulated too, under every name.',
    }),
    standIns: Type.Integer({
      minimum: 0,
      description:
        'The number of its markets with asset ids that were not recorded. The venue’s interfaces have stand-ins for these, which begin with 1 and 16 zeros.',
    }),
    clients: Type.Integer({ minimum: 0, description: 'The number of sockets that are connected to it.' }),
    paths: Type.Object(
      {
        rest: Type.String({ description: 'The venue’s REST interface.' }),
        socket: Type.String({ description: 'The venue’s market channel.' }),
        rtds: Type.String({ description: 'The venue’s real-time data socket.' }),
        binance: Type.String({ description: 'Binance’s combined streams.' }),
        api: Type.String({ description: 'This API, at the instant of its clock.' }),
      },
      { description: 'Its paths.' },
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

/** A request for a replay. All fields are optional. */
export const ReplayRequest = Type.Partial(
  Type.Object({
    markets: Names('conditionIds or slugs; an empty list means all.'),
    coins: Names('Only markets of these coins; an empty list means all.'),
    timeframes: Type.Array(TimeframeName, {
      description: 'Only markets of these timeframes; an empty list means all.',
    }),
    from: Instant(
      'Its beginning. By default the first book of its markets, or their first record if no book is recorded.',
    ),
    to: Instant('Its end, inclusive. By default the last record, end of a window or resolution.'),
    speed: Speed,
    gaps: Gaps,
    mirror: Mirror,
    arrival: Arrival,
    strict: Strict,
    rebase: Rebase,
    loop: Loop,
    paused: Type.Boolean({ description: 'Whether its clock is paused at first.' }),
  }),
  { $id: 'ReplayRequest', additionalProperties: false, description: 'The selection and the clock of a new replay.' },
);

type ReplayRequest = Static<typeof ReplayRequest>;
/** The same request, with fields that may also be undefined. */
export type AskedReplay = {
  readonly [Field in keyof ReplayRequest]?: Readonly<ReplayRequest[Field]> | undefined;
};

/** A change of a replay's clock. The fields apply in this order. */
export const ReplayChange = Type.Partial(
  Type.Object({
    now: Instant(
      'Jumps there, forwards or back: its clients start again with the books of that instant. A rebased replay jumps to the first instant from there on that has the present’s place in its window.',
    ),
    speed: Speed,
    paused: Type.Boolean({ description: 'true pauses its clock, false resumes it.' }),
    step: Type.Literal(true, { description: 'Goes to the next event, and pauses there.' }),
  }),
  {
    $id: 'ReplayChange',
    additionalProperties: false,
    description: 'A change of a clock; the fields apply in this order.',
  },
);

export function replayResource(replays: Replays, replay: Replay): ReplayResource {
  const { id, clock, options, coins, marketCount, simulatedCoins, standIns } = replay;
  return {
    id,
    isFirst: replays.list()[0] === replay,
    state: clock.state,
    now: formatInstant(clock.nowMs),
    from: formatInstant(clock.span.fromMs),
    to: formatInstant(clock.span.toMs),
    speed: clock.speed,
    gaps: options.gaps,
    mirror: options.mirror,
    arrival: options.arrival,
    strict: options.strict,
    rebase: options.rebase ? 'now' : null,
    loop: options.loop,
    coins: [...coins],
    markets: marketCount,
    simulated: [...simulatedCoins],
    standIns,
    clients: replay.clients,
    paths: {
      rest: `/replays/${id}`,
      socket: `/replays/${id}/ws/market`,
      rtds: `/replays/${id}/rtds`,
      binance: `/replays/${id}/stream`,
      api: `/replays/${id}/v1`,
    },
  };
}

/** Reads a body that creates a replay: its options, and whether its clock starts paused. Throws 'invalid-parameter'. */
export function replayRequestIn(text: string): { readonly options: ReplayOptions; readonly isPaused: boolean } {
  const asked = bodyOf(ReplayRequest, text);
  return { options: replayOptionsOf(asked), isPaused: asked.paused ?? false };
}

/** A replay's options. Throws 'invalid-parameter'. */
export function replayOptionsOf({ markets = [], coins = [], timeframes = [], ...asked }: AskedReplay): ReplayOptions {
  if (asked.loop === true && asked.rebase !== 'now') {
    throw new DomainError(
      'invalid-parameter',
      'a replay that begins again must be in the present: use loop with rebase now',
    );
  }
  return {
    selection: { names: markets, coins: coins.map(canonicalCoin), timeframes },
    fromMs: instantIn('from', asked.from),
    toMs: instantIn('to', asked.to),
    speed: asked.speed ?? 1,
    gaps: asked.gaps ?? 'disconnect',
    mirror: asked.mirror ?? 'fresh',
    arrival: asked.arrival ?? false,
    strict: asked.strict ?? false,
    rebase: asked.rebase === 'now',
    loop: asked.loop ?? false,
  };
}

/** A change of a clock, with its instant as a number. */
export interface ClockChange extends Pick<Static<typeof ReplayChange>, 'speed' | 'paused' | 'step'> {
  readonly nowMs: InstantMs | undefined;
}

/** Reads a body that steers a replay. Throws 'invalid-parameter'. */
export function replayChangeIn(text: string): ClockChange {
  const { now, ...change } = bodyOf(ReplayChange, text);
  if (now === undefined && Object.keys(change).length === 0) {
    throw new DomainError('invalid-parameter', `the body changes nothing: ${wantedBy(ReplayChange)}`);
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
  throw new DomainError('invalid-parameter', about === undefined ? wantedBy(schema) : `'${name}' is invalid. ${about}`);
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

/** Maximum number of markets that are named for each replay; the list of markets has all. */
export const NAMED_MAX = 8;

export const ShownReplay = Type.Object(
  {
    ...ReplayResource.properties,
    traded: Type.Array(Type.String(), {
      maxItems: NAMED_MAX,
      description: 'Slugs or conditionIds of markets that are traded at its clock.',
    }),
  },
  { $id: 'ShownReplay', description: 'A replay, and names of markets that are traded at its clock.' },
);
export type ShownReplay = Static<typeof ShownReplay>;
