import type {
  Account,
  Book,
  CoinPrice,
  Context,
  Fill,
  Level,
  NewOrder,
  Order,
  Side,
  Strategy,
  Market as StrategyMarket,
  Trade,
} from '../client/strategy.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import { midOf } from '../domain/quote.ts';
import type { AccountEvent } from '../paper/account-event.ts';
import type { MomentBook, MomentTrade } from '../paper/market-moment.ts';
import { MICROS, microsOf } from '../paper/micros.ts';
import { PaperAccount } from '../paper/paper-account.ts';
import type { OrderTerms, PaperOrder } from '../paper/paper-order.ts';
import { Lookahead } from '../replay/lookahead.ts';
import type { TickSizes } from '../replay/tick-sizes.ts';
import { type PriceRecord, pricesIn } from '../segment/price-segment.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { type FilledHistory, filledHistory } from './event-resource.ts';
import { decimalOf } from './market-tally.ts';
import type { PaperRules } from './paper-rules.ts';
import { TradedMarket } from './traded-market.ts';

/** Why the venue refuses an order before it reaches the book. */
const OFF_TICK = 'tick';
const TOO_SMALL = 'minimum';
const SHARES_MIN = 5 * MICROS;
const DOLLARS_MIN = MICROS;
/** More than a rounding error of a few additions, and less than the part of a tick that somebody could mean. */
const TICK_TOLERANCE = 1e-6;
/** A step ends with either. */
const MOMENTS_PER_STEP = 500;
const STEP_MS = 250;

/** A function of a strategy threw `cause` at an instant of its market. */
export class StrategyFailure extends Error {
  readonly callback: keyof Strategy;
  readonly atMs: InstantMs;

  constructor(callback: keyof Strategy, atMs: InstantMs, cause: unknown) {
    super(`${callback} failed`, { cause });
    this.callback = callback;
    this.atMs = atMs;
  }
}

export interface LockstepInput {
  readonly archive: Archive;
  readonly ticks: TickSizes;
  readonly market: StoredMarket;
  /** Both inclusive. */
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
  readonly rules: PaperRules;
}

export function strategyMarket(market: StoredMarket): StrategyMarket {
  const { slug, conditionId, symbol: coin, timeframe, startMs, endMs } = market;
  return { slug, conditionId, coin, timeframe, startMs, endMs };
}

/**
 * One market and one strategy, in lockstep: for each millisecond first the recording and the orders that are due, then the strategy's
 * functions. What the strategy sends arrives after the latency; nothing that it can read is later than the millisecond.
 */
export class Lockstep implements Context {
  readonly market: StrategyMarket;
  readonly traded: TradedMarket;
  readonly account: Account;
  /** The instant at which it ends, inclusive. */
  readonly endMs: InstantMs;
  readonly #input: LockstepInput;
  readonly #strategy: Strategy;
  readonly #paper: PaperAccount;
  readonly #books: Readonly<Record<Outcome, Book>>;
  readonly #open = new Map<string, PaperOrder>();
  readonly #prices: CoinPrices;
  readonly #clock: { nowMs: InstantMs };
  readonly #monotonicMs: () => number;
  /** The events and refusals that the strategy has not been called with. */
  #eventsRead = 0;
  #refused: Order[] = [];
  #orders = 0;

