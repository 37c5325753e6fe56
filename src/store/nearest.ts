import type { InstantMs } from '../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import type { NearestMode } from '../domain/page.ts';
import type { StoredMarket } from './markets.ts';
import type { Found } from './series-walk.ts';
import type { Snapshots } from './snapshots.ts';

export interface NearestQuery {
  readonly outcomes: readonly Outcome[];
  readonly mode: NearestMode;
  /** Records further away are not found. */
  readonly maxDistanceMs: number;
  /** The maximum number of levels of each side; undefined: all. */
  readonly depth: number | undefined;
  /** Later records are not found; undefined for no limit. */
  readonly asOfMs: InstantMs | undefined;
  /** Records that arrived later are not found; undefined for no limit. */
  readonly receivedByMs?: InstantMs | undefined;
}

export interface NearestOfOutcome {
  readonly outcome: Outcome;
  readonly record: Found;
}

export function timestampOf({ record }: NearestOfOutcome): InstantMs {
  return record.head.timestamps[record.index]!;
}

/** The nearest record of each outcome that has any; the nearer of the two first, then up before down. */
export function nearestOfEach(
  snapshots: Snapshots,
  market: StoredMarket,
  instantMs: InstantMs,
  { outcomes, mode, maxDistanceMs, asOfMs = Infinity, receivedByMs }: NearestQuery,
): NearestOfOutcome[] {
  const found: NearestOfOutcome[] = [];
  const distanceOf = (nearest: NearestOfOutcome) => Math.abs(timestampOf(nearest) - instantMs);
  for (const outcome of outcomes) {
    const find = (atMs: InstantMs, of: NearestMode) => snapshots.nearest(market, outcome, atMs, of, receivedByMs);
    const nearest = nearestKnown(find, instantMs, mode, asOfMs);
    if (nearest === undefined) continue;
    const ofOutcome = { outcome, record: nearest };
    if (distanceOf(ofOutcome) <= maxDistanceMs) found.push(ofOutcome);
  }
  return found.sort(
    (a, b) => distanceOf(a) - distanceOf(b) || OUTCOMES.indexOf(a.outcome) - OUTCOMES.indexOf(b.outcome),
  );
}

/** The nearest of the records that are not later than `asOfMs`. */
function nearestKnown(
  find: (atMs: InstantMs, mode: NearestMode) => Found | undefined,
  instantMs: InstantMs,
  mode: NearestMode,
  asOfMs: number,
): Found | undefined {
  const found = find(instantMs, mode);
  if (found === undefined || found.head.timestamps[found.index]! <= asOfMs) return found;
  // No record is nearer than the found one, so the nearest known one is not after either instant.
  return mode === 'after' ? undefined : find(Math.min(instantMs, asOfMs), 'before');
}
