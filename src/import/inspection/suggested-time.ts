import { isFields } from '../../record/fields.ts';
import type { FieldSummary, FieldTimes } from './field-tally.ts';
import type { InspectedTable } from './inspected-table.ts';
import { type Lines, quoted } from './toml-lines.ts';

const TIME_NAME = /(?:^|[^a-z])(?:ts|time|timestamp|datetime|date|at|when|recv)(?:$|[^a-z])|time|_ts|_at/i;
const START_NAME = /start|open/i;
const END_NAME = /end|expir|close/i;
/** Names of times that count from the start of a window, and of those that count to its end. */
const SINCE_START = /elapsed|since|into|offset|age/i;
const TO_END = /left|remain|until|ttl|to_?(?:end|close|expiry)|countdown/i;
/** A greater number is not one of seconds within a window. */
const WINDOW_SEC_MAX = 86_400;
const MONTH_NAMES =
  /^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(uary|ruary|ch|il|e|y|ust|tember|ober|ember)?$/i;
const TOKENS = /[A-Za-z]+|\d+|[^A-Za-z\d]+/g;

/** The lines of `[time]`. The only field that may have the time of a row is stated; of several, each is a comment. */
export function timeLines({ fields, firstRows }: Pick<InspectedTable, 'fields' | 'firstRows'>): Lines {
  const timed = fields.filter(({ times }) => times !== undefined);
  const named = timed.filter(({ name }) => TIME_NAME.test(name));
  const candidates = named.length > 0 ? named : timed.filter(({ name }) => windowEdge(name) === undefined);
  const own = candidates.filter(({ name }) => windowEdge(name) === undefined);
  const [first, ...others] = own.length > 0 ? own : candidates;
  if (first?.times === undefined) return untimedLines(fields, firstRows);
  if (others.length === 0) return [`field = ${quoted(first.name)}`, ...timeForm(first.times)];
  return [
    '# State which of these is the time of a row:',
    ...[first, ...others].flatMap(({ name, times }) => [
      `# field = ${quoted(name)}`,
      ...timeForm(times!).map((line) => (line.startsWith('#') ? line : `# ${line}`)),
    ]),
  ];
}

/** The edge of a market's window that a field with times is named after. */
export function windowEdge(name: string): 'start' | 'end' | undefined {
  if (START_NAME.test(name)) return 'start';
  return END_NAME.test(name) ? 'end' : undefined;
}

/** The lines about the format of a time. The size of a number is evidence of a unit, not a statement. */
function timeForm({ unit, hasZone, from, to }: FieldTimes): Lines {
  if (unit !== undefined) return [`# State the unit: as ${unit} these are ${from} to ${to}.`, `# unit = "${unit}"`];
  const range = `# ${from} to ${to}`;
  return hasZone
    ? ['format = "iso"', range]
    : ['format = "iso"', '# State the zone of these times:', range, '# zone = "UTC"'];
}

/** Texts in another format, or a number that counts from an edge of the window. */
function untimedLines(fields: readonly FieldSummary[], firstRows: InspectedTable['firstRows']): Lines {
  for (const { name } of fields.filter(({ types }) => types[0] === 'text')) {
    const texts = firstRows.map((row) => valueIn(row.fields, name)).filter((value) => typeof value === 'string');
    const formats = formatsOf(texts);
    const [format, other] = formats;
    if (format === undefined) continue;
    return [
      `field = ${quoted(name)}`,
      `format = ${quoted(format)}`,
      ...(other === undefined
        ? []
        : ['# State which number is the day: these texts may also be', `# ${quoted(other)}`]),
      ...(format.includes('Z')
        ? []
        : ['# State the zone of these times:', `# ${texts[0]} to ${texts.at(-1)}`, '# zone = "UTC"']),
    ];
  }
  const counted = fields.filter(
    ({ name, range }) => range !== undefined && (SINCE_START.test(name) || TO_END.test(name)),
  );
  const [only, ...others] = counted;
  if (only?.range === undefined || others.length > 0 || only.range[0] < 0)
    return ['# field = "the field that has the time of a row"', '# unit = "ms"'];
  const edge = TO_END.test(only.name) ? 'end' : 'start';
  return [
    `field = ${quoted(only.name)}`,
    `${edge === 'end' ? 'before' : 'after'} = "${edge}"`,
    `# State the unit of ${only.range.join(' to ')}, which count ${edge === 'end' ? 'to the end' : 'from the start'} of the window.`,
    `# unit = "${relativeUnit(only)}"`,
  ];
}

