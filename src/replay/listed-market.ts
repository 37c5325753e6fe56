import type { InstantMs } from '../domain/instant.ts';
import { marketAsOf } from '../domain/market-as-of.ts';
import { complement } from '../domain/mirrored-book.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { bestPricesOf, midpointOf, spreadBetween } from '../venue/best-prices.ts';
import type { ListedMarket, MarketStatus, MarketTexts } from '../venue/market-status.ts';
import { marketTitle } from '../venue/market-title.ts';
import { venueIdsOf } from '../venue/stand-in-id.ts';
import { ifKnown } from '../venue/time.ts';
import { lastTradeAt } from './market-state.ts';
import type { Replay } from './replay.ts';

/** With a wider spread the venue shows the last trade, not the midpoint (docs.polymarket.com, prices and order books). */
const SHOWN_SPREAD_MAX = 0.1;
/**
 * The venue takes orders until it closes a market: about 20 seconds after the window in most measured markets, at most 316
 * seconds in any. A market whose close is not recorded takes orders for this long.
 */
const ACCEPTING_AFTER_WINDOW_MS = 5 * 60_000;

/** A market that is listed at `nowMs`, in the form of lists; its times and its slug are moved, see Replay.asSent. */
export function listedMarket(replay: Replay, market: StoredMarket, nowMs: InstantMs): ListedMarket {
  const known = marketAsOf(market, nowMs);
  const sent = replay.asSent(market);
  const { slug, startMs, endMs } = sent;
  const shifted = (instantMs: InstantMs) => instantMs + replay.shiftMs;
  return {
    ...known,
    slug,
    ...marketTexts(replay.archive, sent, replay.shiftMs),
    // The venue gives a market its ids before it lists it, so they do not depend on when the recording states them.
    ...venueIdsOf(market),
    listedMs: shifted(replay.listedMsOf(market)),
    createdMs: ifKnown(known.createdMs, shifted),
    startMs,
    endMs,
    resolvedMs: ifKnown(known.resolvedMs, shifted),
    priceStart: market.endMs <= nowMs ? known.priceStart : undefined,
  };
}

/**
 * The texts and details of a market. The venue gives them before it lists the market, so they do not depend on when the recording
 * states them. `sent` has the window that is sent; if it is moved, titles are made from it and the description is left out.
 */
export function marketTexts({ markets }: Archive, sent: StoredMarket, shiftMs: number): MarketTexts {
  const { question, title, ...details } = markets.details.of(sent.key);
  if (shiftMs !== 0) {
    const { description: _, ...undated } = details;
    const made = marketTitle(sent);
    return { question: made, title: made, details: undated };
  }
  const anyQuestion = question ?? title ?? marketTitle(sent);
  return { question: anyQuestion, title: title ?? anyQuestion, details };
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
  const known = replay.bookAt(market, 'up', nowMs);
  const best = known && bestPricesOf(known.book);
  const lastTradePrice = lastTradeAt(replay.archive, market, 'up', nowMs, replay.options.arrival)?.price;
  const spread = best && spreadBetween(best);
  const showsLastTrade = spread === undefined || spread > SHOWN_SPREAD_MAX;
  const traded = (showsLastTrade ? lastTradePrice : undefined) ?? (best && midpointOf(best));
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
