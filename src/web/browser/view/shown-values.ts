import type { Later } from './later.ts';

/** Rows that a person scrolls past within this time are not loaded: a key has a limit of requests. */
export const SETTLED_MS = 120;

export interface ShownValuesOptions<Key, Value> {
  /** Values in memory, at least as many as are shown at once. */
  readonly valuesMax: number;
  /** Keys of one load. */
  readonly batchMax: number;
  /** Loads at the same time. */
  readonly loadsMax: number;
  /** Loads the values of up to `batchMax` keys. Rejects if `signal` is aborted. */
  load(keys: readonly Key[], signal: AbortSignal): Promise<ReadonlyMap<Key, Value>>;
  readonly later: Later;
  /** Values or the failure changed. */
  onChange(): void;
}

/**
 * The values of what is shown, loaded in batches once it stays shown; the first ones are loaded at once. A load is aborted when
 * nothing of it is shown any more. The values that were shown least recently are forgotten.
 */
export class ShownValues<Key, Value> {
  readonly #options: ShownValuesOptions<Key, Value>;
  /** Least recently shown first; undefined: loaded, and there is none. */
  readonly #values = new Map<Key, Value | undefined>();
  readonly #loads = new Map<AbortController, readonly Key[]>();
  #shown: readonly Key[] = [];
  #failure: unknown;
  #cancel: (() => void) | undefined;

  constructor(options: ShownValuesOptions<Key, Value>) {
    this.#options = options;
  }

  /** Why the last load failed; undefined if it did not. Nothing is loaded until `retry`. */
  get failure(): unknown {
    return this.#failure;
  }

  /** The value of a key; undefined if there is none or it is not loaded. */
  value(key: Key): Value | undefined {
    return this.#values.get(key);
  }

  /** Says which keys are shown; the first ones are loaded first. */
  show(keys: readonly Key[]): void {
    const before = this.#missing().join();
    this.#shown = keys;
    for (const key of keys) this.#touch(key);
    for (const [load, loaded] of this.#loads) {
      if (loaded.some((key) => keys.includes(key))) continue;
      this.#loads.delete(load);
      load.abort();
    }
    const missing = this.#missing().join();
    if (this.#failure !== undefined || missing === '' || missing === before) return;
    if (this.#values.size === 0 && this.#loads.size === 0) this.#load();
    else this.#loadLater();
  }

  /** Loads again after a failure. */
  retry(): void {
    this.#failure = undefined;
    this.#load();
  }

  /** Forgets everything, and aborts all loads. */
  clear(): void {
    this.#cancel?.();
    this.show([]);
    this.#values.clear();
    this.#failure = undefined;
  }

  /** The keys that are shown, not loaded and not being loaded. */
  #missing(): Key[] {
    const loading = [...this.#loads.values()].flat();
    return this.#shown.filter((key) => !this.#values.has(key) && !loading.includes(key));
  }

  #loadLater(): void {
    this.#cancel?.();
    this.#cancel = this.#options.later(() => this.#load(), SETTLED_MS);
  }

  #load(): void {
    this.#cancel?.();
    const { loadsMax, batchMax } = this.#options;
    for (let missing = this.#missing(); missing.length > 0 && this.#loads.size < loadsMax; missing = this.#missing()) {
      void this.#loadBatch(missing.slice(0, batchMax));
    }
  }

  async #loadBatch(keys: readonly Key[]): Promise<void> {
    const load = new AbortController();
    this.#loads.set(load, keys);
    try {
      const values = await this.#options.load(keys, load.signal);
      if (load.signal.aborted) return;
      for (const key of keys) this.#values.set(key, values.get(key));
      this.#bound();
    } catch (error) {
      if (load.signal.aborted) return;
      this.#failure = error;
    }
    this.#loads.delete(load);
    this.#options.onChange();
    if (this.#failure === undefined) this.#load();
  }

  #bound(): void {
    for (const key of this.#values.keys()) {
      if (this.#values.size <= this.#options.valuesMax) return;
      if (!this.#shown.includes(key)) this.#values.delete(key);
    }
  }

  #touch(key: Key): void {
    if (!this.#values.has(key)) return;
    const value = this.#values.get(key);
    this.#values.delete(key);
    this.#values.set(key, value);
  }
}
