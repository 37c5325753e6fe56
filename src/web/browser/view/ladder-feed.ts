import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Snapshot } from '../../../client/segment-reader.ts';
import type { LadderQuery, MarketSource } from './market-source.ts';
import { pause } from './pause.ts';

export interface ShownLadders {
  readonly query: LadderQuery;
  readonly snapshots: readonly Snapshot[];
}

/** Gets the ladders of the wanted instant, one request at a time: instants that pass meanwhile are left out. */
export class LadderFeed {
  readonly #shown: Signal<ShownLadders | undefined> = signal(undefined);
  readonly #onError: (error: unknown) => void;
  #wanted: { readonly source: MarketSource; readonly query: LadderQuery; readonly restMs: number } | undefined;
  #isAsking = false;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  get shown(): ReadonlySignal<ShownLadders | undefined> {
    return this.#shown;
  }

  /** `restMs`: the shortest time between the answer and the next request. */
  want(source: MarketSource, query: LadderQuery, restMs: number): void {
    this.#wanted = { source, query, restMs };
    if (!this.#isAsking) void this.#ask();
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    for (let asked = this.#wanted; asked !== undefined; asked = this.#wanted) {
      const { source, query, restMs } = asked;
      try {
        this.#shown.value = { query, snapshots: await source.ladders(query) };
      } catch (error) {
        this.#onError(error);
      }
      if (this.#wanted === asked) this.#wanted = undefined;
      else if (restMs > 0) await pause(restMs, undefined);
    }
    this.#isAsking = false;
  }
}
