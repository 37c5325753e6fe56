import { decimalText } from '../domain/decimal.ts';
import type { InstantMs } from '../domain/instant.ts';
import { assetIdOf, type Market } from '../domain/market.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { TradeDetails } from '../domain/trade.ts';
import { type BestPrices, spreadText } from './best-prices.ts';
import type { PriceTexts } from './price-texts.ts';
import { venueIdsOf } from './stand-in-id.ts';

/** The venue's names of the outcomes. */
export const VENUE_OUTCOMES: Readonly<Record<Outcome, string>> = { up: 'Up', down: 'Down' };

/**
 * The `new_market` message (docs.polymarket.com, market channel). Recordings do not have its other fields: question,
 * description, fees. Some fields repeat others, as at the venue.
 */
export function listedFrame(market: Market, timestampMs: InstantMs): string {
  const { marketId, eventId } = venueIdsOf(market);
  return JSON.stringify({
    id: marketId,
    market: market.conditionId,
    condition_id: market.conditionId,
    slug: market.slug,
    assets_ids: market.clobTokenIds,
    clob_token_ids: market.clobTokenIds,
    outcomes: [VENUE_OUTCOMES.up, VENUE_OUTCOMES.down],
    event_message: { id: eventId, ticker: market.slug, slug: market.slug },
    active: true,
    timestamp: String(timestampMs),
    event_type: 'new_market',
  });
}

/** The `market_resolved` message of a market whose winner is known. */
export function resolvedFrame(market: Market, timestampMs: InstantMs): string {
  const winner = market.winner!;
  return JSON.stringify({
    id: venueIdsOf(market).marketId,
    market: market.conditionId,
    assets_ids: market.clobTokenIds,
    winning_asset_id: assetIdOf(market, winner),
    winning_outcome: VENUE_OUTCOMES[winner],
    timestamp: String(timestampMs),
    event_type: 'market_resolved',
  });
}

/** The `last_trade_price` message, without fields that were not recorded. */
export function tradeFrame(
  market: Market,
  outcome: Outcome,
  { price, trade }: { readonly price: number; readonly trade?: TradeDetails | undefined },
  timestampMs: InstantMs,
): string {
  const { size, side, feeRateBps, transactionHash } = trade ?? {};
  return JSON.stringify({
    market: market.conditionId,
    asset_id: assetIdOf(market, outcome),
    price: decimalText(price),
    size: size === undefined ? undefined : decimalText(size),
    fee_rate_bps: feeRateBps === undefined ? undefined : String(feeRateBps),
    side: side?.toUpperCase(),
    timestamp: String(timestampMs),
    event_type: 'last_trade_price',
    transaction_hash: transactionHash,
  });
}

/** The `tick_size_change` message. */
export function tickFrame(
  market: Market,
  outcome: Outcome,
  { oldTickSize, newTickSize }: { readonly oldTickSize: string; readonly newTickSize: string },
  timestampMs: InstantMs,
): string {
  return `{"event_type":"tick_size_change","asset_id":"${assetIdOf(market, outcome)}","market":"${market.conditionId}","old_tick_size":"${oldTickSize}","new_tick_size":"${newTickSize}","timestamp":"${timestampMs}"}`;
}

/** The `best_bid_ask` message. */
export function bestFrame(
  market: Market,
  outcome: Outcome,
  best: BestPrices,
  prices: PriceTexts,
  timestampMs: InstantMs,
): string {
  return `{"market":"${market.conditionId}","asset_id":"${assetIdOf(market, outcome)}","best_bid":"${prices.text(best.bid)}","best_ask":"${prices.text(best.ask)}","spread":"${spreadText(best)}","timestamp":"${timestampMs}","event_type":"best_bid_ask"}`;
}
