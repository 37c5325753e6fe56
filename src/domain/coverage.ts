import { type Static, Type } from 'typebox';
import { CoinCode } from './coin.ts';
import { ConditionId } from './condition-id.ts';
import { type InstantMs, instantText } from './instant.ts';
import { Slug } from './market.ts';
import { AssetId } from './numeric-id.ts';
import { type Outcome, OutcomeName } from './outcome.ts';
import { TimeframeName } from './timeframe.ts';

/** A range of time; both ends are instants at which something is known, nothing is known between them. */
export interface TimeRange {
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
}

/** What the snapshots of one outcome of a market come to. */
export interface SnapshotCounts {
  readonly snapshots: number;
  readonly firstMs: InstantMs | undefined;
  readonly lastMs: InstantMs | undefined;
  /** Exactly one side has levels. */
  readonly oneSided: number;
  /** Neither side has. */
  readonly empty: number;
  /** Both have, and the best bid is at or above the best ask. */
  readonly crossed: number;
  /** Nobody trades in it: best bid at most 0.01, best ask at least 0.99 (the venue's ghost book). */
  readonly placeholder: number;
}

export function lengthOf({ fromMs, toMs }: TimeRange): number {
  return toMs - fromMs;
}

/**
 * Finds the longest time in a window without a snapshot: from its start, or a snapshot, to the next snapshot, or to where
 * the window ends (or now is, while it is open). Of two as long the earlier one. Snapshots come in ascending order; those
 * outside the window end or begin such a time at its edge.
 */
export class SilenceWatch {
  readonly #startMs: InstantMs;
  readonly #endMs: InstantMs;
  #heardMs: InstantMs;
  #longest: TimeRange | undefined;

  constructor(startMs: InstantMs, endMs: InstantMs) {
    this.#startMs = startMs;
    this.#endMs = endMs;
    this.#heardMs = startMs;
  }

  hear(timestampMs: InstantMs): void {
    const atMs = Math.min(timestampMs, this.#endMs);
    if (atMs <= this.#heardMs) return;
    if (this.#longest === undefined || atMs - this.#heardMs > lengthOf(this.#longest)) {
      this.#longest = { fromMs: this.#heardMs, toMs: atMs };
    }
    this.#heardMs = atMs;
  }

  /** With the silence from the last snapshot to `nowMs`, or to the window's end when that is over; undefined for none. */
  longest(nowMs: InstantMs): TimeRange | undefined {
    const untilMs = Math.max(this.#startMs, Math.min(nowMs, this.#endMs));
    const last = { fromMs: this.#heardMs, toMs: untilMs };
    if (lengthOf(last) <= 0) return this.#longest;
    return this.#longest === undefined || lengthOf(last) > lengthOf(this.#longest) ? last : this.#longest;
  }
}

/** Gaps that the coverage of a market lists; further ones are counted. */
export const GAPS_LISTED_MAX = 10_000;

const instantOrNull = (description: string) => Type.Union([instantText(description), Type.Null()], { description });
const count = (description: string) => Type.Integer({ minimum: 0, description });

const OutcomeCoverage = Type.Object({
  outcome: OutcomeName,
  assetId: AssetId,
  mirrored: Type.Boolean({
    description: 'Whether the snapshots were made from the other outcome’s, which were recorded.',
  }),
  count: count('Snapshots.'),
  first: instantOrNull('Of the first snapshot; null without any.'),
  last: instantOrNull('Of the last snapshot; null without any.'),
  oneSided: count('Snapshots of which exactly one side has levels.'),
  crossed: count('Snapshots whose best bid is at or above the best ask.'),
  empty: count('Snapshots without any level.'),
  placeholder: count('Snapshots with a best bid of at most 0.01 and a best ask of at least 0.99.'),
  longestSilence: Type.Union(
    [
      Type.Object({
        from: instantText('The snapshot, or the edge of the window, before it.'),
        to: instantText('The snapshot, or the edge of the window, after it.'),
        milliseconds: Type.Integer({ minimum: 1, description: 'From one to the other.' }),
      }),
      Type.Null(),
    ],
    {
      description:
        'The longest time in the window without a snapshot, its edges (or now, while it is open) counting as ends; null when the window has not begun.',
    },
  ),
});

/** What is recorded of a market, on the wire. */
export const CoverageResource = Type.Object(
  {
    conditionId: ConditionId,
    slug: Slug,
    symbol: CoinCode,
    timeframe: TimeframeName,
    startTime: instantText('Start of the window.'),
    endTime: instantText('End of the window.'),
    outcomes: Type.Array(OutcomeCoverage, { minItems: 2, maxItems: 2, description: 'up, then down.' }),
    gapCount: count('Time ranges that a recording says it missed.'),
    gaps: Type.Array(
      Type.Object({
        from: instantText('Start of the gap.'),
        to: instantText('End of the gap.'),
        reason: Type.String({ minLength: 1, maxLength: 200, description: 'Why, as the recording says.' }),
      }),
      {
        maxItems: GAPS_LISTED_MAX,
        description: `Those time ranges, both ends inclusive, ascending: the first ${GAPS_LISTED_MAX} of them. An export has all.`,
      },
    ),
  },
  { $id: 'Coverage', description: 'What is recorded of a market: to be read before a back-test trusts it.' },
);
export type CoverageResource = Static<typeof CoverageResource>;

/** One outcome's part of a market's coverage. */
export interface OutcomeCoverage extends SnapshotCounts {
  readonly outcome: Outcome;
  readonly mirrored: boolean;
  readonly silence: SilenceWatch;
}
