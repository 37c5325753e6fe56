import { t } from 'elysia';
import { type InstantMs, isInstant, parseInstant, parsePlainInteger } from '../../domain/instant.ts';
import { LEVELS_MAX } from '../../domain/orderbook.ts';
import { OUTCOMES, parseOutcome } from '../../domain/outcome.ts';
import { NEAREST_MODES, PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../../domain/page.ts';
import { TIMEFRAMES } from '../../domain/timeframe.ts';
import { STREAMED_FORMATS } from '../../export/format.ts';
import type { Speed } from '../../replay/replay-clock.ts';
import { durationPattern, parseDuration } from './duration.ts';
import { ISO_PATTERN, WRITABLE_INSTANT_PATTERN } from './instant-pattern.ts';
import { type Description, parameter, queryIn, Refused } from './parameter.ts';

/** How many instants one request may ask about. */
export const INSTANTS_MAX = 1000;
/** Every cursor looks like this; cursor.ts knows which one is valid. */
export const CURSOR_SHAPE = /^[A-Za-z0-9_-]{28}$/;
export const CURSOR_REFUSAL =
  'must be the nextCursor of a request with the same path, order and filters: repeat that request, or start without one';
export const TIME_FORMATS = 'Unix milliseconds as plain digits, or an ISO 8601 date or time with Z or an offset';

const [INTERVAL_MS_MIN, INTERVAL_MS_MAX] = [100, 86_400_000];
/** `max`, or from 0.1 to 1000 with up to three decimals. */
const SPEED_SHAPE = /^(?:max|1000(?:\.0{1,3})?|[1-9]\d{0,2}(?:\.\d{1,3})?|0\.[1-9]\d{0,2})$/;
/** The answer repeats an instant of a list, so it must be able to write it. */
const LISTED = WRITABLE_INSTANT_PATTERN.replace(/^\^|\$$/g, '');

const TRUTH_VALUES: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);
const ORDERS = ['asc', 'desc'] as const;

type Described = Omit<Description, 'schema'>;

const type = {
  integer: (minimum: number, maximum: number) => ({ type: 'integer', minimum, maximum }),
  word: (words: readonly string[]) => ({ type: 'string', enum: [...words] }),
  text: (pattern: string) => ({ type: 'string', pattern }),
};

function integer(minimum: number, maximum: number, refusal: string, described: Described) {
  const read = (text: string) => {
    const value = parsePlainInteger(text);
    return value !== undefined && value >= minimum && value <= maximum ? value : undefined;
  };
  return parameter({ read, refusal }, { schema: type.integer(minimum, maximum), ...described });
}

function count(minimum: number, maximum: number, described: Described) {
  return integer(minimum, maximum, `must be an integer from ${minimum} to ${maximum} in plain digits`, described);
}

function word<T extends string>(words: readonly T[], described: Described) {
  const read = (text: string) => words.find((known) => known === text);
  return parameter({ read, refusal: `must be one of ${words.join(', ')}` }, { schema: type.word(words), ...described });
}

function flag(described: Described) {
  const read = (text: string) => TRUTH_VALUES.get(text);
  const words = [...TRUTH_VALUES.keys()];
  return parameter({ read, refusal: `must be one of ${words.join(', ')}` }, { schema: type.word(words), ...described });
}

function instant(described: Described) {
  const schema = { anyOf: [type.integer(0, Number.MAX_SAFE_INTEGER), type.text(ISO_PATTERN)] };
  return parameter({ read: parseInstant, refusal: `must be ${TIME_FORMATS}` }, { schema, ...described });
}

/**
 * Every query parameter, by name: how it is read and refused, and its description in the API document. Routes choose from these.
 */
