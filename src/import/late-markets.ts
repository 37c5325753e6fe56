import { Bits } from './bits.ts';
import type { FileTally } from './report.ts';

/** Maximum number of keys. Markets beyond it are not found if their market record comes after their records. */
const KEYS_MAX = 65_536;
/** Maximum number of kept items. With more, files are read again even if no market was found, to reject their items. */
const KEPT_MAX = 16_384;

/**
 * first: all records of a market whose market record comes later wait for the second reading.
 * second: only those records are read.
 * only: the file is read once, and its records need a market that is known when they are read.
 */
export type Reading = 'first' | 'second' | 'only';

interface KeptItem<I> {
  readonly item: I;
  readonly reason: string;
}

/**
 * The markets and assets (`keys`: conditionIds and asset ids) that records name before a market record states them, and the items of
 * these records. An item is known by its place among the items of its file, so that each is counted once. Each item takes one bit.
 */
export class LateMarkets<I> {
  reading: Reading = 'first';
  readonly #keys = new Set<string>();
  readonly #items = new Map<FileTally, Bits>();
  #kept: KeptItem<I>[] = [];
  #count = 0;

  get keys(): Iterable<string> {
    return this.#keys;
  }

  /** The files with such items. */
  get files(): ReadonlySet<FileTally> {
    return new Set(this.#items.keys());
  }

  /** The items with their reasons; undefined if they are too many to keep. */
  get kept(): readonly KeptItem<I>[] | undefined {
    return this.#kept.length === this.#count ? this.#kept : undefined;
  }

  /** Returns true if the present reading must not find the market or asset of a key. */
  hides(key: string): boolean {
    return this.reading === 'first' ? this.#keys.has(key) : this.reading === 'second' && !this.#keys.has(key);
  }

  /** Adds a key that no market record has stated. Returns false if there are too many. */
  add(key: string): boolean {
    if (this.#keys.size < KEYS_MAX) this.#keys.add(key);
    return this.#keys.has(key);
  }

  /** Adds the keys of a market that is new: if one of them is late, so are all, because its records belong together. */
  addMarket(keys: readonly string[]): void {
    if (this.reading !== 'first' || this.#keys.size === 0 || !keys.some((key) => this.#keys.has(key))) return;
    for (const key of keys) this.#keys.add(key);
  }

  /** Keeps an item for the second reading. `index`: its place in the file. */
  put(item: I, file: FileTally, index: number, reason: string): void {
    this.#items.getOrInsertComputed(file, () => new Bits()).set(index);
    this.#count += 1;
    if (this.#kept.length < KEPT_MAX) this.#kept.push({ item, reason });
  }

  has(file: FileTally, index: number): boolean {
    return this.#items.get(file)?.has(index) ?? false;
  }

  /** Forgets the items that are kept with their reasons. */
  release(): void {
    this.#kept = [];
  }
}
