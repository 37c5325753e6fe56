import type { InstantMs } from '../domain/instant.ts';
import type { MarketAsOf } from '../domain/market-as-of.ts';
import type { MarketDetails } from '../domain/market-details.ts';

/** The minimum order size of up-or-down markets, in shares. */
export const MIN_ORDER_SIZE = '5';
/** The tick of a market from its listing to its first finer price. */
export const FIRST_TICK_SIZE = '0.01';

/** The texts and details of a market; `question` and `title` are made of coin and window if no recording states them (market-title.ts). */
export interface MarketTexts {
  readonly question: string;
  /** The title of its event. */
  readonly title: string;
  readonly details: MarketDetails;
}

/**
 * A listed market as it is known at an instant; `priceStart` becomes known at the end of the window. Ids of the venue that no
 * recording states are stand-ins (stand-in-id.ts).
 */
export interface ListedMarket extends MarketAsOf, MarketTexts {
  readonly listedMs: InstantMs;
}

/** The trading status of a market in the venue's lists. */
export interface MarketStatus {
  readonly isAcceptingOrders: boolean;
  /** 1 and 0 after the resolution; undefined if unknown. */
  readonly prices: readonly [up: number, down: number] | undefined;
  /** The best prices and the spread of up, also after the resolution; undefined before the first book. */
  readonly bestBid: number | undefined;
  readonly bestAsk: number | undefined;
  readonly spread: number | undefined;
  /** The last price of up; undefined before the first trade. */
  readonly lastTradePrice: number | undefined;
  readonly tickSize: number;
}
