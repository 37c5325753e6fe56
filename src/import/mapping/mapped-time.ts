import { isInstant, parseIso } from '../../domain/instant.ts';
import { type TimeZone, timeZone } from '../../domain/time-zone.ts';
import { rejected } from '../../record/fields.ts';
import { type MappedRow, placeProblem, shown, textOf, type ValueReader, valueReader } from './mapped-value.ts';
import { type MappedTime, UNITS } from './mapping-schema.ts';

type Unit = (typeof UNITS)[number];

/** Powers of ten of a unit in a millisecond, by unit: digits beyond a millisecond are left out. */
const DIGITS: Readonly<Record<Unit, number>> = { s: 3, ms: 0, us: -3, ns: -6 };
const NUMBER = /^(-?)(\d{1,20})(?:\.(\d{1,20}))?$/;
/** A number outside the years 2001 to 2286 is probably in another unit. */
const [LIKELY_FROM_MS, LIKELY_TO_MS] = [1e12, 1e13];
/** A number that counts across a whole window and farther than this is remarked on: the length of the window may be wrong. */
const BEYOND_WINDOW_MS = 60_000;
/** A time that is counted from a window, and farther from it than this, is probably in another unit. */
const FROM_WINDOW_MS_MAX = 172_800_000;

const ISO = 'iso';
/** ISO 8601, also with a space, with a short offset, or without a zone. */
const ISO_TEXT = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?) ?(Z|UTC|[+-]\d{2}(?::?\d{2})?)?$/;
const MONTHS = 'january february march april may june july august september october november december'.split(' ');
const SHORT_MONTHS = MONTHS.map((name) => name.slice(0, 3));
/** The parts of a pattern, with what each states and the expression of its text. */
const PARTS: Readonly<Record<string, readonly [stated: string, expression: string]>> = {
  YYYY: ['year', '\\d{4}'],
  YY: ['year', '\\d{2}'],
  MMMM: ['month', MONTHS.join('|')],
  MMM: ['month', SHORT_MONTHS.join('|')],
  MM: ['month', '\\d{2}'],
  M: ['month', '\\d{1,2}'],
  DD: ['day', '\\d{2}'],
  D: ['day', '\\d{1,2}'],
  hh: ['hour', '\\d{2}'],
  h: ['hour', '\\d{1,2}'],
  mm: ['minute', '\\d{2}'],
  ss: ['second', '\\d{2}'],
  f: ['fraction', '\\d{1,9}'],
  A: ['half', '[ap]m'],
  Z: ['zone', 'Z|[+-]\\d{2}:?\\d{2}'],
};
const PART = /YYYY|YY|MMMM|MMM|MM|M|DD|D|hh|h|mm|ss|f|A|Z/g;
/** A part for each that a pattern must have. */
const NEEDED = { year: 'YYYY', month: 'MM', day: 'DD', hour: 'hh', minute: 'mm' };

/**
 * Reads an instant, in Unix milliseconds; undefined if the row does not state it. A time that is counted from the window of a market needs
 * the window. Throws 'rejected-record'.
 */
export type TimeReader = (row: MappedRow, window?: Window) => number | undefined;
type Window = Readonly<Record<'startMs' | 'endMs', number>>;

/** Takes a sentence about a row that is stored although it may be wrong. */
export type Remark = (file: MappedRow['file'], sentence: string) => void;

/**
 * Says in one sentence, which names the key, why a time is incomplete or contradicts itself; undefined if it has no problem. A time
 * that states only its place has the unit or format of `usual`, the mapping's own time.
 */
