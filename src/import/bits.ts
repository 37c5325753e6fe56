const BITS = 32;
const FIRST_WORDS = 64;

/** A set of small integers, one bit each up to the largest. */
export class Bits {
  #words = new Uint32Array(FIRST_WORDS);

  set(index: number): void {
    const word = Math.floor(index / BITS);
    if (word >= this.#words.length) {
      const words = new Uint32Array(Math.max(word + 1, 2 * this.#words.length));
      words.set(this.#words);
      this.#words = words;
    }
    this.#words[word]! |= 1 << (index % BITS);
  }

  has(index: number): boolean {
    return ((this.#words[Math.floor(index / BITS)] ?? 0) & (1 << (index % BITS))) !== 0;
  }
}
