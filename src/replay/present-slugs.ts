import type { InstantMs } from '../domain/instant.ts';
import type { Market } from '../domain/market.ts';
import { slugOf } from '../venue/slug.ts';

/** The window of a market that is given a slug. */
export interface NamedWindow extends Pick<Market, 'conditionId' | 'symbol' | 'timeframe' | 'startMs' | 'endMs'> {
  readonly key: number;
  readonly listedMs: InstantMs;
}

/**
 * The slugs that the venue would give markets if their windows were `shiftMs` later, by market key. No two are equal: of markets
 * with the same slug, the first that was listed gets it, and the others get it with -2, -3 and so on.
 */
export function presentSlugs(windows: readonly NamedWindow[], shiftMs: number): Map<number, string> {
  const slugs = new Map<number, string>();
  const counts = new Map<string, number>();
  // A market that is listed later must not change the slug of an earlier one.
  for (const window of windows.toSorted(compareListings)) {
    const { symbol, timeframe, startMs, endMs } = window;
    const slug = slugOf({ symbol, timeframe, startMs: startMs + shiftMs, endMs: endMs + shiftMs });
    const count = (counts.get(slug) ?? 0) + 1;
    counts.set(slug, count);
    slugs.set(window.key, count === 1 ? slug : `${slug}-${count}`);
  }
  return slugs;
}

function compareListings(a: NamedWindow, b: NamedWindow): number {
  return a.listedMs - b.listedMs || a.startMs - b.startMs || (a.conditionId < b.conditionId ? -1 : 1);
}