export function timeProblem(time: MappedTime, key: string, usual: MappedTime | undefined): string | undefined {
  const problem = placeProblem(time, key);
  if (problem !== undefined) return problem;
  const { unit, format, zone, after, before } = written(time, usual);
  const edge = after === undefined ? 'before' : 'after';
  if (after !== undefined && before !== undefined) return `${key}.after contradicts ${key}.before: remove one`;
  if (isRelative(time, usual) && format !== undefined)
    return `${key}.format contradicts ${key}.${edge}: state a unit instead`;
  if (isRelative(time, usual) && /^(market|received)\b/.test(key)) {
    return `${key}.${edge} is for the times of records: remove it`;
  }
  if (unit === undefined && format === undefined) {
    return `${key}.unit is not stated: add unit = "${UNITS.join('", "')}" for numbers, or ${key}.format for texts`;
  }
  if (unit !== undefined && format !== undefined) return `${key}.unit contradicts ${key}.format: remove one`;
  if (unit !== undefined && zone !== undefined)
    return `${key}.zone contradicts ${key}.unit: a number since 1970 has no zone`;
  if (zone !== undefined && timeZone(zone) === undefined) {
    return `${key}.zone "${shown(zone)}" is not a time zone: write UTC, an offset like +02:00, or a name like America/New_York`;
  }
  if (format === undefined || format === ISO) return undefined;
  const parts = partsOf(format);
  const stated = parts.map((part) => PARTS[part]![0]);
  const lacking = Object.entries(NEEDED).find(([name]) => !stated.includes(name))?.[1];
  if (lacking !== undefined) {
    return `${key}.format "${shown(format)}" lacks ${lacking}: write "iso", or a pattern like YYYY-MM-DD hh:mm:ss`;
  }
  const twice = stated.find((name, index) => stated.indexOf(name) !== index);
  if (twice !== undefined) return `${key}.format "${shown(format)}" has the ${twice} twice`;
  if (parts.includes('Z') && zone !== undefined) return `${key}.zone contradicts the Z in ${key}.format: remove one`;
  if (parts.includes('Z') || zone !== undefined) return undefined;
  return `${key}.zone is not stated, and ${key}.format has none: add zone = "UTC", or the zone of these times`;
}

/** Returns true for a time that is counted from the window of a market. */
export function isRelative(time: MappedTime, usual: MappedTime | undefined): boolean {
  const { after, before } = written(time, usual);
  return (after ?? before) !== undefined;
}

/** How a time is written: as it states, or as `usual` if it has neither unit nor format. */
function written(
  time: MappedTime,
  usual: MappedTime | undefined,
): Pick<MappedTime, 'unit' | 'format' | 'zone' | 'after' | 'before'> {
  if (time.unit !== undefined || time.format !== undefined || usual === undefined) return time;
  return { ...usual, ...(time.zone === undefined ? {} : { zone: time.zone }) };
}

/** The reader of a time that has no problem. `key`: of the time, for messages. */
export function timeReader(time: MappedTime, key: string, usual: MappedTime | undefined, remark?: Remark): TimeReader {
  const place = valueReader(time);
  const { unit, format, zone, after, before } = written(time, usual);
  if ((after ?? before) !== undefined) return relativeReader(place, { ...written(time, usual), unit: unit! }, remark);
  const parse = unit === undefined ? textParser(format!, zone, key) : numberParser(unit);
  let last: { readonly text: string; readonly instantMs: number } | undefined;
  return (row) => {
    const text = textOf(place.read(row), place.name);
    if (text === undefined) return undefined;
    // Consecutive rows often have the same time, above all that of the market's window.
    if (last?.text !== text) last = { text, instantMs: parse(text, place.name) };
    return last.instantMs;
  };
}

function relativeReader(
  { name, read }: ValueReader,
  { unit, after, before }: Pick<MappedTime, 'after' | 'before'> & { readonly unit: Unit },
  remark: Remark | undefined,
): TimeReader {
  const edge = (after ?? before) === 'start' ? 'startMs' : 'endMs';
  const sign = after === undefined ? -1 : 1;
  return (row, window) => {
    const text = textOf(read(row), name);
    if (text === undefined) return undefined;
    const ms = millisecondsOf(text, unit);
    if (ms === undefined) throw rejected(`${name} ${shown(text)} is not a number of ${unit}`);
    const { startMs, endMs } = window!;
    const instantMs = window![edge] + sign * ms;
    const isNear = instantMs >= startMs - FROM_WINDOW_MS_MAX && instantMs <= endMs + FROM_WINDOW_MS_MAX;
    if (isNear && isInstant(instantMs)) {
      const isInward = (edge === 'startMs') === sign > 0;
      if (isInward && ms > endMs - startMs + BEYOND_WINDOW_MS) {
        remark?.(
          row.file,
          `${name} ${shown(text)} ${unit} is outside of the window, which is ${(endMs - startMs) / 1000} s long: check the timeframe and the unit in the mapping`,
        );
      }
      return instantMs;
    }
    throw rejected(
      `${name} ${shown(text)} is more than two days from the window in ${unit}: correct the unit in the mapping`,
    );
  };
}

/** Whole milliseconds of a number with this unit, of which the other digits are dropped; undefined for other texts. */
function millisecondsOf(text: string, unit: Unit): number | undefined {
  const [, sign, whole, fraction = ''] = NUMBER.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const digits = DIGITS[unit];
  const all = digits >= 0 ? `${whole}${fraction.padEnd(digits, '0').slice(0, digits)}` : whole.slice(0, digits);
  return Number(all === '' ? '0' : `${sign}${all}`);
}

