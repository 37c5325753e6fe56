import { type Fields, isFields, pairsOf, rejected } from '../../record/fields.ts';
import { fieldReader, figureConverter, type MappedRow, memberOf } from './mapped-value.ts';
import type { MappedSide } from './mapping-schema.ts';

/** `up_bid_price_0..9` */
const RANGE = /^(.*?)(\d{1,3})\.\.(\d{1,3})(.*)$/s;
const COLUMNS_MAX = 500;

type ReadLevels = (row: MappedRow) => readonly Fields[] | undefined;

export interface SideReader {
  /** The name of the field with the side, for messages. */
  readonly name: string;
  /** The levels as `{price, size}`; undefined if the row does not state the side. Throws 'rejected-record'. */
  readonly read: ReadLevels;
  /** True if a missing side means a side without levels when the other side is stated: columns have no other way to say it. */
  readonly isEmptyIfMissing: boolean;
}

/** Says in one sentence, which names the key, why a side is incomplete or contradicts itself; undefined if it has no problem. */
export function sideProblem(side: MappedSide, key: string): string | undefined {
  const { prices, sizes, levels, price, size, separator } = side;
  if (levels !== undefined) {
    if ((prices ?? sizes) !== undefined) return `${key}.levels contradicts ${key}.prices and sizes: remove one`;
    if (separator !== undefined) return `${key}.separator is for prices and sizes only: remove it`;
    if (price === undefined)
      return `${key}.price is not stated: add the name of a level's price, or 0 for the first of a pair`;
    if (size === undefined)
      return `${key}.size is not stated: add the name of a level's size, or 1 for the second of a pair`;
    return undefined;
  }
  if (price !== undefined || size !== undefined)
    return `${key}.levels is not stated: ${key}.price and size are members of a level`;
  if (prices === undefined && sizes === undefined)
    return `${key}.levels is not stated: add it, or ${key}.prices and sizes`;
  if (sizes === undefined) return `${key}.sizes is not stated: add it`;
  if (prices === undefined) return `${key}.prices is not stated: add it`;
  const [columns, others] = [columnsOf(prices), columnsOf(sizes)];
  if (columns === undefined && others === undefined) return undefined;
  if (separator !== undefined) return `${key}.separator contradicts the columns of ${key}.prices: remove it`;
  if (columns?.length === others?.length && columns!.length > 0) return undefined;
  return `${key}.prices and ${key}.sizes are not the same number of columns, at most ${COLUMNS_MAX}: write both like "bid_price_0..9"`;
}

/** The columns of `bid_price_0..9`, in this order; undefined for a name without a range. A leading zero keeps the width: `01..20`. */
function columnsOf(name: string): readonly string[] | undefined {
  const [, before, from = '', to = '', after] = RANGE.exec(name) ?? [];
  if (before === undefined) return undefined;
  const count = Number(to) - Number(from) + 1;
  if (count < 1 || count > COLUMNS_MAX) return [];
  const width = from.startsWith('0') && from.length === to.length ? from.length : 0;
  return Array.from(
    { length: count },
    (_, index) => `${before}${String(Number(from) + index).padStart(width, '0')}${after}`,
  );
}

export function fieldsOfSide({ prices, sizes, levels }: MappedSide): readonly string[] {
  return [prices, sizes, levels].flatMap((name) => (name === undefined ? [] : (columnsOf(name) ?? [name])));
}

/** The reader of a side that has no problem. */
export function sideReader({ scale, size_scale: sizeScale, round, complement, ...side }: MappedSide): SideReader {
  const reader = readerOf(side);
  const ofPrice = figureConverter(`a price in ${reader.name}`, { scale, round, isComplement: complement === true });
  const ofSize = figureConverter(`a size in ${reader.name}`, { scale: sizeScale, round, isComplement: false });
  if ((ofPrice ?? ofSize) === undefined) return reader;
  const asItIs = (value: unknown) => value;
  const [priceOf, sizeOf] = [ofPrice ?? asItIs, ofSize ?? asItIs];
  const read: ReadLevels = (row) =>
    reader.read(row)?.map(({ price, size }) => ({ price: priceOf(price), size: sizeOf(size) }));
  return { ...reader, read };
}

function readerOf(side: MappedSide): SideReader {
  const { prices, sizes, levels, separator } = side;
  if (levels !== undefined) {
    return { name: levels, read: levelReader(levels, side.price!, side.size!), isEmptyIfMissing: false };
  }
  const [columns, others] = [columnsOf(prices!), columnsOf(sizes!)];
  if (columns !== undefined) return { name: prices!, read: columnReader(columns, others!), isEmptyIfMissing: true };
  return { name: prices!, read: listReader(prices!, sizes!, separator), isEmptyIfMissing: false };
}

function levelReader(field: string, price: string | number, size: string | number): ReadLevels {
  const read = fieldReader(field);
  return (row) => {
    const levels = read(row);
    if (levels === undefined) return undefined;
    if (typeof levels === 'string')
      throw rejected(`${field} is a text: add it to rows.json in the mapping if it is JSON`);
    // The names of an object's members are texts, so prices among them are exact.
    const list = isFields(levels) ? pairsOf(levels) : levels;
    if (!Array.isArray(list)) throw rejected(`${field} is not a list of levels`);
    return list.map((level: unknown) => {
      const values = { price: memberOf(level, price), size: memberOf(level, size) };
      if (values.price === undefined || values.size === undefined) {
        throw rejected(`${field} has a level without ${values.price === undefined ? price : size}`);
      }
      return values;
    });
  };
}

/** Reads a level from each pair of columns. A level without price and size is left out. */
function columnReader(prices: readonly string[], sizes: readonly string[]): ReadLevels {
  const columns = prices.map((price, index) => ({
    price: fieldReader(price),
    size: fieldReader(sizes[index]!),
    names: [price, sizes[index]!] as const,
  }));
  return (row) => {
    const levels: Fields[] = [];
    for (const { price, size, names } of columns) {
      const values = { price: price(row), size: size(row) };
      if (values.price === undefined && values.size === undefined) continue;
      if (values.price === undefined) throw rejected(`${names[1]} is stated without ${names[0]}`);
      if (values.size === undefined) throw rejected(`${names[0]} is stated without ${names[1]}`);
      levels.push(values);
    }
    return levels.length === 0 ? undefined : levels;
  };
}

function listReader(prices: string, sizes: string, separator: string | undefined): ReadLevels {
  const readPrices = listOf(prices, separator);
  const readSizes = listOf(sizes, separator);
  return (row) => {
    const [ofPrices, ofSizes] = [readPrices(row), readSizes(row)];
    if (ofPrices === undefined && ofSizes === undefined) return undefined;
    if (ofPrices?.length !== ofSizes?.length) {
      throw rejected(`${prices} has ${ofPrices?.length ?? 0} prices, but ${sizes} has ${ofSizes?.length ?? 0} sizes`);
    }
    return ofPrices!.map((price, index) => ({ price, size: ofSizes![index] }));
  };
}

function listOf(field: string, separator: string | undefined): (row: MappedRow) => readonly unknown[] | undefined {
  const read = fieldReader(field);
  return (row) => {
    const list = read(row);
    if (list === undefined || Array.isArray(list)) return list;
    if (typeof list !== 'string') throw rejected(`${field} is not a list`);
    if (separator !== undefined) return list.split(separator).map((item) => item.trim());
    throw rejected(
      `${field} is a text: add it to rows.json in the mapping if it is JSON, or state the separator of the side`,
    );
  };
}
