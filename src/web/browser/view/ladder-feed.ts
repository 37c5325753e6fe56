import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Snapshot } from '../../../client/segment-reader.ts';
import type { LadderQuery, MarketSource } from './market-source.ts';
import { pause } from './pause.ts';

export interface ShownLadders {
  readonly query: LadderQuery;
  readonly snapshots: readonly Snapshot[];
}

/** Gets the ladders of the wanted instant, one request at a time; it skips instants that are not wanted any more by then. */
export class LadderFeed {
  readonly #shown: Signal<ShownLadders | undefined> = signal(undefined);
  readonly shown: ReadonlySignal<ShownLadders | undefined> = this.#shown;
  readonly #onError: (error: unknown) => void;
  #wanted: { readonly source: MarketSource; readonly query: LadderQuery; readonly pauseMs: number } | undefined;
  #isRunning = false;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** `pauseMs`: the shortest time between the answer and the next request. */
  want(source: MarketSource, query: LadderQuery, pauseMs: number): void {
    this.#wanted = { source, query, pauseMs };
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#wanted; next !== undefined; next = this.#wanted) {
      const { source, query, pauseMs } = next;
      try {
        this.#shown.value = { query, snapshots: await source.ladders(query) };
      } catch (error) {
        this.#onError(error);
      }
      if (this.#wanted === next) this.#wanted = undefined;
      else if (pauseMs > 0) await pause(pauseMs, undefined);
    }
    this.#isRunning = false;
  }
}
