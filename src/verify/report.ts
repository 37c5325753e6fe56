import type { SnapshotCounts, TimeRange } from '../domain/coverage.ts';
import type { Gap } from '../domain/gap.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { AuditedSeries } from '../store/segment-audit.ts';

export type ProblemKind =
  /** A page, an index, a constraint, the key secret. */
  | 'database'
  /** A row names another that does not exist. */
  | 'reference'
  /** A field of a market or a gap has an impossible value. */
  | 'field'
  /** A segment is not what was written, or does not fit its neighbours. */
  | 'segment'
  /** A record with an impossible value, in a segment that is what was written. */
  | 'value'
  /** A record id that was given twice, or never. */
  | 'id'
  /** Quotes or mids that do not follow from the snapshots. */
  | 'derivation'
  /** A mirrored snapshot that is not the mirror of the recorded one. */
  | 'mirror'
  /** Prices that contradict a market's winner: the archive holds what was recorded, and the recording is wrong. */
  | 'winner';

/** Where a problem is; fields that do not apply or are not known are undefined. */
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

/** Something wrong; `what` is a whole sentence, without the place. */
export interface Problem extends ProblemPlace {
  readonly kind: ProblemKind;
  readonly what: string;
}

/** Observations about the snapshots of one outcome. */
export interface OutcomeObservations extends SnapshotCounts {
  readonly outcome: Outcome;
  readonly mirrored: boolean;
  /** Snapshots before the window's start, and after its end. */
  readonly before: number;
  readonly behind: number;
  /** Whole seconds of the window, up to now, in which no snapshot lies. */
  readonly secondsWithout: number;
  readonly longestSilence: TimeRange | undefined;
  /** Ranges of the window, a minute or longer, from a snapshot to the last one in a row that repeats its whole book. */
  readonly frozen: number;
  readonly frozenMs: number;
  readonly longestFrozen: TimeRange | undefined;
}

/** Observations about one market; problems are listed separately. */
export interface MarketObservations {
  readonly slug: string;
  readonly conditionId: string;
  readonly problems: number;
  readonly outcomes: readonly OutcomeObservations[];
  readonly gaps: readonly Gap[];
  /** Instants of which both outcomes have recorded snapshots, and how many of those are not mirrors of one another. */
  readonly sharedInstants: number;
  readonly unmirroredInstants: number;
  /** Recorded snapshots whose mirrored ones were not made yet. */
  readonly mirrorMissing: number;
  /** The window ended more than a day ago, and no recording says that the market closed. */
  readonly neverClosed: boolean;
  /** Older ticks of the coin that contradict the winner, as a sentence. */
  readonly winnerDoubt: string | undefined;
}

export interface VerificationTotals {
  readonly markets: number;
  readonly segments: number;
  readonly records: number;
  readonly snapshots: number;
  /** Markets whose winner the coin's prices confirm, contradict, or cannot judge. */
  readonly winnersConfirmed: number;
  readonly winnersContradicted: number;
  readonly winnersUnjudged: number;
  readonly problems: number;
  /** Problems of the archive itself, not of a recording: all kinds but 'winner'. */
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

  add(kind: ProblemKind, what: string, place: ProblemPlace = {}): void {
    this.count += 1;
    if (kind !== 'winner') this.damage += 1;
    if (this.listed.length < PROBLEMS_LISTED_MAX) this.listed.push({ ...place, kind, what });
  }
}
