import type { SnapshotCounts, TimeRange } from '../domain/coverage.ts';
import type { Gap } from '../domain/gap.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { AuditedSeries } from '../store/segment-audit.ts';

export type ProblemKind =
  /** A damaged page or index, a violated constraint, or the key secret. */
  | 'database'
  /** A row that refers to a missing row. */
  | 'reference'
  /** An impossible value in a field of a market or a gap. */
  | 'field'
  /** The file of a sealed market is missing, changed, or another one. */
  | 'sealed'
  /** A segment that does not match its digest, or overlaps the segment before or after it. */
  | 'segment'
  /** A record with an impossible value, in a segment that matches its digest. */
  | 'value'
  /** A record id that two records have, or that was never given. */
  | 'id'
  /** Quotes or mids that do not follow from the snapshots. */
  | 'derivation'
  /** A mirrored snapshot that is not the mirror of the recorded one. */
  | 'mirror'
  /** Prices that contradict a market's winner: the recording is wrong, the archive is not damaged. */
  | 'winner'
  /** Different books of one instant of different imports: a recording is wrong, the archive is not damaged. */
  | 'contradiction';

/** The place of a problem. Fields that do not apply or are unknown are undefined. */
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

/** A problem. `what` is one sentence, without the place. */
export interface Problem extends ProblemPlace {
  readonly kind: ProblemKind;
  readonly what: string;
}

export interface OutcomeObservations extends SnapshotCounts {
  readonly outcome: Outcome;
  readonly mirrored: boolean;
  /** Snapshots before the window's start. */
  readonly beforeWindow: number;
  /** Snapshots after the window's end. */
  readonly afterWindow: number;
  /** Whole seconds of the window, up to now, without a snapshot. */
  readonly secondsWithout: number;
  readonly longestSilence: TimeRange | undefined;
  /** Ranges of the window, a minute or longer, in which every snapshot has the same book. */
  readonly frozen: number;
  readonly frozenMs: number;
  readonly longestFrozen: TimeRange | undefined;
  /** Instants with different books of different imports, see ContradictingInstants. */
  readonly contradicting: number;
  /** Gaps in this outcome's books that a rebuild found, and in which the archive has rebuilt books. */
  readonly coveredGaps: number;
}

/** Observations about one market; problems are listed separately. */
export interface MarketObservations {
  readonly slug: string;
  readonly conditionId: string;
  readonly problems: number;
  readonly outcomes: readonly OutcomeObservations[];
  readonly gaps: readonly Gap[];
  /** Instants at which both outcomes have recorded snapshots. */
  readonly sharedInstants: number;
  /** Shared instants at which the two books are not mirrors of each other. */
  readonly unmirroredInstants: number;
  /** Instants at which the last recorded books of the outcomes contradict each other, see ContradictionTally. */
  readonly contradictions: number;
  /** Recorded snapshots without a mirrored one, although the other outcome's books are mirrored. */
  readonly mirrorMissing: number;
  /** The window ended more than a day ago, and no recording states that the market closed. */
  readonly neverClosed: boolean;
  /** One sentence if the coin's prices contradict the winner, but are too old to be certain. */
  readonly winnerDoubt: string | undefined;
}

export const NO_TOTALS = {
  markets: 0,
  segments: 0,
  records: 0,
  snapshots: 0,
  /** Markets with a winner that the coin's prices confirm, contradict, or cannot check. */
  winnersConfirmed: 0,
  winnersContradicted: 0,
  winnersUnjudged: 0,
  problems: 0,
  /** Problems of the archive, not of a recording: all kinds except 'winner' and 'contradiction'. */
  damage: 0,
  elapsedMs: 0,
};
export type VerificationTotals = Readonly<typeof NO_TOTALS>;

export interface Verification {
  readonly ok: boolean;
  /** The first PROBLEMS_LISTED_MAX problems; `totals.problems` counts all. */
  readonly problems: readonly Problem[];
  readonly totals: VerificationTotals;
}

/** Further problems are only counted, to keep the report readable and in memory. */
export const PROBLEMS_LISTED_MAX = 1000;

/** The first problems that were found, and the numbers of all. */
export interface Problems {
  readonly listed: readonly Problem[];
  readonly count: number;
  readonly damage: number;
}

/** Counts problems and keeps the first PROBLEMS_LISTED_MAX. */
export class ProblemList implements Problems {
  readonly listed: Problem[] = [];
  count = 0;
  damage = 0;

  /** `atMs`: the time of the wrong record, if it is one record. */
  add(kind: ProblemKind, what: string, place: ProblemPlace = {}, atMs?: InstantMs): void {
    this.count += 1;
    if (kind !== 'winner' && kind !== 'contradiction') this.damage += 1;
    const times = atMs === undefined ? {} : { fromMs: atMs, toMs: atMs };
    if (this.listed.length < PROBLEMS_LISTED_MAX) this.listed.push({ ...place, ...times, kind, what });
  }

  addAll({ listed, count, damage }: Problems): void {
    this.count += count;
    this.damage += damage;
    this.listed.push(...listed.slice(0, PROBLEMS_LISTED_MAX - this.listed.length));
  }
}
