import { formatInstant, type InstantMs } from './instant.ts';
import { type MarketResource, marketResource } from './market.ts';
import { type StatedMarket, withDefaults } from './market-statement.ts';

/** A market as it was known at an instant; what is not known of that instant any more is undefined. */
export type MarketAsOf<M extends StatedMarket = StatedMarket> = Omit<M, 'createdMs'> & {
  readonly createdMs: InstantMs | undefined;
};

/** No market is listed longer before its window begins: the venue does it a day or two before. */
export const LISTED_AHEAD_MS_MAX = 7 * 86_400_000;

/**
 * Whether a market had been listed by `asOfMs`: when it was created, or when the first record of it is where that is known and
 * earlier; or, where only this archive's own time is known, when its window began.
 */
export function isListed(market: StatedMarket, asOfMs: InstantMs, firstRecordMs?: InstantMs): boolean {
  return listedMs(market, firstRecordMs) <= asOfMs;
}

/** The first instant at which `isListed` says so. */
export function listedMs({ createdMs, startMs }: StatedMarket, firstRecordMs: InstantMs = Infinity): InstantMs {
  const aheadMs = Math.max(Math.min(createdMs, firstRecordMs), startMs - LISTED_AHEAD_MS_MAX + 1);
  return Math.min(startMs, aheadMs);
}

/**
 * How it ended is known from `resolvedMs` on, and never where that is not known; the price at the start from the start
 * on. What changes all the time, and is held as it was last, is not known of any earlier time: volume, liquidity, and when it
 * was updated.
 */
export function marketAsOf<M extends StatedMarket>(market: M, asOfMs: InstantMs): MarketAsOf<M> {
  const { resolvedMs, createdMs, startMs } = market;
  const isResolved = resolvedMs !== undefined && resolvedMs <= asOfMs;
  const { active, closed } = isResolved ? market.stated : { active: undefined, closed: undefined };
  return {
    ...withDefaults({
      ...market,
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

/** Such a market on the wire. */
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
