import { isInstant, parseIso } from '../../domain/instant.ts';
import { type TimeZone, timeZone } from '../../domain/time-zone.ts';
import { rejected } from '../../record/fields.ts';
import { type MappedRow, placeProblem, shown, textOf, valueReader } from './mapped-value.ts';
import { type MappedTime, UNITS } from './mapping-schema.ts';

/** Powers of ten of a unit in a millisecond, by unit: digits beyond a millisecond are left out. */
const DIGITS: Readonly<Record<(typeof UNITS)[number], number>> = { s: 3, ms: 0, us: -3, ns: -6 };
const NUMBER = /^(\d{1,20})(?:\.(\d{1,20}))?$/;
/** A number outside the years 2001 to 2286 is probably in another unit. */
const [LIKELY_FROM_MS, LIKELY_TO_MS] = [1e12, 1e13];

const ISO = 'iso';
/** ISO 8601, also with a space, with a short offset, or without a zone. */
const ISO_TEXT = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?) ?(Z|UTC|[+-]\d{2}(?::?\d{2})?)?$/;
/** The parts of a pattern, and the expressions of their texts. */
const PARTS: Readonly<Record<string, string>> = {
  YYYY: '(?<year>\\d{4})',
  MM: '(?<month>\\d{2})',
  DD: '(?<day>\\d{2})',
  hh: '(?<hour>\\d{2})',
  mm: '(?<minute>\\d{2})',
  ss: '(?<second>\\d{2})',
  f: '(?<fraction>\\d{1,9})',
  Z: '(?<zone>Z|[+-]\\d{2}:?\\d{2})',
};
const PART = /YYYY|MM|DD|hh|mm|ss|f|Z/g;
const NEEDED = ['YYYY', 'MM', 'DD', 'hh', 'mm'];

/** Reads an instant, in Unix milliseconds; undefined if the row does not state it. Throws 'rejected-record'. */
export type TimeReader = (row: MappedRow) => number | undefined;

/**
 * Says in one sentence, which names the key, why a time is incomplete or contradicts itself; undefined if it has no problem. A time
 * that states only its place has the unit or format of `usual`, the mapping's own time.
 */
export function timeProblem(time: MappedTime, key: string, usual: MappedTime | undefined): string | undefined {
  const problem = placeProblem(time, key);
  if (problem !== undefined) return problem;
  const { unit, format, zone } = written(time, usual);
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
  const lacking = NEEDED.find((part) => !parts.includes(part));
  if (lacking !== undefined) {
    return `${key}.format "${shown(format)}" lacks ${lacking}: write "iso", or a pattern like YYYY-MM-DD hh:mm:ss`;
  }
  const twice = parts.find((part, index) => parts.indexOf(part) !== index);
  if (twice !== undefined) return `${key}.format "${shown(format)}" has ${twice} twice`;
  if (parts.includes('Z') && zone !== undefined) return `${key}.zone contradicts the Z in ${key}.format: remove one`;
  if (parts.includes('Z') || zone !== undefined) return undefined;
  return `${key}.zone is not stated, and ${key}.format has none: add zone = "UTC", or the zone of these times`;
}

/** `unit`, `format` and `zone` of a time: its own, or those of `usual` if it has neither unit nor format. */
function written(time: MappedTime, usual: MappedTime | undefined): Pick<MappedTime, 'unit' | 'format' | 'zone'> {
  if (time.unit !== undefined || time.format !== undefined || usual === undefined) return time;
  return { ...usual, ...(time.zone === undefined ? {} : { zone: time.zone }) };
}

/** The reader of a time that has no problem. `key`: of the time, for messages. */
export function timeReader(time: MappedTime, key: string, usual: MappedTime | undefined): TimeReader {
  const place = valueReader(time);
  const { unit, format, zone } = written(time, usual);
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

function numberParser(unit: (typeof UNITS)[number]): (text: string, name: string) => number {
  const digits = DIGITS[unit];
  return (text, name) => {
    const [, whole, fraction = ''] = NUMBER.exec(text) ?? [];
    if (whole === undefined) throw rejected(`${name} ${shown(text)} is not a number of ${unit} since 1970`);
    const all = digits >= 0 ? `${whole}${fraction.padEnd(digits, '0').slice(0, digits)}` : whole.slice(0, digits);
    const instantMs = Number(all === '' ? '0' : all);
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
  if (instantMs === undefined) throw rejected(`${name} ${shown(text)} is not a time between 1970 and 9999`);
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
  const { year, month, day, hour, minute, second = '00', fraction, zone } = parts;
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction === undefined ? '' : `.${fraction}`}`;
  return { local, zone: zoneOf(zone) };
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
  const parts = partsOf(format);
  return new RegExp(`^${texts.map((text, index) => `${text}${PARTS[parts[index] ?? ''] ?? ''}`).join('')}$`);
}
