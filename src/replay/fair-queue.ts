/** So long may be worked, or sent, until others get their turn. */
export const TURN_MS = 4;
/** setTimeout takes no more. */
const WAIT_MS_MAX = 2 ** 31 - 1;

/**
 * Work of many that have much to do, piece by piece: one piece each time that the process has looked for requests, so that
 * these wait for one piece and not for one of everybody.
 */
export class FairQueue {
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

  /** Settles when it is the caller's turn. */
  next(): Promise<void> {
    return new Promise((resolve) => this.enter(resolve));
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

/** One that takes turns: now, or in a while, once for each time that it asked last. */
export class Turn {
  readonly #turns: FairQueue;
  readonly #work: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(turns: FairQueue, work: () => void) {
    this.#turns = turns;
    this.#work = work;
  }

  /** As soon as it is its turn. */
  ask(): void {
    clearTimeout(this.#timer);
    this.#turns.enter(this.#work);
  }

  /** As soon as it is its turn in `waitMs`. Rounded up: half a millisecond early is a turn in vain, clocks count whole ones. */
  askIn(waitMs: number): void {
    this.cancel();
    this.#timer = setTimeout(() => this.#turns.enter(this.#work), Math.min(Math.ceil(waitMs), WAIT_MS_MAX));
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#turns.leave(this.#work);
  }
}
