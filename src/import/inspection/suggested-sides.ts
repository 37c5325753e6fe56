import { type Outcome, parseOutcome } from '../../domain/outcome.ts';
import { PRICES, SIZES } from '../parse/recorded-prices.ts';
import { EMPTY_LIST, type FieldSummary } from './field-tally.ts';
import type { InspectedTable } from './inspected-table.ts';
import { timeLines } from './suggested-time.ts';
import { type Lines, quoted } from './toml-lines.ts';

/** Matches the name of a column of levels, which has the number of the level in it or at its end. */
const NUMBERED = /^(.*?)(\d{1,3})(\D*)$/;
const LEVELS_MIN = 2;
const SIDES = ['bid', 'ask'] as const;
export const OUTCOME_WORD = /^(?:yes|no|up|down)$/i;
/** Words of fields that are not prices. */
const NO_PRICE = /size|qty|quantity|amount|vol|liquidity|depth|sz|spread|count/i;
const SIZE = /size|qty|quantity|amount|sz/i;
const SIZE_WORDS = ['s', 'q', 'amt', 'shares'];
/** They may be sums of several levels. */
const SUMS = /vol|liquidity|depth/i;
/** The last ones are those of a map. */
const [PRICE_MEMBERS, SIZE_MEMBERS] = [
  [...PRICES, 'key'],
  [...SIZES, 'value'],
];
/** The greatest price in the units that files have: dollars, cents, tenths and hundredths of a cent, millionths of a dollar. */
export const PRICE_UNITS = [1, 100, 1000, 10_000, 1_000_000];
export const CENTS_MAX = 100;

/** Both sides of a book or a quote that a row has. */
export interface Sides {
  readonly outcome: Outcome | undefined;
  /** The word of an outcome whose meaning the file does not state, such as yes. */
  readonly word: string | undefined;
  readonly bid: Lines;
  readonly ask: Lines;
  readonly kind: 'books' | 'quotes' | 'levels';
}

/** The ways in which the rows of a table may have sides, the likeliest first: at least one, which may have none. */
export function possibleSides(table: InspectedTable): readonly (readonly Sides[])[] {
  const fields = table.fields.filter(({ count }) => count > 0);
  const found = [
    [...numberedSides(table.fields), ...listSides(fields)],
    complementSides(fields),
    levelSides(table),
    bestSides(fields, 1),
    bestSides(fields, CENTS_MAX),
  ].filter(({ length }) => length > 0);
  const rare = PRICE_UNITS.slice(2).map((units) => bestSides(fields, units));
  return [...(found.length === 0 ? [[]] : found), ...rare];
}

/** Sides of columns like `up_bid_price_0`, `up_bid_price_1`, … with sizes. Some of them may have no value: levels that were never reached. */
function numberedSides(fields: readonly FieldSummary[]): Sides[] {
  const groups = new Map<string, string[]>();
  for (const { name } of fields) {
    const [, before = '', number, after = ''] = NUMBERED.exec(name) ?? [];
    if (number === undefined) continue;
    const key = `${before}\0${after}`;
    groups.set(key, [...(groups.get(key) ?? []), number]);
  }
  const ranges = [...groups].flatMap(([key, numbers]) => {
    const [before = '', after = ''] = key.split('\0');
    const sorted = numbers.toSorted((a, b) => Number(a) - Number(b));
    const isWhole = sorted.every((number, index) => Number(number) === Number(sorted[0]!) + index);
    if (sorted.length < LEVELS_MIN || !isWhole) return [];
    return [{ name: `${before}${after}`, range: `${before}${sorted[0]}..${sorted.at(-1)}${after}` }];
  });
  // The volume of a level is its size; that of a best price may be the sum of several.
  const isSize = (name: string) => isSizeName(name) || SUMS.test(name);
  const prices = ranges.filter(({ name }) => !isSize(name) && !NO_PRICE.test(name));
  return pairedSides(prices, ({ name, range }) => {
    const sizes = ranges.filter((other) => isSize(other.name) && isOfSameSide(other.name, name));
    if (sizes.length !== 1) return undefined;
    return { kind: 'books', value: `{ prices = ${quoted(range)}, sizes = ${quoted(sizes[0]!.range)} }` };
  });
}

/** Sides that are lists of pairs or of objects. A list that is always empty has levels like the others. */
function listSides(fields: readonly FieldSummary[]): Sides[] {
  const shape = fields.find(({ levels }) => levels !== undefined)?.levels;
  if (shape === undefined) return [];
  const lists = fields.filter(({ levels, types }) => levels !== undefined || types[0] === EMPTY_LIST);
  return pairedSides(lists, ({ name, levels = shape }) => {
    const place = levelMembers(levels);
    const note = place === undefined ? ' # state price and size: names of members, or 0 and 1' : '';
    return { kind: 'books', value: `{ levels = ${quoted(name)}${place === undefined ? '' : `, ${place}`} }${note}` };
  });
}

