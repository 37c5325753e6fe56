import { HEAT_MAP_COLUMNS_DEFAULT, HEAT_MAP_COLUMNS_MAX } from '../../domain/heat-map.ts';
import { type InstantMs, isInstant, parseInstant, parsePlainInteger, wantedInstant } from '../../domain/instant.ts';
import { INTERVAL_FORM, INTERVAL_MS_MAX, INTERVAL_MS_MIN, parseInterval } from '../../domain/interval.ts';
import { MARKET_SORTS } from '../../domain/market-sort.ts';
import { MIDPOINT_MARKETS_MAX, MIDPOINTS_DEFAULT, MIDPOINTS_MAX } from '../../domain/midpoints.ts';
import { LEVELS_MAX } from '../../domain/orderbook.ts';
import { OUTCOMES, parseOutcome } from '../../domain/outcome.ts';
import { NEAREST_MODES, PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from '../../domain/page.ts';
import { TIMEFRAMES } from '../../domain/timeframe.ts';
import { STREAMED_FORMATS } from '../../export/format.ts';
import { NUMBERS, SHAPES, TABLE_TYPES } from '../../export/table-shape.ts';
import type { Speed } from '../../replay/replay-clock.ts';
import { durationPattern } from './duration.ts';
import { DATE_PATTERN, ISO_PATTERN, WRITABLE_INSTANT_PATTERN } from './instant-pattern.ts';
import { anyText, optional, type ParameterType, parameter, queryIn, Refused } from './parameter.ts';

/** Maximum number of instants in one request. */
export const INSTANTS_MAX = 1000;
/** The format of every cursor; cursor.ts knows the valid ones. */
export const CURSOR_SHAPE = /^[A-Za-z0-9_-]{28}$/;
export const CURSOR_REFUSAL =
  'must be the nextCursor of a request with the same path, order and filters: repeat that request, or start without one';
export const TIME_FORMATS = 'Unix milliseconds as plain digits, or an ISO 8601 date or time with Z or an offset';

/** Part of a slug, or the beginning of a conditionId. */
const SEARCH_SHAPE = /^[A-Za-z0-9._-]{1,200}$/;

const MARKET_NAME = '[A-Za-z0-9._-]{1,200}';
const MARKETS_SHAPE = new RegExp(`^${MARKET_NAME}(?:,${MARKET_NAME}){0,${MIDPOINT_MARKETS_MAX - 1}}$`);

/** `max`, or from 0.1 to 1000 with up to three decimals. */
const SPEED_SHAPE = /^(?:max|1000(?:\.0{1,3})?|[1-9]\d{0,2}(?:\.\d{1,3})?|0\.[1-9]\d{0,2})$/;
/** The answer repeats each instant of a list, so these are limited to instants that can be written. */
const LISTED = WRITABLE_INSTANT_PATTERN.replace(/^\^|\$$/g, '');

const matching = (pattern: string) => ({ type: 'string', pattern });

function shaped(shape: RegExp, refusal: string): ParameterType<string> {
  return { read: (text) => (shape.test(text) ? text : undefined), refusal, schema: matching(shape.source) };
}

export function integer(minimum: number, maximum: number, refusal?: string): ParameterType<number> {
  return {
    read(text) {
      const value = parsePlainInteger(text);
      return value !== undefined && value >= minimum && value <= maximum ? value : undefined;
    },
    refusal: refusal ?? `must be an integer from ${minimum} to ${maximum} in plain digits`,
    schema: { type: 'integer', minimum, maximum },
  };
}

function word<const T extends string>(words: readonly T[]): ParameterType<T> {
  const list = words.length > 2 ? `one of ${words.join(', ')}` : words.join(' or ');
  const schema = { type: 'string', enum: [...words] };
  return { read: (text) => words.find((known) => known === text), refusal: `must be ${list}`, schema };
}

const SKIP = integer(0, Number.MAX_SAFE_INTEGER, 'must be an integer from 0 to 2^53-1 in plain digits, or null');
const TRUTH_VALUE = word(['true', 'false']);
const OUTCOME = { ...word(OUTCOMES), read: parseOutcome };
const FLAG: ParameterType<boolean> = {
  ...TRUTH_VALUE,
  read(text) {
    const value = TRUTH_VALUE.read(text);
    return value && value === 'true';
  },
};
const INSTANT: ParameterType<number> = {
  read: parseInstant,
  refusal: refusalOfInstant,
  schema: { anyOf: [integer(0, Number.MAX_SAFE_INTEGER).schema, matching(ISO_PATTERN)] },
};

export function refusalOfInstant(text: string): string {
  return `must be ${wantedInstant(text, TIME_FORMATS)}`;
}

/** The first and the last instant of a day or a month. */
function readDate(text: string): { readonly fromMs: InstantMs; readonly toMs: InstantMs } | undefined {
  if (!/^\d{4}-\d{2}(?:-\d{2})?$/.test(text)) return undefined;
  const fromMs = parseInstant(text.length === 'YYYY-MM'.length ? `${text}-01` : text);
  if (fromMs === undefined) return undefined;
  const date = new Date(fromMs);
  const toMs =
    text.length === 'YYYY-MM'.length
      ? date.setUTCMonth(date.getUTCMonth() + 1)
      : date.setUTCDate(date.getUTCDate() + 1);
  return { fromMs, toMs: toMs - 1 };
}

/** Every query parameter, by name. Routes choose from these. */
export const QUERY = {
  tf: optional(word(TIMEFRAMES), 'Only markets of this timeframe.'),
  limit: parameter(integer(1, PAGE_LIMIT_MAX), 'Maximum number of records.', { default: PAGE_LIMIT_DEFAULT }),
  skip: parameter(
    {
      ...SKIP,
      read: (text) => (text === '' || text === 'null' ? 0 : SKIP.read(text)),
      schema: { ...SKIP.schema, type: ['integer', 'null'] },
    },
    'Number of markets to skip. null and an empty value mean 0.',
    { default: 0 },
  ),
  from: optional(
    INSTANT,
    `Earliest timestamp, inclusive, not later than to. For markets: only those whose window ends then or later. ${TIME_FORMATS}.`,
    '2026-01-08T10:00:00Z',
  ),
  to: optional(
    INSTANT,
    `Latest timestamp, inclusive. For markets: only those whose window starts then or earlier. ${TIME_FORMATS}.`,
    '2026-01-08T12:00:00Z',
  ),
  recorded: optional(
    FLAG,
    'true: only markets with at least one order book snapshot; false: only markets without snapshots.',
    'true',
  ),
  search: optional(
    shaped(SEARCH_SHAPE, 'must be 1 to 200 letters, digits, dots, hyphens and underscores'),
    'Only markets whose slug contains this text, or whose conditionId begins with it; a whole conditionId finds that market only. Case is ignored.',
    'btc-updown',
  ),
  date: optional(
    {
      read: readDate,
      refusal: 'must be a day or a month that exists, like 2026-01-08 or 2026-01',
      schema: matching(DATE_PATTERN),
    },
    'Only markets whose window starts on this day, or in this month, of UTC.',
    '2026-01-08',
  ),
  winner: optional(OUTCOME, 'Only resolved markets with this winner. Case is ignored.'),
  gaps: optional(FLAG, 'true: only markets with a recorded gap that touches their window; false: only those without.'),
  volumeMin: optional(
    integer(0, Number.MAX_SAFE_INTEGER),
    'Only markets whose known volume is at least this many USDC.',
    1000,
  ),
  sort: parameter(
    word(MARKET_SORTS),
    'The order: by the start of the window, the slug, the winner, the strike (priceStart), the final price (priceEnd), the recorded time, the number of snapshots or the volume; with a hyphen descending. Markets of one value are by their windows; unknown values are below all others. books: the markets with books, then those of less than a tenth of whose window books are recorded, then those without, each the latest window first. With asOf only by the window or by books, where a market is nearly empty only after its window: other values at that instant are not known.',
    { default: '-window' },
  ),
  closed: optional(FLAG, 'true: only markets whose trading has ended; false: only open markets.', 'true'),
  include: optional(
    word(['counts']),
    'counts adds to each market snapshotCount, the number of its stored order book snapshots, and recordedSeconds of windowSeconds, the recorded part of its window. An unknown volume or liquidity is then null.',
    'counts',
  ),
  totals: optional(
    FLAG,
    'true: pagination has in addition total, the number of markets of the whole list, and recorded, the number of those with snapshots.',
    'true',
  ),
  cursor: optional(
    shaped(CURSOR_SHAPE, CURSOR_REFUSAL),
    'nextCursor of the previous page of the same path, order and filters.',
  ),
  outcome: optional(OUTCOME, 'Only records of this outcome. Case is ignored.'),
  columns: parameter(
    integer(1, HEAT_MAP_COLUMNS_MAX),
    'Number of columns. A window with fewer milliseconds than columns has one column per millisecond.',
    { default: HEAT_MAP_COLUMNS_DEFAULT, example: 2 },
  ),
  markets: parameter(
    {
      read: (text) => (MARKETS_SHAPE.test(text) ? text.split(',') : undefined),
      refusal: `must be 1 to ${MIDPOINT_MARKETS_MAX} conditionIds or slugs with commas between them`,
      schema: matching(MARKETS_SHAPE.source),
    },
    `1 to ${MIDPOINT_MARKETS_MAX} conditionIds or slugs, separated by commas.`,
  ),
  points: parameter(
    integer(1, MIDPOINTS_MAX),
    'Number of parts of each window. A window with fewer milliseconds than parts has one part per millisecond.',
    { default: MIDPOINTS_DEFAULT, example: 5 },
  ),
  order: parameter(word(['asc', 'desc']), 'By (timestamp, id), ascending or descending.', { default: 'asc' }),
  interval: optional(
    {
      read: parseInterval,
      refusal: `must be ${INTERVAL_FORM}`,
      schema: matching(durationPattern(INTERVAL_MS_MIN, INTERVAL_MS_MAX)),
    },
    'Only the last record of each bucket of this length, with its own timestamp. Each outcome is sampled separately; so are each kind and each source of prices. Buckets begin at multiples of the interval in Unix time; from and to cut the first and the last bucket. From 100ms to 1d.',
    '1s',
  ),
  depth: optional(
    integer(1, LEVELS_MAX),
    'Maximum number of levels per side, best levels first. Left out: all levels.',
    10,
  ),
  mode: parameter(
    word(NEAREST_MODES),
    'nearest: earlier or later; before: at or before the instant, never later; after: at or after the instant, never earlier.',
    { default: 'nearest', example: 'before' },
  ),
  maxDistance: optional(
    integer(0, Number.MAX_SAFE_INTEGER, 'must be milliseconds in plain digits'),
    'Maximum distance from the instant in milliseconds. Records further away are not found.',
    60000,
  ),
  asOf: optional(
    INSTANT,
    `Answers with the state of knowledge at this instant: no later record, no market that was not listed yet, and only the fields of a market that were known. The values of volume, liquidity and updates at that instant were not recorded, and are null. A key can have a limit of its own: a later asOf is then no error, and the limit applies. ${TIME_FORMATS}.`,
    // Later than the other examples: the reference sends all of them together.
    '2026-01-08T12:00:00Z',
  ),
  speed: parameter(
    {
      read: readSpeed,
      refusal: 'must be max or a number from 0.1 to 1000 with up to three decimals',
      schema: matching(SPEED_SHAPE.source),
    },
    'Playback speed: a number from 0.1 to 1000 with up to three decimals, where 1 is real time; max: as fast as the client reads.',
    { default: '1', example: 'max' },
  ),
  ts: parameter(
    {
      read: readInstants,
      refusal: refusalOfInstants,
      schema: matching(`^(?:${LISTED})(?:,(?:${LISTED})){0,${INSTANTS_MAX - 1}}$`),
    },
    `1 to ${INSTANTS_MAX} instants, separated by commas. Each is ${TIME_FORMATS}.`,
  ),
  format: parameter(word(STREAMED_FORMATS), 'The format of the recording.', { default: 'ndjson' }),
  shape: optional(
    word(SHAPES),
    'With the formats parquet and arrow: a table of snapshots with a row for each book (books), with a column for each level (wide, 10 levels without depth) or with a row for each level (levels). rows, or neither shape nor type: one table of all records.',
    'books',
  ),
  type: optional(
    word(TABLE_TYPES),
    'With the formats parquet and arrow: a table of the records of this type only, with its columns. Quotes and prices (midpoints) are those of the pages.',
    'quote',
  ),
  numbers: optional(
    word(NUMBERS),
    'With shape or type: prices and sizes as doubles, or as exact decimals of 18 digits, 13 of them after the point in prices and 6 in sizes. An export with a number that does not fit is cut off. Left out: doubles.',
    'decimal',
  ),
} as const;

/** Parameters of the series of a market whose records have arrivals. `include` is not that of markets. */
export const ARRIVAL_QUERY = {
  include: optional(
    word(['receivedAt']),
    'receivedAt adds to each record when its recorder received it; null where no recording states it.',
    'receivedAt',
  ),
  asOfReceived: optional(
    INSTANT,
    `Like asOf, by the clock of the recorder: no record that arrived later. A record whose arrival no recording states counts as arrived at its timestamp. Of the market, only what was known by the venue's clock at this instant. ${TIME_FORMATS}.`,
    '2026-01-08T12:00:00Z',
  ),
} as const;
const ARRIVAL_ROUTE = /\/markets\/:conditionId\/(?:snapshots|snapshots\/at|snapshots\/at\/:ts|stream|quotes|prices)$/;
const WITH_ARRIVALS = { ...QUERY, ...ARRIVAL_QUERY };

/** Parameters of the usage of an account. They are not in QUERY: `interval` is another one there. */
export const USAGE_QUERY = {
  interval: parameter(word(['hour', 'day']), 'Length of the intervals.', { default: 'hour' }),
  keyId: optional(anyText('^key_[a-z2-7]{10}$'), 'Only requests with this key of the account.', 'key_abcdefghij'),
} as const;
export const USAGE_ROUTE = '/v1/account/usage';

/** Parameters of the payments of an account. They are not in QUERY: `limit` is another one there. */
export const HISTORY_QUERY = {
  provider: optional(word(['x402']), 'Only payments of this provider.', 'x402'),
  purpose: optional(word(['upgrade']), 'Only payments for this purpose.', 'upgrade'),
  before: optional(
    shaped(/^pay_[0-9a-f]{16}$/, 'must be the nextBefore of the previous page'),
    'Only payments before this one: nextBefore of the previous page.',
    'pay_0123456789abcdef',
  ),
  limit: parameter(integer(1, 100), 'Maximum number of payments.', { default: 20, example: 20 }),
} as const;
export const HISTORY_ROUTE = '/v1/billing/history';

/** The parameters of the routes that do not share QUERY. */
const OWN_PARAMETERS: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  [USAGE_ROUTE]: { ...QUERY, ...USAGE_QUERY },
  [HISTORY_ROUTE]: { ...QUERY, ...HISTORY_QUERY },
};

/** The values of a query by name, see `queryIn`, as the route reads them. A `from` that is later than `to` is refused. */
export function queryValues(search: string, route: string): Record<string, unknown> {
  const query = queryIn(search, ARRIVAL_ROUTE.test(route) ? WITH_ARRIVALS : (OWN_PARAMETERS[route] ?? QUERY));
  const { from, to } = query;
  if (typeof from === 'number' && typeof to === 'number' && from > to)
    query.from = new Refused('must not be later than to');
  return query;
}

function readSpeed(text: string): Speed | undefined {
  if (text === 'max') return text;
  return SPEED_SHAPE.test(text) ? Number(text) : undefined;
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
  const refused = texts.find((each) => parseInstant(each) === undefined);
  return refused === undefined ? 'must name no instant after the year 9999' : refusalOfInstant(refused);
}
