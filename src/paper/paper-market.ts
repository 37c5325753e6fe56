import { Agenda, type Upcoming } from '../domain/agenda.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { Market } from '../domain/market.ts';
import { complement } from '../domain/mirrored-book.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import type { ClosedState, Evidence, Fill } from './account-event.ts';
import type { MarketMoment, MomentBooks, MomentTrade } from './market-moment.ts';
import { costOf, type FeeSchedule, feeOf, type Micros, microsOf, sharesFor } from './micros.ts';
import type { EditableOrder, PaperAccount } from './paper-account.ts';
import type { OrderTerms, PaperOrder, Refusal } from './paper-order.ts';
import { type RestingOrder, TRADE_DELAY_MS } from './resting-order.ts';
import { type TradedLevel, TradedSide } from './traded-level.ts';

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
  readonly levels: readonly Match[];
  /** True if they are all that it wants; of dollars, if the rest does not pay a millionth of a share. */
  readonly areAll: boolean;
}

interface Match {
  readonly price: number;
  readonly shares: Micros;
  readonly evidence: Evidence;
}

/** The place in the book of an order that rests. */
interface Place {
  readonly resting: RestingOrder;
  readonly level: TradedLevel;
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
  #books: MomentBooks | undefined;
  /** Those that have sent an order. */
  readonly #accounts = new Set<PaperAccount>();
  readonly #bids = new TradedSide(true);
  readonly #asks = new TradedSide(false);
  /** Those that are delayed, without a place, and those that rest, in the order of their arrival. */
  readonly #open = new Map<EditableOrder, Place | undefined>();
  /** The end of the recorded gap, exclusive: nothing fills before. */
  #gapEndMs = -Infinity;

  constructor(market: Pick<Market, 'endMs' | 'winner' | 'resolvedMs'> & { readonly key: number }, rules: MarketRules) {
    this.#market = market;
    this.#rules = rules;
    const { endMs, winner, resolvedMs = endMs } = market;
    this.#schedule(endMs, 'end', (atMs) => {
      for (const order of [...this.#open.keys()]) this.#close(order, 'ended', atMs);
    });
    if (winner !== undefined)
      this.#schedule(Math.max(endMs, resolvedMs), 'settlement', (atMs) => this.#settle(winner, atMs));
  }

  /** The time of its next action that no record causes; Infinity after the last one. */
  get nextMs(): InstantMs {
    return this.#agenda.nextMs;
  }

  /** The recorded books; undefined before the first one. */
  get books(): MomentBooks | undefined {
    return this.#books;
  }

