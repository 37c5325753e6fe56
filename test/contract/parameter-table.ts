import { BOOKS, EMPTY, T0 } from './recording.ts';

/**
 * Every parameter in every spelling, with the status that the contract's words ask for. The rules are written here a
 * second time, another way: characters are counted, integers are big, dates are built and read back.
 */
export interface ParameterRow {
  readonly parameter: string;
  readonly spelling: string;
  readonly path: string;
  readonly status: number;
}

const DIGITS = '0123456789';
const GREATEST = 9_007_199_254_740_991n;

const SPELLINGS: readonly string[] = [
  // Integers, and texts that resemble integers.
  ...['0', '1', '2', '5', '99', '100', '999', '1000', '1001', '10000', '1776323400', '99999999999'],
  ...['100000000000', String(T0), '253402300799999', '253402300800000', '9007199254740991', '9007199254740992'],
  ...['9007199254740993', '18446744073709551616', '9'.repeat(400), '-1', '-0', '+5', '+', '-', ' 5', '5 '],
  ...['\t5', '5\n', '05', '00', '0005', '5.0', '5.', '.5', '5,0', '1_000', '0.1', '0.09', '0.25', '1000.0'],
  ...['1000.001', '2.1234', 'max', 'Max', '1e3', '1E3', '1e-3', '0x10', '0b11', '0o17', '5n', '5;6', '5,6'],
  ...['[5]', '٥', '５', '²', '५', '5\u0000', '\u0000', 'NaN', 'Infinity', '-Infinity', 'null', 'undefined'],
  ...['true', '{}', '', ' '],
  // Words.
  ...['up', 'down', 'UP', 'Down', 'uP', 'up,down', 'both', 'uр', 'asc', 'desc', 'ASC', 'Desc', 'ascending'],
  ...['5m', '15m', '1h', '4h', '24h', '5M', '1H', '1d', '5m '],
  // Times.
  ...['2026-04-16', '2026-04-16T07:10Z', '2026-04-16T07:10:04Z', '2026-04-16T07:10:04.1Z'],
  ...['2026-04-16T07:10:04.123Z', '2026-04-16T07:10:04.123456Z', '2026-04-16T07:10:04.123456789Z'],
  ...['2026-04-16T09:10:04.123+02:00', '2026-04-16T07:10+00:00', '2026-04-16T01:40:04-05:30'],
  ...['2026-04-16T07:10:04-00:00', '2024-02-29', '2024-02-29T23:59:59.999Z', '2000-02-29', '2100-02-29'],
  ...['2023-02-29', '2025-02-29T00:00Z', '2026-02-30', '2026-04-31', '2026-04-00', '2026-13-01', '2026-00-10'],
  ...['2026-12-31T23:59:59Z', '2026-12-31T24:00:00Z', '2026-12-31T23:60:00Z', '2026-06-30T23:59:60Z'],
  ...['2026-04-16T07:10:04+24:00', '2026-04-16T07:10:04+02:60', '2026-04-16T07:10:04+02'],
  ...['2026-04-16T07:10:04+0200', '2026-04-16T07:10:04 02:00', '2026-04-16T07:10:04z', '2026-04-16t07:10:04Z'],
  ...['2026-04-16 07:10:04Z', '2026-04-16T07:10:04', '2026-04-16T07:10', '2026-04-16T07Z'],
  ...['2026-04-16T07:10:04.Z', '2026-04-16T07:10:04,5Z', '2026-04-16Z', '20260416', '2026-4-16', '26-04-16'],
  ...['2026-106', '2026-W16-4', '+002026-04-16', '1969-12-31', '1970-01-01', '1970-01-01T00:00:00+01:00'],
  ...['9999-12-31', '9999-12-31T23:59:59-01:00', '10000-01-01', '0000-01-01', 'now'],
  ...['Thu, 16 Apr 2026 07:10:04 GMT'],
  // Months and orders.
  ...[
    '2026-04',
    '2026-00',
    '2026-13',
    '2026-4',
    '1969-12',
    'window',
    '-window',
    '+window',
    '-volume',
    'strike',
    '-strike',
    'final',
    '-final',
    'Volume',
    '--volume',
  ],
  // Texts that resemble cursors.
  ...['AAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'AAAA', 'not a cursor'],
];

/** Plain digits without a leading zero, up to 2^53-1. */
function isInteger(text: string): boolean {
  if (text === '' || [...text].some((char) => !DIGITS.includes(char))) return false;
  return (text === '0' || text[0] !== '0') && BigInt(text) <= GREATEST;
}

/** `YYYY-MM-DD`, alone or with `THH:MM[:SS[.fff…]]` and a zone; a day that exists, between 1970 and 9999. */
function isIsoTime(text: string): boolean {
  const [day = '', clock, ...more] = text.split('T');
  if (more.length > 0 || !hasForm(day, '0000-00-00')) return false;
  // A date that does not exist becomes another one.
  const midnight = new Date(`${day}T00:00:00.000Z`);
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day) return false;
  const ms = clock === undefined ? 0 : msOfClock(clock);
  return ms !== undefined && inRange(midnight.getTime() + ms);
}

