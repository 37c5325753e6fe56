import { type Static, Type } from 'typebox';
import { CoinCode } from './coin.ts';
import { ConditionId } from './condition-id.ts';
import { type InstantMs, instantText } from './instant.ts';
import { RECORDED_SECONDS, Slug } from './market.ts';
import { AssetId } from './numeric-id.ts';
import { type Outcome, OutcomeName } from './outcome.ts';
import { TimeframeName } from './timeframe.ts';

export interface TimeRange {
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
}

/** Counts of the snapshots of one outcome of a market. */
export interface SnapshotCounts {
  readonly snapshots: number;
  readonly firstMs: InstantMs | undefined;
  readonly lastMs: InstantMs | undefined;
  /** Exactly one side has levels. */
  readonly oneSided: number;
  /** Neither side has levels. */
  readonly empty: number;
  /** The best bid is at or above the best ask. */
  readonly crossed: number;
  /** Best bid at most 0.01, best ask at least 0.99: the venue's ghost book, in which nobody trades. */
  readonly placeholder: number;
}

export function lengthOf({ fromMs, toMs }: TimeRange): number {
  return toMs - fromMs;
}

/**
 * Finds the longest time in a window without a snapshot. The window's start and its end (now, while it is open) count as
 * snapshots; a snapshot outside the window counts at the nearer edge. Of equally long times it is the earliest.
 */
export class SilenceTracker {
  readonly #startMs: InstantMs;
  readonly #endMs: InstantMs;
  #lastMs: InstantMs;
  #longest: TimeRange | undefined;

  constructor(startMs: InstantMs, endMs: InstantMs) {
    this.#startMs = startMs;
    this.#endMs = endMs;
    this.#lastMs = startMs;
  }

  /** Snapshots must be added in ascending order. */
  add(timestampMs: InstantMs): void {
    const atMs = Math.min(timestampMs, this.#endMs);
    if (atMs <= this.#lastMs) return;
    if (this.#longest === undefined || atMs - this.#lastMs > lengthOf(this.#longest)) {
      this.#longest = { fromMs: this.#lastMs, toMs: atMs };
    }
    this.#lastMs = atMs;
  }

  /** The longest time without a snapshot; undefined if the window has not begun. */
  longest(nowMs: InstantMs): TimeRange | undefined {
    const untilMs = Math.max(this.#startMs, Math.min(nowMs, this.#endMs));
    const last = { fromMs: this.#lastMs, toMs: untilMs };
    if (lengthOf(last) <= 0) return this.#longest;
    return this.#longest === undefined || lengthOf(last) > lengthOf(this.#longest) ? last : this.#longest;
  }
}

/** Maximum number of gaps that the coverage of a market lists; `gapCount` counts all. */
export const GAPS_LISTED_MAX = 10_000;
/** Maximum number of instants with contradicting books that the coverage of a market lists; `contradictingCount` counts all. */
export const CONTRADICTING_LISTED_MAX = 100;

const instantOrNull = (description: string) => Type.Union([instantText(description), Type.Null()], { description });
const count = (description: string) => Type.Integer({ minimum: 0, description });

const OutcomeCoverage = Type.Object({
  outcome: OutcomeName,
  assetId: AssetId,
  mirrored: Type.Boolean({
    description:
      'Whether the first snapshot was made from the other outcome, as is every snapshot before the first recorded one.',
  }),
  count: count('Snapshots.'),
  first: instantOrNull('Time of the first snapshot; null when there is none.'),
  last: instantOrNull('Time of the last snapshot; null when there is none.'),
  oneSided: count('Snapshots with levels on exactly one side.'),
  crossed: count('Snapshots whose best bid is at or above the best ask.'),
  empty: count('Snapshots without levels.'),
  placeholder: count('Snapshots with a best bid of at most 0.01 and a best ask of at least 0.99.'),
  recordedSeconds: Type.Number({
    minimum: 0,
    description: 'The seconds of the window that are recorded by the snapshots of this outcome alone.',
  }),
  widestSpread: Type.Union([Type.Number(), Type.Null()], {
    description:
      'The largest difference of best ask and best bid of a snapshot in the window, of all snapshots if none of the window has both. null when none has.',
  }),
  longestSilence: Type.Union(
    [
      Type.Object({
        from: instantText('The snapshot, or the edge of the window, before it.'),
        to: instantText('The snapshot, or the edge of the window, after it.'),
        milliseconds: Type.Integer({ minimum: 1, description: 'From `from` to `to`.' }),
      }),
      Type.Null(),
    ],
    {
      description:
        'The longest time in the window without a snapshot. The edges of the window (or now, while it is open) count as snapshots. null when the window has not begun.',
    },
  ),
});

export const CoverageResource = Type.Object(
  {
    conditionId: ConditionId,
    slug: Slug,
    symbol: CoinCode,
    timeframe: TimeframeName,
    startTime: instantText('Start of the window.'),
    endTime: instantText('End of the window.'),
    ...RECORDED_SECONDS,
    resolution: Type.Union([Type.Literal('recorded'), Type.Literal('assumed'), Type.Null()], {
      description:
        'Whether the time of the resolution was recorded. assumed: only the winner was, and a replay resolves the market 20 seconds after its window. null without a winner, and before the recorded time.',
    }),
    outcomes: Type.Array(OutcomeCoverage, { minItems: 2, maxItems: 2, description: 'up, then down.' }),
    contradictions: count(
      'Instants at which the last recorded books of up and down contradict each other: both asks together cost less than 1, or both bids pay more than 1. One of the two books is then out of date. A replay sends the later one for both outcomes.',
    ),
    contradictingCount: count(
      'Number of instants of an outcome at which recordings that were imported one after the other stored different books. All of them are served; import a recording with hashes again, which keeps the book that they prove.',
    ),
    contradicting: Type.Array(
      Type.Object({
        assetId: AssetId,
        outcome: OutcomeName,
        timestamp: instantText('The instant.'),
        books: Type.Integer({ minimum: 2, description: 'Snapshots of the outcome at this instant.' }),
      }),
      {
        maxItems: CONTRADICTING_LISTED_MAX,
        description: `The first ${CONTRADICTING_LISTED_MAX} of those instants, ascending, up before down.`,
      },
    ),
    gapCount: count('Number of time ranges that recordings say they missed.'),
    gaps: Type.Array(
      Type.Object({
        from: instantText('Start of the gap.'),
        to: instantText('End of the gap.'),
        reason: Type.String({ minLength: 1, maxLength: 200, description: 'Why, as the recording says.' }),
      }),
      {
        maxItems: GAPS_LISTED_MAX,
        description: `The first ${GAPS_LISTED_MAX} of those time ranges, both ends inclusive, ascending. An export has all of them.`,
      },
    ),
  },
  { $id: 'Coverage', description: 'The recorded part of a market. Read it before you trust a back-test.' },
);
export type CoverageResource = Static<typeof CoverageResource>;

export interface OutcomeCoverage extends SnapshotCounts {
  readonly outcome: Outcome;
  readonly mirrored: boolean;
  /** See `recordedMs` of recorded-time.ts. */
  readonly recordedMs: number;
  readonly widestSpread: number | undefined;
  readonly silence: SilenceTracker;
}
