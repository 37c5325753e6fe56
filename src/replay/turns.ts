/**
 * Work of many that have much to do, piece by piece: one piece each time that the process has looked for requests, so that
 * these wait for one piece and not for one of everybody.
 */
export class Turns {
  /** In the order in which they have their turns. */
  readonly #waiting = new Set<() => void>();
  #isSet = false;

  /** Has `work` called once when it is its turn; who waits already keeps its place. */
  enter(work: () => void): void {
    this.#waiting.add(work);
    this.#goOn();
  }

  /** Takes that back. */
  leave(work: () => void): void {
    this.#waiting.delete(work);
  }

  #goOn(): void {
    if (this.#isSet || this.#waiting.size === 0) return;
    this.#isSet = true;
    setImmediate(() => {
      this.#isSet = false;
      const [work] = this.#waiting;
      if (work === undefined) return;
      this.#waiting.delete(work);
      this.#goOn();
      work();
    });
  }
}
