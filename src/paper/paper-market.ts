import { Agenda, type Upcoming } from '../domain/agenda.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Market } from '../domain/market.ts';
import { complement } from '../domain/mirrored-book.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import { indexOfPrice } from '../venue/editable-book.ts';
import type { Evidence, Fill } from './account-event.ts';
import { Takings, type UpLevel, upLevel } from './level-takings.ts';
import type { MarketMoment, MomentBook, MomentTrade } from './market-moment.ts';
import { costOf, type FeeSchedule, feeOf, type Micros, microsOf, sharesFor } from './micros.ts';
import type { EditableOrder, PaperAccount } from './paper-account.ts';
import type { OrderTerms, PaperOrder, Refusal } from './paper-order.ts';
import { RestingOrder, RestingSide, TRADE_DELAY_MS } from './resting-orders.ts';

/** The part of the recorded shares at its price that an order is behind when it begins to rest. */
export const QUEUES = ['behind', 'mid', 'front'] as const;
export type QueueAssumption = (typeof QUEUES)[number];

export interface MarketRules {
  /** From sending an order or a cancel to its effect. */
  readonly latencyMs: number;
  /** The venue holds orders that would match for so long; 0: it does not. */
  readonly takerDelayMs: number;
  readonly queue: QueueAssumption;
  readonly fees: FeeSchedule;
}

/** The venue takes GTD orders that expire at least this long after their arrival, and drops them this long before. */
const EXPIRATION_MARGIN_MS = 60_000;

/** The actions of one millisecond, after its records: the lower rank first, of one rank the earlier. */
const RANKS = { expiry: 0, delayEnd: 1, action: 2, end: 3, settlement: 4 } as const;
/** More than the number of actions of a market. */
const RANK_STEP = 1e12;

interface DueAction extends Upcoming {
  readonly act: (atMs: InstantMs) => void;
}

/** The levels that an order finds in the book. */
interface Matches {
  /** The levels that it takes from, the best first. */
  readonly levels: readonly { readonly price: number; readonly shares: Micros; readonly evidence: Evidence }[];
  /** True if they are all that it wants; of dollars, if the rest does not pay a millionth of a share. */
  readonly areAll: boolean;
}

/** An order that is delayed or rests, with its place in the queue. */
interface OpenOrder {
  readonly account: PaperAccount;
  readonly resting: RestingOrder | undefined;
}

/**
 * Matches the orders of any number of accounts with the recording of one market. An account neither sees nor touches the orders of
 * others, and never matches itself. Own orders are not in the recorded book.
 *
 * Within a millisecond: trades, books as they are at its end, expiries, ends of taker delays, orders and cancels in the order in which
 * they were sent, the end of the market, its settlement.
 */
export class PaperMarket {
  readonly #market: Pick<Market, 'endMs' | 'winner' | 'resolvedMs'> & { readonly key: number };
  readonly #rules: MarketRules;
  readonly #agenda = new Agenda<DueAction>();
  #actions = 0;
  readonly #books: Partial<Record<Outcome, MomentBook>> = {};
  readonly #takings = new Takings((outcome, level) => this.#recordedSize(outcome, level));
  /** Each account that has sent an order, with its resting orders. */
  readonly #accounts = new Map<PaperAccount, { readonly bids: RestingSide; readonly asks: RestingSide }>();
  /** All resting orders by Up's price of their level. */
  readonly #bidsAt = new Map<number, Set<RestingOrder>>();
  readonly #asksAt = new Map<number, Set<RestingOrder>>();
  /** In the order of their arrival. */
  readonly #open = new Map<EditableOrder, OpenOrder>();
  /** The end of the recorded gap, exclusive: nothing fills before. */
  #gapEndMs = -Infinity;

  constructor(market: Pick<Market, 'endMs' | 'winner' | 'resolvedMs'> & { readonly key: number }, rules: MarketRules) {
    this.#market = market;
    this.#rules = rules;
    const { endMs, winner, resolvedMs = endMs } = market;
    this.#schedule(endMs, 'end', (atMs) => this.#end(atMs));
    if (winner !== undefined)
      this.#schedule(Math.max(endMs, resolvedMs), 'settlement', (atMs) => this.#settle(winner, atMs));
  }

  /** The time of its next action that no record causes; Infinity after the last one. */
  get nextMs(): InstantMs {
    return this.#agenda.nextMs;
  }

  /** The recorded book of an outcome; undefined before the first one. */
  book(outcome: Outcome): MomentBook | undefined {
    return this.#books[outcome];
  }

