import { decimalText } from '../domain/decimal.ts';
import type { InstantMs } from '../domain/instant.ts';
import { assetIdOf, type Market } from '../domain/market.ts';
import type { MarketDetails } from '../domain/market-details.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { TradeDetails } from '../domain/trade.ts';
import { type BestPrices, spreadText } from './best-prices.ts';
import { FIRST_TICK_SIZE, type MarketTexts } from './market-status.ts';
import type { PriceTexts } from './price-texts.ts';
import { venueIdsOf } from './stand-in-id.ts';

/** The venue's names of the outcomes. */
export const VENUE_OUTCOMES: Readonly<Record<Outcome, string>> = { up: 'Up', down: 'Down' };

/** The fields that the messages about a market itself share, with Gamma's values; `market` has the slug that is sent. */
function textsOf(market: Market, { question, title, details }: MarketTexts) {
  const { marketId, eventId } = venueIdsOf(market);
  const { slug } = market;
  const { description } = details;
  return {
    id: marketId,
    question,
    market: market.conditionId,
    slug,
    description,
    assets_ids: market.clobTokenIds,
    outcomes: [VENUE_OUTCOMES.up, VENUE_OUTCOMES.down],
    event_message: { id: eventId, ticker: slug, slug, title, description },
    tags: [],
  };
}

/**
 * The `new_market` message (docs.polymarket.com, market channel). Fees and the description are left out if they are unknown. Some
 * fields repeat others, as at the venue. `active` is false in each of 27 recorded messages.
 */
export function listedFrame(market: Market, texts: MarketTexts, timestampMs: InstantMs): string {
  const { takerBaseFee, feesEnabled } = texts.details;
  return JSON.stringify({
    ...textsOf(market, texts),
    condition_id: market.conditionId,
    active: false,
    clob_token_ids: market.clobTokenIds,
    order_price_min_tick_size: FIRST_TICK_SIZE,
    taker_base_fee: takerBaseFee === undefined ? undefined : decimalText(takerBaseFee),
    fees_enabled: feesEnabled,
    fee_schedule: messageFeeSchedule(texts.details),
    timestamp: String(timestampMs),
    event_type: 'new_market',
  });
}

/** The fee schedule of a message, in which numbers are texts; undefined unless all of it is known. */
function messageFeeSchedule({ feeRate, feeExponent, feeTakerOnly, feeRebateRate }: MarketDetails): object | undefined {
  if (feeRate === undefined || feeExponent === undefined || feeTakerOnly === undefined || feeRebateRate === undefined) {
    return undefined;
  }
  return {
    exponent: decimalText(feeExponent),
    rate: decimalText(feeRate),
    taker_only: feeTakerOnly,
    rebate_rate: decimalText(feeRebateRate),
  };
}

/** The `market_resolved` message of a market whose winner is known. */
export function resolvedFrame(market: Market, texts: MarketTexts, timestampMs: InstantMs): string {
  const winner = market.winner!;
  return JSON.stringify({
    ...textsOf(market, texts),
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
