import { formatInstant, parseIso } from '../../domain/instant.ts';
import { type Fields, isFields, pairsOf, parsedJson } from '../../record/fields.ts';
import { hasFrame } from '../codecs/frame-reader.ts';
import { hasKalshiFrame } from '../codecs/kalshi.ts';
import { jsonOfPython } from '../parse/python-literal.ts';

export interface FieldSummary {
  /** A column, or names of JSON members joined by dots. */
  readonly name: string;
  /** Names of types, the most frequent first: integer, number, text, true or false, list of pairs, bytes, … */
  readonly types: readonly string[];
  /** Set if its texts are JSON. */
  readonly isJson: boolean;
  /** Set if its texts are frames of the venue. */
  readonly isFrames: boolean;
  /** Set if its texts are messages of Kalshi. */
  readonly isKalshi: boolean;
  /** Rows in which it has a value. */
  readonly count: number;
  /** The first different values, shortened. */
  readonly samples: readonly string[];
  /** All different texts, if there are few. */
  readonly words: readonly string[] | undefined;
  /** The least and the greatest number, if all values are numbers. */
  readonly range: readonly [number, number] | undefined;
  readonly times: FieldTimes | undefined;
  readonly levels: LevelShape | undefined;
}

/** The range of a field's values if they are times: numbers in `unit`, or texts. `from` and `to` are ISO 8601. */
export interface FieldTimes {
  /** The only unit in which all numbers are between 2001 and 2286; undefined for texts. */
  readonly unit: 's' | 'ms' | 'us' | 'ns' | undefined;
  /** True if the texts state their zone, or if the values are numbers, which need none. */
  readonly hasZone: boolean;
  readonly from: string;
  readonly to: string;
}

/** A list of levels: names of the members of its objects, or the ranges of the first two values of its pairs. */
export type LevelShape =
  | { readonly members: readonly string[] }
  | { readonly pairs: readonly [readonly [number, number], readonly [number, number]] };

/** The type of a list without items, which does not show the type of its items. */
export const EMPTY_LIST = 'empty list';
export const LIST_OF_OBJECTS = 'list of objects';
const LIST_OF_PAIRS = 'list of pairs';
/** Maximum number of fields of a table. */
export const FIELDS_MAX = 300;
const MEMBERS_DEPTH = 5;
const SAMPLES = 3;
const SAMPLE_CHARS = 40;
const WORDS = 8;
const WORD_CHARS = 100;
const NUMBER = /^-?\d{1,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,3})?$/;
const INTEGER = /^-?\d+$/;
const TIME_TEXT = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(Z|UTC|[+-]\d{2}:?\d{2})?$/;
/** Milliseconds in each unit. A number is a time between 2001 and 2286 in one unit at most. */
const UNITS = { s: 1000, ms: 1, us: 1e-3, ns: 1e-6 } as const;
const [LIKELY_FROM_MS, LIKELY_TO_MS] = [1e12, 1e13];
const LEVELS_LOOKED_AT = 20;
const FRAMES_LOOKED_AT = 100;

/** The least and the greatest number. */
export type Range = [number, number];

/** Collects the types, samples and ranges of the values of one field, in little memory. */
export class FieldTally {
  readonly #name: string;
  readonly #types = new Map<string, number>();
  readonly #samples: string[] = [];
  readonly #words = new Set<string>();
  readonly #members = new Set<string>();
  readonly #pairs: [Range, Range] = [emptyRange(), emptyRange()];
  readonly #range = emptyRange();
  #count = 0;
  #json = 0;
  #frames = 0;
  #kalshi = 0;
  #numbers = 0;
  #times = { count: 0, zoned: 0, first: '', last: '' };
  #lists = { pairs: 0, objects: 0 };

  constructor(name: string) {
    this.#name = name;
  }

  /** Adds a value that is not missing. */
  add(value: unknown): void {
    this.#count += 1;
    this.#sample(value);
    if (typeof value === 'string') this.#addText(value);
    else if (typeof value === 'number') this.#addNumber(value, Number.isInteger(value) ? 'integer' : 'number');
    else if (typeof value === 'boolean') this.#addType('true or false');
    else if (value instanceof Uint8Array) this.#addType('bytes');
    else if (Array.isArray(value)) this.#addList(value);
    else this.#addType('object');
  }

  /** Adds an object of which each member is a level: a price and its size. */
  addMap(value: Fields): void {
    this.#count += 1;
    this.#sample(value);
    this.#addType('map of numbers');
    this.#lists.objects += 1;
    for (const name of ['key', 'value']) this.#members.add(name);
  }

