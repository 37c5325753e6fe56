import { decimalText } from '../domain/decimal.ts';
import type { MarketDetails } from '../domain/market-details.ts';
import { seriesObject, seriesOf } from './gamma-series.ts';
import { type ListedMarket, type MarketStatus, MIN_ORDER_SIZE } from './market-status.ts';
import { VENUE_OUTCOMES } from './message-writer.ts';
import { closedTime, ifKnown, venueDay, venueTime } from './time.ts';

/**
 * A market as Gamma writes it (gamma-api.polymarket.com/markets), without its events. Lists are JSON in a string. `startDate`
 * is the time of listing, `eventStartTime` the start of the window. A closed market stays active. Details that no recording
 * states are left out, and so are fields of which the archive has only the last value (volume, liquidity).
 */
function gammaMarket(market: ListedMarket, status: MarketStatus): object {
  const { resolvedMs, details } = market;
  return {
    id: market.marketId,
    question: market.question,
    conditionId: market.conditionId,
    slug: market.slug,
    ...textsOf(details),
    endDate: venueTime(market.endMs),
    startDate: venueTime(market.listedMs),
    outcomes: listText([VENUE_OUTCOMES.up, VENUE_OUTCOMES.down]),
    outcomePrices: status.prices && listText(status.prices.map(decimalText)),
    active: true,
    closed: resolvedMs !== undefined,
    // No market of this kind has an automated market maker.
    marketMakerAddress: '',
    createdAt: ifKnown(market.createdMs, venueTime),
    closedTime: ifKnown(resolvedMs, closedTime),
    archived: false,
    questionID: details.questionId,
    enableOrderBook: true,
    orderPriceMinTickSize: status.tickSize,
    orderMinSize: Number(MIN_ORDER_SIZE),
    endDateIso: venueDay(market.endMs),
    startDateIso: venueDay(market.listedMs),
    umaEndDate: ifKnown(resolvedMs, venueTime),
    umaResolutionStatus: ifKnown(resolvedMs, () => 'resolved'),
    clobTokenIds: listText(market.clobTokenIds),
    makerBaseFee: details.makerBaseFee,
    takerBaseFee: details.takerBaseFee,
    acceptingOrders: status.isAcceptingOrders,
    negRisk: false,
    rewardsMinSize: details.rewardsMinSize,
    rewardsMaxSpread: details.rewardsMaxSpread,
    spread: status.spread,
    lastTradePrice: status.lastTradePrice,
    bestBid: status.bestBid,
    bestAsk: status.bestAsk,
    eventStartTime: venueTime(market.startMs),
    feesEnabled: details.feesEnabled,
    feeType: details.feeType,
    feeSchedule: feeScheduleOf(details),
  };
}

function textsOf({ resolutionSource, image, icon, description }: MarketDetails) {
  return { resolutionSource, image, icon, description };
}

/** The fee schedule of a market; undefined unless all of it is known, because clients compute with it. */
function feeScheduleOf({ feeRate, feeExponent, feeTakerOnly, feeRebateRate }: MarketDetails): object | undefined {
  const schedule = { rate: feeRate, exponent: feeExponent, takerOnly: feeTakerOnly, rebateRate: feeRebateRate };
  return Object.values(schedule).includes(undefined) ? undefined : schedule;
}

/**
 * The event of an up-or-down market as Gamma writes it (gamma-api.polymarket.com/events), without its only market. It has the
 * market's slug. Fields that recordings do not have are left out. The start price is known only after the window: the venue
 * does not publish it earlier. Texts are those of its market.
 */
export function gammaEvent(market: ListedMarket): object {
  const series = seriesOf(market.symbol, market.timeframe);
  const { resolvedMs, priceStart: priceToBeat, priceEnd: finalPrice } = market;
  return {
    id: market.eventId,
    ticker: market.slug,
    slug: market.slug,
    title: market.title,
    ...textsOf(market.details),
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

/** An entry of `/markets`: with its event. */
export function gammaMarketWithEvents(market: ListedMarket, status: MarketStatus): object {
  return { ...gammaMarket(market, status), events: [gammaEvent(market)] };
}

/** An entry of `/events`: with its market. */
export function gammaEventWithMarkets(market: ListedMarket, status: MarketStatus): object {
  return { ...gammaEvent(market), markets: [gammaMarket(market, status)] };
}

/** `["Up", "Down"]`: the venue writes a space after the comma. */
function listText(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(', ')}]`;
}
