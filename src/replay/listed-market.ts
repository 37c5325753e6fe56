import type { InstantMs } from '../domain/instant.ts';
import { marketAsOf } from '../domain/market-as-of.ts';
import { complement } from '../recording/mirror.ts';
import type { StoredMarket } from '../store/markets.ts';
import { bestPricesOf, midpointOf, spreadBetween } from './best-prices.ts';
import { bookAt, lastTradeAt } from './market-state.ts';
import type { ReplayRun } from './replay-run.ts';

/** How a market stands at an instant of a replay, as the venue's lists of markets say it. */
export interface MarketStanding {
  readonly isClosed: boolean;
  readonly isAcceptingOrders: boolean;
  readonly resolvedMs: InstantMs | undefined;
  /** The price of up: 1 or 0 once it was resolved; undefined where nothing tells. That of down is what is missing to 1. */
  readonly upPrice: number | undefined;
  /** Of up, also the last ones of a resolved market; undefined before the first book. */
  readonly bestBid: number | undefined;
  readonly bestAsk: number | undefined;
  readonly spread: number | undefined;
  /** Of up; undefined before the first trade. */
  readonly lastTradePrice: number | undefined;
  readonly tickSize: number;
}

/** Wider books are shown at their last trade (docs.polymarket.com, prices and order books). */
const SHOWN_SPREAD_MAX = 0.1;
/**
 * The venue takes orders until a market is closed, for most some 20 seconds behind the window, for none of those measured more than
 * 316. Where no recording says when it was, it is over by then.
 */
const ACCEPTING_BEHIND_WINDOW_MS = 5 * 60_000;

/** Of a market that is listed at `nowMs`. Within Database.readInTurn. */
export function standingOf(run: ReplayRun, market: StoredMarket, nowMs: InstantMs): MarketStanding {
  const { resolvedMs, winner } = marketAsOf(market, nowMs);
  const isClosed = resolvedMs !== undefined;
  const known = bookAt(run.archive, market, 'up', nowMs);
  const best = known && bestPricesOf(known.book);
  const lastTradePrice = lastTradeAt(run.archive, market, 'up', nowMs)?.price;
  const spread = best && spreadBetween(best);
  const isShownAtTrade = spread === undefined || spread > SHOWN_SPREAD_MAX;
  const traded = (isShownAtTrade ? lastTradePrice : undefined) ?? (best && midpointOf(best));
  const settled = winner && (winner === 'up' ? 1 : 0);
  return {
    isClosed,
    isAcceptingOrders: isAcceptingOrders(market, nowMs),
    resolvedMs,
    upPrice: isClosed ? settled : traded,
    bestBid: best?.bid,
    bestAsk: best?.ask,
    spread,
    lastTradePrice,
    tickSize: Number(run.ticks.at(market, nowMs)),
  };
}

export function isAcceptingOrders(
  { resolvedMs = Infinity, endMs }: Pick<StoredMarket, 'endMs' | 'resolvedMs'>,
  nowMs: InstantMs,
): boolean {
  return nowMs < Math.min(resolvedMs, endMs + ACCEPTING_BEHIND_WINDOW_MS);
}

/** The prices of up and down; undefined where they are not known. */
export function outcomePricesOf({ upPrice }: MarketStanding): readonly [up: number, down: number] | undefined {
  return upPrice === undefined ? undefined : [upPrice, complement(upPrice)];
}
