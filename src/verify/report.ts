import type { SnapshotCounts, TimeRange } from '../domain/coverage.ts';
import type { Gap } from '../domain/gap.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { AuditedSeries } from '../store/segment-audit.ts';

/**
 * What a problem is about:
 *
 *   database    a page, an index, a constraint, the key secret
 *   reference   a row names another that does not exist
 *   field       a field of a market or a gap that cannot be
 *   segment     a segment that is not what was written, or does not fit its neighbours
 *   value       a record that cannot be, in a segment that is what was written
 *   id          a record id that was given twice, or never
 *   derivation  quotes or mids that do not follow from the snapshots
 *   mirror      a mirrored snapshot that is not the mirror of the recorded one
 *   winner      prices that contradict a market's winner: the archive holds what was recorded, and the recording is wrong
 */
export type ProblemKind =
  | 'database'
  | 'reference'
  | 'field'
  | 'segment'
  | 'value'
  | 'id'
  | 'derivation'
  | 'mirror'
  | 'winner';

/** Where a problem is; what does not apply or is not known is undefined. */
export interface ProblemPlace {
  readonly slug?: string | undefined;
  readonly conditionId?: string | undefined;
  readonly outcome?: Outcome | undefined;
  readonly series?: AuditedSeries['kind'] | undefined;
  readonly symbol?: string | undefined;
  readonly source?: string | undefined;
  readonly segmentId?: number | undefined;
  readonly fromMs?: InstantMs | undefined;
  readonly toMs?: InstantMs | undefined;
}

/** Something that is wrong; `what` is a whole sentence, without the place. */
export interface Problem extends ProblemPlace {
  readonly kind: ProblemKind;
  readonly what: string;
}

/** What the snapshots of one outcome are like. */
export interface OutcomeObservations extends SnapshotCounts {
  readonly outcome: Outcome;
  readonly mirrored: boolean;
  /** Snapshots before the window's start, and behind its end. */
  readonly before: number;
  readonly behind: number;
  /** Whole seconds of the window, up to now, in which no snapshot lies. */
  readonly secondsWithout: number;
  readonly longestSilence: TimeRange | undefined;
  /** Stretches of the window, a minute or longer, from a snapshot to the last one in a row that repeats its whole book. */
  readonly frozen: number;
  readonly frozenMs: number;
  readonly longestFrozen: TimeRange | undefined;
}

/** What is remarkable about one market, and nothing that is wrong with the archive. */
export interface MarketObservations {
  readonly slug: string;
  readonly conditionId: string;
  readonly problems: number;
  readonly outcomes: readonly OutcomeObservations[];
  readonly gaps: readonly Gap[];
  /** Instants of which both outcomes have recorded snapshots, and how many of those are no mirror of one another. */
  readonly sharedInstants: number;
  readonly unmirroredInstants: number;
  /** Recorded snapshots whose mirrored ones were not made yet. */
  readonly mirrorMissing: number;
  /** The window ended more than a day ago, and no recording says that the market closed. */
  readonly neverClosed: boolean;
  /** What older ticks of the coin say against the winner, as a sentence. */
  readonly winnerDoubt: string | undefined;
}

interface VerificationTotals {
  readonly markets: number;
  readonly segments: number;
  readonly records: number;
  readonly snapshots: number;
  /** Markets whose winner the coin's prices confirm, contradict, or cannot judge. */
  readonly winnersConfirmed: number;
  readonly winnersContradicted: number;
  readonly winnersUnjudged: number;
  readonly problems: number;
  /** Those of them that are the archive's own, and not what a recording says: all but the kind 'winner'. */
  readonly damage: number;
  readonly elapsedMs: number;
}

export interface Verification {
  readonly ok: boolean;
  /** The first PROBLEMS_LISTED_MAX of them; `totals.problems` counts all. */
  readonly problems: readonly Problem[];
  readonly totals: VerificationTotals;
}

/** Beyond this a report only counts: it has to stay readable, and in memory. */
export const PROBLEMS_LISTED_MAX = 1000;

/** Collects problems, up to the number that is listed. */
export class ProblemList {
  readonly listed: Problem[] = [];
  count = 0;
  damage = 0;

  add(problem: Problem): void {
    this.count += 1;
    if (problem.kind !== 'winner') this.damage += 1;
    if (this.listed.length < PROBLEMS_LISTED_MAX) this.listed.push(problem);
  }
}
