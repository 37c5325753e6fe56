import type { Outcome, Placed } from './generated-series.ts';

export interface SeriesQuestion {
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly outcome: Outcome | undefined;
  readonly order: 'asc' | 'desc' | undefined;
}

/** All records that match a request, from a list that ascends by (timestamp, id). */
export function scanned(placed: readonly Placed[], { from, to, outcome, order }: SeriesQuestion): Placed[] {
  const found = placed.filter(
    (record) =>
      (from === undefined || record.timestampMs >= from) &&
      (to === undefined || record.timestampMs <= to) &&
      (outcome === undefined || record.outcome === outcome),
  );
  return order === 'desc' ? found.reverse() : found;
}

/** The nearest records of an instant, as the contract defines them, found by reading every record. */
export function nearestOf(placed: readonly Placed[], atMs: number, wantedOutcome: Outcome | undefined): Placed[] {
  const distance = ({ timestampMs }: Placed) => Math.abs(timestampMs - atMs);
  const best = new Map<Outcome, Placed>();
  for (const record of placed) {
    const nearest = best.get(record.outcome);
    const isNearer = nearest === undefined || distance(record) < distance(nearest);
    // The list ascends, so the earlier of two equally near records comes first, and the highest id of an instant last.
    if (isNearer || record.timestampMs === nearest.timestampMs) best.set(record.outcome, record);
  }
  const found = (['up', 'down'] as const).flatMap((outcome) => best.get(outcome) ?? []);
  const wanted = found.filter(({ outcome }) => wantedOutcome === undefined || outcome === wantedOutcome);
  const [up, down] = wanted;
  return up !== undefined && down !== undefined && distance(down) < distance(up) ? [down, up] : wanted;
}
