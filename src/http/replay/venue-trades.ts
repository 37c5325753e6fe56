import { listedMarket } from '../../replay/listed-market.ts';
import { type RecordedTrade, recordedTrades } from '../../replay/recorded-trades.ts';
import { type ListedTrade, tradeEvent } from '../../venue/trade-writer.ts';
import type { VenueQuestion } from './venue-answer.ts';
import { marketOf } from './venue-markets.ts';

/** The number of trades of `/live-activity/events/{condition_id}`. */
const EVENTS_MAX = 100;

/** `/live-activity/events/{condition_id}`: the last trades of a market, the newest first. */
export function liveActivity(question: VenueQuestion, conditionId: string): string {
  const { replay, nowMs } = question;
  const steps = recordedTrades(replay, [marketOf(question, conditionId)], 0, nowMs);
  const found = steps.filter((trade) => trade !== undefined).take(EVENTS_MAX);
  return JSON.stringify(listedTrades(question, found.toArray()).map(tradeEvent));
}

/** Trades with their markets, as the clients of a replay see them. */
export function listedTrades({ replay, nowMs }: VenueQuestion, trades: readonly RecordedTrade[]): ListedTrade[] {
  const markets = new Map(
    [...new Set(trades.map(({ marketKey }) => marketKey))].map((key) => [
      key,
      listedMarket(replay, replay.marketByKey(key)!, nowMs),
    ]),
  );
  return trades.map(({ marketKey, timestampMs, ...trade }) => ({
    ...trade,
    market: markets.get(marketKey)!,
    timestampMs: timestampMs + replay.shiftMs,
  }));
}
