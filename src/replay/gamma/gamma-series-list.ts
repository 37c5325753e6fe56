import type { InstantMs } from '../../domain/instant.ts';
import { gammaEvent } from '../../venue/gamma-market.ts';
import { seriesObject } from '../../venue/gamma-series.ts';
import { listedMarket } from '../listed-market.ts';
import type { Replay } from '../replay.ts';
import type { CatalogEntry } from './gamma-catalog.ts';

/** Events that a series is told with: the last ones. A series of five minutes has as many in three and a half days. */
const SERIES_EVENTS_MAX = 1000;

/**
 * The series of markets that are listed at `nowMs`, by slug; `object` makes each as Gamma's `/series` has it, with its events.
 * Within Database.readShared.
 */
export function listedSeries(replay: Replay, entries: readonly CatalogEntry[], nowMs: InstantMs) {
  const eventOf = ({ key }: CatalogEntry) => gammaEvent(listedMarket(replay, replay.archive.markets.byKey(key), nowMs));
  return [...Map.groupBy(entries, ({ series }) => series.slug).values()]
    .map((members) => {
      const { series } = members[0]!;
      const last = members.toSorted((a, b) => a.startMs - b.startMs).slice(-SERIES_EVENTS_MAX);
      return { ...series, object: () => ({ ...seriesObject(series), events: last.map(eventOf) }) };
    })
    .sort((a, b) => (a.slug < b.slug ? -1 : 1));
}
