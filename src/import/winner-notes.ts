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

/** Further notes are only counted, to keep the report readable. */
const NOTES_MAX = 100;

/** One sentence for each market whose winner is contradicted by its own prices or by its coin's. */
export function winnerNotes(archive: Archive, conditionIds: Iterable<string>): string[] {
  const notes = [...conditionIds].flatMap((conditionId) => {
    const market = archive.markets.findByConditionId(conditionId);
    return market === undefined ? [] : (winnerContradiction(market) ?? contradictionByTicks(archive, market) ?? []);
  });
  const omitted = notes.splice(NOTES_MAX).length;
  if (omitted === 0) return notes;
  return [...notes, `… and ${omitted} more markets whose winner is contradicted: 'bookreel verify' lists them`];
}

function contradictionByTicks(archive: Archive, market: StoredMarket): string | undefined {
  if (market.winner === undefined) return undefined;
  const ticks = { start: lastTick(archive, market, market.startMs), end: lastTick(archive, market, market.endMs) };
  return judgeByTicks(market, ticks) === 'contradict' ? tickContradiction(market, ticks) : undefined;
}

/** The settlement source's price of a coin as of an instant; undefined if it is older than TICK_AGE_MAX_MS. */
function lastTick(archive: Archive, { symbol }: StoredMarket, atMs: InstantMs): CoinTick | undefined {
  const sources = archive.prices.slicesOfCoin(symbol, Math.max(0, atMs - TICK_AGE_MAX_MS), atMs);
  let last: CoinTick | undefined;
  for (const slice of sources.find(({ source }) => source === SETTLEMENT_SOURCE)?.slices ?? []) {
    last = priceCodec.decode(slice.payload)[slice.to - 1];
  }
  return last;
}
