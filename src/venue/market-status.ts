import type { InstantMs } from '../domain/instant.ts';
import type { MarketAsOf } from '../domain/market-as-of.ts';

/** A listed market as it is known at an instant; its price at the start once its window is over. */
export interface ListedMarket extends MarketAsOf {
  readonly listedMs: InstantMs;
}

/** The trading status of a listed market, as the venue's lists have it. */
export interface MarketStatus {
  readonly isAcceptingOrders: boolean;
  /** 1 or 0 once it was resolved; undefined where nothing is known. */
  readonly prices: readonly [up: number, down: number] | undefined;
  /** Of up, also the last ones of a resolved market; undefined before the first book. */
  readonly bestBid: number | undefined;
  readonly bestAsk: number | undefined;
  readonly spread: number | undefined;
  /** Of up; undefined before the first trade. */
  readonly lastTradePrice: number | undefined;
  readonly tickSize: number;
}
