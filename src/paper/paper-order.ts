import type { InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { TradeSide } from '../domain/trade.ts';
import type { Micros } from './micros.ts';

export const ORDER_TYPES = ['GTC', 'GTD', 'FOK', 'FAK'] as const;
export type OrderType = (typeof ORDER_TYPES)[number];

/** An order as its account sent it. */
export interface OrderTerms {
  /** Chosen by the caller, unique in its account. */
  readonly id: string;
  readonly outcome: Outcome;
  readonly side: TradeSide;
  readonly type: OrderType;
  /** The limit. */
  readonly price: number;
  /** Shares; the dollars to spend for a BUY of type FOK or FAK. */
  readonly amount: Micros;
  readonly isPostOnly: boolean;
  /** The end of a GTD, which acts until 60 s before, exclusive. */
  readonly expirationMs: InstantMs | undefined;
  /** The API key and the wallet of a signed order, for whoever shows it. */
  readonly signedBy?: { readonly apiKey: string; readonly wallet: string };
}

/**
 * 'sent': not at the venue yet; 'delayed': held by the taker delay; 'live': it rests. The others are ends: 'matched' in full, or a FAK in
 * part; 'refused' at its arrival; 'killed' (FOK or FAK after a delay), 'cancelled', 'expired', 'ended' with its market.
 */
type OrderState = 'sent' | 'delayed' | 'live' | 'matched' | 'refused' | 'killed' | 'cancelled' | 'expired' | 'ended';

/**
 * Why the venue refuses an order. `tick`, `minimum`: its price or size are not allowed, which whoever sends it checks; `not-ready`: no book
 * is known yet; `post-only`: it would match; `none`, `short`: a FAK or a FOK that the book does not fill.
 */
export type Refusal =
  | { readonly reason: 'tick' | 'minimum' | 'ended' | 'not-ready' | 'duplicate' }
  | { readonly reason: 'expiration' | 'post-only' | 'none' | 'short' }
  /** `needed` includes the fee; `reserved` is what the active orders hold. Dollars for a BUY, shares for a SELL. */
  | { readonly reason: 'funds'; readonly balance: Micros; readonly reserved: Micros; readonly needed: Micros };

/** An order in its account. */
export interface PaperOrder {
  readonly terms: OrderTerms;
  readonly marketKey: number;
  readonly state: OrderState;
  /** The amount that is open, or was when it ended, in the unit of the order's amount. */
  readonly left: Micros;
  /** The shares, cost and fees of its fills. */
  readonly filled: Micros;
  readonly cost: Micros;
  readonly fee: Micros;
  readonly sentMs: InstantMs;
  /** When it acted at the venue; undefined before. */
  readonly arrivedMs: InstantMs | undefined;
  readonly endedMs: InstantMs | undefined;
  readonly refusal: Refusal | undefined;
}