/** The likely unit of a number that counts within a window. */
export function relativeUnit({ range }: Pick<FieldSummary, 'range'>): 's' | 'ms' {
  return (range?.[1] ?? 0) <= WINDOW_SEC_MAX ? 's' : 'ms';
}

function valueIn(fields: unknown, name: string): unknown {
  if (!isFields(fields)) return undefined;
  if (name in fields) return fields[name];
  const [first = '', ...rest] = name.split('.');
  return rest.length === 0 ? undefined : valueIn(fields[first], rest.join('.'));
}

/**
 * The patterns that all texts may be written in: two if the order of day and month is not shown, none if they are no dates with times. Numbers
 * of two digits are days, months and years in the order of the continent, or with the month first.
 */
function formatsOf(texts: readonly string[]): readonly string[] {
  const tokens = texts.map((text) => text.match(TOKENS) ?? []);
  const [first] = tokens;
  if (first === undefined || !tokens.every(({ length }) => length === first.length)) return [];
  const orders = [
    ['D', 'M', 'Y'],
    ['M', 'D', 'Y'],
  ];
  const found = orders.flatMap((order) => patternOf(tokens, order) ?? []);
  return [...new Set(found)];
}

function patternOf(texts: readonly (readonly string[])[], order: readonly string[]): string | undefined {
  const columns = texts[0]!.map((_, index) => texts.map((tokens) => tokens[index]!));
  const hasMonth = columns.some((column) => column.every((token) => MONTH_NAMES.test(token)));
  const hasYear = columns.some((column) => column.every((token) => /^\d{4}$/.test(token)));
  const dates = order.filter((part) => !(part === 'M' && hasMonth) && !(part === 'Y' && hasYear));
  const times = ['h', 'm', 's', 'f'];
  const parts = columns.map((column, index) => {
    const [sample = ''] = column;
    if (/^[^A-Za-z\d]/.test(sample)) return column.every((token) => token === sample) ? sample : undefined;
    if (/^[A-Za-z]/.test(sample)) return patternOfWords(column);
    if (column.every((token) => /^\d{4}$/.test(token))) return 'YYYY';
    const isBeforeColon = columns[index + 1]?.[0]?.startsWith(':') === true;
    const isTime = isBeforeColon || /^[:.]$/.test(columns[index - 1]?.[0] ?? '');
    return isTime && (dates.length === 0 || isBeforeColon || times[0] !== 'h')
      ? patternOfTime(column, times.shift())
      : patternOfDate(column, dates.shift());
  });
  const isWhole = parts.every((part) => part !== undefined) && dates.length === 0 && times.length <= 2;
  return isWhole ? parts.join('') : undefined;
}

function patternOfWords(column: readonly string[]): string | undefined {
  if (column.every((token) => /^[ap]m$/i.test(token))) return 'A';
  if (!column.every((token) => MONTH_NAMES.test(token))) return undefined;
  return column.every(({ length }) => length === 3) ? 'MMM' : 'MMMM';
}

/** The next part of a time: h, m, s or f, a fraction of a second. */
function patternOfTime(column: readonly string[], part: string | undefined): string | undefined {
  if (part === undefined || part === 'f') return part;
  return part === 'h' && column.some(({ length }) => length === 1) ? 'h' : part.repeat(2);
}

/** The next part of a date: D, M or Y; undefined if a number is too large for it. */
function patternOfDate(column: readonly string[], part: string | undefined): string | undefined {
  if (part === undefined) return undefined;
  if (part === 'Y') return column.every(({ length }) => length === 2) ? 'YY' : undefined;
  const greatest = part === 'M' ? 12 : 31;
  if (column.some((token) => Number(token) > greatest)) return undefined;
  return column.some(({ length }) => length === 1) ? part : part.repeat(2);
}
