import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { canonicalCoin } from '../../domain/coin.ts';
import { DomainError } from '../../domain/errors.ts';
import {
  formatInstant,
  type InstantMs,
  instantText,
  isInstant,
  parseInstant,
  wantedInstant,
} from '../../domain/instant.ts';
import { TimeframeName } from '../../domain/timeframe.ts';
import { MICROS, microsOf } from '../../paper/micros.ts';
import { QUEUES } from '../../paper/paper-market.ts';
import { parsedJson } from '../../record/fields.ts';
import { MIRROR_MODES } from '../../replay/market-state.ts';
import { GAP_MODES, type Replay, type ReplayOptions } from '../../replay/replay.ts';
import { SPEED_MAX, SPEED_MIN } from '../../replay/replay-clock.ts';
import type { Replays } from '../../replay/replays.ts';
import type { PaperDesk } from '../../trading/paper-desk.ts';
import type { PaperDesks } from '../../trading/paper-desks.ts';
import { DEFAULT_RULES, DELAY_MS_MAX, type PaperRules } from '../../trading/paper-rules.ts';
import { oneOf, orNull } from '../openapi/described.ts';
import { INSTANT_PATTERN } from '../parameters/instant-pattern.ts';

const NAMES_MAX = 1000;
const CASH_MAX = 1_000_000_000;

/** The settings of a clock, as they are asked for and shown. */
const CLOCK = {
  speed: Type.Union([Type.Number({ minimum: SPEED_MIN, maximum: SPEED_MAX }), Type.Literal('max')], {
    description: 'Playback speed, 0.1 to 1000: 1 is real time; max: as fast as its clients read.',
  }),
  gaps: oneOf(
    GAP_MODES,
    'disconnect: a gap in the recording closes the sockets of its market; ignore: they stay open.',
  ),
  mirror: oneOf(
    MIRROR_MODES,
    'fresh: each outcome has the later one of its own book and the mirror of the other outcome’s; recorded: its own book, once it has one.',
  ),
  arrival: Type.Boolean({
    description:
      'true: the venue’s sockets and books have each record when its recorder had received it and all before it; false: at the venue’s time.',
  }),
  strict: Type.Boolean({
    description:
      'true: its sockets refuse what the venue refuses: a second opening frame, and PING before a subscription; false: they serve such clients.',
  }),
  rebase: Type.Union([Type.Literal('now'), Type.Null()], {
    description:
      'now: moves times, slugs and titles so that the market of the present is open when the replay starts; null: they are the recorded ones.',
  }),
  loop: Type.Boolean({
    description: 'true: a rebased replay begins again with the next window when it ends; false: it stays at its end.',
  }),
};

const Delay = (description: string) => Type.Integer({ minimum: 0, maximum: DELAY_MS_MAX, description });
/** The same of accounts. */
const ACCOUNTS = {
  cash: Type.Number({
    minimum: 0,
    maximum: CASH_MAX,
    description: `The dollars of each account at first, up to ${CASH_MAX} with up to 6 decimals.`,
  }),
  latency: Delay('Milliseconds from sending an order or a cancel to its arrival at the venue.'),
  takerDelay: Type.Union([Type.Literal('venue'), Delay('Milliseconds.')], {
    description:
      'The milliseconds for which orders that would match are held; venue: as long as at the venue when the window of the market began.',
  }),
  fees: oneOf(
    ['venue', 'none'],
    'venue: takers pay the recorded fees, else those that the venue published for that day; none: no fees.',
  ),
  queue: oneOf(
    QUEUES,
    'The recorded shares at its price that are ahead of an order when it begins to rest: behind all of them, mid: half of them, front: none.',
  ),
};
const PaperResource = Type.Object(
  { ...ACCOUNTS, accounts: Type.Integer({ minimum: 0, description: 'The number of its accounts.' }) },
  { $id: 'PaperSettings', description: 'The settings of the accounts of a replay.' },
);

