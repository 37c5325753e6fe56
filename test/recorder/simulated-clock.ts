import type { VenueClock } from './venue-clock.ts';

interface Timer {
  readonly atUs: number;
  /** Timers of one instant run in the order in which they were set. */
  readonly order: number;
  work: (() => void) | undefined;
}

/** Work that sets timers of no length without end would stop the clock. */
const AT_ONE_INSTANT_MAX = 1_000_000;

/** A clock that moves from timer to timer, as fast as their work is done. */
export class SimulatedClock implements VenueClock {
  #nowUs: number;
  #order = 0;
  /** A binary heap, the next timer first. */
  readonly #timers: Timer[] = [];

  constructor(startMs: number) {
    this.#nowUs = startMs * 1000;
  }

  nowUs(): number {
    return this.#nowUs;
  }

  after(ms: number, work: () => void): Disposable {
    const timer: Timer = { atUs: this.#nowUs + Math.round(Math.max(0, ms) * 1000), order: this.#order, work };
    this.#order += 1;
    this.#push(timer);
    return {
      [Symbol.dispose]: () => {
        timer.work = undefined;
      },
    };
  }

  /** Does the work of all timers up to `untilMs`, inclusive. `settled` waits for the promises that the work of an instant began. */
  async run(untilMs: number, settled: () => Promise<unknown> = turn): Promise<void> {
    const untilUs = untilMs * 1000;
    await settled();
    for (let next = this.#timers[0]; next !== undefined && next.atUs <= untilUs; next = this.#timers[0]) {
      this.#nowUs = next.atUs;
      let count = 0;
      while (this.#timers.length > 0 && this.#timers[0]!.atUs <= this.#nowUs) {
        this.#pop().work?.();
        count += 1;
        if (count > AT_ONE_INSTANT_MAX) throw new Error('the clock stands: timers of no length set each other');
      }
      await settled();
    }
    this.#nowUs = Math.max(this.#nowUs, untilUs);
  }

  #push(timer: Timer): void {
    const heap = this.#timers;
    let at = heap.length;
    heap.push(timer);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(timer, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = timer;
  }

  #pop(): Timer {
    const heap = this.#timers;
    const first = heap[0]!;
    const last = heap.pop()!;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

/** Lets the event loop finish what is ready. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.atUs === b.atUs ? a.order < b.order : a.atUs < b.atUs;
}
