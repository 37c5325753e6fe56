import type { InstantMs } from '../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import type { AccountEvent, Fill, OrderChange, OrderEvent } from './account-event.ts';
import { costOf, type Micros } from './micros.ts';
import type { OrderTerms, PaperOrder, Refusal } from './paper-order.ts';

/** The shares of one outcome that an account has. `cost` is what they cost, without fees, on average. */
export interface Holding {
  readonly shares: Micros;
  /** Held by active orders that sell. */
  readonly reserved: Micros;
  readonly cost: Micros;
}

type Editable<T> = { -readonly [K in keyof T]: T[K] };
/** An order as matching edits it; `reserved` is what it holds, in dollars for a BUY and in shares for a SELL. */
export type EditableOrder = Editable<PaperOrder> & { readonly account: PaperAccount; reserved: Micros };
type MarketHoldings = Record<Outcome, Editable<Holding>>;

const NOTHING: Holding = { shares: 0, reserved: 0, cost: 0 };

/**
 * The money, shares and orders of one address, in memory. After every event: cash + the cost of its shares = deposits + realised. Cash
 * can be one millionth below what is reserved for each fill, since costs round up.
 */
export class PaperAccount {
  readonly address: string;
  readonly #events: AccountEvent[] = [];
  /** Everything that happened to it, in order. */
  readonly events: readonly AccountEvent[] = this.#events;
  readonly #listeners = new Set<(event: AccountEvent) => void>();
  readonly #orders = new Map<string, EditableOrder>();
  /** Its orders by id, in the order in which they were sent, ended ones too. */
  readonly orders: ReadonlyMap<string, PaperOrder> = this.#orders;
  readonly #histories = new Map<string, OrderEvent[]>();
  readonly #holdings = new Map<number, MarketHoldings>();
  /** By market key. */
  readonly holdings: ReadonlyMap<number, Readonly<Record<Outcome, Holding>>> = this.#holdings;
  #cash: Micros = 0;
  #reserved: Micros = 0;
  #realised: Micros = 0;
  #fills = 0;

  constructor(address: string, dollars: Micros, atMs: InstantMs) {
    this.address = address;
    this.#cash = dollars;
    this.#note({ kind: 'deposit', atMs, dollars });
  }

  /** All its dollars, with those that are reserved. */
  get cash(): Micros {
    return this.#cash;
  }

  /** The dollars that active orders hold. */
  get reserved(): Micros {
    return this.#reserved;
  }

  /** Profit or loss of what was sold, merged and paid, less all fees. */
  get realised(): Micros {
    return this.#realised;
  }

  holding(marketKey: number, outcome: Outcome): Holding {
    return this.#holdings.get(marketKey)?.[outcome] ?? NOTHING;
  }

  /** The events of the orders that had an id, in order. */
  history(orderId: string): readonly OrderEvent[] {
    return this.#histories.get(orderId) ?? [];
  }

  /** Calls `listener` after every event; returns a function that removes it. */
  onEvent(listener: (event: AccountEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** For matching, as everything below. Returns the order, which is not among its orders if another one has its id. */
  add(terms: OrderTerms, marketKey: number, sentMs: InstantMs): EditableOrder {
    const order: EditableOrder = {
      ...{
        account: this,
        terms,
        marketKey,
        state: 'sent',
        left: terms.amount,
        filled: 0,
        cost: 0,
        fee: 0,
        reserved: 0,
      },
      ...{ sentMs, arrivedMs: undefined, endedMs: undefined, refusal: undefined },
    };
    this.claim(order);
    return order;
  }

  /** Gives an order its id. False if another one has it; the venue keeps none that it refused, so those may be sent again. */
  claim(order: EditableOrder): boolean {
    const { id } = order.terms;
    const known = this.#orders.get(id);
    if (known === order) return true;
    if (known !== undefined && known.state !== 'refused') return false;
    this.#orders.delete(id);
    this.#orders.set(id, order);
    return true;
  }

  /** The order with an id; undefined if it has none. */
  find(id: string): EditableOrder | undefined {
    return this.#orders.get(id);
  }

  /** The amount that an order of a side may use: free dollars, or free shares of its outcome. */
  free({ side, outcome }: Pick<OrderTerms, 'side' | 'outcome'>, marketKey: number): Micros {
    if (side === 'buy') return this.#cash - this.#reserved;
    const { shares, reserved } = this.holding(marketKey, outcome);
    return shares - reserved;
  }

  /** Sets what an order holds. */
  reserve(order: EditableOrder, reserved: Micros): void {
    const more = reserved - order.reserved;
    order.reserved = reserved;
    if (order.terms.side === 'buy') this.#reserved += more;
    else this.#editable(order.marketKey)[order.terms.outcome].reserved += more;
  }

  /** Books a fill. The caller sets what is left of the order and what it reserves. */
  book(order: EditableOrder, at: Omit<Fill, 'number' | 'cost'>): Fill {
    const { side, outcome } = order.terms;
    const cost = costOf(side, at.shares, at.price);
    const holding = this.#editable(order.marketKey)[outcome];
    if (side === 'buy') {
      this.#cash -= cost + at.fee;
      this.#realised -= at.fee;
      holding.shares += at.shares;
      holding.cost += cost;
    } else {
      this.#cash += cost - at.fee;
      this.#realised += cost - at.fee - removeShares(holding, at.shares);
    }
    order.filled += at.shares;
    order.cost += cost;
    order.fee += at.fee;
    this.#fills += 1;
    return { number: this.#fills, ...at, cost };
  }

  /** Takes shares of both outcomes for `dollars`: a payout or a merge. */
  exchange(
    kind: 'settled' | 'merged',
    marketKey: number,
    shares: Record<Outcome, Micros>,
    dollars: Micros,
    atMs: InstantMs,
  ): void {
    const holdings = this.#editable(marketKey);
    this.#cash += dollars;
    this.#realised += dollars;
    for (const outcome of OUTCOMES) this.#realised -= removeShares(holdings[outcome], shares[outcome]);
    this.#note({ kind, atMs, marketKey, shares, dollars });
  }

  refuse(order: EditableOrder, refusal: Refusal, atMs: InstantMs): void {
    Object.assign(order, { state: 'refused', refusal, endedMs: atMs });
    this.note(order, atMs, { kind: 'refused', refusal });
  }

  /** Adds an event of an order. */
  note({ terms, marketKey }: EditableOrder, atMs: InstantMs, change: OrderChange): void {
    const event: OrderEvent = { ...change, atMs, marketKey, order: terms };
    const history = this.#histories.get(terms.id);
    if (history === undefined) this.#histories.set(terms.id, [event]);
    else history.push(event);
    this.#note(event);
  }

  #note(event: AccountEvent): void {
    this.#events.push(event);
    for (const listener of this.#listeners) listener(event);
  }

  #editable(marketKey: number): MarketHoldings {
    const found = this.#holdings.get(marketKey);
    if (found !== undefined) return found;
    const created: MarketHoldings = { up: { ...NOTHING }, down: { ...NOTHING } };
    this.#holdings.set(marketKey, created);
    return created;
  }
}

/** Removes shares at their average cost, rounded down, and returns that cost. */
function removeShares(holding: Editable<Holding>, shares: Micros): Micros {
  if (shares === 0) return 0;
  const cost = Number((BigInt(holding.cost) * BigInt(shares)) / BigInt(holding.shares));
  holding.shares -= shares;
  holding.cost -= cost;
  return cost;
}
