import { parseDecimal, productText, roundedDecimal } from '../../domain/decimal.ts';
import { complement } from '../../domain/mirrored-book.ts';
import { type Fields, isFields, rejected } from '../../record/fields.ts';
import type { RecordingFile } from '../recording-file.ts';
import type { MappedFigure } from './mapping-schema.ts';

/** A row, or an element of a list in it, with its file. */
export interface MappedRow {
  readonly fields: Fields | readonly unknown[];
  readonly file: Pick<RecordingFile, 'name' | 'path'>;
}

/** Reads one value of a row; undefined if the row does not state it. Throws 'rejected-record'. */
export interface ValueReader {
  /** Its place, for messages: the name of the field. */
  readonly name: string;
  readonly read: (row: MappedRow) => unknown;
}

const PLACES = ['field', 'fields', 'value', 'file_name', 'file_path'] as const;
/** A longer text is not searched by a pattern, which may take long. */
const SEARCHED_CHARS_MAX = 4096;

/** Says in one sentence, which names the key, why a place is not valid; undefined if it is. */
export function placeProblem(place: MappedFigure, key: string): string | undefined {
  const given = PLACES.filter((name) => place[name] !== undefined);
  if (given.length === 0) return `${key} does not state where its value is: add field, value or file_name`;
  if (given.length > 1) return `${key}.${given[0]} contradicts ${key}.${given[1]}: remove one`;
  const [name] = given;
  if (place.pattern !== undefined && name !== 'field' && name !== 'fields')
    return `${key}.pattern is for a field only: remove it`;
  const needless = (['none', 'default'] as const).find((one) => place[one] !== undefined);
  if (needless !== undefined && name === 'value') return `${key}.${needless} contradicts ${key}.value: remove one`;
  const keyOfPattern =
    place.pattern !== undefined ? 'pattern' : name === 'file_name' || name === 'file_path' ? name : undefined;
  if (keyOfPattern === undefined) return undefined;
  const groups = groupsOf(place[keyOfPattern]!);
  if (groups === undefined) return `${key}.${keyOfPattern} is not a regular expression`;
  return groups === 0 ? `${key}.${keyOfPattern} has no group: put ( ) around the part that is the value` : undefined;
}

/** The number of groups in a regular expression; undefined if the text is not a regular expression. */
function groupsOf(pattern: string): number | undefined {
  try {
    return new RegExp(`${pattern}|`).exec('')!.length - 1;
  } catch {
    return undefined;
  }
}

/** The reader of a place that has no problem, with the arithmetic that the place states. */
export function valueReader({ scale, round, complement: isOfOther, ...place }: MappedFigure): ValueReader {
  const reader = placeReader(place);
  const convert = figureConverter(reader.name, { scale, round, isComplement: isOfOther === true });
  return convert === undefined ? reader : { ...reader, read: (row) => convert(reader.read(row)) };
}

interface Arithmetic {
  readonly scale: number | undefined;
  /** Decimals. */
  readonly round: number | undefined;
  /** True for a price of the other outcome. */
  readonly isComplement: boolean;
}

/**
 * Multiplies a figure, then rounds it, then takes it from 1, all exactly; undefined where nothing is to do. A price that is none stays as it
 * is, and its reader refuses it. Throws 'rejected-record' for what cannot be computed exactly.
 */
export function figureConverter(
  name: string,
  { scale, round, isComplement }: Arithmetic,
): ((value: unknown) => unknown) | undefined {
  if (scale === undefined && round === undefined && !isComplement) return undefined;
  return (value) => {
    if (typeof value !== 'number' && typeof value !== 'string') return value;
    const scaled = scale === undefined ? String(value) : productText(String(value), String(scale));
    if (scaled === undefined) throw rejected(`${name} ${shown(String(value))} is not a decimal`);
    const text = round === undefined ? scaled : (roundedDecimal(scaled, round) ?? scaled);
    if (!isComplement) return text;
    const price = parseDecimal(text);
    if (price === undefined) {
      throw rejected(`${name} ${shown(text)} is not a decimal of at most 12 decimals and 15 significant digits`);
    }
    return price < 0 || price > 1 ? price : complement(price);
  };
}

function placeReader({ default: usual, ...place }: MappedFigure): ValueReader {
  const reader = statedReader(place);
  return usual === undefined ? reader : { ...reader, read: (row) => reader.read(row) ?? usual };
}