function inRange(ms: number): boolean {
  return ms >= 0 && new Date(ms).getUTCFullYear() <= 9999;
}

/** Milliseconds that a clock time with a zone adds to its day's midnight. */
function msOfClock(text: string): number | undefined {
  const zoned = text.endsWith('Z') ? text.slice(0, -1) : text.slice(0, -6);
  const zone = text.slice(zoned.length);
  const offset =
    zone === 'Z'
      ? 0
      : hasForm(zone.slice(1), '00:00') && '+-'.includes(zone[0]!)
        ? hoursAndMinutes(zone.slice(1))
        : undefined;
  const [whole = '', fraction, ...more] = zoned.split('.');
  if (offset === undefined || more.length > 0) return undefined;
  if (fraction !== undefined && (fraction === '' || !hasForm(fraction, '0'.repeat(fraction.length)))) return undefined;
  const hasSeconds = hasForm(whole, '00:00:00');
  if (!hasSeconds && (fraction !== undefined || !hasForm(whole, '00:00'))) return undefined;
  const minutes = hoursAndMinutes(whole.slice(0, 5));
  const seconds = hasSeconds ? Number(whole.slice(6)) : 0;
  if (minutes === undefined || seconds > 59) return undefined;
  const sign = zone.startsWith('-') ? -1 : 1;
  return (minutes - sign * offset) * 60_000 + seconds * 1000;
}

function hoursAndMinutes(text: string): number | undefined {
  const [hours, minutes] = text.split(':').map(Number);
  return hours! <= 23 && minutes! <= 59 ? hours! * 60 + minutes! : undefined;
}

/** Whether `text` matches `form`, where 0 is any digit. */
function hasForm(text: string, form: string): boolean {
  if (text.length !== form.length) return false;
  return [...text].every((char, index) => (form[index] === '0' ? DIGITS.includes(char) : char === form[index]));
}

const isDayOrMonth = (text: string) =>
  (hasForm(text, '0000-00-00') && isIsoTime(text)) || (hasForm(text, '0000-00') && isIsoTime(`${text}-01`));
const isTime = (text: string) => isInteger(text) || isIsoTime(text);
const snapshots = `/v1/btc/markets/${BOOKS.conditionId}/snapshots`;
const exported = `/v1/btc/markets/${BOOKS.conditionId}/export`;
const oneOf =
  (...words: string[]) =>
  (text: string) =>
    words.includes(text);

interface Parameter {
  readonly name: string;
  readonly accepts: (text: string) => boolean;
  readonly pathOf: (encoded: string) => string;
}

const inQuery = (name: string, path: string, accepts: (text: string) => boolean, label = name): Parameter => ({
  name: label,
  accepts,
  pathOf: (encoded) => `${path}${path.includes('?') ? '&' : '?'}${name}=${encoded}`,
});

const isLimit = (text: string) => isInteger(text) && BigInt(text) >= 1n && BigInt(text) <= 1000n;

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const NAME_CHARS = `${LETTERS}${LETTERS.toUpperCase()}${DIGITS}._-`;

/** A slug or a conditionId, or a part of one. */
const isName = (text: string) =>
  text.length >= 1 && text.length <= 200 && [...text].every((char) => NAME_CHARS.includes(char));

/** `max`, or from 0.1 to 1000, of which at most three decimals are written. */
function isSpeed(text: string): boolean {
  if (text === 'max') return true;
  const [whole = '', decimals, ...more] = text.split('.');
  if (more.length > 0 || !isInteger(whole)) return false;
  if (decimals !== undefined && !['0', '00', '000'].some((form) => hasForm(decimals, form))) return false;
  return Number(text) >= 0.1 && Number(text) <= 1000;
}

