import type { InstantMs } from '../../domain/instant.ts';
import { marketAsOf } from '../../domain/market-as-of.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { ReplayRun } from '../replay-run.ts';
import { closedTime, venueTime } from '../venue/venue-time.ts';
import { seriesObject, seriesOf } from './gamma-series.ts';

/**
 * The event that an up-or-down market is the only one of, as Gamma has it (gamma-api.polymarket.com/events), at an instant of a
 * replay at which the market is listed; without its markets. An event has the slug of its market. Ids that no recording knew,
 * and everything that recordings do not keep, are left out.
 *
 * The price at the start is known here when the window is over: the venue tells it no sooner.
 */
export function gammaEvent(run: ReplayRun, market: StoredMarket, nowMs: InstantMs): object {
  const { shiftMs } = run;
  const series = seriesOf(market.symbol, market.timeframe);
  const { resolvedMs, createdMs, priceStart, priceEnd } = marketAsOf(market, nowMs);
  const priceToBeat = market.endMs <= nowMs ? priceStart : undefined;
  return {
    id: knownId(market.eventId),
    ticker: market.slug,
    slug: market.slug,
    startDate: venueTime(run.listedMsOf(market) + shiftMs),
    endDate: venueTime(market.endMs + shiftMs),
    active: true,
    closed: resolvedMs !== undefined,
    archived: false,
    createdAt: createdMs === undefined ? undefined : venueTime(createdMs + shiftMs),
    enableOrderBook: true,
    negRisk: false,
    eventMetadata:
      priceToBeat === undefined && priceEnd === undefined ? undefined : { finalPrice: priceEnd, priceToBeat },
    series: [seriesObject(series)],
    startTime: venueTime(market.startMs + shiftMs),
    seriesSlug: series.slug,
    closedTime: resolvedMs === undefined ? undefined : closedTime(resolvedMs + shiftMs),
  };
}

/** Undefined for what stands for an id that no recording knew. */
export function knownId(id: string): string | undefined {
  return id === '0' ? undefined : id;
}
