import type { Outcome } from '../../../domain/outcome.ts';
import type { LadderQuery } from './market-source.ts';
import type { HeatMapWindow, RecordedGap } from './recording.ts';

/** What the page asks of its worker. The first question is `read`. */
export type WorkerQuestion =
  | { readonly ask: 'read'; readonly segments: Uint8Array; readonly gaps: readonly RecordedGap[] }
  | { readonly ask: 'heatMap'; readonly window: HeatMapWindow }
  | { readonly ask: 'ladders'; readonly query: LadderQuery }
  | {
      readonly ask: 'neighbour';
      readonly outcome: Outcome;
      readonly atMs: number;
      readonly direction: -1 | 1;
    };

/** An answer has the number of its question. `error`: why there is none. */
export interface WorkerAnswer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}
