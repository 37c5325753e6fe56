import type { Account, Book, Context, NewOrder, Side, Strategy, Market as StrategyMarket } from '../client/strategy.ts';
import type { InstantMs } from '../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import { microsOf } from '../paper/micros.ts';
import { PaperAccount } from '../paper/paper-account.ts';
import type { PaperOrder } from '../paper/paper-order.ts';
import type { TickSizes } from '../replay/tick-sizes.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { CoinPrices } from './coin-prices.ts';
import { type FilledHistory, filledHistory } from './event-resource.ts';
import { decimalOf } from './market-tally.ts';
import type { PaperRules } from './paper-rules.ts';
import { fillOf, orderOf, termsOf, tradeOf } from './strategy-order.ts';
import { liveBook, ownAccount } from './strategy-view.ts';
import { TradedMarket } from './traded-market.ts';

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
  /** The number of events that the strategy was called with. */
  #eventsRead = 0;
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
    this.#books = { up: liveBook(traded.paper, 'up'), down: liveBook(traded.paper, 'down') };
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
    // A market without records up to the end has nothing to run on.
    if (traded.firstMs > this.endMs) return;
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
    const { paper } = this.traded;
    if (refusal !== undefined) paper.refuse(this.#paper, terms, refusal, this.nowMs);
    else {
      const sent = paper.send(this.#paper, terms, this.nowMs);
      if (sent.endedMs === undefined) this.#open.set(id, sent);
    }
    return id;
  }

  /** Calls the strategy with what has happened to its orders, also with what it causes by that. */
  #tellOfOrders(): void {
    const { events, orders } = this.#paper;
    while (this.#eventsRead < events.length) {
      const event = events[this.#eventsRead]!;
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
