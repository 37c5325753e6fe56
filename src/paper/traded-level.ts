import type { InstantMs } from '../domain/instant.ts';
import { complement } from '../domain/mirrored-book.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { MomentBooks } from './market-moment.ts';
import { type Micros, microsOf } from './micros.ts';
import type { EditableOrder, PaperAccount } from './paper-account.ts';
import { type QueueCap, RestingOrder } from './resting-order.ts';

/**
 * A level of the market's one book at which accounts have orders, or from which they took shares. Down's ask at q is up's bid at 1 − q.
 * What an account took is missing for that account only, until the recorded size differs, in the book of either outcome, at the end of a
 * millisecond.
 */
export class TradedLevel {
  readonly prices: Readonly<Record<Outcome, number>>;
  /** Those that rest here, in the order of their arrival. */
  readonly orders = new Set<RestingOrder>();
  readonly #isBid: boolean;
  /** Upper bounds of the shares ahead of each outcome's orders, the oldest first. All orders of an outcome read the same list. */
  readonly #caps: Record<Outcome, QueueCap[]> = { up: [], down: [] };
  /** The most shares that an order of an outcome may be behind: a larger size changes no queue. */
  readonly #queues: Record<Outcome, Micros> = { up: 0, down: 0 };
  readonly #taken = new Map<PaperAccount, Micros>();
  /** Its sizes when the first account took from it. */
  #sizes: Readonly<Record<Outcome, number>> = { up: 0, down: 0 };

  /** `isBid` and `price` are up's. */
  constructor(isBid: boolean, price: number) {
    this.#isBid = isBid;
    this.prices = { up: price, down: complement(price) };
  }

  get isEmpty(): boolean {
    return this.orders.size === 0 && this.#taken.size === 0;
  }

  /** The shares that the book of an outcome has here. */
  recorded(books: MomentBooks, outcome: Outcome): Micros {
    return microsOf(this.#sizeIn(books, outcome));
  }

  /** Adds an order with `queue` shares ahead of it, which rests from `atMs` on. */
  add(order: EditableOrder, queue: Micros, atMs: InstantMs): RestingOrder {
    const { outcome } = order.terms;
    const resting = new RestingOrder(order, queue, atMs, this.#caps[outcome]);
    this.orders.add(resting);
    this.#queues[outcome] = Math.max(this.#queues[outcome], queue);
    return resting;
  }

  /** The shares that are missing for an account. */
  taken(account: PaperAccount): Micros {
    return this.#taken.get(account) ?? 0;
  }

  take(account: PaperAccount, shares: Micros, books: MomentBooks): void {
    if (this.#taken.size === 0) this.#sizes = { up: this.#sizeIn(books, 'up'), down: this.#sizeIn(books, 'down') };
    this.#taken.set(account, this.taken(account) + shares);
  }

  /** Applies the sizes of the level in new books: `up` in that of up, `down` in that of down. */
  update(up: number, down: number, atMs: InstantMs): void {
    if (this.#taken.size > 0 && (up !== this.#sizes.up || down !== this.#sizes.down)) this.#taken.clear();
    if (this.#queues.up > 0) this.#cap('up', microsOf(up), atMs);
    if (this.#queues.down > 0) this.#cap('down', microsOf(down), atMs);
  }

  #cap(outcome: Outcome, shares: Micros, atMs: InstantMs): void {
    if (shares >= this.#queues[outcome]) return;
    this.#queues[outcome] = shares;
    this.#caps[outcome].push({ atMs, shares });
  }

  /** Returns true if the other side of an outcome's book reaches its price. */
  isReachedIn(books: MomentBooks, outcome: Outcome): boolean {
    const isBid = this.#isBid === (outcome === 'up');
    const best = books[outcome].best(outcome, !isBid);
    return best !== undefined && (isBid ? best <= this.prices[outcome] : best >= this.prices[outcome]);
  }

  #sizeIn(books: MomentBooks, outcome: Outcome): number {
    const [size] = books[outcome].sizesAt(outcome, this.#isBid === (outcome === 'up'), [this.prices[outcome]]);
    return size!;
  }
}

/** The levels of one side of up's book that are not empty, the best first. */
export class TradedSide {
  readonly #isBid: boolean;
  #levels: readonly TradedLevel[] = [];
  /** The prices of `#levels`, in their order. */
  #prices: Readonly<Record<Outcome, readonly number[]>> = { up: [], down: [] };

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
    return this.#levels.find(({ prices }) => prices.up === price);
  }

  /** The level at a price, which is added if there is none. */
  at(price: number): TradedLevel {
    const found = this.find(price);
    if (found !== undefined) return found;
    const added = new TradedLevel(this.#isBid, price);
    const worse = this.#levels.findIndex(({ prices }) => this.isBetter(price, prices.up));
    this.#set(this.#levels.toSpliced(worse < 0 ? this.#levels.length : worse, 0, added));
    return added;
  }

  /** Reads the sizes of the levels in new books. */
  update(books: MomentBooks, atMs: InstantMs): void {
    const levels = this.#levels;
    if (levels.length === 0) return;
    const up = books.up.sizesAt('up', this.#isBid, this.#prices.up);
    // A book that both outcomes share has the same sizes for both.
    const down = books.up === books.down ? up : books.down.sizesAt('down', !this.#isBid, this.#prices.down);
    let empty = 0;
    for (let at = 0; at < levels.length; at += 1) {
      levels[at]!.update(up[at]!, down[at]!, atMs);
      if (levels[at]!.isEmpty) empty += 1;
    }
    if (empty > 0) this.#set(levels.filter(({ isEmpty }) => !isEmpty));
  }

  #set(levels: readonly TradedLevel[]): void {
    this.#levels = levels;
    this.#prices = { up: levels.map(({ prices }) => prices.up), down: levels.map(({ prices }) => prices.down) };
  }
}
