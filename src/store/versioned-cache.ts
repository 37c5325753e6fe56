import type { Database } from './database.ts';

/**
 * What look-ups found, kept until the archive changes. At most `sizeMax` findings: one more, and all are given up. Only within
 * `Database.readShared`.
 */
export class VersionedCache<T> {
  readonly #database: Database;
  readonly #sizeMax: number;
  readonly #found = new Map<string, T>();
  #state: number | undefined;

  constructor(database: Database, sizeMax: number) {
    this.#database = database;
    this.#sizeMax = sizeMax;
  }

  /** What was found for `key`, or finds it now. What is undefined is looked for again each time. */
  find(key: string, look: () => T | undefined): T | undefined {
    const { state } = this.#database;
    if (state !== this.#state) {
      this.#found.clear();
      this.#state = state;
    }
    const held = this.#found.get(key);
    if (held !== undefined) return held;
    const found = look();
    if (found === undefined) return undefined;
    if (this.#found.size >= this.#sizeMax) this.#found.clear();
    this.#found.set(key, found);
    return found;
  }
}
