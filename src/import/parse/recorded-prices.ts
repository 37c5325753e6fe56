import { isFields, parsedJson } from '../../record/fields.ts';

/** Names of a level's price and size, as recorders write them. */
export const PRICES: readonly string[] = ['price', 'p', 'px'];
export const SIZES: readonly string[] = ['size', 's', 'sz', 'qty', 'quantity', 'amount', 'shares'];
const TIMES = ['t', 'ts', 'time', 'timestamp'];
/** Levels are no deeper than this in what recorders write: `{"snapshots": [{"up": {"bids": [{…}]}}]}`. */
const DEPTH_MAX = 8;
/** The items of each list that are looked at: those of one list are alike. */
const ITEMS = 3;

interface Figure {
  /** The names of the members above it, as `up.bid`. */
  readonly path: string;
  readonly figure: number;
}

/** Returns true if there are values, and none has levels, trades or prices over time anywhere: one that has some is no description of a market, even if it names one. */
export function areDescriptions(values: readonly unknown[]): boolean {
  return values.length > 0 && !values.some((value) => hasLevels(value, DEPTH_MAX));
}

/**
 * Returns true if there is a list of `[price, size]`, `{price, size}` or `{time, price}` in a value or in a JSON text of it, or an object
 * `{price: size}`, as numbers or texts.
 */
function hasLevels(value: unknown, depth: number): boolean {
  if (depth > 0 && typeof value === 'string' && /^\s*[[{]/.test(value)) return hasLevels(parsedJson(value), depth - 1);
  if (depth === 0 || typeof value !== 'object' || value === null) return false;
  if (!Array.isArray(value)) {
    const members = Object.entries(value);
    if (members.length > 0 && members.every((member) => member.every(isNumeric))) return true;
    return members.some(([, member]) => hasLevels(member, depth - 1));
  }
  const items = value.slice(0, ITEMS);
  return items.some((item) => isLevel(item) || hasLevels(item, depth - 1));
}

function isLevel(item: unknown): boolean {
  if (Array.isArray(item)) return item.length >= 2 && isNumeric(item[0]) && isNumeric(item[1]);
  if (!isFields(item)) return false;
  const hasNumber = (names: readonly string[]) => names.some((name) => isNumeric(item[name]));
  return hasNumber(PRICES) && (hasNumber(SIZES) || TIMES.some((name) => name in item));
}

/**
 * Returns true if two values of one key state different prices in the same place: numbers between 0 and 1, outside of lists, in members for
 * whose path, as `up.bid`, `isPrice` returns true. They are prices over time, not descriptions of a market.
 */
export function haveOtherPrices(
  values: readonly unknown[],
  keyOf: (value: unknown) => string,
  isPrice: (path: string) => boolean = () => true,
): boolean {
  const prices = new Map<string, number>();
  return values.some((value) => {
    const key = keyOf(value);
    const figures = figuresIn(value, '', DEPTH_MAX).filter(({ path }) => isPrice(path));
    return figures.some(({ path, figure }) => {
      const place = `${key} ${path}`;
      const before = prices.get(place);
      prices.set(place, figure);
      return figure > 0 && figure < 1 && before !== undefined && before !== figure;
    });
  });
}

function figuresIn(value: unknown, path: string, depth: number): Figure[] {
  if (isNumeric(value)) return [{ path, figure: Number(value) }];
  if (depth === 0 || !isFields(value)) return [];
  const below = (name: string) => (path === '' ? name : `${path}.${name}`);
  return Object.entries(value).flatMap(([name, member]) => figuresIn(member, below(name), depth - 1));
}

function isNumeric(value: unknown): boolean {
  return (
    typeof value === 'number' || (typeof value === 'string' && value.trim() !== '' && !Number.isNaN(Number(value)))
  );
}