export const QUERY = {
  tf: t.Optional(word(TIMEFRAMES, { description: 'Only markets of this timeframe.' })),
  limit: count(1, PAGE_LIMIT_MAX, { description: 'Maximum number of records.', default: PAGE_LIMIT_DEFAULT }),
  skip: parameter(
    {
      read: (text) => (text === '' || text === 'null' ? 0 : parsePlainInteger(text)),
      refusal: 'must be an integer from 0 to 2^53-1 in plain digits, or null',
    },
    {
      description: 'How many markets to pass over; null, or nothing behind the equals sign, is 0.',
      schema: { ...type.integer(0, Number.MAX_SAFE_INTEGER), type: ['integer', 'null'] },
      default: 0,
    },
  ),
  from: t.Optional(
    instant({
      description: `Earliest timestamp, inclusive, not later than to; of markets: only those whose window ends then or later. ${TIME_FORMATS}.`,
      example: '2026-01-08T10:00:00Z',
    }),
  ),
  to: t.Optional(
    instant({
      description: `Latest timestamp, inclusive; of markets: only those whose window starts then or earlier. ${TIME_FORMATS}.`,
      example: '2026-01-08T12:00:00Z',
    }),
  ),
  recorded: t.Optional(
    flag({
      description: 'true: only markets with at least one order book snapshot; false: only those without.',
      example: 'true',
    }),
  ),
  closed: t.Optional(
    flag({
      description: 'true: only markets in which trading has ended; false: only the others.',
      example: 'true',
    }),
  ),
  include: t.Optional(
    word(['counts'], {
      description: 'counts: each market has snapshotCount as well, the number of its stored order book snapshots.',
      example: 'counts',
    }),
  ),
  cursor: t.Optional(
    parameter(
      { read: (text) => (CURSOR_SHAPE.test(text) ? text : undefined), refusal: CURSOR_REFUSAL },
      {
        description: 'nextCursor of the page before, with the same path, order and filters; never made up.',
        schema: type.text(CURSOR_SHAPE.source),
      },
    ),
  ),
  outcome: t.Optional(
    parameter(
      { read: parseOutcome, refusal: 'must be up or down' },
      { description: 'Only records of this outcome; compared in lower case.', schema: type.word(OUTCOMES) },
    ),
  ),
  order: parameter(
    { read: (text) => ORDERS.find((order) => order === text), refusal: 'must be asc or desc' },
    { description: 'By (timestamp, id), ascending or descending.', schema: type.word(ORDERS), default: 'asc' },
  ),
  interval: t.Optional(
    parameter(
      {
        read: readInterval,
        refusal: 'must be a whole number with a unit (ms, s, m, h, d) from 100ms to 1d',
      },
      {
        description:
          'Only the last record of each bucket of this length, of each outcome (of prices: and kind, source) by itself, stamped with its own time. Buckets begin at multiples of it in Unix time; from and to cut the first and the last one off. From 100ms to 1d.',
        schema: type.text(durationPattern(INTERVAL_MS_MIN, INTERVAL_MS_MAX)),
        example: '1s',
      },
    ),
  ),
  depth: t.Optional(
    count(1, LEVELS_MAX, { description: 'So many levels of each side, the best ones; without it all.', example: 10 }),
  ),
  mode: word(NEAREST_MODES, {
    description: 'nearest: earlier or later; before: at or before the instant, never later; after: at or after it.',
    default: 'nearest',
    example: 'before',
  }),
  maxDistance: t.Optional(
    integer(0, Number.MAX_SAFE_INTEGER, 'must be milliseconds in plain digits', {
      description: 'Milliseconds; a record further away is not found.',
      example: 60000,
    }),
  ),
  asOf: t.Optional(
    instant({
      description: `Answers as at that instant, to somebody who listened all along: no later record, no market that was not listed yet, and of a market only what was known; what was known of volume, liquidity and updates is not, and null. A key may be held to an instant of its own: a later asOf is then no error, and changes nothing. ${TIME_FORMATS}.`,
      // Later than the other examples: the reference sends all of them together.
      example: '2026-01-08T12:00:00Z',
    }),
  ),
  speed: parameter(
    { read: readSpeed, refusal: 'must be max or a number from 0.1 to 1000 with up to three decimals' },
    {
      description:
        'How many recorded seconds pass in one: a number from 0.1 to 1000 with up to three decimals; max: as fast as the client reads.',
      schema: type.text(SPEED_SHAPE.source),
      default: '1',
      example: 'max',
    },
  ),
  ts: parameter(
    { read: readInstants, refusal: refusalOfInstants },
    {
      description: `1 to ${INSTANTS_MAX} instants with commas between them, each ${TIME_FORMATS}.`,
      schema: type.text(`^(?:${LISTED})(?:,(?:${LISTED})){0,${INSTANTS_MAX - 1}}$`),
    },
  ),
  format: word(STREAMED_FORMATS, { description: 'What the recording is written as.', default: 'ndjson' }),
} as const;

/** The values of a query by name, see `queryIn`. A `from` that is later than `to` is refused. */
export function queryValues(search: string): Record<string, unknown> {
  const query = queryIn(search, QUERY);
  const { from, to } = query;
  if (typeof from === 'number' && typeof to === 'number' && from > to)
    query.from = new Refused('must not be later than to');
  return query;
}

function readSpeed(text: string): Speed | undefined {
  if (text === 'max') return text;
  return SPEED_SHAPE.test(text) ? Number(text) : undefined;
}

function readInterval(text: string): number | undefined {
  const intervalMs = parseDuration(text);
  const isInBounds = intervalMs !== undefined && intervalMs >= INTERVAL_MS_MIN && intervalMs <= INTERVAL_MS_MAX;
  return isInBounds ? intervalMs : undefined;
}

/** The instants of a list, in its order. */
function readInstants(text: string): readonly InstantMs[] | undefined {
  const texts = text.split(',');
  if (texts.length > INSTANTS_MAX) return undefined;
  const instants = texts.map(parseInstant);
  return instants.every((instantMs) => instantMs !== undefined && isInstant(instantMs))
    ? (instants as InstantMs[])
    : undefined;
}

function refusalOfInstants(text: string): string {
  const texts = text.split(',');
  if (text === '' || texts.length > INSTANTS_MAX)
    return `must be 1 to ${INSTANTS_MAX} instants with commas between them`;
  const isTooLate = texts.every((each) => parseInstant(each) !== undefined);
  return isTooLate ? 'must name no instant after the year 9999' : `must be ${TIME_FORMATS}`;
}
