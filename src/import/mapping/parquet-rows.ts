import { type ParquetParsers, parquetSchema, type SchemaElement, type SchemaTree } from 'hyparquet';
import { type Fields, isFields, rejected } from '../../record/fields.ts';
import { checkpoint } from '../decompressed.ts';
import { LINE_BYTES_MAX } from '../parse/lines.ts';
import { ParquetFile, TEXT_AS_BYTES } from '../parse/parquet.ts';
import { decodedText, EXACT_UTF8 } from '../parse/utf8.ts';
import { unreadable } from '../source.ts';
import type { RowSource } from './row-source.ts';

/** Maximum number of rows in memory at a time. */
const READ_ROWS = 4096;
/** Digits after the second by the unit of a stored time. */
const TIME_DIGITS = { MILLIS: 3, MICROS: 6, NANOS: 9 } as const;
type TimeUnit = keyof typeof TIME_DIGITS;
/** The numbers of digits to try: every 32-bit float is the nearest one to some decimal of at most nine digits. */
const FLOAT_DIGITS = [6, 7, 8, 9];

/** Parsers for INT96 and dates, whose type cannot be removed from the schema (see `asStored`). */
const PARSERS: Partial<ParquetParsers> = {
  ...TEXT_AS_BYTES,
  timestampFromNanoseconds: (nanoseconds) => isoText(nanoseconds, 'NANOS', false),
};

type Convert = (value: unknown) => unknown;

/** The rows of a Parquet file. Lists are arrays, and groups of fields objects. `copy`: where its bytes are, if not at `path`. */
export function parquetRows(path: string, copy?: string): RowSource {
  return {
    read: async (wanted, take, optional = []) => {
      const file = await ParquetFile.open(path, copy);
      const { schema } = file.metadata;
      const has = (column: string) => columnNames(schema).includes(column);
      const columns = wanted.filter((column) => !optional.includes(column) || has(column));
      const read = columns.map((name) => ({ name, convert: converterOf(columnNamed(path, schema, name)) }));
      const options = { parsers: PARSERS, utf8: false, metadata: { ...file.metadata, schema: schema.map(asStored) } };
      for (const range of file.ranges(columns, READ_ROWS)) {
        const rows = await file.read(range, columns, options);
        for (const [index, row] of rows.entries()) {
          take({ number: range.start + index + 1, fields: () => converted(row, read) });
        }
        await checkpoint(undefined);
      }
    },
  };
}

/** The columns of a Parquet file, each with what is below it. */
function columnsOf(schema: readonly SchemaElement[]): readonly SchemaTree[] {
  return schema.length === 0 ? [] : parquetSchema({ schema: [...schema] }).children;
}

/** The names of the columns of a Parquet file, in their order. */
export function columnNames(schema: readonly SchemaElement[]): readonly string[] {
  return columnsOf(schema).map(({ element }) => element.name);
}

function columnNamed(path: string, schema: readonly SchemaElement[], name: string): SchemaTree {
  const found = columnsOf(schema).filter(({ element }) => element.name === name);
  if (found.length === 1) return found[0]!;
  const reason =
    found.length === 0 ? `no column ${name}: it has ${columnNames(schema).join(', ')}` : `two columns ${name}`;
  throw unreadable(`'${path}' has ${reason}`);
}

function converted(row: Fields, columns: readonly { readonly name: string; readonly convert: Convert }[]): Fields {
  const fields: Record<string, unknown> = {};
  for (const { name, convert } of columns) {
    const value = row[name];
    if (value instanceof Uint8Array && value.length > LINE_BYTES_MAX) {
      throw rejected(`${name} is longer than ${LINE_BYTES_MAX} bytes`);
    }
    fields[name] = convert(value);
  }
  return fields;
}

/**
 * The element without the types whose values the reader would round: they are read as they are stored. A map is read as the list of
 * pairs that it is stored as: in an object, its keys would be texts.
 */
function asStored(element: SchemaElement): SchemaElement {
  if (decimalScale(element) === undefined && storedTime(element) === undefined && !isMap(element)) return element;
  const { converted_type: _converted, logical_type: _logical, ...stored } = element;
  return stored;
}

function isMap({ converted_type, logical_type }: SchemaElement): boolean {
  return converted_type === 'MAP' || logical_type?.type === 'MAP';
}

function decimalScale({ converted_type, logical_type, scale }: SchemaElement): number | undefined {
  if (logical_type?.type === 'DECIMAL') return logical_type.scale;
  return converted_type === 'DECIMAL' ? (scale ?? 0) : undefined;
}

