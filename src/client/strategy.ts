/**
 * The types of a strategy for `bookreel backtest`. Copy this file next to your strategy; it needs no other. A strategy is a file whose
 * default export is a function: it is called for each market, and what it returns is called with everything that is recorded of that
 * market, in the order of time. Keep state within that function. `bookreel manual backtest` has examples.
 *
 * Prices are in dollars, 0 to 1, sizes in shares, times in Unix milliseconds.
 */
export type MakeStrategy = (market: Market) => Strategy | Promise<Strategy>;

/** All functions are optional, return nothing, and must not be async: the recording waits for them, and no time passes meanwhile. */
export interface Strategy {
  /** Before the first record of the market, or at the beginning of the selected time. */
  onStart?(context: Context): void;
  /** A book has changed, once a millisecond for each outcome: up and down are one book, so usually both change. */
  onBook?(context: Context, outcome: Outcome): void;
  /** Somebody traded. Recordings without the sizes of trades have none. */
  onTrade?(context: Context, trade: Trade): void;
  /** A price of the coin. */
  onPrice?(context: Context, price: CoinPrice): void;
  /** An order of yours was filled, in part or completely. */
  onFill?(context: Context, fill: Fill): void;
  /** An order of yours was accepted, refused, or is no longer open. */
  onOrder?(context: Context, order: Order): void;
  /** After the last record: the market is over and paid, if its winner is known. Orders have no effect any more. */
  onEnd?(context: Context): void;
}

export type Outcome = 'up' | 'down';
export type Side = 'buy' | 'sell';

export interface Market {
  readonly slug: string;
  readonly conditionId: string;
  /** `btc` */
  readonly coin: string;
  /** `5m`, `15m`, `1h`, `4h` or `24h` */
  readonly timeframe: string;
  /** Up wins if the coin's price at the end is at least the one at the start. */
  readonly startMs: number;
  readonly endMs: number;
}

export interface Context {
  /** The instant of the recording. `Date.now()` returns the same. */
  readonly nowMs: number;
  readonly market: Market;
  /** 0.01, or finer in markets that are nearly decided. */
  readonly tickSize: number;
  /** Your money, shares and open orders. */
  readonly account: Account;
  /** The book of an outcome, always that of now: keep the object, but copy what must not change. */
  book(outcome: Outcome): Book;
  /** The last price of the coin from a source: `chainlink`, `binance`; without a source, from any. Undefined before the first one. */
  price(source?: string): number | undefined;
  /**
   * Sends an order, which arrives after the latency, and returns its id. What the venue would refuse is refused, see `onOrder`. Throws for
   * what is no order, such as a price that is no number.
   */
  buy(order: NewOrder): string;
  sell(order: NewOrder): string;
  /** Cancels an order; this takes the latency too. Does nothing if it is not open by then. */
  cancel(id: string): void;
  cancelAll(): void;
  /** Changes as many shares of up and of down, in pairs, into 1 dollar each, at once. Throws if there are fewer. */
  merge(shares: number): void;
}

export interface NewOrder {
  readonly outcome: Outcome;
  /** The limit, a multiple of the tick size. */
  readonly price: number;
  /** Shares, at most 6 decimals. For a buy of type FOK or FAK name `dollars` instead. */
  readonly size?: number;
  /** For a buy of type FOK or FAK: the dollars to spend, at least 1. */
  readonly dollars?: number;
  /** GTC rests until it is cancelled (default), GTD until 60 s before `expiresMs`; FOK fills at once in full or not at all, FAK what it can. */
  readonly type?: 'GTC' | 'GTD' | 'FOK' | 'FAK';
  /** Refused if it would be filled at once. GTC and GTD only. */
  readonly postOnly?: boolean;
  readonly expiresMs?: number;
}

export interface Account {
  /** Dollars, with those that open orders reserve. */
  readonly cash: number;
  /** Dollars for new orders. */
  readonly free: number;
  /** Shares of an outcome, with those that open orders reserve. */
  shares(outcome: Outcome): number;
  freeShares(outcome: Outcome): number;
  /** Your orders that are on their way or open, in the order in which you sent them. */
  readonly orders: readonly Order[];
}

export interface Order {
  readonly id: string;
  readonly outcome: Outcome;
  readonly side: Side;
  readonly price: number;
  /** Open: shares, or dollars of a buy of type FOK or FAK. */
  readonly left: number;
  /** Shares that were filled. */
  readonly filled: number;
  readonly state: 'sent' | 'delayed' | 'live' | 'matched' | 'refused' | 'killed' | 'cancelled' | 'expired' | 'ended';
  /** Why it was refused. */
  readonly reason?: string;
}

export interface Fill {
  /** The id of the order. */
  readonly id: string;
  readonly outcome: Outcome;
  readonly side: Side;
  /** A maker's order rested, and has no fee. */
  readonly role: 'maker' | 'taker';
  readonly price: number;
  readonly size: number;
  readonly fee: number;
}

export interface Trade {
  readonly outcome: Outcome;
  /** The side of the order that came later. */
  readonly side: Side;
  readonly price: number;
  readonly size: number;
}

export interface CoinPrice {
  readonly source: string;
  readonly price: number;
}

export interface Book {
  /** The best prices; undefined if a side is empty. */
  readonly bid: number | undefined;
  readonly ask: number | undefined;
  /** Between them; undefined if a side is empty. */
  readonly mid: number | undefined;
  /** Best first; copies. */
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}

export interface Level {
  readonly price: number;
  readonly size: number;
}
