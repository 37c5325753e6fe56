import type { Database } from './database.ts';

/**
 * Results of look-ups, kept until the archive changes. At most `sizeMax` results: one more, and all are dropped. Only within
 * `Database.readShared`.
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

  /** The result for `key`, looked up now if need be. Undefined results are not kept. */
  find(key: string, look: () => T | undefined): T | undefined {
    const { state } = this.#database;
    if (state !== this.#state) {
      this.#results.clear();
      this.#state = state;
    }
    const cached = this.#results.get(key);
    if (cached !== undefined) return cached;
    const found = look();
    if (found === undefined) return undefined;
    if (this.#results.size >= this.#sizeMax) this.#results.clear();
    this.#results.set(key, found);
    return found;
  }
}
