import type { InstantMs } from '../../domain/instant.ts';
import type { ReplayRun } from '../replay-run.ts';
import type { CatalogEntry } from './gamma-catalog.ts';
import { gammaEvent } from './gamma-event.ts';
import { type GammaSeries, seriesObject } from './gamma-series.ts';

/** Events that a series is told with: the last ones. A series of five minutes has as many in three and a half days. */
const SERIES_EVENTS_MAX = 1000;

/** A series that has markets, and how to tell of it. */
export interface ListedSeries extends GammaSeries {
  /** As Gamma's `/series` has it: with its events. */
  object(): object;
}

/** The series of markets that are listed at `nowMs`, by slug; within Database.readInTurn. */
export function listedSeries(run: ReplayRun, entries: readonly CatalogEntry[], nowMs: InstantMs): ListedSeries[] {
  const bySlug = new Map<string, CatalogEntry[]>();
  for (const entry of entries) {
    const held = bySlug.get(entry.series.slug);
    if (held === undefined) bySlug.set(entry.series.slug, [entry]);
    else held.push(entry);
  }
  return [...bySlug.values()]
    .map((members) => ({
      ...members[0]!.series,
      object: () => ({
        ...seriesObject(members[0]!.series),
        events: members
          .toSorted((a, b) => a.startMs - b.startMs)
          .slice(-SERIES_EVENTS_MAX)
          .map(({ key }) => gammaEvent(run, run.archive.markets.byKey(key), nowMs)),
      }),
    }))
    .sort((a, b) => (a.slug < b.slug ? -1 : 1));
}