  /** Everything that happens at `atMs`, which ascends; `moment` has the records of that millisecond. */
  process(atMs: InstantMs, moment?: MarketMoment): void {
    if (moment !== undefined) {
      if (moment.gap !== undefined) this.#gapEndMs = Math.max(this.#gapEndMs, moment.gap.toMs);
      for (const trade of moment.trades) this.#trade(trade, atMs);
      this.#setBooks(moment);
    }
    while (this.#agenda.nextMs <= atMs) this.#agenda.take().act(atMs);
  }

  /** Sends an order, which arrives after the latency. Call it after `nowMs` was processed. */
  send(account: PaperAccount, terms: OrderTerms, nowMs: InstantMs): PaperOrder {
    if (!this.#accounts.has(account)) {
      this.#accounts.set(account, { bids: new RestingSide(true), asks: new RestingSide(false) });
    }
    const order = account.add(terms, this.#market.key, nowMs);
    this.#act(nowMs, (atMs) => {
      if (this.#accounts.has(account)) this.#arrive(account, order, atMs);
    });
    return order;
  }

  /** Cancels an order of this market when the cancel arrives; an order that has ended by then is not changed. */
  cancel(account: PaperAccount, orderId: string, nowMs: InstantMs): void {
    this.#act(nowMs, (atMs) => {
      const order = account.find(orderId);
      if (order !== undefined && this.#open.has(order)) this.#close(account, order, 'cancelled', atMs);
    });
  }

  /** Exchanges pairs of up and down for 1 dollar each. Returns false, and does nothing, if the account has fewer free ones. */
  merge(account: PaperAccount, shares: Micros, nowMs: InstantMs): boolean {
    const { key } = this.#market;
    if (OUTCOMES.some((outcome) => account.free({ side: 'sell', outcome }, key) < shares)) return false;
    account.exchange('merged', key, { up: shares, down: shares }, shares, nowMs);
    return true;
  }

  /** Drops the orders of an account, also those on their way: nothing happens to it any more. */
  forget(account: PaperAccount): void {
    for (const [order, open] of [...this.#open]) {
      if (open.account !== account) continue;
      this.#withdraw(order);
      order.state = 'ended';
    }
    this.#accounts.delete(account);
  }

  #act(nowMs: InstantMs, act: (atMs: InstantMs) => void): void {
    const { latencyMs } = this.#rules;
    if (latencyMs === 0) act(nowMs);
    else this.#schedule(nowMs + latencyMs, 'action', act);
  }

