import { Agenda, type Upcoming } from '../domain/agenda.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { TradedMarket } from './traded-market.ts';

/** A market with something to process. */
interface DueMarket extends Upcoming {
  atMs: InstantMs;
  readonly traded: TradedMarket;
}

/** Reading the time takes as long as a step without records: so many steps are made in between. */
const STEPS_UNTIMED = 16;

/** The markets with orders by key, processed in order of time across markets; at one time, the first that had an order. */
export class DueMarkets {
  readonly #markets = new Map<number, DueMarket>();
  readonly #due = new Agenda<DueMarket>();

  /** When the next one has something to process; Infinity: never. */
  get nextMs(): InstantMs {
    return this.#due.nextMs;
  }

  get(key: number): TradedMarket | undefined {
    return this.#markets.get(key)?.traded;
  }

  all(): readonly TradedMarket[] {
    return [...this.#markets.values()].map(({ traded }) => traded);
  }

  add(traded: TradedMarket): void {
    const due = { traded, atMs: Infinity, rank: this.#markets.size };
    this.#markets.set(traded.market.key, due);
    this.#await(due);
  }

  /** Finds the next instant of a market again, after an order or a cancel was sent to it. */
  update({ market, nextMs }: TradedMarket): void {
    const due = this.#markets.get(market.key)!;
    if (due.atMs === nextMs) return;
    this.#due.remove((each) => each === due);
    this.#await(due);
  }

  /** Processes what is due up to `dueMs`, inclusive, until `isOver` returns true. Returns the last instant. Call it within Database.read. */
  step(dueMs: InstantMs, isOver: () => boolean): InstantMs {
    let reachedMs = -Infinity;
    for (let steps = 1; this.#due.nextMs <= dueMs; steps += 1) {
      const due = this.#due.take();
      reachedMs = due.atMs;
      try {
        due.traded.step();
      } finally {
        this.#await(due);
      }
      if (steps % STEPS_UNTIMED === 0 && isOver()) break;
    }
    return reachedMs;
  }

  #await(due: DueMarket): void {
    due.atMs = due.traded.nextMs;
    if (due.atMs !== Infinity) this.#due.add(due);
  }
}
