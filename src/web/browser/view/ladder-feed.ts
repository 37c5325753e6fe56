import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Snapshot } from '../../../client/segment-reader.ts';
import type { LadderQuery, MarketSource } from './market-source.ts';
import { pause } from './pause.ts';

export interface ShownLadders {
  readonly query: LadderQuery;
  readonly snapshots: readonly Snapshot[];
}

export interface WantedLadders {
  readonly source: MarketSource;
  readonly query: LadderQuery;
  /** While the market plays: see MarketSource. */
  readonly stepMs: number | undefined;
  /** The shortest time between the answer and the next request. */
  readonly pauseMs: number;
}

/** Gets the ladders of the wanted instant, one request at a time; it skips instants that are not wanted any more by then. */
export class LadderFeed {
  readonly #shown: Signal<ShownLadders | undefined> = signal(undefined);
  readonly shown: ReadonlySignal<ShownLadders | undefined> = this.#shown;
  readonly #onError: (error: unknown) => void;
  #wanted: WantedLadders | undefined;
  #isRunning = false;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** True until the ladders that are wanted are there, or failed. */
  get isWaiting(): boolean {
    return this.#isRunning;
  }

  want(wanted: WantedLadders): void {
    this.#wanted = wanted;
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#wanted; next !== undefined; next = this.#wanted) {
      const { source, query, stepMs, pauseMs } = next;
      try {
        const snapshots = await source.ladders(query, stepMs);
        // A batch has the same ladders for several frames.
        if (snapshots !== this.#shown.value?.snapshots) this.#shown.value = { query, snapshots };
      } catch (error) {
        this.#onError(error);
      }
      if (this.#wanted === next) this.#wanted = undefined;
      else if (pauseMs > 0) await pause(pauseMs, undefined);
    }
    this.#isRunning = false;
  }
}
