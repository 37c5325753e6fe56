import type { Outcome } from '../../../domain/outcome.ts';
import type { Span } from './span.ts';

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

/** The parts of the time axis that a market has. */
interface RecordedSpans {
  /** From the start to the end of the market. */
  readonly window: Span;
  /** The window, and what is recorded before and after it. */
  readonly limits: Span;
  /** The first instant of the window that has a book of each recorded outcome. */
  readonly firstMs: number;
}

export function recordedSpans({ startTime, endTime }: MarketJson, coverage: CoverageJson | undefined): RecordedSpans {
  const window = { from: Date.parse(startTime), to: Date.parse(endTime) + 1 };
  const outcomes = coverage?.outcomes ?? [];
  const times = outcomes.flatMap(({ first, last }) => [first, last]).filter((time) => time !== null);
  const recorded = times.map((time) => Date.parse(time));
  const firsts = outcomes.map(({ first }) => (first === null ? window.from : Date.parse(first)));
  return {
    window,
    limits: { from: Math.min(window.from, ...recorded), to: Math.max(window.to, ...recorded.map((ms) => ms + 1)) },
    firstMs: Math.min(Math.max(window.from, ...firsts), window.to - 1),
  };
}
