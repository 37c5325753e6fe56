import { Turns } from '../domain/turns.ts';

/** A task works for this long, then the next task gets its turn. */
export const TASK_MS = 4;
/** The longest delay that setTimeout takes. */
const WAIT_MS_MAX = 2 ** 31 - 1;

/**
 * Runs long work in pieces, one for each turn of the event loop: a request waits for one piece at most. The owners of the work
 * take turns, so that the work of one does not delay that of another: a key, or else each piece by itself.
 */
export class FairQueue {
  readonly #waiting = new Turns<() => void>();
  #isRunning = false;

  /** Calls `work` once when it is its turn; work that is waiting already keeps its place. */
  add(work: () => void, owner: unknown = work): void {
    this.#waiting.add(work, owner);
    this.#runFirst();
  }

  /** Removes work that was added without an owner. */
  remove(work: () => void): void {
    this.#waiting.remove(work, work);
  }

  /** Resolves when it is the caller's turn. */
  next(owner?: unknown): Promise<void> {
    return new Promise((resolve) => this.add(resolve, owner));
  }

  #runFirst(): void {
    if (this.#isRunning || this.#waiting.isEmpty) return;
    this.#isRunning = true;
    setImmediate(() => {
      this.#isRunning = false;
      const work = this.#waiting.take();
      if (work === undefined) return;
      this.#runFirst();
      work();
    });
  }
}

/** Work that enters a queue repeatedly, now or later; of several requests the last one counts. */
export class QueuedTask {
  readonly #queue: FairQueue;
  readonly #work: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(queue: FairQueue, work: () => void) {
    this.#queue = queue;
    this.#work = work;
  }

  run(): void {
    clearTimeout(this.#timer);
    this.#queue.add(this.#work);
  }

  /** Enters the queue after `waitMs`, rounded up: a timer that fires half a millisecond early finds nothing due. */
  runIn(waitMs: number): void {
    this.cancel();
    this.#timer = setTimeout(() => this.#queue.add(this.#work), Math.min(Math.ceil(waitMs), WAIT_MS_MAX));
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#queue.remove(this.#work);
  }
}