  #schedule(atMs: InstantMs, kind: keyof typeof RANKS, act: (atMs: InstantMs) => void): void {
    this.#actions += 1;
    this.#agenda.add({ atMs, rank: RANKS[kind] * RANK_STEP + this.#actions, act });
  }

  // Arrivals

  #arrive(account: PaperAccount, order: EditableOrder, atMs: InstantMs): void {
    const { terms } = order;
    order.arrivedMs = atMs;
    const matches = this.#matches(account, terms, terms.amount, atMs);
    const refusal = this.#refusal(account, order, matches, atMs);
    if (refusal !== undefined) {
      this.#refuse(account, order, refusal, atMs);
      return;
    }
    account.reserve(order, reservation(order, this.#rules.fees));
    if (this.#rules.takerDelayMs === 0 || matches.levels.length === 0) this.#execute(account, order, matches, atMs);
    else this.#delay(account, order, atMs);
    if (terms.expirationMs === undefined) return;
    const expire = (dueMs: InstantMs) => {
      if (this.#open.has(order)) this.#close(account, order, 'expired', dueMs);
    };
    const expiryMs = terms.expirationMs - EXPIRATION_MARGIN_MS;
    // One that arrives at its last instant matches, and does not rest.
    if (expiryMs <= atMs) expire(atMs);
    else this.#schedule(expiryMs, 'expiry', expire);
  }

  #delay(account: PaperAccount, order: EditableOrder, atMs: InstantMs): void {
    const { terms } = order;
    order.state = 'delayed';
    this.#open.set(order, { account, resting: undefined });
    account.note({ kind: 'delayed', atMs, marketKey: order.marketKey, order: terms });
    this.#schedule(atMs + this.#rules.takerDelayMs, 'delayEnd', (dueMs) => {
      if (order.state !== 'delayed') return;
      const then = this.#matches(account, terms, order.left, dueMs);
      // Better prices may cost more than was reserved: dollars buy more shares, each with its fee.
      const isPaid = this.#needed(order, then) <= account.free(terms, order.marketKey) + order.reserved;
      if (isPaid) this.#execute(account, order, then, dueMs);
      else this.#close(account, order, 'killed', dueMs);
    });
  }

  #refusal(account: PaperAccount, order: EditableOrder, matches: Matches, atMs: InstantMs): Refusal | undefined {
    const { terms, marketKey } = order;
    const isMarketable = matches.levels.length > 0;
    if (atMs >= this.#market.endMs) return { reason: 'ended' };
    if (this.#books[terms.outcome] === undefined) return { reason: 'not-ready' };
    if (!account.claim(order)) return { reason: 'duplicate' };
    if (terms.expirationMs !== undefined && terms.expirationMs - atMs < EXPIRATION_MARGIN_MS)
      return { reason: 'expiration' };
    const needed = this.#needed(order, matches);
    const free = account.free(terms, marketKey);
    if (needed > free) {
      const reserved = terms.side === 'buy' ? account.reserved : account.holding(marketKey, terms.outcome).reserved;
      return { reason: 'funds', balance: free + reserved, reserved, needed };
    }
    if (terms.isPostOnly && isMarketable) return { reason: 'post-only' };
    if (terms.type === 'FAK' && !isMarketable) return { reason: 'none' };
    // A FOK that would match is held by the taker delay first.
    const isHeld = this.#rules.takerDelayMs > 0 && isMarketable;
    if (terms.type === 'FOK' && !isHeld && !matches.areAll) return { reason: 'short' };
    return undefined;
  }

  /** The dollars or shares that an order needs: for a BUY with its fee, for one of dollars what its matches cost if that is more. */
  #needed(order: EditableOrder, { levels }: Matches): Micros {
    const { terms } = order;
    const { fees } = this.#rules;
    const atLimit = reservation(order, fees);
    if (!isInDollars(terms)) return atLimit;
    let paid = 0;
    for (const { shares, price } of levels) paid += costOf('buy', shares, price) + feeOf(shares, price, fees);
    return Math.max(atLimit, paid);
  }

  #refuse(account: PaperAccount, order: EditableOrder, refusal: Refusal, atMs: InstantMs): void {
    order.state = 'refused';
    order.refusal = refusal;
    order.endedMs = atMs;
    account.note({ kind: 'refused', atMs, marketKey: order.marketKey, order: order.terms, refusal });
  }

  /** Fills an order with the levels that it matches; what is left rests, or is dropped. */
  #execute(account: PaperAccount, order: EditableOrder, { levels, areAll }: Matches, atMs: InstantMs): void {
    const { terms } = order;
    const wasDelayed = order.state === 'delayed';
    const isMarketOrder = terms.type === 'FOK' || terms.type === 'FAK';
    if (isMarketOrder && (levels.length === 0 || (terms.type === 'FOK' && !areAll))) {
      this.#close(account, order, 'killed', atMs);
      return;
    }
    for (const { price, shares, evidence } of levels) {
      this.#takings.add(account, upLevel(terms.outcome, opposite(terms), price), shares);
      const fee = feeOf(shares, price, this.#rules.fees);
      this.#fill(account, order, { role: 'taker', price, shares, fee, evidence }, atMs);
    }
    if (order.left === 0 || isMarketOrder) this.#close(account, order, 'matched', atMs);
    else this.#rest(account, order, wasDelayed && levels.length === 0, atMs);
  }

  #rest(account: PaperAccount, order: EditableOrder, hasFailed: boolean, atMs: InstantMs): void {
    const { terms } = order;
    const level = upLevel(terms.outcome, terms.side === 'buy', terms.price);
    // Own takings are fiction: the others still queue with all that is recorded.
    const ahead = microsOf(this.#recordedSize(terms.outcome, level));
    const queue = { behind: ahead, mid: Math.floor(ahead / 2), front: 0 }[this.#rules.queue];
    const resting = new RestingOrder(order, account, queue, atMs);
    order.state = 'live';
    this.#open.set(order, { account, resting });
    this.#sideOf(account, level).add(resting);
    const at = level.isBid ? this.#bidsAt : this.#asksAt;
    const there = at.get(level.price);
    if (there === undefined) at.set(level.price, new Set([resting]));
    else there.add(resting);
    account.note({ kind: 'live', atMs, marketKey: order.marketKey, order: terms, left: order.left, queue, hasFailed });
  }

  /** The levels at the limit of an order or better, less what its account took from them. Nothing in a recorded gap. */
  #matches(account: PaperAccount, terms: OrderTerms, amount: Micros, atMs: InstantMs): Matches {
    const levels: Matches['levels'][number][] = [];
    const known = this.#books[terms.outcome];
    if (known === undefined || atMs < this.#gapEndMs) return { levels, areAll: false };
    const isBid = opposite(terms);
    const inDollars = isInDollars(terms);
    const { book, id, atMs: bookMs, recordedFor } = known;
    const [prices, sizes] = isBid ? [book.bidPrices, book.bidSizes] : [book.askPrices, book.askSizes];
    let left = amount;
    for (let i = 0; i < prices.length && left > 0; i += 1) {
      const price = prices[i]!;
      if (isBid ? price < terms.price : price > terms.price) break;
      const recorded = microsOf(sizes[i]!);
      const taken = this.#takings.of(account, upLevel(terms.outcome, isBid, price));
      const available = recorded - taken;
      if (available <= 0) continue;
      const whole = inDollars ? costOf('buy', available, price) : available;
      const shares = whole <= left ? available : inDollars ? sharesFor(left, price) : left;
      left = whole <= left ? left - whole : 0;
      if (shares === 0) break;
      const evidence = {
        kind: 'book',
        id,
        atMs: bookMs,
        outcome: recordedFor,
        price,
        shares: recorded,
        taken,
      } as const;
      levels.push({ price, shares, evidence });
    }
    return { levels, areAll: left === 0 && levels.length > 0 };
  }

  // Records

  #setBooks(moment: MarketMoment): void {
    const { up, down } = moment.books;
    if (up === undefined && down === undefined) return;
    if (up !== undefined) this.#books.up = up;
    if (down !== undefined) this.#books.down = down;
    this.#takings.update(moment);
    if (this.#bidsAt.size + this.#asksAt.size === 0) return;
    for (const outcome of OUTCOMES) this.#capQueues(outcome, moment);
    for (const [account, { bids, asks }] of this.#accounts) {
      this.#cross(account, bids, moment.atMs);
      this.#cross(account, asks, moment.atMs);
    }
  }

  #capQueues(outcome: Outcome, { books, atMs }: MarketMoment): void {
    for (const { isBid, price } of books[outcome]?.changes ?? []) {
      const level = upLevel(outcome, isBid, price);
      const there = (level.isBid ? this.#bidsAt : this.#asksAt).get(level.price);
      if (there === undefined) continue;
      const recorded = microsOf(this.#recordedSize(outcome, level));
      // Where the size changed, nothing is taken any more.
      for (const resting of there) if (resting.order.terms.outcome === outcome) resting.cap(recorded, atMs);
    }
  }

  /** Fills the orders of a side whose limit the other side's levels reach, by the size of those levels. */
  #cross(account: PaperAccount, side: RestingSide, atMs: InstantMs): void {
    if (side.orders.length === 0 || atMs < this.#gapEndMs) return;
    for (const { order, level } of side.orders) {
      const { terms } = order;
      // Orders of both outcomes are on this side: the books differ for a moment at most.
      if (!this.#isReached(terms)) {
        if (!OUTCOMES.some((outcome) => this.#reaches(outcome, level))) return;
        continue;
      }
      for (const { price, shares, evidence } of this.#matches(account, terms, order.left, atMs).levels) {
        this.#takings.add(account, upLevel(terms.outcome, opposite(terms), price), shares);
        this.#fillResting(account, order, shares, evidence, atMs);
      }
    }
  }

  #isReached(terms: OrderTerms): boolean {
    return this.#reaches(terms.outcome, upLevel(terms.outcome, terms.side === 'buy', terms.price));
  }

  /** Returns true if the opposite side of an outcome's book reaches a level. */
  #reaches(outcome: Outcome, { isBid, price }: UpLevel): boolean {
    const book = this.#books[outcome]?.book;
    if (book === undefined) return false;
    const ownPrice = outcome === 'up' ? price : complement(price);
    // A bid of Up is an ask of Down.
    const isOwnBid = isBid === (outcome === 'up');
    const best = isOwnBid ? book.askPrices[0] : book.bidPrices[0];
    return best !== undefined && (isOwnBid ? best <= ownPrice : best >= ownPrice);
  }

  /** Shares a trade out among the orders of each account that it reaches. */
  #trade({ id, outcome, side, price, shares }: MomentTrade, atMs: InstantMs): void {
    const hit = upLevel(outcome, side === 'sell', price);
    for (const [account, { bids, asks }] of this.#accounts) {
      const restingSide = hit.isBid ? bids : asks;
      let rest = shares;
      for (const resting of restingSide.orders) {
        if (restingSide.isBetter(hit.price, resting.level.price)) break;
        if (resting.sinceMs >= atMs - TRADE_DELAY_MS) continue;
        const { queue, beyond } = resting.reachedBy(rest, atMs);
        const filled = atMs < this.#gapEndMs ? 0 : Math.min(resting.order.left, beyond);
        if (filled === 0) continue;
        rest -= filled;
        const evidence: Evidence = { kind: 'trade', id, atMs, outcome, side, price, shares, queue };
        this.#fillResting(account, resting.order, filled, evidence, atMs);
      }
    }
  }

  #fillResting(account: PaperAccount, order: EditableOrder, shares: Micros, evidence: Evidence, atMs: InstantMs): void {
    this.#fill(account, order, { role: 'maker', price: order.terms.price, shares, fee: 0, evidence }, atMs);
    if (order.left === 0) this.#close(account, order, 'matched', atMs);
  }

  // Ends

  #fill(account: PaperAccount, order: EditableOrder, at: Omit<Fill, 'number' | 'cost'>, atMs: InstantMs): void {
    const { terms, marketKey } = order;
    const { role, price, shares, fee, evidence } = at;
    const fill = account.book(order, { role, price, shares, fee, evidence });
    order.left -= isInDollars(terms) ? fill.cost : shares;
    account.reserve(order, reservation(order, this.#rules.fees));
    account.note({ kind: 'fill', atMs, marketKey, order: terms, fill, left: order.left });
  }

  #close(
    account: PaperAccount,
    order: EditableOrder,
    state: 'matched' | 'killed' | 'cancelled' | 'expired' | 'ended',
    atMs: InstantMs,
  ): void {
    const { terms, marketKey, left } = order;
    order.state = state;
    order.endedMs = atMs;
    account.reserve(order, 0);
    this.#withdraw(order);
    account.note({ kind: 'closed', atMs, marketKey, order: terms, state, left });
  }

  #withdraw(order: EditableOrder): void {
    const open = this.#open.get(order);
    this.#open.delete(order);
    if (open?.resting === undefined) return;
    const { level, account } = open.resting;
    this.#sideOf(account, level).remove(order);
    const at = level.isBid ? this.#bidsAt : this.#asksAt;
    const there = at.get(level.price)!;
    there.delete(open.resting);
    if (there.size === 0) at.delete(level.price);
  }

  #end(atMs: InstantMs): void {
    for (const [order, { account }] of [...this.#open]) this.#close(account, order, 'ended', atMs);
  }

  #settle(winner: Outcome, atMs: InstantMs): void {
    const { key } = this.#market;
    for (const account of this.#accounts.keys()) {
      const shares = { up: account.holding(key, 'up').shares, down: account.holding(key, 'down').shares };
      if (shares.up + shares.down > 0) account.exchange('settled', key, shares, shares[winner], atMs);
    }
  }

  // Levels

  #sideOf(account: PaperAccount, { isBid }: UpLevel): RestingSide {
    const sides = this.#accounts.get(account)!;
    return isBid ? sides.bids : sides.asks;
  }

  #recordedSize(outcome: Outcome, { isBid, price }: UpLevel): number {
    const book = this.#books[outcome]?.book;
    if (book === undefined) return 0;
    const isOwnBid = isBid === (outcome === 'up');
    const ownPrice = outcome === 'up' ? price : complement(price);
    const [prices, sizes] = isOwnBid ? [book.bidPrices, book.bidSizes] : [book.askPrices, book.askSizes];
    const at = indexOfPrice(prices, ownPrice, isOwnBid ? -1 : 1);
    return prices[at] === ownPrice ? sizes[at]! : 0;
  }
}

/** The amount of a BUY of type FOK or FAK is in dollars, see orders of the venue: market orders. */
function isInDollars({ side, type }: OrderTerms): boolean {
  return side === 'buy' && (type === 'FOK' || type === 'FAK');
}

/** The side of its outcome's book that an order matches: true for the bids. */
function opposite({ side }: OrderTerms): boolean {
  return side === 'sell';
}

/** The amount that an open order holds: for a BUY dollars and the fee at its limit, for a SELL shares. */
function reservation({ terms, left }: EditableOrder, fees: FeeSchedule): Micros {
  if (terms.side === 'sell') return left;
  if (isInDollars(terms)) return left + feeOf(sharesFor(left, terms.price), terms.price, fees);
  return costOf('buy', left, terms.price) + feeOf(left, terms.price, fees);
}