  /** `clock` is set to the instant of the recording; `monotonicMs` is the time that passes for the machine. */
  constructor(
    input: LockstepInput,
    strategy: Strategy,
    clock: { nowMs: InstantMs },
    monotonicMs = () => performance.now(),
  ) {
    const { archive, market, fromMs, toMs, rules } = input;
    this.#input = input;
    this.#strategy = strategy;
    this.#clock = clock;
    this.#monotonicMs = monotonicMs;
    this.market = strategyMarket(market);
    const traded = new TradedMarket(archive, market, rules, fromMs);
    this.traded = traded;
    clock.nowMs = Math.min(traded.firstMs, market.endMs);
    this.#paper = new PaperAccount(nameOf(market), rules.cash, clock.nowMs);
    this.#paper.onEvent((event) => traded.tally.apply(event));
    this.#prices = new CoinPrices(archive, market.symbol, clock.nowMs);
    this.endMs = Math.min(toMs, traded.overMs);
    const bookOf = (outcome: Outcome) => new LiveBook(() => traded.paper.books?.[outcome]);
    this.#books = { up: bookOf('up'), down: bookOf('down') };
    this.account = ownAccount(this.#paper, market.key, this.#open);
  }

  get nowMs(): InstantMs {
    return this.#clock.nowMs;
  }

  get tickSize(): number {
    return Number(this.#input.ticks.at(this.#input.market, this.nowMs));
  }

  /** Runs in steps of a few milliseconds; call each within Database.read. Throws StrategyFailure. */
  *steps(): Generator<void, void> {
    const traded = this.traded;
    const prices = this.#prices;
    // A market without records has nothing to run on.
    if (traded.firstMs === Infinity) return;
    this.#call('onStart');
    this.#tellOfOrders();
    let begunMs = this.#monotonicMs();
    for (let moments = 1; ; moments += 1) {
      const atMs = Math.min(traded.nextMs, prices.nextMs);
      if (atMs > this.endMs) break;
      this.#clock.nowMs = atMs;
      const moment = traded.nextMs === atMs ? traded.step() : undefined;
      for (const trade of moment?.trades ?? []) this.#call('onTrade', tradeOf(trade));
      if (moment?.books !== undefined) for (const outcome of OUTCOMES) this.#call('onBook', outcome);
      while (prices.nextMs === atMs) this.#call('onPrice', prices.take());
      this.#tellOfOrders();
      if (moments < MOMENTS_PER_STEP && this.#monotonicMs() - begunMs < STEP_MS) continue;
      yield;
      moments = 0;
      begunMs = this.#monotonicMs();
    }
    this.#clock.nowMs = Math.max(this.nowMs, this.endMs);
    this.#call('onEnd');
  }

  /** For the report. */
  readonly history = (): FilledHistory => filledHistory(this.#paper, () => this.market);

  book(outcome: Outcome): Book {
    const book = this.#books[outcome];
    if (book === undefined) throw new TypeError(`the outcome is up or down, not ${outcome}`);
    return book;
  }

  price(source?: string): number | undefined {
    return this.#prices.last(source);
  }

  buy(order: NewOrder): string {
    return this.#send('buy', order);
  }

  sell(order: NewOrder): string {
    return this.#send('sell', order);
  }

  cancel(id: string): void {
    if (this.#open.has(id)) this.traded.paper.cancel(this.#paper, id, this.nowMs);
  }

  cancelAll(): void {
    for (const id of [...this.#open.keys()]) this.cancel(id);
  }

  merge(shares: number): void {
    if (!(shares > 0)) throw new TypeError(`the number of pairs to merge must be above 0, not ${shares}`);
    if (!this.traded.paper.merge(this.#paper, microsOf(shares), this.nowMs))
      throw new Error(`there are fewer than ${shares} free shares of up and of down to merge`);
  }

  #send(side: Side, order: NewOrder): string {
    this.#orders += 1;
    const id = `${nameOf(this.#input.market)}-${this.#orders}`;
    const { refusal, terms } = termsOf(id, side, order, this.tickSize);
    if (refusal === undefined) {
      const sent = this.traded.paper.send(this.#paper, terms, this.nowMs);
      if (isOpen(sent)) this.#open.set(id, sent);
    } else {
      this.traded.tally.refuse(refusal);
      const { outcome, price, amount } = terms;
      const left = decimalOf(amount);
      this.#refused.push({ id, outcome, side, price, left, filled: 0, state: 'refused', reason: refusal });
    }
    return id;
  }

  /** Calls the strategy with what has happened to its orders, also with what it causes by that. */
  #tellOfOrders(): void {
    const { events, orders } = this.#paper;
    while (this.#eventsRead < events.length || this.#refused.length > 0) {
      for (const refused of this.#refused.splice(0)) this.#call('onOrder', refused);
      const event = events[this.#eventsRead];
      if (event === undefined) continue;
      this.#eventsRead += 1;
      if (!('order' in event)) continue;
      const order = orders.get(event.order.id)!;
      if (event.kind === 'closed' || event.kind === 'refused') this.#open.delete(order.terms.id);
      if (event.kind === 'fill') this.#call('onFill', fillOf(event));
      else {
        // A later event of the same millisecond may have changed the order.
        const state = event.kind === 'closed' ? event.state : event.kind;
        const left = 'left' in event ? decimalOf(event.left) : decimalOf(order.left);
        this.#call('onOrder', { ...orderOf(order), state, left });
      }
    }
  }

  #call(callback: 'onStart' | 'onEnd'): void;
  #call<Name extends 'onBook' | 'onTrade' | 'onPrice' | 'onFill' | 'onOrder'>(
    callback: Name,
    about: Parameters<NonNullable<Strategy[Name]>>[1],
  ): void;
  #call(callback: keyof Strategy, about?: never): void {
    const strategy = this.#strategy;
    if (strategy[callback] === undefined) return;
    try {
      const returned: unknown = strategy[callback](this, about as never);
      if (returned instanceof Promise) {
        returned.catch(() => undefined);
        throw new TypeError(`${callback} must not be async: the recording does not wait for promises`);
      }
    } catch (error) {
      throw new StrategyFailure(callback, this.nowMs, error);
    }
  }
}

/** Ids of orders begin with it: they differ in all markets of a backtest. */
function nameOf({ slug, conditionId }: StoredMarket): string {
  return slug || conditionId;
}

function isOpen({ state }: PaperOrder): boolean {
  return state === 'sent' || state === 'delayed' || state === 'live';
}

/** Throws TypeError for what is no order; `refusal`: the venue refuses it. */
function termsOf(
  id: string,
  side: Side,
  { outcome, price, size, dollars, type = 'GTC', postOnly = false, expiresMs }: NewOrder,
  tickSize: number,
): { readonly terms: OrderTerms; readonly refusal: string | undefined } {
  if (outcome !== 'up' && outcome !== 'down') throw new TypeError(`the outcome is up or down, not ${outcome}`);
  if (!Number.isFinite(price)) throw new TypeError(`the price of an order must be a number, not ${price}`);
  if (!['GTC', 'GTD', 'FOK', 'FAK'].includes(type))
    throw new TypeError(`the type is GTC, GTD, FOK or FAK, not ${type}`);
  if ((type === 'GTD') !== Number.isFinite(expiresMs))
    throw new TypeError('expiresMs is needed for GTD, and only for it');
  const isResting = type === 'GTC' || type === 'GTD';
  if (postOnly && !isResting) throw new TypeError('postOnly is for GTC and GTD');
  const inDollars = side === 'buy' && !isResting;
  const given = inDollars ? dollars : size;
  if (given === undefined || !(given >= 0 && given < 1e9) || (inDollars ? size : dollars) !== undefined)
    throw new TypeError(`a ${side} of type ${type} needs ${inDollars ? 'dollars, not size' : 'size, not dollars'}`);
  const nth = Math.round(price / tickSize);
  const isOnTick = Math.abs(price / tickSize - nth) < TICK_TOLERANCE && nth > 0 && nth < Math.round(1 / tickSize);
  const amount = microsOf(given);
  const minimum = inDollars ? DOLLARS_MIN : isResting ? SHARES_MIN : 1;
  // The exact multiple, in place of a sum such as 0.1 + 0.2.
  const limit = isOnTick ? nth / Math.round(1 / tickSize) : price;
  const expirationMs = type === 'GTD' ? expiresMs : undefined;
  return {
    terms: { id, outcome, side, type, price: limit, amount, isPostOnly: postOnly, expirationMs },
    refusal: !isOnTick ? OFF_TICK : amount < minimum ? TOO_SMALL : undefined,
  };
}

function orderOf({ terms, left, filled, state, refusal }: PaperOrder): Order {
  const { id, outcome, side, price } = terms;
  const order = { id, outcome, side, price, left: decimalOf(left), filled: decimalOf(filled), state };
  return refusal === undefined ? order : { ...order, reason: refusal.reason };
}

function fillOf({ order, fill }: Extract<AccountEvent, { kind: 'fill' }>): Fill {
  const { id, outcome, side } = order;
  const { role, price, shares, fee } = fill;
  return { id, outcome, side, role, price, size: decimalOf(shares), fee: decimalOf(fee) };
}

function tradeOf({ outcome, side, price, shares }: MomentTrade): Trade {
  return { outcome, side, price, size: decimalOf(shares) };
}

function ownAccount(paper: PaperAccount, key: number, open: ReadonlyMap<string, PaperOrder>): Account {
  return {
    get cash() {
      return decimalOf(paper.cash);
    },
    get free() {
      return decimalOf(Math.max(0, paper.cash - paper.reserved));
    },
    get orders() {
      return [...open.values()].filter(isOpen).map(orderOf);
    },
    shares: (outcome) => decimalOf(paper.holding(key, outcome).shares),
    freeShares: (outcome) => decimalOf(paper.free({ side: 'sell', outcome }, key)),
  };
}

/** The recorded book of now. */
class LiveBook implements Book {
  readonly #now: () => MomentBook | undefined;

  constructor(now: () => MomentBook | undefined) {
    this.#now = now;
  }

  get bid(): number | undefined {
    return this.#now()?.best(true);
  }

  get ask(): number | undefined {
    return this.#now()?.best(false);
  }

  get mid(): number | undefined {
    return midOf({ bidPrice: this.bid, askPrice: this.ask });
  }

  get bids(): readonly Level[] {
    return [...(this.#now()?.levels(true) ?? [])];
  }

  get asks(): readonly Level[] {
    return [...(this.#now()?.levels(false) ?? [])];
  }
}

/** The prices of a coin from all sources, from one instant on. */
class CoinPrices {
  readonly #upcoming: { readonly source: string; readonly prices: Lookahead<PriceRecord> }[];
  readonly #last = new Map<string, number>();
  #lastOfAll: number | undefined;
  /** The time of the next price; Infinity after the last one. */
  nextMs: InstantMs = Infinity;

  constructor({ prices }: Archive, coin: string, fromMs: InstantMs) {
    this.#upcoming = prices.slicesOfCoin(coin, fromMs + 1, INSTANT_MAX_MS).map(({ source, slices }) => {
      const before = prices.latestOfSource(coin, source, fromMs);
      if (before !== undefined) this.#note(source, before.price);
      return { source, prices: new Lookahead(pricesIn(slices)) };
    });
    this.#findNext();
  }

  take(): CoinPrice {
    const { source, prices } = this.#upcoming.find((each) => each.prices.next?.timestampMs === this.nextMs)!;
    const { price } = prices.take();
    this.#note(source, price);
    this.#findNext();
    return { source, price };
  }

  last(source: string | undefined): number | undefined {
    return source === undefined ? this.#lastOfAll : this.#last.get(source);
  }

  #note(source: string, price: number): void {
    this.#last.set(source, price);
    this.#lastOfAll = price;
  }

  #findNext(): void {
    this.nextMs = Math.min(...this.#upcoming.map(({ prices }) => prices.next?.timestampMs ?? Infinity));
  }
}