function statedReader(place: MappedFigure): ValueReader {
  const { value, file_name, file_path, pattern, none = [] } = place;
  const names = fieldsOfPlace(place);
  const meansNone = new Set(none);
  const orNone = (text: unknown) => (meansNone.size > 0 && meansNone.has(String(text)) ? undefined : text);
  if (value !== undefined) return { name: `"${value}"`, read: () => value };
  if (names.length > 0) {
    const field = names.join(' and ');
    const read = names.length === 1 ? fieldReader(names[0]!) : joinedReader(names);
    if (pattern === undefined) return { name: field, read: (row) => orNone(read(row)) };
    const search = searching(pattern, field);
    return {
      name: field,
      read: (row) => {
        const text = textOf(orNone(read(row)), field);
        return text === undefined ? undefined : orNone(search(text));
      },
    };
  }
  const name = file_name === undefined ? 'the path of the file' : 'the name of the file';
  const search = searching(file_name ?? file_path!, name);
  let last: { readonly file: MappedRow['file']; readonly value: unknown } | undefined;
  return {
    name,
    read: ({ file }) => {
      if (last?.file !== file) last = { file, value: orNone(search(file_name === undefined ? file.path : file.name)) };
      return last.value;
    },
  };
}

/** The groups that took part in the match, joined by one space; one inside of another adds nothing. */
function searching(pattern: string, name: string): (text: string) => string {
  const isSingle = groupsOf(pattern) === 1;
  const expression = new RegExp(pattern, isSingle ? '' : 'd');
  return (text) => {
    const match = text.length > SEARCHED_CHARS_MAX ? null : expression.exec(text);
    const found = isSingle ? match?.[1] : outerGroups(text, match?.indices?.slice(1) ?? []);
    if (found === undefined) throw rejected(`${name} ${shown(text)} does not match ${shown(pattern)}`);
    return found;
  };
}

function outerGroups(text: string, ranges: readonly (readonly [number, number] | undefined)[]): string | undefined {
  const outer: (readonly [number, number])[] = [];
  for (const range of ranges) {
    const isInner = range === undefined || outer.some(([from, to]) => from <= range[0] && range[1] <= to);
    if (!isInner) outer.push(range);
  }
  return outer.length === 0 ? undefined : outer.map((range) => text.slice(...range)).join(' ');
}

/** The fields that a place names, in its order; none if it is another place. */
export function fieldsOfPlace({ field, fields }: Pick<MappedFigure, 'field' | 'fields'>): readonly string[] {
  return fields ?? (field === undefined ? [] : [field]);
}

/** Reads the texts of several fields, joined by one space; undefined if the row states none of them. */
function joinedReader(names: readonly string[]): (row: MappedRow) => string | undefined {
  const readers = names.map((name) => [name, fieldReader(name)] as const);
  return (row) => {
    const texts = readers.map(([name, read]) => textOf(read(row), name));
    const missing = texts.indexOf(undefined);
    if (missing < 0) return texts.join(' ');
    const stated = texts.findIndex((text) => text !== undefined);
    if (stated < 0) return undefined;
    throw rejected(`${names[missing]} is missing, and ${names[stated]} is stated`);
  };
}

/** Reads a column, or a member of JSON by its names joined by dots. An empty text counts as missing. */
export function fieldReader(path: string): (row: Pick<MappedRow, 'fields'>) => unknown {
  const members = path.split('.');
  return ({ fields }) => {
    const value = Object.hasOwn(fields, path)
      ? memberOf(fields, path)
      : members.length > 1
        ? valueAt(fields, members)
        : undefined;
    return value === '' || value === null ? undefined : value;
  };
}

function valueAt(fields: unknown, members: readonly string[]): unknown {
  return members.reduce<unknown>((value, member) => memberOf(value, member), fields);
}

/** A member of an object, or an element of an array by its index; undefined if there is none. */
export function memberOf(value: unknown, member: string | number): unknown {
  if (!isFields(value) && !Array.isArray(value)) return undefined;
  return Object.hasOwn(value, member) ? (value as Fields)[member] : undefined;
}

/** A value as its text; undefined if it is not stated. Throws 'rejected-record' for lists and objects. */
export function textOf(value: unknown, name: string): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  throw rejected(`${name} is not a text`);
}

/** Returns true for rows in which a field has one of the texts. */
export function rowTest({
  field,
  is,
}: {
  readonly field: string;
  readonly is: readonly string[];
}): (row: MappedRow) => boolean {
  const read = fieldReader(field);
  const texts = new Set(is);
  return (row) => texts.has(textOf(read(row), field) ?? '');
}

export function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