  /** Everything that happens at `atMs`, which ascends; `moment` has the records of that millisecond. */
  process(atMs: InstantMs, moment?: MarketMoment): void {
    if (moment !== undefined) {
      if (moment.gap !== undefined) this.#gapEndMs = Math.max(this.#gapEndMs, moment.gap.toMs);
      for (const trade of moment.trades) this.#trade(trade, atMs);
      if (moment.books !== undefined) this.#setBooks(moment.books, atMs);
    }
    while (this.#agenda.nextMs <= atMs) this.#agenda.take().act(atMs);
  }

  /** Sends an order, which arrives after the latency. Call it after `nowMs` was processed. */
  send(account: PaperAccount, terms: OrderTerms, nowMs: InstantMs): PaperOrder {
    this.#accounts.add(account);
    const order = account.add(terms, this.#market.key, nowMs);
    this.#act(nowMs, (atMs) => {
      if (this.#accounts.has(account)) this.#arrive(order, atMs);
    });
    return order;
  }

  /** Refuses an order that is not sent. */
  refuse(account: PaperAccount, terms: OrderTerms, refusal: Refusal, nowMs: InstantMs): void {
    account.refuse(account.add(terms, this.#market.key, nowMs), refusal, nowMs);
  }

  /** Cancels an order of this market when the cancel arrives; an order that has ended by then is not changed. */
  cancel(account: PaperAccount, orderId: string, nowMs: InstantMs): void {
    this.#act(nowMs, (atMs) => {
      const order = account.find(orderId);
      if (order !== undefined && this.#open.has(order)) this.#close(order, 'cancelled', atMs);
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
    for (const order of [...this.#open.keys()]) {
      if (order.account !== account) continue;
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

  #arrive(order: EditableOrder, atMs: InstantMs): void {
    const { terms, account } = order;
    order.arrivedMs = atMs;
    const matches = this.#matches(order, atMs);
    const refusal = this.#refusal(order, matches, atMs);
    if (refusal !== undefined) {
      account.refuse(order, refusal, atMs);
      return;
    }
    account.reserve(order, reservation(order, this.#rules.fees));
    if (this.#rules.takerDelayMs === 0 || matches.levels.length === 0) this.#execute(order, matches, atMs);
    else this.#delay(order, atMs);
    if (terms.expirationMs === undefined) return;
    const expire = (dueMs: InstantMs) => {
      if (this.#open.has(order)) this.#close(order, 'expired', dueMs);
    };
    const expiryMs = terms.expirationMs - EXPIRATION_MARGIN_MS;
    // One that arrives at its last instant matches, and does not rest.
    if (expiryMs <= atMs) expire(atMs);
    else this.#schedule(expiryMs, 'expiry', expire);
  }

  #delay(order: EditableOrder, atMs: InstantMs): void {
    const { terms, account, marketKey } = order;
    order.state = 'delayed';
    this.#open.set(order, undefined);
    account.note(order, atMs, { kind: 'delayed' });
    this.#schedule(atMs + this.#rules.takerDelayMs, 'delayEnd', (dueMs) => {
      if (order.state !== 'delayed') return;
      const then = this.#matches(order, dueMs);
      // Better prices may cost more than was reserved: dollars buy more shares, each with its fee.
      const isPaid = this.#needed(order, then) <= account.free(terms, marketKey) + order.reserved;
      if (isPaid) this.#execute(order, then, dueMs);
      else this.#close(order, 'killed', dueMs);
    });
  }

  #refusal(order: EditableOrder, matches: Matches, atMs: InstantMs): Refusal | undefined {
    const { terms, marketKey, account } = order;
    const { type, side, outcome, expirationMs = Infinity, isPostOnly } = terms;
    if (atMs >= this.#market.endMs) return { reason: 'ended' };
    if (this.#books === undefined) return { reason: 'not-ready' };
    if (!account.claim(order)) return { reason: 'duplicate' };
    if (expirationMs - atMs < EXPIRATION_MARGIN_MS) return { reason: 'expiration' };
    const needed = this.#needed(order, matches);
    const free = account.free(terms, marketKey);
    if (needed > free) {
      const reserved = side === 'buy' ? account.reserved : account.holding(marketKey, outcome).reserved;
      return { reason: 'funds', balance: free + reserved, reserved, needed };
    }
    const isMarketable = matches.levels.length > 0;
    if (isPostOnly && isMarketable) return { reason: 'post-only' };
    if (type === 'FAK' && !isMarketable) return { reason: 'none' };
    // A FOK that would match is held by the taker delay first.
    const isHeld = this.#rules.takerDelayMs > 0 && isMarketable;
    if (type === 'FOK' && !isHeld && !matches.areAll) return { reason: 'short' };
    return undefined;
  }

  /** The dollars or shares that an order needs: for a BUY with its fee, for one of dollars what its matches cost if that is more. */
  #needed(order: EditableOrder, { levels }: Matches): Micros {
    const { fees } = this.#rules;
    const atLimit = reservation(order, fees);
    if (!isInDollars(order.terms)) return atLimit;
    let paid = 0;
    for (const { shares, price } of levels) paid += costOf('buy', shares, price) + feeOf(shares, price, fees);
    return Math.max(atLimit, paid);
  }

  /** Fills an order with the levels that it matches; what is left rests, or is dropped. */
  #execute(order: EditableOrder, { levels, areAll }: Matches, atMs: InstantMs): void {
    const { terms } = order;
    const hasFailed = order.state === 'delayed' && levels.length === 0;
    const isMarketOrder = terms.type === 'FOK' || terms.type === 'FAK';
    if (isMarketOrder && (levels.length === 0 || (terms.type === 'FOK' && !areAll))) {
      this.#close(order, 'killed', atMs);
      return;
    }
    for (const match of levels) {
      this.#take(order, match);
      const fee = feeOf(match.shares, match.price, this.#rules.fees);
      this.#fill(order, { ...match, role: 'taker', fee }, atMs);
    }
    if (order.left === 0 || isMarketOrder) this.#close(order, 'matched', atMs);
    else this.#rest(order, hasFailed, atMs);
  }

  #rest(order: EditableOrder, hasFailed: boolean, atMs: InstantMs): void {
    const { terms, account } = order;
    const level = this.#levelAt(terms.outcome, terms.side === 'buy', terms.price);
    // Own takings are fiction: the others still queue with all that is recorded.
    const ahead = level.recorded(this.#books!, terms.outcome);
    const queue = { behind: ahead, mid: Math.floor(ahead / 2), front: 0 }[this.#rules.queue];
    order.state = 'live';
    this.#open.set(order, { resting: level.add(order, queue, atMs), level });
    account.note(order, atMs, { kind: 'live', left: order.left, queue, hasFailed });
  }

  /** The levels at the limit of an order or better, less what its account took from them. Nothing in a recorded gap. */
  #matches({ account, terms, left: wanted }: EditableOrder, atMs: InstantMs): Matches {
    const levels: Match[] = [];
    const book = this.#books?.[terms.outcome];
    if (book === undefined || atMs < this.#gapEndMs) return { levels, areAll: false };
    const isBid = terms.side === 'sell';
    const inDollars = isInDollars(terms);
    let left = wanted;
    for (const { price, size } of book.levels(terms.outcome, isBid)) {
      if (left === 0 || (isBid ? price < terms.price : price > terms.price)) break;
      const recorded = microsOf(size);
      const taken = this.#side(terms.outcome, isBid).find(upPrice(terms.outcome, price))?.taken(account) ?? 0;
      const available = recorded - taken;
      if (available <= 0) continue;
      const whole = inDollars ? costOf('buy', available, price) : available;
      const shares = whole <= left ? available : inDollars ? sharesFor(left, price) : left;
      left = whole <= left ? left - whole : 0;
      const { id, atMs: bookMs, recordedFor: outcome } = book;
      levels.push({
        ...{ price, shares },
        evidence: { kind: 'book', id, atMs: bookMs, outcome, price, shares: recorded, taken },
      });
    }
    return { levels, areAll: left === 0 && levels.length > 0 };
  }

  // Records

  #setBooks(books: MomentBooks, atMs: InstantMs): void {
    this.#books = books;
    for (const side of [this.#bids, this.#asks]) side.update(books, atMs);
    if (atMs >= this.#gapEndMs) for (const side of [this.#bids, this.#asks]) this.#cross(side, books, atMs);
  }

  /** Fills the orders of a side whose limit the other side's levels reach, by the size of those levels. */
  #cross({ levels }: TradedSide, books: MomentBooks, atMs: InstantMs): void {
    // Accounts that took all shares within the limit of an order: their next orders of this outcome have no better limit.
    let done: Readonly<Record<Outcome, Set<PaperAccount>>> | undefined;
    for (const level of levels) {
      // The books of the outcomes differ for a moment at most.
      const isUpReached = level.isReachedIn(books, 'up');
      const isDownReached = level.isReachedIn(books, 'down');
      if (!isUpReached && !isDownReached) return;
      done ??= { up: new Set(), down: new Set() };
      for (const { order } of level.orders) {
        const { account, terms } = order;
        if (!(terms.outcome === 'up' ? isUpReached : isDownReached) || done[terms.outcome].has(account)) continue;
        const matches = this.#matches(order, atMs);
        if (!matches.areAll) done[terms.outcome].add(account);
        for (const match of matches.levels) {
          this.#take(order, match);
          this.#fillResting(order, match.shares, match.evidence, atMs);
        }
      }
    }
  }

  /** Shares a trade out among the orders of each account that it reaches. */
  #trade({ id, outcome, side: taker, price, shares }: MomentTrade, atMs: InstantMs): void {
    const side = this.#side(outcome, taker === 'sell');
    const rest = new Map<PaperAccount, Micros>();
    for (const level of side.levels) {
      if (side.isBetter(upPrice(outcome, price), level.prices.up)) return;
      for (const resting of level.orders) {
        const { order } = resting;
        if (resting.sinceMs >= atMs - TRADE_DELAY_MS) continue;
        const unspent = rest.get(order.account) ?? shares;
        const { queue, beyond } = resting.reachedBy(unspent, atMs);
        const filled = atMs < this.#gapEndMs ? 0 : Math.min(order.left, beyond);
        if (filled === 0) continue;
        rest.set(order.account, unspent - filled);
        const evidence: Evidence = { kind: 'trade', id, atMs, outcome, side: taker, price, shares, queue };
        this.#fillResting(order, filled, evidence, atMs);
      }
    }
  }

  #fillResting(order: EditableOrder, shares: Micros, evidence: Evidence, atMs: InstantMs): void {
    this.#fill(order, { role: 'maker', price: order.terms.price, shares, fee: 0, evidence }, atMs);
    if (order.left === 0) this.#close(order, 'matched', atMs);
  }

  // Ends

  #fill(order: EditableOrder, at: Omit<Fill, 'number' | 'cost'>, atMs: InstantMs): void {
    const { account } = order;
    const fill = account.book(order, at);
    order.left -= isInDollars(order.terms) ? fill.cost : fill.shares;
    account.reserve(order, reservation(order, this.#rules.fees));
    account.note(order, atMs, { kind: 'fill', fill, left: order.left });
  }

  #close(order: EditableOrder, state: ClosedState, atMs: InstantMs): void {
    const { account, left } = order;
    order.state = state;
    order.endedMs = atMs;
    account.reserve(order, 0);
    this.#withdraw(order);
    account.note(order, atMs, { kind: 'closed', state, left });
  }

  #withdraw(order: EditableOrder): void {
    const place = this.#open.get(order);
    this.#open.delete(order);
    place?.level.orders.delete(place.resting);
  }

  #settle(winner: Outcome, atMs: InstantMs): void {
    const { key } = this.#market;
    for (const account of this.#accounts) {
      const shares = { up: account.holding(key, 'up').shares, down: account.holding(key, 'down').shares };
      if (shares.up + shares.down > 0) account.exchange('settled', key, shares, shares[winner], atMs);
    }
  }

  // Levels: down's ask at q is up's bid at 1 − q

  #take({ account, terms: { outcome, side } }: EditableOrder, { price, shares }: Match): void {
    this.#levelAt(outcome, side === 'sell', price).take(account, shares, this.#books!);
  }

  /** The level of an outcome's book. */
  #levelAt(outcome: Outcome, isBid: boolean, price: number): TradedLevel {
    return this.#side(outcome, isBid).at(upPrice(outcome, price));
  }

  #side(outcome: Outcome, isBid: boolean): TradedSide {
    return isBid === (outcome === 'up') ? this.#bids : this.#asks;
  }
}

function upPrice(outcome: Outcome, price: number): number {
  return outcome === 'up' ? price : complement(price);
}

/** The amount of a BUY of type FOK or FAK is in dollars, see orders of the venue: market orders. */
function isInDollars({ side, type }: OrderTerms): boolean {
  return side === 'buy' && (type === 'FOK' || type === 'FAK');
}

/** The amount that an open order holds: for a BUY dollars and the fee at its limit, for a SELL shares. */
function reservation({ terms, left }: EditableOrder, fees: FeeSchedule): Micros {
  if (terms.side === 'sell' || left === 0) return left;
  if (isInDollars(terms)) return left + feeOf(sharesFor(left, terms.price), terms.price, fees);
  return costOf('buy', left, terms.price) + feeOf(left, terms.price, fees);
}
