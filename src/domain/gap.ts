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

/** Separates the reason of a gap that a rebuild found from its causes, and these from each other. */
const CAUSE = ': ';

/** Why a recorder has no books of an outcome, as a reason. */
export function lossReason(cause: string, outcome: Outcome): string {
  return `${cause}: books of ${outcome} are missing`;
}

/** The cause in a `lossReason` of an outcome; undefined for other reasons. */
export function lossCause(reason: string, outcome: Outcome): string | undefined {
  const end = lossReason('', outcome);
  return reason.endsWith(end) ? reason.slice(0, -end.length) : undefined;
}

/** The reason of a gap that a rebuild found, with the causes that a recorder states for it. */
export function reasonWithCauses(reason: string, causes: readonly string[]): string {
  const further = causes.filter((cause) => !reason.includes(`${CAUSE}${cause}`));
  return [reason, ...new Set(further)].join(CAUSE);
}

/** The causes in the reason of a gap that a rebuild found. */
export function causesIn({ reason }: Gap): readonly string[] {
  return reason.split(CAUSE).slice(1);
}

/** A name of a gap that a rebuild found, unique in the book of an outcome, with or without causes. */
export function nameOfFound({ fromMs, toMs, reason }: Gap): string {
  return `${fromMs} ${toMs} ${reason.split(CAUSE, 1)[0]}`;
}

/** Returns true for a gap that a rebuild found in the book of an outcome, in this archive or in one that was exported. */
export function isRebuiltGap({ reason }: Gap, outcome: Outcome): boolean {
  return REASONS.test(reason) && reason.includes(` of ${outcome} `);
}
