import type { Snapshot } from '../../../client/segment-reader.ts';
import type { HeatMap } from '../../../domain/heat-map.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import type { HeatMapWindow } from './recording.ts';
import type { OutcomeChoice } from './view-choices.ts';

export interface LadderQuery {
  readonly choice: OutcomeChoice;
  readonly atMs: number;
  /** Levels of each side. */
  readonly depth: number;
}

/** The books of one market. A call with a signal rejects with the signal's reason as soon as it is aborted. */
export interface MarketSource {
  /** Equal to `…/heatmap`. */
  heatMap(window: HeatMapWindow, signal: AbortSignal): Promise<HeatMap>;
  /**
   * The last snapshot of each outcome at or before an instant, if there is one. `stepMs`: the market plays, and ladders of less
   * than this before the instant will do.
   */
  ladders(query: LadderQuery, stepMs?: number): Promise<readonly Snapshot[]>;
  /** The time of the next snapshot after an instant, or of the last one before it; undefined if there is none. */
  neighbour(outcome: Outcome, atMs: number, direction: -1 | 1, signal: AbortSignal): Promise<number | undefined>;
}

/** A snapshot with the best levels of each side only. */
export function shallow(snapshot: Snapshot, depth: number): Snapshot {
  return { ...snapshot, bids: snapshot.bids.slice(0, depth), asks: snapshot.asks.slice(0, depth) };
}