export const ReplayResource = Type.Object(
  {
    id: Type.String({ pattern: '^[0-9a-f]{12}$', description: 'Its name in paths.' }),
    isFirst: Type.Boolean({ description: 'Whether paths without a replay are about this one.' }),
    state: oneOf(['running', 'paused', 'ended'], 'ended: its clock has reached its end.'),
    now: instantText('The instant of its clock: nothing later is sent.'),
    from: instantText('Its beginning.'),
    to: instantText('Its end, inclusive.'),
    ...CLOCK,
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
    paper: orNull(PaperResource, 'Its accounts; null if it takes no orders.'),
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
    ...CLOCK,
    paused: Type.Boolean({ description: 'Whether its clock is paused at first.' }),
    paper: Type.Boolean({
      description: 'true: it takes orders; the five fields that follow are about their accounts.',
    }),
    ...ACCOUNTS,
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
    speed: CLOCK.speed,
    paused: Type.Boolean({ description: 'true pauses its clock, false resumes it.' }),
    step: Type.Literal(true, { description: 'Goes to the next event, and pauses there.' }),
  }),
  {
    $id: 'ReplayChange',
    additionalProperties: false,
    description: 'A change of a clock; the fields apply in this order.',
  },
);

/** The replays of a process, and the accounts of those that have some. */
export interface ReplaysAndDesks {
  readonly replays: Replays;
  readonly desks: PaperDesks;
}

export function replayResource({ replays, desks }: ReplaysAndDesks, replay: Replay): ReplayResource {
  const { id, clock, coins, marketCount, simulatedCoins, standIns, clients } = replay;
  const { gaps, mirror, arrival, strict, rebase, loop } = replay.options;
  return {
    id,
    isFirst: replays.list()[0] === replay,
    state: clock.state,
    now: formatInstant(clock.nowMs),
    from: formatInstant(clock.span.fromMs),
    to: formatInstant(clock.span.toMs),
    ...{ speed: clock.speed, gaps, mirror, arrival, strict, rebase: rebase ? 'now' : null, loop },
    ...{ coins: [...coins], markets: marketCount, simulated: [...simulatedCoins], standIns, clients },
    paper: paperResource(desks.of(replay)),
    paths: {
      rest: `/replays/${id}`,
      socket: `/replays/${id}/ws/market`,
      rtds: `/replays/${id}/rtds`,
      binance: `/replays/${id}/stream`,
      api: `/replays/${id}/v1`,
    },
  };
}

function paperResource(desk: PaperDesk | undefined): ReplayResource['paper'] {
  if (desk === undefined) return null;
  const { cash, latencyMs, takerDelayMs, fees, queue } = desk.rules;
  const accounts = desk.accounts().length;
  return { cash: cash / MICROS, latency: latencyMs, takerDelay: takerDelayMs, fees, queue, accounts };
}

/** A body that creates a replay. */
interface ReplayAsked {
  readonly options: ReplayOptions;
  readonly isPaused: boolean;
  /** Undefined: it takes no orders. */
  readonly paper: PaperRules | undefined;
}

/** Reads a body that creates a replay. Throws 'invalid-parameter'. */
export function replayRequestIn(text: string): ReplayAsked {
  const asked = bodyOf(ReplayRequest, text);
  return { options: replayOptionsOf(asked), isPaused: asked.paused ?? false, paper: paperRulesOf(asked) };
}

