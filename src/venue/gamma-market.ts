import { decimalText } from '../domain/decimal.ts';
import { VENUE_OUTCOMES } from './channel-messages.ts';
import { seriesObject, seriesOf } from './gamma-series.ts';
import type { ListedMarket, MarketStatus } from './market-status.ts';
import { MIN_ORDER_SIZE } from './messages.ts';
import { closedTime, ifKnown, venueDay, venueTime } from './time.ts';

/**
 * A market as Gamma has it (gamma-api.polymarket.com/markets); without its events. Lists are JSON in a text, as there.
 * `startDate` is when it was listed, `eventStartTime` the start of its window. A market stays active when it is closed.
 * Fields that recordings do not keep (question, description, pictures, fees), or only their last state (volume, liquidity), are
 * left out.
 */
function gammaMarket(market: ListedMarket, status: MarketStatus): object {
  const { resolvedMs } = market;
  return {
    id: knownId(market.marketId),
    conditionId: market.conditionId,
    slug: market.slug,
    endDate: venueTime(market.endMs),
    startDate: venueTime(market.listedMs),
    outcomes: listText([VENUE_OUTCOMES.up, VENUE_OUTCOMES.down]),
    outcomePrices: status.prices && listText(status.prices.map(decimalText)),
    active: true,
    closed: resolvedMs !== undefined,
    createdAt: ifKnown(market.createdMs, venueTime),
    closedTime: ifKnown(resolvedMs, closedTime),
    archived: false,
    enableOrderBook: true,
    orderPriceMinTickSize: status.tickSize,
    orderMinSize: Number(MIN_ORDER_SIZE),
    endDateIso: venueDay(market.endMs),
    startDateIso: venueDay(market.listedMs),
    umaEndDate: ifKnown(resolvedMs, venueTime),
    umaResolutionStatus: ifKnown(resolvedMs, () => 'resolved'),
    clobTokenIds: listText(market.clobTokenIds),
    acceptingOrders: status.isAcceptingOrders,
    negRisk: false,
    spread: status.spread,
    lastTradePrice: status.lastTradePrice,
    bestBid: status.bestBid,
    bestAsk: status.bestAsk,
    eventStartTime: venueTime(market.startMs),
  };
}

/**
 * The event that an up-or-down market is the only one of, as Gamma has it (gamma-api.polymarket.com/events); without its
 * markets. An event has the slug of its market. Fields that recordings do not have are left out. The price at the start is known
 * once the window is over: the venue publishes it no sooner.
 */
export function gammaEvent(market: ListedMarket): object {
  const series = seriesOf(market.symbol, market.timeframe);
  const { resolvedMs, priceStart: priceToBeat, priceEnd: finalPrice } = market;
  return {
    id: knownId(market.eventId),
    ticker: market.slug,
    slug: market.slug,
    startDate: venueTime(market.listedMs),
    endDate: venueTime(market.endMs),
    active: true,
    closed: resolvedMs !== undefined,
    archived: false,
    createdAt: ifKnown(market.createdMs, venueTime),
    enableOrderBook: true,
    negRisk: false,
    eventMetadata: priceToBeat === undefined && finalPrice === undefined ? undefined : { finalPrice, priceToBeat },
    series: [seriesObject(series)],
    startTime: venueTime(market.startMs),
    seriesSlug: series.slug,
    closedTime: ifKnown(resolvedMs, closedTime),
  };
}

/** As `/markets` lists it: with its event. */
export function gammaMarketWithEvents(market: ListedMarket, status: MarketStatus): object {
  return { ...gammaMarket(market, status), events: [gammaEvent(market)] };
}

/** As `/events` lists it: with its market. */
export function gammaEventWithMarkets(market: ListedMarket, status: MarketStatus): object {
  return { ...gammaEvent(market), markets: [gammaMarket(market, status)] };
}

/** `["Up", "Down"]`: with a blank after the comma, as the venue writes it. */
function listText(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(', ')}]`;
}

/** Undefined for the placeholder of an id that no recording has. */
function knownId(id: string): string | undefined {
  return id === '0' ? undefined : id;
}
