import type { OrderBook } from '../../domain/orderbook.ts';
import type { StatedLevel, StatedSize } from '../../segment/statement-segment.ts';
import { changesBetween, type LevelChange } from '../../venue/level-change.ts';

/** The sizes of one level in the order of a source. */
type Order = readonly StatedSize[];

/** Maximum number of orders of one level at one time, of which none is a part of another: more prove nothing. */
const ORDERS_MAX = 4;
const HASH = /^[0-9a-f]{40}$/;

/** A change of a source. */
export interface StatedChange extends LevelChange {
  readonly hash: string | undefined;
}

/** The levels that the changes of one source at one time state, in the order of their first change. */
export function levelsOf(changes: readonly StatedChange[]): StatedLevel[] {
  // Most moments have one change.
  if (changes.length === 1) return [{ ...levelAt(changes[0]!), orders: [[statedSize(changes[0]!)]] }];
  const levels: { isBid: boolean; price: number; sizes: StatedSize[] }[] = [];
  for (const change of changes) {
    const { isBid, price } = change;
    const stated = statedSize(change);
    const known = levels.find((level) => level.isBid === isBid && level.price === price);
    if (known === undefined) levels.push({ isBid, price, sizes: [stated] });
    else if (!isSame(known.sizes.at(-1)!, stated)) known.sizes.push(stated);
  }
  return levels.map(({ isBid, price, sizes }) => ({ isBid, price, orders: ordersIn(sizes) }));
}

function levelAt({ isBid, price }: StatedChange): Pick<StatedLevel, 'isBid' | 'price'> {
  return { isBid, price };
}

function statedSize({ size, hash }: StatedChange): StatedSize {
  return { size, hash: hash !== undefined && HASH.test(hash) ? hash : undefined };
}

/**
 * A size with the hash of an earlier one is the same message, of another recorder, or the level returned to it: where that leaves the order
 * open, both the last and the first place of each message count. The last is the likelier: it is right for a level that returned.
 */
function ordersIn(sizes: Order): readonly Order[] {
  const isRepeat = (a: StatedSize, b: StatedSize) => a.hash !== undefined && isSame(a, b);
  const first = sizes.filter((one, at) => !sizes.slice(0, at).some((other) => isRepeat(one, other)));
  if (first.length === sizes.length) return [sizes];
  const last = sizes.filter((one, at) => !sizes.slice(at + 1).some((other) => isRepeat(one, other)));
  return withoutParts([last, first]);
}

/** The levels in which a book differs from an earlier one, as if a source stated them. */
export function levelsBetween(before: OrderBook, after: OrderBook): StatedLevel[] {
  return changesBetween(before, after).map(({ isBid, price, size }) => ({
    isBid,
    price,
    orders: [[{ size, hash: undefined }]],
  }));
}

/** The levels that either of two sources states at one time, those of `a` first. Orders that are parts of others are left out. */
export function unionOf(a: readonly StatedLevel[], b: readonly StatedLevel[]): readonly StatedLevel[] {
  if (b.length === 0) return a;
  if (a.length === 0) return b;
  const union = [...a];
  for (const level of b) {
    const at = union.findIndex((one) => one.isBid === level.isBid && one.price === level.price);
    if (at < 0) union.push(level);
    else union[at] = { ...level, orders: ordersOf(union[at]!.orders, level.orders) };
  }
  return union;
}

/** The last size of a level in its likeliest order; of orders of different sources in the longest, then the one with the larger size, as nothing else decides. */
export function lastSize({ orders }: StatedLevel): number {
  return orders[0]!.at(-1)!.size;
}

/** Further sizes that may be the last one of a level. */
export function otherLastSizes(level: StatedLevel): readonly number[] {
  if (level.orders.length < 2) return [];
  const last = lastSize(level);
  return [...new Set(level.orders.map((order) => order.at(-1)!.size))].filter((size) => size !== last);
}

/** Returns true if sources state sizes of a level in different orders. */
export function isContested(levels: readonly StatedLevel[]): boolean {
  return levels.some(({ orders }) => orders.length > 1);
}

/** Maximum number of ends that are tried for levels of which sources state different last sizes. */
const ENDS_MAX = 15;

/** The last sizes that the levels of a moment may have, in all combinations but the first one, which `lastSize` gives. */
export function otherEnds(levels: readonly StatedLevel[]): LevelChange[][] {
  let ends: LevelChange[][] = [[]];
  for (const level of levels) {
    const { isBid, price } = level;
    const others = otherLastSizes(level);
    if (others.length === 0) continue;
    const sizes = [lastSize(level), ...others];
    ends = ends.flatMap((end) => sizes.map((size) => [...end, { isBid, price, size }]));
  }
  return ends.slice(1, 1 + ENDS_MAX);
}

/** The levels without their hashes, which a proved book does not need any more. */
export function withoutHashes(levels: readonly StatedLevel[]): readonly StatedLevel[] {
  return levels.map((level) => ({
    ...level,
    orders: withoutParts(level.orders.map((order) => order.map(({ size }) => ({ size, hash: undefined })))),
  }));
}

export function hashesOf(levels: readonly StatedLevel[]): string[] {
  const hashes: string[] = [];
  for (const { orders } of levels) {
    for (const order of orders) for (const { hash } of order) if (hash !== undefined) hashes.push(hash);
  }
  return hashes;
}

/** The orders of two sources. If one has all of the other, its likeliest stays the first. */
function ordersOf(a: readonly Order[], b: readonly Order[]): readonly Order[] {
  for (const [all, part] of [
    [a, b],
    [b, a],
  ] as const) {
    if (part.every((order) => all.some((other) => isWithin(order, other)))) return withoutParts([...all, ...part]);
  }
  return maximal([...a, ...b]);
}

/** The orders that are not part of another one, the longest first, then by size: so the order of imports does not matter. */
function maximal(orders: readonly Order[]): readonly Order[] {
  const kept = withoutParts(orders).toSorted((a, b) => b.length - a.length || compareSizes(b, a));
  return kept.slice(0, ORDERS_MAX);
}

/** The orders that are not part of another one. */
function withoutParts(orders: readonly Order[]): readonly Order[] {
  const kept: Order[] = [];
  for (const order of orders) {
    const at = kept.findIndex((other) => isWithin(order, other));
    if (at >= 0) {
      // They differ in hashes only: keep the hashes of both.
      if (kept[at]!.length === order.length) kept[at] = mostHashes(kept[at]!, order);
      continue;
    }
    for (let k = kept.length - 1; k >= 0; k -= 1) if (isWithin(kept[k]!, order)) kept.splice(k, 1);
    kept.push(order);
  }
  return kept;
}

function mostHashes(a: Order, b: Order): Order {
  return a.map((one, at) => (one.hash === undefined ? b[at]! : one));
}

function compareSizes(a: Order, b: Order): number {
  for (let at = a.length - 1; at >= 0; at -= 1) {
    const difference = a[at]!.size - (b[at]?.size ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Returns true if all of `part` is in `whole`, in its order. */
function isWithin(part: Order, whole: Order): boolean {
  if (part.length > whole.length) return false;
  let at = 0;
  for (const one of whole) if (at < part.length && isSame(part[at]!, one)) at += 1;
  return at === part.length;
}

/** Returns true if two sizes may be the same statement: an unknown hash contradicts no other. */
function isSame(a: StatedSize, b: StatedSize): boolean {
  return a.size === b.size && (a.hash === undefined || b.hash === undefined || a.hash === b.hash);
}