const PARAMETERS: readonly Parameter[] = [
  inQuery('limit', snapshots, isLimit),
  inQuery('limit', '/v1/btc/markets', isLimit, 'limit of markets'),
  inQuery('skip', '/v1/btc/markets', (text) => text === '' || text === 'null' || isInteger(text)),
  inQuery('tf', '/v1/btc/markets', oneOf('5m', '15m', '1h', '4h', '24h')),
  inQuery('search', '/v1/btc/markets', isName),
  inQuery('markets', '/v1/btc/midpoints', (text) => text.split(',').length <= 50 && text.split(',').every(isName)),
  inQuery(
    'points',
    `/v1/btc/midpoints?markets=${BOOKS.slug}`,
    (text) => isInteger(text) && BigInt(text) >= 1n && BigInt(text) <= 100n,
  ),
  inQuery('recorded', '/v1/btc/markets', oneOf('true', 'false')),
  inQuery('closed', '/v1/btc/markets', oneOf('true', 'false')),
  inQuery('date', '/v1/btc/markets', isDayOrMonth),
  inQuery('winner', '/v1/btc/markets', (text) => oneOf('up', 'down')(text.toLowerCase())),
  inQuery('gaps', '/v1/btc/markets', oneOf('true', 'false')),
  inQuery('volumeMin', '/v1/btc/markets', isInteger),
  inQuery('totals', '/v1/btc/markets', oneOf('true', 'false')),
  inQuery(
    'sort',
    '/v1/btc/markets',
    oneOf(
      'window',
      '-window',
      'books',
      'slug',
      'winner',
      'recorded',
      '-snapshots',
      '-volume',
      'strike',
      '-strike',
      'final',
      '-final',
    ),
  ),
  inQuery('include', '/v1/btc/markets', oneOf('counts')),
  inQuery('include', `/v1/btc/markets/${BOOKS.conditionId}`, oneOf('counts'), 'include of one market'),
  inQuery('include', snapshots, oneOf('receivedAt'), 'include of records'),
  inQuery('include', `/v1/btc/markets/${EMPTY.conditionId}/stream`, oneOf('receivedAt'), 'include of a stream'),
  inQuery('from', '/v1/btc/markets', isTime, 'from of markets'),
  inQuery('to', '/v1/btc/markets', isTime, 'to of markets'),
  inQuery('from', snapshots, isTime),
  inQuery('to', snapshots, isTime),
  inQuery('from', '/v1/btc/prices', isTime, 'from of coin prices'),
  inQuery('outcome', snapshots, (text) => oneOf('up', 'down')(text.toLowerCase())),
  inQuery('outcome', `${snapshots}/at/${T0}`, (text) => oneOf('up', 'down')(text.toLowerCase()), 'outcome of nearest'),
  inQuery('outcome', exported, (text) => oneOf('up', 'down')(text.toLowerCase()), 'outcome of an export'),
  inQuery('order', snapshots, oneOf('asc', 'desc')),
  inQuery('depth', snapshots, (text) => isInteger(text) && BigInt(text) >= 1n && BigInt(text) <= 10_001n),
  inQuery(
    'depth',
    exported,
    (text) => isInteger(text) && BigInt(text) >= 1n && BigInt(text) <= 10_001n,
    'depth of an export',
  ),
  inQuery('maxDistance', `${snapshots}/at/${T0}`, isInteger),
  inQuery('mode', `${snapshots}/at/${T0}`, oneOf('nearest', 'before', 'after')),
  // Those here that have a unit.
  inQuery('interval', snapshots, oneOf('1m', '5m', '15m', '1h', '4h', '24h', '1d')),
  inQuery('interval', exported, oneOf('1m', '5m', '15m', '1h', '4h', '24h', '1d'), 'interval of an export'),
  // Nothing is recorded there: at the speed of the recording it would take as long.
  inQuery('speed', `/v1/btc/markets/${EMPTY.conditionId}/stream`, isSpeed),
  // No spelling here is a cursor of the service.
  inQuery('cursor', snapshots, () => false),
  { name: 'ts', accepts: isTime, pathOf: (encoded) => `${snapshots}/at/${encoded}` },
];

/** Parameters with all spellings: the first of each kind. Of the others, any that are accepted and every fifth. */
const TRIED_IN_FULL = [
  ...[
    'limit',
    'skip',
    'search',
    'markets',
    'points',
    'from',
    'to',
    'depth',
    'maxDistance',
    'date',
    'speed',
    'cursor',
    'ts',
  ],
];

export const PARAMETER_ROWS: readonly ParameterRow[] = PARAMETERS.flatMap(({ name, accepts, pathOf }) =>
  SPELLINGS.filter((spelling, index) => index % 5 === 0 || TRIED_IN_FULL.includes(name) || accepts(spelling)).map(
    (spelling) => {
      const status = accepts(spelling) ? 200 : 400;
      return { parameter: name, spelling, path: pathOf(encodeURIComponent(spelling)), status };
    },
  ),
);
