import type { InstantMs } from '../../domain/instant.ts';
import { marketAsOf } from '../../domain/market-as-of.ts';
import { MIN_ORDER_SIZE } from '../../recording/venue/venue-message.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { outcomePricesOf, standingOf } from '../listed-market.ts';
import type { ReplayRun } from '../replay-run.ts';
import { VENUE_OUTCOMES } from './venue-announcements.ts';
import { venueTime } from './venue-time.ts';

/**
 * A market as the CLOB's `/markets/{condition_id}` has it (docs.polymarket.com), at an instant of a replay at which it is listed.
 * What recordings do not keep is left out: question, description, pictures, fees, rewards. Within Database.readInTurn.
 */
export function venueMarket(run: ReplayRun, market: StoredMarket, nowMs: InstantMs): object {
  const standing = standingOf(run, market, nowMs);
  return {
    enable_order_book: true,
    ...statesOf(standing),
    minimum_order_size: Number(MIN_ORDER_SIZE),
    minimum_tick_size: standing.tickSize,
    condition_id: market.conditionId,
    market_slug: market.slug,
    end_date_iso: venueTime(market.endMs + run.shiftMs),
    neg_risk: false,
    tokens: tokensOf(market, standing, nowMs),
  };
}

/** The same in the fewer words of `/simplified-markets`. */
export function simplifiedMarket(run: ReplayRun, market: StoredMarket, nowMs: InstantMs): object {
  const standing = standingOf(run, market, nowMs);
  return {
    condition_id: market.conditionId,
    tokens: tokensOf(market, standing, nowMs),
    ...statesOf(standing),
  };
}

/** The venue calls a market active for good. */
function statesOf({ isClosed, isAcceptingOrders }: ReturnType<typeof standingOf>) {
  return { active: true, closed: isClosed, archived: false, accepting_orders: isAcceptingOrders };
}

function tokensOf(market: StoredMarket, standing: ReturnType<typeof standingOf>, nowMs: InstantMs): object[] {
  const prices = outcomePricesOf(standing);
  const { winner } = marketAsOf(market, nowMs);
  return (['up', 'down'] as const).map((outcome, index) => ({
    token_id: market.clobTokenIds[index],
    outcome: VENUE_OUTCOMES[outcome],
    price: prices?.[index],
    winner: winner === outcome,
  }));
}
