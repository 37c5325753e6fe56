import type { InstantMs } from '../domain/instant.ts';
import { type CoinTick, SETTLEMENT_SOURCE } from '../domain/settlement.ts';
import { judgeByTicks, TICK_AGE_MAX_MS, tickContradiction, winnerContradiction } from '../domain/winner-check.ts';
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
  const { startMs, endMs } = market;
  const ticks = {
    start: ticksWithin(archive, market, startMs - TICK_AGE_MAX_MS, startMs).at(-1),
    end: ticksWithin(archive, market, endMs - TICK_AGE_MAX_MS, endMs).at(-1),
    afterStart: ticksWithin(archive, market, startMs + 1, startMs + TICK_AGE_MAX_MS)[0],
    afterEnd: ticksWithin(archive, market, endMs + 1, endMs + TICK_AGE_MAX_MS)[0],
  };
  return judgeByTicks(market, ticks) === 'contradict' ? tickContradiction(market, ticks) : undefined;
}

/** The settlement source's prices of a coin from one instant to another, both inclusive. */
function ticksWithin(archive: Archive, { symbol }: StoredMarket, fromMs: InstantMs, toMs: InstantMs): CoinTick[] {
  const sources = archive.prices.slicesOfCoin(symbol, Math.max(0, fromMs), toMs);
  const slices = sources.find(({ source }) => source === SETTLEMENT_SOURCE)?.slices ?? [];
  return [...slices].flatMap((slice) => priceCodec.decode(slice.payload).slice(slice.from, slice.to));
}
