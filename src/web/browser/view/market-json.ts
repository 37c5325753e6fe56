import type { Outcome } from '../../../domain/outcome.ts';

/** The fields of a market with `include=counts` that the page shows, see MarketWithCounts. */
export interface MarketJson {
  readonly conditionId: string;
  readonly slug: string;
  readonly symbol: string;
  readonly timeframe: string;
  readonly clobTokenIds: readonly [up: string, down: string];
  readonly closed: boolean;
  readonly winner: Outcome | null;
  readonly startTime: string;
  readonly endTime: string;
  readonly snapshotCount: number;
}

/** The fields of a market's coverage that the page shows, see CoverageResource. */
export interface CoverageJson {
  readonly outcomes: readonly {
    readonly outcome: Outcome;
    readonly count: number;
    readonly first: string | null;
    readonly last: string | null;
    readonly oneSided: number;
    readonly crossed: number;
  }[];
  readonly gapCount: number;
  readonly gaps: readonly { readonly from: string; readonly to: string; readonly reason: string }[];
}
