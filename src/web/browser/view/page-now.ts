import type { InstantMs } from '../../../domain/instant.ts';
import { marketState } from '../../../domain/market-state.ts';
import type { Connection } from './connection.ts';
import type { ListedMarket } from './recordings.ts';
import type { ReplayClock } from './replay-clock.ts';

/** The instant as of which a page shows the archive: that of a replay (NaN before it is known), the limit of the key, or now. */
export function pageNowMs({ connected }: Connection, clock: ReplayClock | undefined): InstantMs {
  if (clock !== undefined) return Date.parse(clock.shown.value?.now ?? '');
  const asOf = connected?.key.asOf;
  return Math.min(Date.now(), asOf ? Date.parse(asOf) : Infinity);
}

/** The state of a market at the instant of the page. */
export function stateNow(
  { winner, closed, endTime }: Pick<ListedMarket, 'winner' | 'closed' | 'endTime'>,
  connection: Connection,
  clock: ReplayClock | undefined,
): ReturnType<typeof marketState> {
  return marketState({ winner, closed, endMs: Date.parse(endTime) }, pageNowMs(connection, clock));
}
