import type { Account, Book, Level } from '../client/strategy.ts';
import type { Outcome } from '../domain/outcome.ts';
import { midOf } from '../domain/quote.ts';
import type { PaperAccount } from '../paper/paper-account.ts';
import type { PaperMarket } from '../paper/paper-market.ts';
import type { PaperOrder } from '../paper/paper-order.ts';
import { decimalOf } from './market-tally.ts';
import { orderOf } from './strategy-order.ts';

/** The recorded book of an outcome, always that of now. */
export function liveBook(market: PaperMarket, outcome: Outcome): Book {
  const best = (isBid: boolean) => market.books?.[outcome].best(outcome, isBid);
  const levels = (isBid: boolean): readonly Level[] => [...(market.books?.[outcome].levels(outcome, isBid) ?? [])];
  return {
    get bid() {
      return best(true);
    },
    get ask() {
      return best(false);
    },
    get mid() {
      return midOf({ bidPrice: best(true), askPrice: best(false) });
    },
    get bids() {
      return levels(true);
    },
    get asks() {
      return levels(false);
    },
  };
}

/** An account in one market, with its orders that are on their way or open. */
export function ownAccount(paper: PaperAccount, key: number, open: ReadonlyMap<string, PaperOrder>): Account {
  return {
    get cash() {
      return decimalOf(paper.cash);
    },
    get free() {
      return decimalOf(Math.max(0, paper.cash - paper.reserved));
    },
    get orders() {
      return [...open.values()].filter(({ endedMs }) => endedMs === undefined).map(orderOf);
    },
    shares: (outcome) => decimalOf(paper.holding(key, outcome).shares),
    freeShares: (outcome) => decimalOf(paper.free({ side: 'sell', outcome }, key)),
  };
}
