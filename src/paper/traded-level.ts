import type { InstantMs } from '../domain/instant.ts';
import { complement } from '../domain/mirrored-book.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import type { MomentBooks } from './market-moment.ts';
import { type Micros, microsOf } from './micros.ts';
import type { PaperAccount } from './paper-account.ts';
import type { RestingOrder } from './resting-order.ts';

/**
 * A level of the market's one book at which accounts have orders, or from which they took shares. Down's ask at q is up's bid at 1 − q.
 * What an account took is missing for that account only, until the recorded size differs, in the book of either outcome, at the end of a
 * millisecond.
 */
export class TradedLevel {
  /** In up's book. */
  readonly price: number;
  /** Those that rest here, in the order of their arrival. */
  readonly orders = new Set<RestingOrder>();
  readonly #isBid: boolean;
  readonly #prices: Readonly<Record<Outcome, number>>;
  /** The most shares that an order of an outcome may be behind: a larger size changes no queue. */
  readonly #queues: Record<Outcome, Micros> = { up: 0, down: 0 };
  readonly #taken = new Map<PaperAccount, Micros>();
  /** Its sizes when the first account took from it. */
  #sizes: Readonly<Record<Outcome, number>> = { up: 0, down: 0 };

  /** `isBid` and `price` are up's. */
  constructor(isBid: boolean, price: number) {
    this.#isBid = isBid;
    this.price = price;
    this.#prices = { up: price, down: complement(price) };
  }

  get isEmpty(): boolean {
    return this.orders.size === 0 && this.#taken.size === 0;
  }

  /** The shares that the book of an outcome has here. */
  recorded(books: MomentBooks, outcome: Outcome): Micros {
    return microsOf(this.#sizeIn(books, outcome));
  }

  /** Adds an order with `queue` shares ahead of it. */
  add(resting: RestingOrder, queue: Micros): void {
    const { outcome } = resting.order.terms;
    this.orders.add(resting);
    this.#queues[outcome] = Math.max(this.#queues[outcome], queue);
  }

  /** The shares that are missing for an account. */
  taken(account: PaperAccount): Micros {
    return this.#taken.get(account) ?? 0;
  }

  take(account: PaperAccount, shares: Micros, books: MomentBooks): void {
    if (this.#taken.size === 0) this.#sizes = { up: this.#sizeIn(books, 'up'), down: this.#sizeIn(books, 'down') };
    this.#taken.set(account, this.taken(account) + shares);
  }

  /** Reads its size in new books. */
  update(books: MomentBooks, atMs: InstantMs): void {
    for (const outcome of OUTCOMES) {
      if (this.#taken.size > 0 && this.#sizeIn(books, outcome) !== this.#sizes[outcome]) this.#taken.clear();
      if (this.#queues[outcome] > 0) this.#capQueues(outcome, this.recorded(books, outcome), atMs);
    }
  }

  #capQueues(outcome: Outcome, shares: Micros, atMs: InstantMs): void {
    if (shares >= this.#queues[outcome]) return;
    this.#queues[outcome] = shares;
    for (const resting of this.orders) if (resting.order.terms.outcome === outcome) resting.cap(shares, atMs);
  }

  /** Returns true if the other side of an outcome's book reaches its price. */
  isReachedIn(books: MomentBooks, outcome: Outcome): boolean {
    const isBid = this.#isBidOf(outcome);
    const best = books[outcome].best(outcome, !isBid);
    return best !== undefined && (isBid ? best <= this.#prices[outcome] : best >= this.#prices[outcome]);
  }

  #sizeIn(books: MomentBooks, outcome: Outcome): number {
    return books[outcome].sizeAt(outcome, this.#isBidOf(outcome), this.#prices[outcome]);
  }

  #isBidOf(outcome: Outcome): boolean {
    return this.#isBid === (outcome === 'up');
  }
}

/** The levels of one side of up's book that are not empty, the best first. */
export class TradedSide {
  readonly #isBid: boolean;
  #levels: readonly TradedLevel[] = [];

  constructor(isBid: boolean) {
    this.#isBid = isBid;
  }

  get levels(): readonly TradedLevel[] {
    return this.#levels;
  }

  /** Returns true if up's price `a` is better for this side than `b`. */
  isBetter(a: number, b: number): boolean {
    return this.#isBid ? a > b : a < b;
  }

  find(price: number): TradedLevel | undefined {
    return this.#levels.find((level) => level.price === price);
  }

  /** The level at a price, which is added if there is none. */
  at(price: number): TradedLevel {
    const found = this.find(price);
    if (found !== undefined) return found;
    const added = new TradedLevel(this.#isBid, price);
    const worse = this.#levels.findIndex((level) => this.isBetter(price, level.price));
    this.#levels = this.#levels.toSpliced(worse < 0 ? this.#levels.length : worse, 0, added);
    return added;
  }

  update(books: MomentBooks, atMs: InstantMs): void {
    let empty = 0;
    for (const level of this.#levels) {
      level.update(books, atMs);
      if (level.isEmpty) empty += 1;
    }
    if (empty > 0) this.#levels = this.#levels.filter((level) => !level.isEmpty);
  }
}