/** The unit of an instant, and `isUtc`: true if the file says that it is UTC. Undefined for a column of another type. */
function storedTime({ converted_type, logical_type }: SchemaElement): { unit: TimeUnit; isUtc: boolean } | undefined {
  if (logical_type?.type === 'TIMESTAMP') return { unit: logical_type.unit, isUtc: logical_type.isAdjustedToUTC };
  if (converted_type === 'TIMESTAMP_MILLIS') return { unit: 'MILLIS', isUtc: true };
  return converted_type === 'TIMESTAMP_MICROS' ? { unit: 'MICROS', isUtc: true } : undefined;
}

/** Returns a function that converts a column's stored values to exact ones. */
function converterOf({ element, children: [below, ...others] }: SchemaTree): Convert {
  const stated =
    (convert: Convert): Convert =>
    (value) =>
      value === null || value === undefined ? undefined : convert(value);
  if (below !== undefined) {
    if (isMap(element)) return stated(mapConverter(below));
    const isList = element.converted_type === 'LIST' && others.length === 0;
    return stated(isList ? listConverter(below) : groupConverter([below, ...others]));
  }
  const convert = valueConverter(element);
  if (element.repetition_type !== 'REPEATED') return stated(convert);
  return stated((values) => (Array.isArray(values) ? values.map(stated(convert)) : values));
}

/** Converts a list. Between it and its items there is a group, which old writers left out. */
function listConverter(between: SchemaTree): Convert {
  const [item, ...others] = between.children;
  const convert = item === undefined || others.length > 0 ? itemConverter(between) : converterOf(item);
  return (values) => (Array.isArray(values) ? values.map(convert) : values);
}

/** Converts a map to a list of objects with its keys and values. `pair`: the repeated group of a key and a value. */
function mapConverter(pair: SchemaTree): Convert {
  const convert = itemConverter(pair);
  return (map) => {
    const pairs = isFields(map) ? map[pair.element.name] : undefined;
    return Array.isArray(pairs) ? pairs.map(convert) : [];
  };
}

function itemConverter({ element, children, ...tree }: SchemaTree): Convert {
  return converterOf({ ...tree, children, element: { ...element, repetition_type: 'OPTIONAL' } });
}

function groupConverter(members: readonly SchemaTree[]): Convert {
  const converters = members.map((member) => [member.element.name, converterOf(member)] as const);
  return (value) =>
    isFields(value) ? Object.fromEntries(converters.map(([name, convert]) => [name, convert(value[name])])) : value;
}

function valueConverter(element: SchemaElement): Convert {
  const { name } = element;
  const scale = decimalScale(element);
  if (scale !== undefined) return (value) => decimalText(value, scale);
  const time = storedTime(element);
  if (time !== undefined) return (value) => (typeof value === 'bigint' ? isoText(value, time.unit, time.isUtc) : value);
  if (element.type === 'FLOAT') return (value) => (typeof value === 'number' ? shortestFloat(value) : value);
  return (value) => {
    if (value instanceof Uint8Array) return decodedText(EXACT_UTF8, value, `${name} is not UTF-8`);
    if (value instanceof Date) return value.toISOString().slice(0, 'YYYY-MM-DD'.length);
    if (typeof value !== 'bigint') return value;
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  };
}

/** The decimal with the fewest digits of which `value` is the nearest float of 32 bits. */
function shortestFloat(value: number): number {
  const shorter = FLOAT_DIGITS.map((digits) => Number(value.toPrecision(digits)));
  return shorter.find((decimal) => Math.fround(decimal) === value) ?? value;
}

/** An unscaled decimal, an integer or bytes with the highest first in two's complement, as a text. */
function decimalText(value: unknown, scale: number): unknown {
  const unscaled = value instanceof Uint8Array ? signedInteger(value) : value;
  if (typeof unscaled !== 'bigint' && typeof unscaled !== 'number') return value;
  const text = String(unscaled);
  const digits = text.replace('-', '').padStart(scale + 1, '0');
  const sign = text.startsWith('-') ? '-' : '';
  return `${sign}${digits.slice(0, digits.length - scale)}${scale === 0 ? '' : `.${digits.slice(-scale)}`}`;
}

function signedInteger(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
}

/** An instant as ISO 8601 with all of its digits; `Z` only if it is UTC. */
function isoText(value: bigint, unit: TimeUnit, isUtc: boolean): string {
  const digits = TIME_DIGITS[unit];
  const perSecond = 10n ** BigInt(digits);
  const fraction = ((value % perSecond) + perSecond) % perSecond;
  const second = new Date(Number((value - fraction) / perSecond) * 1000);
  if (Number.isNaN(second.getTime())) throw rejected('a time is outside of the years that are read');
  const text = second.toISOString().replace(/\.000Z$/, '');
  return `${text}.${String(fraction).padStart(digits, '0')}${isUtc ? 'Z' : ''}`;
}