  summary(): FieldSummary {
    const isNumeric = this.#count > 0 && this.#numbers === this.#count;
    return {
      name: this.#name,
      types: [...this.#types].toSorted(([, a], [, b]) => b - a).map(([type]) => type),
      isJson: this.#json > 0 && this.#json === this.#count,
      isFrames: this.#frames > 0,
      isKalshi: this.#kalshi > 0,
      count: this.#count,
      samples: this.#samples,
      words: this.#words.size > WORDS ? undefined : [...this.#words],
      range: isNumeric ? this.#range : undefined,
      times: isNumeric ? numericTimes(this.#range) : this.#textTimes(),
      levels: this.#levels(),
    };
  }

  #addType(type: string): void {
    this.#types.set(type, (this.#types.get(type) ?? 0) + 1);
  }

  #sample(value: unknown): void {
    if (this.#samples.length >= SAMPLES) return;
    const text = value instanceof Uint8Array ? `${value.length} bytes` : textOf(value);
    const shown = text.length > SAMPLE_CHARS ? `${text.slice(0, SAMPLE_CHARS)}…` : text;
    if (!this.#samples.includes(shown)) this.#samples.push(shown);
  }

  #addNumber(value: number, type: string): void {
    this.#numbers += 1;
    widen(this.#range, value);
    this.#addType(type);
  }

  #addText(text: string): void {
    if (this.#words.size <= WORDS) this.#words.add(text.slice(0, WORD_CHARS));
    if (NUMBER.test(text)) {
      this.#addNumber(Number(text), INTEGER.test(text) ? 'integer' : 'number');
      return;
    }
    const json = /^\s*[[{(]/.test(text) ? (parsedJson(text) ?? parsedJson(jsonOfPython(text) ?? '')) : undefined;
    if (json === undefined) this.#addWords(text);
    else this.#addJson(text, json);
  }

  #addJson(text: string, json: unknown): void {
    this.#json += 1;
    if (this.#json <= FRAMES_LOOKED_AT) {
      if (hasFrame(text)) this.#frames += 1;
      else if (hasKalshiFrame(text)) this.#kalshi += 1;
    }
    if (Array.isArray(json)) this.#addList(json);
    else this.#addType('object');
  }

  #addWords(text: string): void {
    this.#addType('text');
    const [, day, time, zone] = TIME_TEXT.exec(text) ?? [];
    if (day === undefined) return;
    // Texts in one format sort as their times do.
    const written = `${day}T${time}${zone ?? ''}`;
    const { count, zoned, first, last } = this.#times;
    this.#times = {
      count: count + 1,
      zoned: zoned + (zone === undefined ? 0 : 1),
      first: first === '' || written < first ? written : first,
      last: written > last ? written : last,
    };
  }

  #addList(list: readonly unknown[]): void {
    const items = list.slice(0, LEVELS_LOOKED_AT);
    const type = typeOfList(items);
    this.#addType(type);
    if (type === LIST_OF_PAIRS) this.#lists.pairs += 1;
    if (type === LIST_OF_OBJECTS) this.#lists.objects += 1;
    for (const item of items) {
      if (Array.isArray(item)) for (const place of [0, 1] as const) widen(this.#pairs[place], Number(item[place]));
      else if (isFields(item))
        for (const name of Object.keys(item)) if (this.#members.size < WORDS) this.#members.add(name);
    }
  }

  #textTimes(): FieldTimes | undefined {
    const { count, zoned, first, last } = this.#times;
    if (count === 0 || count !== this.#count || (zoned > 0 && zoned !== count)) return undefined;
    return { unit: undefined, hasZone: zoned > 0, from: isoOf(first), to: isoOf(last) };
  }

  #levels(): LevelShape | undefined {
    const { pairs, objects } = this.#lists;
    if (pairs > 0 && objects === 0) return { pairs: this.#pairs };
    return objects > 0 && pairs === 0 ? { members: [...this.#members] } : undefined;
  }
}

function typeOfList(items: readonly unknown[]): string {
  if (items.length === 0) return EMPTY_LIST;
  if (items.every((item) => Array.isArray(item) && item.length >= 2)) return LIST_OF_PAIRS;
  return items.every(isFields) ? LIST_OF_OBJECTS : 'list';
}

/** Adds the values of a row; those of an object's members under their names, joined by dots. */
export function tallyFields(fields: Map<string, FieldTally>, values: Fields, above = '', depth = 0): void {
  for (const [key, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === '') continue;
    const name = `${above}${key}`;
    const isObject = isFields(value) && !(value instanceof Uint8Array);
    const isMap = isObject && isNumericMap(value);
    if (isObject && !isMap && depth < MEMBERS_DEPTH) {
      tallyFields(fields, value, `${name}.`, depth + 1);
      continue;
    }
    let field = fields.get(name);
    if (field === undefined) {
      if (fields.size >= FIELDS_MAX) continue;
      field = new FieldTally(name);
      fields.set(name, field);
    }
    if (isMap) field.addMap(value);
    else field.add(value);
  }
}

/** Returns true for an object that is a map from numbers to numbers, such as `{"0.51": "120.5"}`. */
function isNumericMap(value: Fields): boolean {
  const pairs = pairsOf(value);
  return pairs.length > 0 && pairs.every((pair) => NUMBER.test(pair.key) && NUMBER.test(String(pair.value)));
}

export function emptyRange(): Range {
  return [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
}

export function widen(range: Range, value: number): void {
  range[0] = Math.min(range[0], value);
  range[1] = Math.max(range[1], value);
}

function numericTimes([least, greatest]: Readonly<Range>): FieldTimes | undefined {
  const isLikely = (ms: number) => ms >= LIKELY_FROM_MS && ms < LIKELY_TO_MS;
  for (const [unit, ms] of Object.entries(UNITS) as [keyof typeof UNITS, number][]) {
    const [from, to] = [least * ms, greatest * ms];
    if (isLikely(from) && isLikely(to)) {
      return { unit, hasZone: true, from: formatInstant(Math.floor(from)), to: formatInstant(Math.floor(to)) };
    }
  }
  return undefined;
}

/** A time that states its zone, in UTC; any other as it is written. */
function isoOf(written: string): string {
  const instantMs = parseIso(written.replace(/(?:UTC)$/, 'Z').replace(/([+-]\d{2})(\d{2})$/, '$1:$2'));
  return instantMs === undefined ? written : formatInstant(instantMs);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
