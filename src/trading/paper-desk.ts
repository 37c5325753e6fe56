import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { AccountEvent } from '../paper/account-event.ts';
import type { Micros } from '../paper/micros.ts';
import { PaperAccount } from '../paper/paper-account.ts';
import type { OrderTerms, PaperOrder } from '../paper/paper-order.ts';
import { QueuedTask, TASK_MS, type WorkQueue } from '../replay/fair-queue.ts';
import type { Replay } from '../replay/replay.ts';
import type { Follower } from '../replay/replay-clock.ts';
import type { StoredMarket } from '../store/markets.ts';
import { DueMarkets } from './due-markets.ts';
import type { PaperRules } from './paper-rules.ts';
import { TradedMarket } from './traded-market.ts';

export const ACCOUNTS_MAX = 1000;
/** The maximum number of orders of one account, with those that have ended. */
const ORDERS_MAX = 100_000;
/** A clock at 'max' is moved by its followers, and says nothing: the desk looks at it this often while it has markets. */
const LOOK_MS = 2;
const RESET = 'this account was reset before its order arrived: the replay went back, or somebody reset it';

/** The turns in which a desk works. */
export interface DeskWork {
  readonly queue: WorkQueue;
  readonly monotonicMs: () => number;
  /** Gets an error of work that a timer or the clock started, after the accounts were reset for it. */
  readonly failed: (error: unknown) => void;
}

export interface DeskListener {
  event?(event: AccountEvent, account: PaperAccount): void;
  /** The account of an address, in lower case, begins anew; undefined: all of them. */
  reset?(address: string | undefined): void;
}

/** An order or a cancel that is on its way. */
interface Waiting {
  readonly account: PaperAccount;
  readonly arrivalMs: InstantMs;
  readonly settle: (error?: Error) => void;
}

/**
 * The accounts of a replay. Their orders meet the recording by the replay's clock and never see beyond it; a market without orders costs
 * nothing. A jump back and a move to the present begin anew, without accounts; a jump forwards processes what lies between. At the speed
 * 'max' the clock is held, and moved, only until what is on its way arrives.
 */
export class PaperDesk {
  readonly replay: Replay;
  readonly rules: PaperRules;
  readonly #work: DeskWork;
  readonly #task: QueuedTask;
  readonly #accounts = new Map<string, PaperAccount>();
  /** Since the last reset. */
  #markets = new DueMarkets();
  readonly #waiting = new Set<Waiting>();
  /** The arrival of the cancel of an order: it gets no second one. */
  readonly #cancels = new WeakMap<PaperOrder, Promise<void>>();
  readonly #listeners = new Set<DeskListener>();
  #follower: Follower | undefined;
  /** The latest arrival of those that wait. */
  #arrivalMs: InstantMs = -Infinity;
  /** The latest instant of which something is processed. */
  #reachedMs: InstantMs;
  #shiftMs: number;

  constructor(replay: Replay, rules: PaperRules, work: DeskWork) {
    this.replay = replay;
    this.rules = rules;
    this.#work = work;
    this.#reachedMs = replay.clock.nowMs;
    this.#shiftMs = replay.shiftMs;
    this.#task = new QueuedTask(work.queue, () => this.#guarded(() => this.#run()));
    const stopListening = replay.clock.onChange((change) => {
      if (change === 'jump') this.#jumped();
      this.#schedule();
    });
    replay.onStop(() => {
      stopListening();
      this.reset();
      this.#task.cancel();
    });
  }

