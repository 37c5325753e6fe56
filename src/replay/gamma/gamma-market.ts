import { decimalText } from '../../domain/decimal.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { marketAsOf } from '../../domain/market-as-of.ts';
import { MIN_ORDER_SIZE } from '../../recording/venue/venue-message.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { outcomePricesOf, standingOf } from '../listed-market.ts';
import type { ReplayRun } from '../replay-run.ts';
import { VENUE_OUTCOMES } from '../venue/venue-announcements.ts';
import { closedTime, venueDay, venueTime } from '../venue/venue-time.ts';
import { gammaEvent, knownId } from './gamma-event.ts';

/**
 * A market as Gamma has it (gamma-api.polymarket.com/markets), at an instant of a replay at which it is listed; without its
 * events. Lists are JSON in a text, as there. `startDate` is when it was listed, `eventStartTime` the start of its window. A
 * market stays active when it is closed. What recordings do not keep (question, description, pictures, fees), and what is only known
 * as it was last (volume, liquidity), is left out. Within Database.readInTurn.
 */
function gammaMarket(run: ReplayRun, market: StoredMarket, nowMs: InstantMs): object {
  const { shiftMs } = run;
  const { createdMs } = marketAsOf(market, nowMs);
  const standing = standingOf(run, market, nowMs);
  const { isClosed, resolvedMs } = standing;
  const prices = outcomePricesOf(standing);
  const startDateMs = run.listedMsOf(market) + shiftMs;
  const endDateMs = market.endMs + shiftMs;
  return {
    id: knownId(market.marketId),
    conditionId: market.conditionId,
    slug: market.slug,
    endDate: venueTime(endDateMs),
    startDate: venueTime(startDateMs),
    outcomes: listText([VENUE_OUTCOMES.up, VENUE_OUTCOMES.down]),
    outcomePrices: prices && listText(prices.map(decimalText)),
    active: true,
    closed: isClosed,
    createdAt: createdMs === undefined ? undefined : venueTime(createdMs + shiftMs),
    closedTime: resolvedMs === undefined ? undefined : closedTime(resolvedMs + shiftMs),
    archived: false,
    enableOrderBook: true,
    orderPriceMinTickSize: standing.tickSize,
    orderMinSize: Number(MIN_ORDER_SIZE),
    endDateIso: venueDay(endDateMs),
    startDateIso: venueDay(startDateMs),
    umaEndDate: resolvedMs === undefined ? undefined : venueTime(resolvedMs + shiftMs),
    umaResolutionStatus: isClosed ? 'resolved' : undefined,
    clobTokenIds: listText(market.clobTokenIds),
    acceptingOrders: standing.isAcceptingOrders,
    negRisk: false,
    spread: standing.spread,
    lastTradePrice: standing.lastTradePrice,
    bestBid: standing.bestBid,
    bestAsk: standing.bestAsk,
    eventStartTime: venueTime(market.startMs + shiftMs),
  };
}

/** As `/markets` lists it: with its event. */
export function gammaMarketWithEvents(run: ReplayRun, market: StoredMarket, nowMs: InstantMs): object {
  return { ...gammaMarket(run, market, nowMs), events: [gammaEvent(run, market, nowMs)] };
}

/** As `/events` lists it: with its market. */
export function gammaEventWithMarkets(run: ReplayRun, market: StoredMarket, nowMs: InstantMs): object {
  return { ...gammaEvent(run, market, nowMs), markets: [gammaMarket(run, market, nowMs)] };
}

/** `["Up", "Down"]`: with a blank behind the comma, as the venue writes it. */
function listText(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(', ')}]`;
}
