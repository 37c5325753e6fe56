import type { InstantMs } from '../domain/instant.ts';
import {
  type CoinTick,
  judgeByTicks,
  SETTLEMENT_SOURCE,
  TICK_AGE_MAX_MS,
  tickContradiction,
  winnerContradiction,
} from '../domain/winner-check.ts';
import { priceCodec } from '../segment/price-segment.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';

/** More of them are counted: a report has to stay readable. */
const NOTES_MAX = 100;

/** One sentence for each of `conditionIds` whose winner its own prices, or its coin's, contradict. */
export function winnerNotes(archive: Archive, conditionIds: Iterable<string>): string[] {
  const notes: string[] = [];
  let silent = 0;
  for (const conditionId of conditionIds) {
    const market = archive.markets.findByConditionId(conditionId);
    const note =
      market === undefined ? undefined : (winnerContradiction(market) ?? contradictionByTicks(archive, market));
    if (note === undefined) continue;
    if (notes.length < NOTES_MAX) notes.push(note);
    else silent += 1;
  }
  if (silent > 0)
    notes.push(`… and ${silent} more markets whose winner is contradicted ('bookreel verify' names them)`);
  return notes;
}

function contradictionByTicks(archive: Archive, market: StoredMarket): string | undefined {
  if (market.winner === undefined) return undefined;
  const ticks = {
    start: lastTick(archive, market.symbol, market.startMs),
    end: lastTick(archive, market.symbol, market.endMs),
  };
  return judgeByTicks(market, ticks) === 'contradict' ? tickContradiction(market, ticks) : undefined;
}

/** The settlement source's last price of a coin at or before an instant; undefined where it is too old to count. */
function lastTick(archive: Archive, symbol: string, atMs: InstantMs): CoinTick | undefined {
  const sources = archive.prices.slicesOfCoin(symbol, Math.max(0, atMs - TICK_AGE_MAX_MS), atMs);
  let last: CoinTick | undefined;
  for (const slice of sources.find(({ source }) => source === SETTLEMENT_SOURCE)?.slices ?? []) {
    last = priceCodec.decode(slice.payload)[slice.to - 1];
  }
  return last;
}