/** Rows with a level each: a side of two words, one price and one size, where most times have rows of both sides. */
function levelSides(table: InspectedTable): Sides[] {
  const fields = table.fields.filter(({ count }) => count > 0);
  const [timeLine = ''] = timeLines(table);
  const time = fields.find(({ name }) => timeLine === `field = ${quoted(name)}`);
  const [side, ...otherSides] = fields.filter((field) => levelWords(field) !== undefined);
  const numbers = fields.filter(({ name, range }) => range !== undefined && name !== time?.name);
  const sizes = numbers.filter(({ name }) => isSizeName(name));
  const prices = numbers.filter(({ name }) => wordsOf(name).some((word) => PRICE_MEMBERS.includes(word.toLowerCase())));
  const isOne = otherSides.length === 0 && sizes.length === 1 && prices.length === 1;
  if (time === undefined || side === undefined || !isOne) return [];
  const wordsAt = new Map<unknown, Set<unknown>>();
  for (const { fields: row } of table.firstRows) {
    const at = row[time.name];
    wordsAt.set(at, (wordsAt.get(at) ?? new Set()).add(row[side.name]));
  }
  if ([...wordsAt.values()].filter(({ size }) => size > 1).length * 2 <= wordsAt.size) return [];
  const [bid, ask] = levelWords(side)!.map(quoted);
  const lines = [
    `side = { field = ${quoted(side.name)}, bid = [${bid}], ask = [${ask}] }`,
    `price = ${quoted(prices[0]!.name)}`,
    `size = ${quoted(sizes[0]!.name)}`,
  ];
  return [{ kind: 'levels', outcome: undefined, word: undefined, bid: lines, ask: [] }];
}

/** The words of bids and of asks, if a field has one of each. */
export function levelWords({ words = [] }: FieldSummary): readonly [string, string] | undefined {
  const [bid, ask] = [/^(?:b|bids?|buy)$/i, /^(?:a|s|asks?|sell|offer)$/i].map((test) =>
    words.find((word) => test.test(word)),
  );
  return words.length === 2 && bid !== undefined && ask !== undefined ? [bid, ask] : undefined;
}

/** The bids of both outcomes, in lists or best prices: asks are made of the bids of the other outcome. The trial shows whether they cross. */
function complementSides(fields: readonly FieldSummary[]): Sides[] {
  const wordOf = ({ name }: FieldSummary) => wordsOf(name).find((word) => OUTCOME_WORD.test(word));
  if (fields.some(({ name }) => sideIn(name) === 'ask')) return [];
  const sided = fields.filter((field) => wordOf(field) !== undefined);
  const lists = sided.filter(({ levels, types }) => levels !== undefined || types[0] === EMPTY_LIST);
  const prices = sided.filter(
    ({ name, range }) => range !== undefined && sideIn(name) === 'bid' && !NO_PRICE.test(name),
  );
  const [first, second, ...others] = lists.length === 2 ? lists : prices;
  if (first === undefined || second === undefined || others.length > 0) return [];
  const [own, other] = /^(?:yes|up)$/i.test(wordOf(first)!) ? [first, second] : [second, first];
  const words = [own, other].map((field) => wordOf(field)!.toLowerCase()).join(' ');
  if (words !== 'yes no' && words !== 'up down') return [];
  const about = words === 'up down' ? { outcome: 'up' as const, word: undefined } : { outcome: undefined, word: 'yes' };
  if (lists.length !== 2) {
    const ask = `ask = { field = ${quoted(other.name)}, complement = true }`;
    return [{ ...about, kind: 'quotes', bid: [`bid = ${quoted(own.name)}`], ask: [ask] }];
  }
  const shape = own.levels ?? other.levels;
  const members = shape === undefined ? undefined : levelMembers(shape);
  if (members === undefined) return [];
  const [bids, asks] = [own, other].map(({ name }) => `{ levels = ${quoted(name)}, ${members}`);
  return [{ ...about, kind: 'books', bid: [`bids = ${bids} }`], ask: [`asks = ${asks}, complement = true }`] }];
}

/** The places of price and size in a level, as TOML; undefined if names or values do not show them. */
function levelMembers(levels: NonNullable<FieldSummary['levels']>): string | undefined {
  if ('members' in levels) {
    const [price, size] = [PRICE_MEMBERS, SIZE_MEMBERS].map((names) =>
      names.find((name) => levels.members.includes(name)),
    );
    return price === undefined || size === undefined ? undefined : `price = "${price}", size = "${size}"`;
  }
  for (const greatestPrice of PRICE_UNITS) {
    const [isFirst, isSecond] = levels.pairs.map(([least, greatest]) => least >= 0 && greatest <= greatestPrice);
    if (isFirst !== isSecond) return isFirst === true ? 'price = 0, size = 1' : 'price = 1, size = 0';
    if (isFirst) return undefined;
  }
  return undefined;
}

