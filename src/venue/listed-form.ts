import type { InstantMs } from '../domain/instant.ts';
import type { MarketAsOf } from '../domain/market-as-of.ts';

/** A market as it is known at an instant at which it is listed; its price at the start once its window is over. */
export interface ListedMarket extends MarketAsOf {
  readonly listedMs: InstantMs;
}

/** How such a market stands, as the venue's lists of markets say it. */
export interface MarketStanding {
  readonly isAcceptingOrders: boolean;
  /** 1 or 0 once it was resolved; undefined where nothing tells. */
  readonly prices: readonly [up: number, down: number] | undefined;
  /** Of up, also the last ones of a resolved market; undefined before the first book. */
  readonly bestBid: number | undefined;
  readonly bestAsk: number | undefined;
  readonly spread: number | undefined;
  /** Of up; undefined before the first trade. */
  readonly lastTradePrice: number | undefined;
  readonly tickSize: number;
}
