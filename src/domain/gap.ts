import type { InstantMs } from './instant.ts';

/** A time range of a market that a recording states as missing; both ends inclusive. */
export interface Gap {
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  readonly reason: string;
}
