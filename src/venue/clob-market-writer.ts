import type { MarketDetails } from '../domain/market-details.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import { type ListedMarket, type MarketStatus, MIN_ORDER_SIZE } from './market-status.ts';
import { VENUE_OUTCOMES } from './message-writer.ts';
import { venueTime } from './time.ts';

/** A market as the CLOB's `/markets/{condition_id}` returns it (docs.polymarket.com). Details that no recording states are left out. */
export function venueMarket(market: ListedMarket, status: MarketStatus): object {
  const { details } = market;
  return {
    enable_order_book: true,
    ...statesOf(market, status),
    minimum_order_size: Number(MIN_ORDER_SIZE),
    minimum_tick_size: status.tickSize,
    condition_id: market.conditionId,
    question_id: details.questionId,
    question: market.question,
    description: details.description,
    market_slug: market.slug,
    end_date_iso: venueTime(market.endMs),
    maker_base_fee: details.makerBaseFee,
    taker_base_fee: details.takerBaseFee,
    neg_risk: false,
    icon: details.icon,
    image: details.image,
    rewards: rewardsOf(details),
    tokens: tokensOf(market, status),
  };
}

/** A market as `/simplified-markets` returns it, with fewer fields. */
export function simplifiedMarket(market: ListedMarket, status: MarketStatus): object {
  return { condition_id: market.conditionId, tokens: tokensOf(market, status), ...statesOf(market, status) };
}

function rewardsOf({ rewardsMinSize: min_size, rewardsMaxSpread: max_spread }: MarketDetails) {
  return min_size === undefined && max_spread === undefined ? undefined : { rates: null, min_size, max_spread };
}

/**
 * A market as the CLOB's `/clob-markets/{condition_id}` returns it (docs.polymarket.com, Get CLOB market info): its assets (`t`),
 * minimum order and tick sizes (`mos`, `mts`), base fees of makers and takers (`mbf`, `tbf`), fee curve (`fd`), rewards (`r`), and
 * whether it takes orders (`ao`). Details that no recording states are left out; rewards are null then.
 */
export function clobMarketInfo(market: ListedMarket, status: MarketStatus): object {
  const { makerBaseFee, takerBaseFee, feeRate, feeExponent, feeTakerOnly } = market.details;
  const rewards = rewardsOf(market.details);
  const hasCurve = feeRate !== undefined && feeExponent !== undefined;
  return {
    r: rewards === undefined ? null : { mi: rewards.min_size, ma: rewards.max_spread },
    t: OUTCOMES.map((outcome, index) => ({ t: market.clobTokenIds[index], o: VENUE_OUTCOMES[outcome] })),
    c: market.conditionId,
    mos: Number(MIN_ORDER_SIZE),
    mts: status.tickSize,
    mbf: makerBaseFee,
    tbf: takerBaseFee,
    ao: status.isAcceptingOrders,
    fd: hasCurve ? { r: feeRate, e: feeExponent, to: feeTakerOnly } : undefined,
  };
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
