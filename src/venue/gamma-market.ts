import { decimalText } from '../domain/decimal.ts';
import { VENUE_OUTCOMES } from './channel-messages.ts';
import { gammaEvent, knownId } from './gamma-event.ts';
import type { ListedMarket, MarketStanding } from './listed-form.ts';
import { MIN_ORDER_SIZE } from './messages.ts';
import { closedTime, ifKnown, venueDay, venueTime } from './time.ts';

/**
 * A market as Gamma has it (gamma-api.polymarket.com/markets); without its events. Lists are JSON in a text, as there.
 * `startDate` is when it was listed, `eventStartTime` the start of its window. A market stays active when it is closed. What
 * recordings do not keep (question, description, pictures, fees), and what is only known as it was last (volume, liquidity), is
 * left out.
 */
function gammaMarket(market: ListedMarket, standing: MarketStanding): object {
  const { resolvedMs } = market;
  return {
    id: knownId(market.marketId),
    conditionId: market.conditionId,
    slug: market.slug,
    endDate: venueTime(market.endMs),
    startDate: venueTime(market.listedMs),
    outcomes: listText([VENUE_OUTCOMES.up, VENUE_OUTCOMES.down]),
    outcomePrices: standing.prices && listText(standing.prices.map(decimalText)),
    active: true,
    closed: resolvedMs !== undefined,
    createdAt: ifKnown(market.createdMs, venueTime),
    closedTime: ifKnown(resolvedMs, closedTime),
    archived: false,
    enableOrderBook: true,
    orderPriceMinTickSize: standing.tickSize,
    orderMinSize: Number(MIN_ORDER_SIZE),
    endDateIso: venueDay(market.endMs),
    startDateIso: venueDay(market.listedMs),
    umaEndDate: ifKnown(resolvedMs, venueTime),
    umaResolutionStatus: ifKnown(resolvedMs, () => 'resolved'),
    clobTokenIds: listText(market.clobTokenIds),
    acceptingOrders: standing.isAcceptingOrders,
    negRisk: false,
    spread: standing.spread,
    lastTradePrice: standing.lastTradePrice,
    bestBid: standing.bestBid,
    bestAsk: standing.bestAsk,
    eventStartTime: venueTime(market.startMs),
  };
}

/** As `/markets` lists it: with its event. */
export function gammaMarketWithEvents(market: ListedMarket, standing: MarketStanding): object {
  return { ...gammaMarket(market, standing), events: [gammaEvent(market)] };
}

/** As `/events` lists it: with its market. */
export function gammaEventWithMarkets(market: ListedMarket, standing: MarketStanding): object {
  return { ...gammaEvent(market), markets: [gammaMarket(market, standing)] };
}

/** `["Up", "Down"]`: with a blank behind the comma, as the venue writes it. */
function listText(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(', ')}]`;
}
