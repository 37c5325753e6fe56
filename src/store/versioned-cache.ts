import type { Database } from './database.ts';

/**
 * Results of look-ups within `Database.readShared`, cached until the archive changes. When it has `sizeMax` results, the next one
 * replaces them all.
 */
export class VersionedCache<T> {
  readonly #database: Database;
  readonly #sizeMax: number;
  readonly #results = new Map<string, T>();
  #state: number | undefined;

  constructor(database: Database, sizeMax: number) {
    this.#database = database;
    this.#sizeMax = sizeMax;
  }

  /** The cached result for `key`, else the result of `lookUp`, which is cached unless it is undefined. Outside of `readShared` always the latter. */
  find(key: string, lookUp: () => T | undefined): T | undefined {
    const state = this.#database.sharedState;
    if (state === undefined) return lookUp();
    if (state !== this.#state) {
      this.#results.clear();
      this.#state = state;
    }
    const cached = this.#results.get(key);
    if (cached !== undefined) return cached;
    const found = lookUp();
    if (found === undefined) return undefined;
    if (this.#results.size >= this.#sizeMax) this.#results.clear();
    this.#results.set(key, found);
    return found;
  }
}
