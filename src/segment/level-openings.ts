/** Prices on a grid of up to four decimals are worth caching: there are at most 10,001 of them. */
const CACHED_SCALE_MAX = 4;
const NONE: readonly undefined[] = [];

/** Writes the opening of a level with a price in units of 10^-scale, and returns the position after it. */
type WriteOpening = (bytes: Uint8Array, position: number, price: number, scale: number) => number;

/** The bytes of a level before its size, in JSON or msgpack; cached per price. */
export class LevelOpenings {
  /** Writes the opening of a price that is not cached. */
  readonly write: WriteOpening;
  readonly #bytesMax: number;
  readonly #byScale: (Uint8Array | undefined)[][] = Array.from({ length: CACHED_SCALE_MAX + 1 }, () => []);

  /** `bytesMax`: the maximum length of an opening. */
  constructor(bytesMax: number, write: WriteOpening) {
    this.#bytesMax = bytesMax;
    this.write = write;
  }

  caches(scale: number): boolean {
    return scale <= CACHED_SCALE_MAX;
  }

  /** The cached openings, by price; `of` adds a missing one. */
  ofScale(scale: number): readonly (Uint8Array | undefined)[] {
    return this.#byScale[scale] ?? NONE;
  }

  of(price: number, scale: number): Uint8Array {
    const bytes = new Uint8Array(this.#bytesMax);
    const opening = bytes.slice(0, this.write(bytes, 0, price, scale));
    const known = this.#byScale[scale];
    if (known !== undefined) known[price] = opening;
    return opening;
  }
}