  /** The account of an address, in any case; made at its first use, with the cash. Throws 'conflict' if there are too many. */
  account(given: string): PaperAccount {
    const address = given.toLowerCase();
    const found = this.#accounts.get(address);
    if (found !== undefined) return found;
    if (this.#accounts.size >= ACCOUNTS_MAX)
      throw new DomainError('conflict', `there are ${ACCOUNTS_MAX} accounts already: reset those that are not needed`);
    const account = this.opening(address);
    account.onEvent((event) => this.#heard(event, account));
    this.#accounts.set(address, account);
    return account;
  }

  /** An account as it is before its first use, which is not among those of the desk. */
  opening(given: string): PaperAccount {
    return new PaperAccount(given.toLowerCase(), this.rules.cash, this.replay.clock.nowMs);
  }

  /** The account of an address, if it was used. */
  find(address: string): PaperAccount | undefined {
    return this.#accounts.get(address.toLowerCase());
  }

  /** In the order of their first use. */
  accounts(): readonly PaperAccount[] {
    return [...this.#accounts.values()];
  }

  /** Forgets an account, or all of them: they begin anew at their next use. Orders on their way are rejected with 'conflict'. */
  reset(given?: string): void {
    const address = given?.toLowerCase();
    if (address === undefined) {
      this.#accounts.clear();
      this.#markets = new DueMarkets();
    } else {
      const account = this.#accounts.get(address);
      if (account !== undefined) for (const { paper } of this.#markets.all()) paper.forget(account);
      this.#accounts.delete(address);
    }
    for (const waiting of [...this.#waiting])
      if (!this.#isOpen(waiting.account)) this.#settle(waiting, new DomainError('conflict', RESET));
    for (const listener of [...this.#listeners]) listener.reset?.(address);
  }

  /** Listens to the events of all accounts and to resets; returns a function that ends it. */
  listen(listener: DeskListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A market that had orders since the last reset. */
  traded(key: number): TradedMarket | undefined {
    return this.#markets.get(key);
  }

  /** All of them. */
  markets(): readonly TradedMarket[] {
    return this.#markets.all();
  }

  /** Settles when all that is due at the clock's instant is processed. A jump meanwhile ends the wait. */
  async catchUp(): Promise<void> {
    const { clock } = this.replay;
    const untilMs = clock.nowMs;
    while (!this.#advance(Math.min(untilMs, clock.nowMs))) await this.#work.queue.next();
  }

  /**
   * Sends an order; resolves when it has arrived: its state is no longer 'sent'. Rejects with 'conflict' if the account is reset, if it has
   * too many orders, or if the replay ends before the arrival.
   */
  async send(account: PaperAccount, market: StoredMarket, terms: OrderTerms): Promise<PaperOrder> {
    return await this.#atClock(account, async (nowMs) => {
      if (account.orders.size >= ORDERS_MAX)
        throw new DomainError('conflict', `this account has sent ${ORDERS_MAX} orders: reset it to go on`);
      const arrivalMs = this.#arrivalOf(nowMs);
      const traded = this.#traded(market.key, nowMs);
      const order = traded.paper.send(account, terms, nowMs);
      this.#markets.update(traded);
      await this.#arrived(account, arrivalMs);
      // Its delay passes too, though nobody waits for it; a reset ends it.
      const delayEndMs = Math.min(arrivalMs + traded.rules.takerDelayMs, this.replay.clock.span.toMs);
      if (order.state === 'delayed') this.#arrived(account, delayEndMs).catch(() => undefined);
      return order;
    });
  }

  /** Cancels orders by their ids; resolves with those that exist once the cancels have arrived. Rejects as `send`. */
  async cancel(account: PaperAccount, orderIds: readonly string[]): Promise<readonly PaperOrder[]> {
    return await this.#atClock(account, async (nowMs) => {
      const orders = orderIds.flatMap((id) => account.orders.get(id) ?? []);
      const open = orders.filter(({ endedMs }) => endedMs === undefined);
      if (open.length === 0) return orders;
      const fresh = open.filter((order) => !this.#cancels.has(order));
      if (fresh.length > 0) {
        const arrivalMs = this.#arrivalOf(nowMs);
        for (const { marketKey, terms } of fresh) {
          const traded = this.#traded(marketKey, nowMs);
          traded.paper.cancel(account, terms.id, nowMs);
          this.#markets.update(traded);
        }
        const arrived = this.#arrived(account, arrivalMs);
        for (const order of fresh) this.#cancels.set(order, arrived);
      }
      await Promise.all(open.map((order) => this.#cancels.get(order)));
      return orders;
    });
  }

  /** Makes a dollar of each pair of up and down, at once. Throws 'conflict' if the account has fewer pairs that are free. */
  async merge(account: PaperAccount, market: StoredMarket, shares: Micros): Promise<void> {
    await this.#atClock(account, (nowMs) => {
      if (this.#traded(market.key, nowMs).paper.merge(account, shares, nowMs)) return;
      throw new DomainError(
        'conflict',
        'the account has fewer free pairs of up and down: merge less, or cancel its sells',
      );
    });
  }

  /** Acts for an account at the clock's instant, with all processed until then. Throws 'conflict' if the account was reset. */
  async #atClock<T>(account: PaperAccount, act: (nowMs: InstantMs) => T): Promise<T> {
    for (;;) {
      const { nowMs } = this.replay.clock;
      if (!this.#isOpen(account)) throw new DomainError('conflict', RESET);
      if (this.#advance(nowMs)) return act(nowMs);
      await this.#work.queue.next();
    }
  }

  #arrivalOf(nowMs: InstantMs): InstantMs {
    const arrivalMs = nowMs + this.rules.latencyMs;
    if (arrivalMs <= this.replay.clock.span.toMs) return arrivalMs;
    throw new DomainError('conflict', 'the replay ends before this arrives: go back with a seek, or start another one');
  }

  /** Settles when the clock has come to an arrival, and everything until then is processed. */
  #arrived(account: PaperAccount, arrivalMs: InstantMs): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error) => (error === undefined ? resolve() : reject(error));
      this.#waiting.add({ account, arrivalMs, settle });
      this.#arrivalMs = Math.max(this.#arrivalMs, arrivalMs);
      this.#follow();
      this.#schedule();
    });
  }

  /** Lets a clock at 'max' come to the last arrival, and no further. */
  #follow(): void {
    if (this.#waiting.size === 0) {
      this.#follower?.leave();
      this.#follower = undefined;
      this.#arrivalMs = -Infinity;
      return;
    }
    const { clock } = this.replay;
    this.#follower ??= clock.follow(clock.nowMs);
    this.#follower.reached(this.#arrivalMs);
  }

  /** The market with a key, which is read from `nowMs` on if it has had no order. */
  #traded(key: number, nowMs: InstantMs): TradedMarket {
    const known = this.traded(key);
    if (known !== undefined) return known;
    const traded = this.replay.archive.database.read(() => {
      const market = this.replay.marketByKey(key);
      if (market === undefined) throw new DomainError('not-found', 'this market was deleted');
      return new TradedMarket(this.replay.archive, market, this.rules, nowMs);
    });
    this.#markets.add(traded);
    return traded;
  }

  #heard(event: AccountEvent, account: PaperAccount): void {
    if ('marketKey' in event) this.traded(event.marketKey)?.tally.apply(event);
    for (const listener of [...this.#listeners]) listener.event?.(event, account);
  }

  #isOpen(account: PaperAccount): boolean {
    return this.#accounts.get(account.address) === account;
  }

  #jumped(): void {
    const { clock, shiftMs } = this.replay;
    const isBack = clock.nowMs < this.#reachedMs || shiftMs !== this.#shiftMs;
    this.#shiftMs = shiftMs;
    if (isBack) {
      this.#reachedMs = clock.nowMs;
      this.reset();
    }
    // The jump has moved the follower too.
    this.#follow();
  }

  #schedule(): void {
    // An order without latency waits, and has no instant at which it is due.
    if (this.#markets.nextMs < Infinity || this.#waiting.size > 0) this.#task.run();
    else this.#task.cancel();
  }

  #run(): void {
    const { clock } = this.replay;
    if (!this.#advance(clock.nowMs)) {
      this.#task.run();
      return;
    }
    const { nextMs } = this.#markets;
    const isMoved = clock.speed === 'max' && clock.state === 'running' && nextMs < Infinity;
    const waitMs = isMoved ? LOOK_MS : clock.realMsUntil(nextMs);
    if (waitMs !== undefined) this.#task.runIn(waitMs);
  }

  /** Processes what is due at an instant, for at most TASK_MS; false if something is left. */
  #advance(dueMs: InstantMs): boolean {
    const markets = this.#markets;
    if (markets.nextMs <= dueMs) {
      const { monotonicMs } = this.#work;
      const stopMs = monotonicMs() + TASK_MS;
      const step = () => markets.step(dueMs, () => monotonicMs() >= stopMs);
      this.#reachedMs = Math.max(this.#reachedMs, this.replay.archive.database.read(step));
    }
    const passedMs = Math.min(dueMs, markets.nextMs - 1);
    this.#reachedMs = Math.max(this.#reachedMs, passedMs);
    for (const waiting of [...this.#waiting]) if (waiting.arrivalMs <= passedMs) this.#settle(waiting);
    return markets.nextMs > dueMs;
  }

  #settle(waiting: Waiting, error?: Error): void {
    this.#waiting.delete(waiting);
    if (this.#waiting.size === 0) this.#follow();
    waiting.settle(error);
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.reset();
      this.#work.failed(error);
    }
  }
}
