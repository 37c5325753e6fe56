import type { InstantMs } from './instant.ts';
import type { Outcome } from './outcome.ts';

/** A time range of a market that a recording states as missing; both ends inclusive. */
export interface Gap {
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  readonly reason: string;
}

/** The beginnings of the reasons of gaps that a rebuild finds in the book of an outcome. */
const REASONS =
  /^(?:the recorded book|the book|\d+ consecutive recorded books|the hashes of the changes|a recorded book|a change|a book) of /;

/** Returns true for a gap that a rebuild found in the book of an outcome, in this archive or in one that was exported. */
export function isRebuiltGap({ reason }: Gap, outcome: Outcome): boolean {
  return REASONS.test(reason) && reason.includes(` of ${outcome} `);
}
