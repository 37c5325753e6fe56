import type { InstantMs } from '../domain/instant.ts';
import type { Markets, StoredMarket } from '../store/markets.ts';

/** Markets of these coins whose windows start between `fromMs` and `toMs`, both inclusive, by start; ties by conditionId. */
export function* marketsByStart(
  markets: Markets,
  coins: readonly string[],
  fromMs: InstantMs,
  toMs: InstantMs,
): Generator<StoredMarket> {
  const following = (coin: string, previous: Parameters<Markets['after']>[1]) => {
    const market = markets.after(coin, previous);
    return market === undefined || market.startMs > toMs ? undefined : market;
  };
  const heads = coins.flatMap((coin) => following(coin, { startMs: fromMs, conditionId: '' }) ?? []);
  while (heads.length > 0) {
    const market = heads.reduce((first, head) => (compareStarts(head, first) < 0 ? head : first));
    const next = following(market.symbol, market);
    heads.splice(heads.indexOf(market), 1, ...(next === undefined ? [] : [next]));
    yield market;
  }
}

export function compareStarts(a: StoredMarket, b: StoredMarket): number {
  return a.startMs - b.startMs || (a.conditionId < b.conditionId ? -1 : 1);
}
