/** Keeps the bytes that were used last, up to a total size; at least the last ones, of any size. */
export class KeptBytes<V extends { readonly byteLength: number }> {
  readonly #values = new Map<string, V>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(name: string): V | undefined {
    const value = this.#values.get(name);
    if (value === undefined) return undefined;
    this.#values.delete(name);
    this.#values.set(name, value);
    return value;
  }

  /** Call it only if there is none with this name. */
  add(name: string, value: V): V {
    this.#values.set(name, value);
    this.#bytes += value.byteLength;
    for (const [oldest, { byteLength }] of this.#values) {
      if (this.#bytes <= this.#bytesMax || this.#values.size === 1) break;
      this.#values.delete(oldest);
      this.#bytes -= byteLength;
    }
    return value;
  }
}