/** The best bid and ask of columns that have numbers from 0 to `greatest`, whole ones if they are cents: the first level of numbered ones, before others. */
function bestSides(fields: readonly FieldSummary[], greatest: number): Sides[] {
  const numbers = fields.filter(({ range }) => range !== undefined);
  const rankOf = ({ name }: FieldSummary) => (/best|top/i.test(name) ? -1 : Number(NUMBERED.exec(name)?.[2] ?? -1));
  const prices = numbers
    .filter(({ name }) => !NO_PRICE.test(name) && !isSizeName(name))
    // Prices of coins may be below 100, too; fields that are named after an outcome have none.
    .filter(
      ({ types, name }) => greatest === 1 || types[0] === 'integer' || (outcomeIn(name) ?? yesOrNo(name)) !== undefined,
    )
    .filter(({ range }) => range![0] >= 0 && range![1] <= greatest)
    .toSorted((a, b) => rankOf(a) - rankOf(b));
  return pairedSides(prices, ({ name }) => {
    const number = NUMBERED.exec(name)?.[2];
    const sizes = numbers.filter(
      (other) => isSizeName(other.name) && isOfSameSide(other.name, name) && NUMBERED.exec(other.name)?.[2] === number,
    );
    const size = sizes.length === 1 ? sizes[0]!.name : undefined;
    return { kind: 'quotes', value: quoted(name), size };
  });
}

interface SideValue {
  readonly kind: Sides['kind'];
  readonly value: string;
  readonly size?: string | undefined;
}

/** The sides of each outcome: one field with bid in its name and one with ask, otherwise of the same name. */
function pairedSides<T extends { readonly name: string }>(
  found: readonly T[],
  sideOf: (side: T) => SideValue | undefined,
): Sides[] {
  return found.flatMap((bid): Sides[] => {
    if (sideIn(bid.name) !== 'bid') return [];
    const asks = found.filter(({ name }) => sideIn(name) === 'ask' && withoutSide(name) === withoutSide(bid.name));
    const [ofBid, ofAsk] = [sideOf(bid), asks.length === 1 ? sideOf(asks[0]!) : undefined];
    if (ofBid === undefined || ofAsk === undefined || ofBid.kind !== ofAsk.kind) return [];
    const outcome = outcomeIn(bid.name);
    const word = outcome === undefined ? yesOrNo(bid.name) : undefined;
    const linesOf = (side: 'bid' | 'ask', { kind, value, size }: SideValue) => [
      `${kind === 'books' ? `${side}s` : side} = ${value}`,
      ...(size === undefined ? [] : [`${side}_size = ${quoted(size)}`]),
    ];
    return [{ kind: ofBid.kind, outcome, word, bid: linesOf('bid', ofBid), ask: linesOf('ask', ofAsk) }];
  });
}

function yesOrNo(name: string): string | undefined {
  return /(?:^|[^a-z])(yes|no)(?:$|[^a-z])/i.exec(name)?.[1];
}

function sideIn(name: string): (typeof SIDES)[number] | undefined {
  const found = SIDES.filter((side) => name.toLowerCase().includes(side));
  return found.length === 1 ? found[0] : undefined;
}

function withoutSide(name: string): string {
  return name.toLowerCase().replace(/bid|ask/, '');
}

/** Returns true if a size and a price are of the same side: names are equal without the words for price, size and the best level. */
function isOfSameSide(size: string, price: string): boolean {
  const bare = (name: string) =>
    wordsOf(name)
      .map((word) => word.toLowerCase())
      .filter((word) => word !== 'p' && !SIZE_WORDS.includes(word))
      .join('')
      .replace(/price|px|size|qty|quantity|amount|sz|volume|vol|liquidity|depth|best|top/g, '');
  return bare(size) === bare(price);
}

function isSizeName(name: string): boolean {
  return SIZE.test(name) || wordsOf(name).some((word) => SIZE_WORDS.includes(word.toLowerCase()));
}

export function wordsOf(name: string): readonly string[] {
  return name.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/);
}

/** The outcome in a name, as a word of its own or at its beginning: `up_bid`, `UpBid`, `down.asks`. */
export function outcomeIn(name: string): Outcome | undefined {
  const words = wordsOf(name).map((word) => parseOutcome(word));
  const found = [...new Set(words.filter((word) => word !== undefined))];
  return found.length === 1 ? found[0] : undefined;
}
