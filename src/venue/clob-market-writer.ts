import { OUTCOMES } from '../domain/outcome.ts';
import { type ListedMarket, type MarketStatus, MIN_ORDER_SIZE } from './market-status.ts';
import { VENUE_OUTCOMES } from './message-writer.ts';
import { venueTime } from './time.ts';

/**
 * A market as the CLOB's `/markets/{condition_id}` returns it (docs.polymarket.com), without the fields that recordings do not
 * have: question, description, pictures, fees, rewards.
 */
export function venueMarket(market: ListedMarket, status: MarketStatus): object {
  return {
    enable_order_book: true,
    ...statesOf(market, status),
    minimum_order_size: Number(MIN_ORDER_SIZE),
    minimum_tick_size: status.tickSize,
    condition_id: market.conditionId,
    market_slug: market.slug,
    end_date_iso: venueTime(market.endMs),
    neg_risk: false,
    tokens: tokensOf(market, status),
  };
}

/** A market as `/simplified-markets` returns it, with fewer fields. */
export function simplifiedMarket(market: ListedMarket, status: MarketStatus): object {
  return { condition_id: market.conditionId, tokens: tokensOf(market, status), ...statesOf(market, status) };
}

/** The venue keeps markets active forever. */
function statesOf({ resolvedMs }: ListedMarket, { isAcceptingOrders }: MarketStatus) {
  return { active: true, closed: resolvedMs !== undefined, archived: false, accepting_orders: isAcceptingOrders };
}

function tokensOf({ clobTokenIds, winner }: ListedMarket, { prices }: MarketStatus): object[] {
  return OUTCOMES.map((outcome, index) => ({
    token_id: clobTokenIds[index],
    outcome: VENUE_OUTCOMES[outcome],
    price: prices?.[index],
    winner: winner === outcome,
  }));
}
