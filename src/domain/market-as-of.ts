import { formatInstant, type InstantMs } from './instant.ts';
import { type MarketResource, marketResource } from './market.ts';
import { type StatedMarket, withDefaults } from './market-statement.ts';

/** A market as it was known at an instant; a field whose value at that instant is unknown is undefined. */
export type MarketAsOf<M extends StatedMarket = StatedMarket> = Omit<M, 'createdMs'> & {
  readonly createdMs: InstantMs | undefined;
};

/** A market is listed at most this long before its window; the venue lists it a day or two before. */
export const LISTED_AHEAD_MS_MAX = 7 * 86_400_000;

/**
 * Returns true if a market was listed by `asOfMs`: from its creation or its first record on, whichever is earlier, and at the
 * latest from the start of its window on (a creation time may only be the time at which this archive stored it).
 */
export function isListed(market: StatedMarket, asOfMs: InstantMs, firstRecordMs?: InstantMs): boolean {
  return listedMs(market, firstRecordMs) <= asOfMs;
}

/** The first instant at which `isListed` is true. */
export function listedMs({ createdMs, startMs }: StatedMarket, firstRecordMs: InstantMs = Infinity): InstantMs {
  const aheadMs = Math.max(Math.min(createdMs, firstRecordMs), startMs - LISTED_AHEAD_MS_MAX + 1);
  return Math.min(startMs, aheadMs);
}

/**
 * The winner and the final price are known from `resolvedMs` on, and unknown without it; the start price from the start on.
 * Volume, liquidity and the time of the last update are unknown: the archive keeps only their last values. The venue's ids are
 * known from their first statement on.
 */
export function marketAsOf<M extends StatedMarket>(market: M, asOfMs: InstantMs): MarketAsOf<M> {
  const { resolvedMs, createdMs, startMs, marketIdMs = Infinity, eventIdMs = Infinity } = market;
  const isResolved = resolvedMs !== undefined && resolvedMs <= asOfMs;
  const { active, closed } = isResolved ? market.stated : { active: undefined, closed: undefined };
  return {
    ...withDefaults({
      ...market,
      marketId: marketIdMs <= asOfMs ? market.marketId : '0',
      eventId: eventIdMs <= asOfMs ? market.eventId : '0',
      winner: isResolved ? market.winner : undefined,
      resolvedMs: isResolved ? resolvedMs : undefined,
      priceStart: startMs <= asOfMs ? market.priceStart : undefined,
      priceEnd: isResolved ? market.priceEnd : undefined,
      statedUpdatedMs: undefined,
      stated: { active, closed, volume: undefined, liquidity: undefined },
    }),
    createdMs: createdMs <= asOfMs ? createdMs : undefined,
  };
}

export function marketResourceAsOf(market: StatedMarket, asOfMs: InstantMs): MarketResource {
  const { createdMs, ...known } = marketAsOf(market, asOfMs);
  return {
    ...marketResource({ ...known, createdMs: createdMs ?? 0 }),
    volume: null,
    liquidity: null,
    createdAt: createdMs === undefined ? null : formatInstant(createdMs),
    updatedAt: null,
  };
}
