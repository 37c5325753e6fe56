import { listedMarket } from '../../replay/listed-market.ts';
import { type RecordedTrade, recordedTrades } from '../../replay/recorded-trades.ts';
import { type ListedTrade, tradeEvent } from '../../venue/trade-writer.ts';
import type { VenueQuestion } from './venue-answer.ts';
import { marketOf } from './venue-markets.ts';

/** The number of trades of `/live-activity/events/{condition_id}`. */
const EVENTS_MAX = 100;

/** `/live-activity/events/{condition_id}`: the last trades of a market, the newest first. */
export function liveActivity(question: VenueQuestion, conditionId: string): object[] {
  const { replay, nowMs } = question;
  const steps = recordedTrades(replay, [marketOf(question, conditionId)], 0, nowMs, nowMs);
  const found = steps.filter((trade) => trade !== undefined).take(EVENTS_MAX);
  return listedTrades(question, found.toArray()).map(tradeEvent);
}

/** Trades with their markets, as the clients of a replay see them; without those of markets that were deleted meanwhile. */
export function listedTrades({ replay, nowMs }: VenueQuestion, trades: readonly RecordedTrade[]): ListedTrade[] {
  const markets = new Map(
    [...new Set(trades.map(({ marketKey }) => marketKey))].map((key) => {
      const market = replay.marketByKey(key);
      return [key, market && listedMarket(replay, market, nowMs)];
    }),
  );
  return trades.flatMap(({ marketKey, timestampMs, ...trade }) => {
    const market = markets.get(marketKey);
    return market === undefined ? [] : { ...trade, market, timestampMs: timestampMs + replay.shiftMs };
  });
}