function numberParser(unit: Unit): (text: string, name: string) => number {
  return (text, name) => {
    const instantMs = millisecondsOf(text, unit);
    if (instantMs === undefined) throw rejected(`${name} ${shown(text)} is not a number of ${unit} since 1970`);
    if (instantMs < LIKELY_FROM_MS || instantMs >= LIKELY_TO_MS || !isInstant(instantMs)) {
      throw rejected(
        `${name} ${shown(text)} is not a time between 2001 and 2286 in ${unit}: correct the unit in the mapping`,
      );
    }
    return instantMs;
  };
}

function textParser(format: string, zoneName: string | undefined, key: string): (text: string, name: string) => number {
  const zone = zoneName === undefined ? undefined : timeZone(zoneName);
  const expression = format === ISO ? undefined : expressionOf(format);
  return (text, name) => {
    const iso = expression === undefined ? isoOf(text) : isoByPattern(text, expression);
    if (iso === undefined) throw rejected(`${name} ${shown(text)} is not a time as ${format}`);
    if (iso.zone !== undefined) return instantOf(`${iso.local}${iso.zone}`, text, name);
    const localMs = instantOf(`${iso.local}Z`, text, name);
    if (zone === undefined) {
      throw rejected(`${name} ${shown(text)} has no zone: add ${key}.zone to the mapping, for example zone = "UTC"`);
    }
    return inZone(zone, localMs, zoneName!, text, name);
  };
}

function instantOf(iso: string, text: string, name: string): number {
  const instantMs = parseIso(iso);
  if (instantMs === undefined) throw rejected(`${name} ${shown(text)} is not a date that exists, from 1970 to 9999`);
  return instantMs;
}

function inZone(zone: TimeZone, localMs: number, zoneName: string, text: string, name: string): number {
  const [instantMs, second] = zone.instantsAt(localMs);
  if (instantMs === undefined || !isInstant(instantMs)) {
    throw rejected(`${name} ${shown(text)} does not exist in ${zoneName}: its clocks skip it`);
  }
  if (second !== undefined) {
    throw rejected(`${name} ${shown(text)} exists twice in ${zoneName}: its clocks go back over it`);
  }
  return instantMs;
}

interface WrittenTime {
  /** `2026-04-16T07:10:04.123`. */
  readonly local: string;
  /** `Z` or `+02:00`; undefined if the text has none. */
  readonly zone: string | undefined;
}

function isoOf(text: string): WrittenTime | undefined {
  const [, date, time, zone] = ISO_TEXT.exec(text) ?? [];
  return date === undefined ? undefined : { local: `${date}T${time!.replace(',', '.')}`, zone: zoneOf(zone) };
}

function isoByPattern(text: string, expression: RegExp): WrittenTime | undefined {
  const parts = expression.exec(text)?.groups;
  if (parts === undefined) return undefined;
  const { year = '', month = '', day = '', minute, second = '00', fraction, zone } = parts;
  const hour = hourOf(parts.hour ?? '', parts.half);
  if (hour === undefined) return undefined;
  const named = SHORT_MONTHS.indexOf(month.slice(0, 3).toLowerCase());
  const [fullYear, number] = [year.padStart(4, '20'), named < 0 ? month : String(named + 1)];
  const local = `${fullYear}-${number.padStart(2, '0')}-${day.padStart(2, '0')}T${hour}:${minute}:${second}`;
  return { local: fraction === undefined ? local : `${local}.${fraction}`, zone: zoneOf(zone?.toUpperCase()) };
}

/** The hour of the day in two digits; undefined for 0 or more than 12 of a half day. */
function hourOf(hour: string, half: string | undefined): string | undefined {
  if (half === undefined) return hour.padStart(2, '0');
  const number = Number(hour);
  if (number < 1 || number > 12) return undefined;
  return String((number % 12) + (half.toLowerCase() === 'pm' ? 12 : 0)).padStart(2, '0');
}

function zoneOf(zone: string | undefined): string | undefined {
  if (zone === undefined) return undefined;
  if (zone === 'Z' || zone === 'UTC') return 'Z';
  return `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
}

/** The parts of a pattern, in their order. */
function partsOf(format: string): readonly string[] {
  return format.match(PART) ?? [];
}

function expressionOf(format: string): RegExp {
  const texts = format.split(PART).map((text) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&'));
  const groups = partsOf(format).map((part) => `(?<${PARTS[part]![0]}>${PARTS[part]![1]})`);
  return new RegExp(`^${texts.map((text, index) => `${text}${groups[index] ?? ''}`).join('')}$`, 'i');
}