/** The settings of a replay's accounts; undefined if it takes no orders. Throws 'invalid-parameter'. */
export function paperRulesOf({ paper, ...asked }: AskedReplay): PaperRules | undefined {
  if (paper !== true) {
    const given = (Object.keys(ACCOUNTS) as (keyof typeof ACCOUNTS)[]).filter((name) => asked[name] !== undefined);
    if (given.length === 0) return undefined;
    const names = given.map((name) => (name === 'takerDelay' ? 'taker delay' : name)).join(', ');
    throw new DomainError('invalid-parameter', `only accounts have these settings: ${names}: add paper`);
  }
  const { cash: dollars = DEFAULT_RULES.cash / MICROS, fees = DEFAULT_RULES.fees, queue = DEFAULT_RULES.queue } = asked;
  const { latency: latencyMs = DEFAULT_RULES.latencyMs, takerDelay: takerDelayMs = DEFAULT_RULES.takerDelayMs } = asked;
  const cash = microsOf(dollars);
  if (cash <= 0 || cash / MICROS !== dollars)
    throw new DomainError('invalid-parameter', 'the cash must be more than 0 dollars, with at most 6 decimals');
  return { cash, latencyMs, takerDelayMs, fees, queue };
}

/** A replay's options. Throws 'invalid-parameter'. */
export function replayOptionsOf({ markets = [], coins = [], timeframes = [], ...asked }: AskedReplay): ReplayOptions {
  const { speed = 1, gaps = 'disconnect', mirror = 'fresh', arrival = false, strict = false, loop = false } = asked;
  const rebase = asked.rebase === 'now';
  if (loop && !rebase) {
    throw new DomainError(
      'invalid-parameter',
      'a replay that begins again must be in the present: use loop with rebase now',
    );
  }
  const selection = { names: markets, coins: coins.map(canonicalCoin), timeframes };
  const span = { fromMs: instantIn('from', asked.from), toMs: instantIn('to', asked.to) };
  return { selection, ...span, speed, gaps, mirror, arrival, strict, rebase, loop };
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

/** Reads a body; an empty one is an empty object. Throws 'invalid-parameter'. */
export function bodyOf<T extends TSchema>(schema: T, text: string): Static<T> {
  const body = text.trim() === '' ? {} : parsedJson(text);
  if (Value.Check(schema, body)) return body;
  const name = Value.Errors(schema, body).First()?.path.split('/')[1] ?? '';
  const properties: Readonly<Record<string, TSchema>> = schema.properties ?? {};
  const property = properties[name];
  if (property?.anyOf?.[0].pattern === INSTANT_PATTERN) {
    throw notInstant(name, String((body as Readonly<Record<string, unknown>>)[name]));
  }
  const about = property?.description;
  throw new DomainError('invalid-parameter', about === undefined ? wantedBy(schema) : `'${name}' is invalid. ${about}`);
}

function notInstant(name: string, text: string): DomainError {
  return new DomainError('invalid-parameter', `'${name}' must be ${wantedInstant(text)}`);
}

function wantedBy({ properties = {} }: TSchema): string {
  return `send a JSON object with any of ${Object.keys(properties).join(', ')}`;
}

function instantIn(name: string, given: string | number | undefined): InstantMs | undefined {
  if (given === undefined) return undefined;
  const text = String(given);
  const instantMs = parseInstant(text);
  if (instantMs !== undefined && isInstant(instantMs)) return instantMs;
  throw notInstant(name, text);
}

/** Maximum number of markets, and of accounts, that are named for each replay; their lists have all. */
export const NAMED_MAX = 8;

export const ShownReplay = Type.Object(
  {
    ...ReplayResource.properties,
    traded: Type.Array(Type.String(), {
      maxItems: NAMED_MAX,
      description: 'Slugs or conditionIds of markets that are traded at its clock.',
    }),
    pages: Type.Array(
      Type.Object({
        href: Type.String({ description: 'Its path.' }),
        name: Type.String({
          description:
            'The coin, the timeframe and the end of its market, in UTC, with the day if it is not that of the clock.',
        }),
      }),
      { maxItems: NAMED_MAX, description: 'The pages of these markets, in the same order.' },
    ),
    accounts: Type.Array(Type.String(), {
      maxItems: NAMED_MAX,
      description: 'The accounts that were used last, a line each: address, dollars, profit or loss, open orders.',
    }),
  },
  { $id: 'ShownReplay', description: 'A replay, with markets that are traded at its clock and its accounts.' },
);
export type ShownReplay = Static<typeof ShownReplay>;
