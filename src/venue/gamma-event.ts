import { seriesObject, seriesOf } from './gamma-series.ts';
import type { ListedMarket } from './listed-form.ts';
import { closedTime, ifKnown, venueTime } from './time.ts';

/**
 * The event that an up-or-down market is the only one of, as Gamma has it (gamma-api.polymarket.com/events); without its
 * markets. An event has the slug of its market. Ids that no recording knew, and everything that recordings do not keep, are left
 * out.
 *
 * The price at the start is known here when the window is over: the venue tells it no sooner.
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

/** Undefined for what stands for an id that no recording knew. */
export function knownId(id: string): string | undefined {
  return id === '0' ? undefined : id;
}
