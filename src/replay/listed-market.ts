import type { InstantMs } from '../domain/instant.ts';
import { marketAsOf } from '../domain/market-as-of.ts';
import { complement } from '../domain/mirrored-book.ts';
import type { StoredMarket } from '../store/markets.ts';
import { bestPricesOf, midpointOf, spreadBetween } from '../venue/best-prices.ts';
import type { ListedMarket, MarketStatus } from '../venue/market-status.ts';
import { ifKnown } from '../venue/time.ts';
import { bookAt, lastTradeAt } from './market-state.ts';
import type { Replay } from './replay.ts';

/** Books with a wider spread are shown at their last trade (docs.polymarket.com, prices and order books). */
const SHOWN_SPREAD_MAX = 0.1;
/**
 * The venue takes orders until it closes a market, for most about 20 seconds after the window, for none of those measured more
 * than 316 seconds. A market without a recorded close takes orders for this long.
 */
const ACCEPTING_AFTER_WINDOW_MS = 5 * 60_000;

/** A market that is listed at `nowMs`, as lists have it; its times are shifted, see Replay.shiftMs. */
export function listedMarket(replay: Replay, market: StoredMarket, nowMs: InstantMs): ListedMarket {
  const known = marketAsOf(market, nowMs);
  const moved = (instantMs: InstantMs) => instantMs + replay.shiftMs;
  return {
    ...known,
    listedMs: moved(replay.listedMsOf(market)),
    createdMs: ifKnown(known.createdMs, moved),
    startMs: moved(market.startMs),
    endMs: moved(market.endMs),
    resolvedMs: ifKnown(known.resolvedMs, moved),
    priceStart: market.endMs <= nowMs ? known.priceStart : undefined,
  };
}

/** The object of a market in a list. Call it within Database.readShared. */
export function listedObject(
  replay: Replay,
  market: StoredMarket,
  nowMs: InstantMs,
  objectOf: (market: ListedMarket, status: MarketStatus) => object,
): object {
  return objectOf(listedMarket(replay, market, nowMs), statusOf(replay, market, nowMs));
}

function statusOf(replay: Replay, market: StoredMarket, nowMs: InstantMs): MarketStatus {
  const { resolvedMs, winner } = marketAsOf(market, nowMs);
  const known = bookAt(replay.archive, market, 'up', nowMs);
  const best = known && bestPricesOf(known.book);
  const lastTradePrice = lastTradeAt(replay.archive, market, 'up', nowMs)?.price;
  const spread = best && spreadBetween(best);
  const isShownAtTrade = spread === undefined || spread > SHOWN_SPREAD_MAX;
  const traded = (isShownAtTrade ? lastTradePrice : undefined) ?? (best && midpointOf(best));
  const payout = winner && (winner === 'up' ? 1 : 0);
  const upPrice = resolvedMs === undefined ? traded : payout;
  return {
    isAcceptingOrders: isAcceptingOrders(market, nowMs),
    prices: upPrice === undefined ? undefined : [upPrice, complement(upPrice)],
    bestBid: best?.bid,
    bestAsk: best?.ask,
    spread,
    lastTradePrice,
    tickSize: Number(replay.ticks.at(market, nowMs)),
  };
}

export function isAcceptingOrders(
  { resolvedMs = Infinity, endMs }: Pick<StoredMarket, 'endMs' | 'resolvedMs'>,
  nowMs: InstantMs,
): boolean {
  return nowMs < Math.min(resolvedMs, endMs + ACCEPTING_AFTER_WINDOW_MS);
}
