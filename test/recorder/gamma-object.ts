import type { MarketListing } from './venue-market.ts';

/** A market as the venue's directory shows it, with its event: gamma-api.polymarket.com, a capture of June 2026. */
export function gammaObject(listing: MarketListing, nowMs: number): Record<string, unknown> {
  const { slug, conditionId, assetIds, startMs, endMs, listedMs, resolution } = listing;
  const isClosed = resolution !== undefined && nowMs >= resolution.closedMs;
  const prices = resolution !== undefined && nowMs >= resolution.pricesMs ? resolution : undefined;
  const id = String(Number.parseInt(conditionId.slice(2, 9), 16) + 1_000_000);
  const won = (outcome: string) => (resolution?.winner === outcome ? '1' : '0');
  const event = {
    id,
    ticker: slug,
    slug,
    title: `${slug} up or down`,
    startDate: iso(listedMs),
    startTime: iso(startMs),
    endDate: iso(endMs),
    active: true,
    closed: isClosed,
    ...(prices === undefined ? {} : { eventMetadata: { priceToBeat: prices.startPrice, finalPrice: prices.endPrice } }),
  };
  return {
    id,
    question: `${slug} up or down`,
    conditionId,
    slug,
    resolutionSource: `https://data.chain.link/streams/${slug.split('-')[0]}-usd`,
    endDate: iso(endMs),
    startDate: iso(listedMs),
    description:
      'This market will resolve to "Up" if the price at the end is greater than or equal to that at the start.',
    outcomes: '["Up", "Down"]',
    outcomePrices: isClosed ? JSON.stringify([won('up'), won('down')]) : '["0.5", "0.5"]',
    active: true,
    closed: isClosed,
    createdAt: iso(listedMs),
    updatedAt: iso(Math.max(listedMs, isClosed ? resolution.closedMs : listedMs, prices?.pricesMs ?? 0)),
    enableOrderBook: true,
    orderPriceMinTickSize: 0.01,
    orderMinSize: 5,
    clobTokenIds: JSON.stringify(assetIds),
    acceptingOrders: !isClosed,
    negRisk: false,
    eventStartTime: iso(startMs),
    volume: '0',
    volumeNum: 0,
    umaResolutionStatuses: '[]',
    ...(isClosed
      ? {
          umaResolutionStatus: 'resolved',
          closedTime: `${iso(resolution.closedMs).replace('T', ' ').slice(0, 19)}+00`,
          automaticallyResolved: true,
        }
      : {}),
    events: [event],
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
