import type { InstantMs } from './instant.ts';
import type { Outcome } from './outcome.ts';

interface StatedEnd {
  readonly winner: Outcome | null | undefined;
  readonly closed: boolean;
  readonly endMs: InstantMs;
}

/** The state of a market at an instant: its winner; `open` before the end of its window; `over` after it, without a recorded winner. */
export function marketState({ winner, closed, endMs }: StatedEnd, nowMs: InstantMs): Outcome | 'open' | 'over' {
  return winner ?? (closed || endMs <= nowMs ? 'over' : 'open');
}
