import type { InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { TradeSide } from '../domain/trade.ts';
import type { Micros } from './micros.ts';
import type { OrderTerms, Refusal } from './paper-order.ts';

/** The records that caused a fill. */
export type Evidence =
  | {
      readonly kind: 'trade';
      readonly id: number;
      readonly atMs: InstantMs;
      readonly outcome: Outcome;
      readonly side: TradeSide;
      readonly price: number;
      readonly shares: Micros;
      /** The recorded shares that were ahead of the order. */
      readonly queue: Micros;
    }
  | {
      readonly kind: 'book';
      /** The snapshot's id and time, and the outcome for which it was recorded. */
      readonly id: number;
      readonly atMs: InstantMs;
      readonly outcome: Outcome;
      /** The level of the order's own outcome that it took, its recorded size, and how much of it the account had taken before. */
      readonly price: number;
      readonly shares: Micros;
      readonly taken: Micros;
    };

/** A fill at one price. */
export interface Fill {
  /** The number of the fill in its account, from 1. */
  readonly number: number;
  readonly role: 'taker' | 'maker';
  readonly price: number;
  readonly shares: Micros;
  /** shares × price: paid by a buyer, received by a seller. */
  readonly cost: Micros;
  readonly fee: Micros;
  readonly evidence: Evidence;
}

/** The end of an order that was not refused. 'matched': in full, or a FAK in part. */
export type ClosedState = 'matched' | 'killed' | 'cancelled' | 'expired' | 'ended';

/** What happens to an order. */
export type OrderChange =
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** It is at the venue, and the taker delay holds it. */
  | { readonly kind: 'delayed' }
  /** It rests, with `queue` recorded shares ahead. `hasFailed`: it was delayed and did not match at all. */
  | { readonly kind: 'live'; readonly left: Micros; readonly queue: Micros; readonly hasFailed: boolean }
  /** `left` is open after the fill, in the unit of the order's amount. */
  | { readonly kind: 'fill'; readonly fill: Fill; readonly left: Micros }
  /** It is no longer open, with `left` unfilled: 0 if it matched, but for a FAK. */
  | { readonly kind: 'closed'; readonly state: ClosedState; readonly left: Micros };

export type OrderEvent = OrderChange & {
  readonly atMs: InstantMs;
  readonly marketKey: number;
  readonly order: OrderTerms;
};
export type FillEvent = Extract<OrderEvent, { readonly kind: 'fill' }>;

/** The events of an account, in order. */
export type AccountEvent =
  | { readonly kind: 'deposit'; readonly atMs: InstantMs; readonly dollars: Micros }
  | OrderEvent
  /** Winning shares are paid 1, the others 0; merged pairs 1 a pair. `shares` of up and down are gone. */
  | {
      readonly kind: 'settled' | 'merged';
      readonly atMs: InstantMs;
      readonly marketKey: number;
      readonly shares: Readonly<Record<Outcome, Micros>>;
      readonly dollars: Micros;
    };
