import { INSTANT_MAX_MS, type InstantMs } from '../../domain/instant.ts';
import { LISTED_AHEAD_MS_MAX } from '../../domain/market-as-of.ts';
import { OUTCOMES } from '../../domain/outcome.ts';
import type { Archive } from '../../store/archive.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { Window } from './tardis-options.ts';

/** The longest window, and a day in which it is resolved: so long after its start there may be records of a market. */
const BEHIND_START_MS = 2 * 86_400_000;

/** Markets that may have records in a window, by the start of their own; ties by conditionId. */
export function* marketsByStart({ markets }: Archive, { fromMs, toMs }: Window): Generator<StoredMarket> {
  const lastStartMs = toMs + LISTED_AHEAD_MS_MAX;
  const following = (coin: string, place: { readonly startMs: InstantMs; readonly conditionId: string }) => {
    const market = markets.after(coin, place);
    return market === undefined || market.startMs > lastStartMs ? undefined : market;
  };
  const first = { startMs: fromMs - BEHIND_START_MS, conditionId: '' };
  const heads = markets.coins().flatMap((coin) => following(coin, first) ?? []);
  while (heads.length > 0) {
    let next = 0;
    for (let i = 1; i < heads.length; i += 1) if (startsEarlier(heads[i]!, heads[next]!)) next = i;
    const market = heads[next]!;
    const successor = following(market.symbol, market);
    if (successor === undefined) heads.splice(next, 1);
    else heads[next] = successor;
    yield market;
  }
}

function startsEarlier(a: StoredMarket, b: StoredMarket): boolean {
  return a.startMs < b.startMs || (a.startMs === b.startMs && a.conditionId < b.conditionId);
}

/** When the first book or trade of a market behind `atMs` is; Infinity without any. */
export function firstRecordMs({ snapshots, prices }: Archive, market: StoredMarket, atMs: InstantMs): InstantMs {
  let firstMs = Infinity;
  for (const outcome of OUTCOMES) {
    for (const slices of [
      snapshots.slices(market, outcome, atMs + 1, INSTANT_MAX_MS),
      prices.slices(market, outcome, 'trade', atMs + 1, INSTANT_MAX_MS),
    ]) {
      for (const { head, from } of slices) {
        firstMs = Math.min(firstMs, head.timestamps[from]!);
        break;
      }
    }
  }
  return firstMs;
}
