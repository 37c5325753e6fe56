import { Turns } from '../domain/turns.ts';

/** A task works for this long, then the next task gets its turn. */
export const TASK_MS = 4;
/** The longest delay that setTimeout takes. */
const WAIT_MS_MAX = 2 ** 31 - 1;

/** A queue in which work waits for its turn. */
export interface WorkQueue {
  /** Calls `work` once when it is its turn; work that is waiting already keeps its place. */
  add(work: () => void): void;
  remove(work: () => void): void;
  /** Resolves when it is the caller's turn. */
  next(): Promise<void>;
}

/**
 * Runs long work in pieces, one for each turn of the event loop: a request waits for one piece at most. Keys take turns, so that
 * the work of one does not delay that of another. Work that is added without a key takes turns as if it had one of its own.
 */
export class FairQueue implements WorkQueue {
  readonly #waiting = new Turns<() => void>();
  #isRunning = false;

  add(work: () => void): void {
    this.#add(work, work);
  }

  remove(work: () => void): void {
    this.#waiting.remove(work, work);
  }

  next(): Promise<void> {
    return new Promise((resolve) => this.add(resolve));
  }

  /** This queue for the work of one key; undefined if no key is needed. */
  of(keyId: string | undefined): WorkQueue {
    if (keyId === undefined) return this;
    const add = (work: () => void) => this.#add(work, keyId);
    return {
      add,
      remove: (work) => this.#waiting.remove(work, keyId),
      next: () => new Promise(add),
    };
  }

  #add(work: () => void, owner: unknown): void {
    this.#waiting.add(work, owner);
    this.#runFirst();
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
  readonly #queue: WorkQueue;
  readonly #work: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(queue: WorkQueue, work: () => void) {
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
