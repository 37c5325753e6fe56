import type { Snapshot } from '../../../client/segment-reader.ts';
import type { LadderQuery } from './market-source.ts';

/** Gets the ladders at several instants, in their order. The list may end early, and has one at least. */
type LoadLadders = (query: LadderQuery, instants: readonly number[]) => Promise<readonly (readonly Snapshot[])[]>;

interface Batch {
  /** The choice, the depth and the step. */
  readonly key: string;
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  readonly ladders: ReturnType<LoadLadders>;
}

/** With ten ladders a second a batch lasts ten seconds. */
const INSTANTS_MAX = 100;

/** The ladders of a market that plays: a request gets those of the next seconds, and is sent before they are needed. */
export class LadderBatches {
  readonly #load: LoadLadders;
  /** The present one, and the one after it. */
  #batches: readonly Batch[] = [];

  constructor(load: LoadLadders) {
    this.#load = load;
  }

  /** The ladders at an instant or less than `stepMs` before it; exactly those of the first instant. After a failure the next call loads again. */
  async at(query: LadderQuery, stepMs: number): Promise<readonly Snapshot[]> {
    const { atMs, choice, depth } = query;
    const key = `${choice} ${depth} ${stepMs}`;
    const batchAt = (ms: number) =>
      this.#batches.find((batch) => batch.key === key && batch.fromMs <= ms && ms < batch.toMs);
    const begin = (fromMs: number): Batch => {
      const instants = Array.from({ length: INSTANTS_MAX }, (_, nth) => fromMs + nth * stepMs);
      return { key, fromMs, toMs: fromMs + INSTANTS_MAX * stepMs, ladders: this.#load(query, instants) };
    };
    const batch = batchAt(atMs) ?? begin(atMs);
    const isHalfPlayed = 2 * atMs >= batch.fromMs + batch.toMs;
    const next = batchAt(batch.toMs) ?? (isHalfPlayed ? begin(batch.toMs) : undefined);
    this.#batches = next === undefined ? [batch] : [batch, next];
    const drop = (failed: Batch) => {
      this.#batches = this.#batches.filter((kept) => kept !== failed);
    };
    // It is loaded again when it is played.
    next?.ladders.catch(() => drop(next));
    try {
      const found = (await batch.ladders)[Math.floor((atMs - batch.fromMs) / stepMs)];
      if (found !== undefined) return found;
    } catch (error) {
      drop(batch);
      throw error;
    }
    // The list ended early.
    drop(batch);
    return await this.at(query, stepMs);
  }

  /** Drops what was loaded, because the market has changed. */
  forget(): void {
    this.#batches = [];
  }
}
