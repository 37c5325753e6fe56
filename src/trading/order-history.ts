import type { AccountEvent } from '../paper/account-event.ts';
import type { PaperAccount } from '../paper/paper-account.ts';
import type { OrderTerms } from '../paper/paper-order.ts';

export type FillEvent = Extract<AccountEvent, { kind: 'fill' }>;
export type OrderEvent = Extract<AccountEvent, { readonly order: OrderTerms }>;

/** The events of an account by order: each is read once, when it is asked for. */
export class OrderHistory {
  readonly #account: PaperAccount;
  #read = 0;
  readonly #events = new Map<string, OrderEvent[]>();
  readonly #fills = new Map<string, FillEvent[]>();
  /** How many fills its order had after an event. */
  readonly #fillsAt = new Map<AccountEvent, number>();
  readonly #delayed = new Set<OrderTerms>();

  constructor(account: PaperAccount) {
    this.#account = account;
  }

  /** The events of an order, in order. */
  events(orderId: string): readonly OrderEvent[] {
    this.#readNew();
    return this.#events.get(orderId) ?? [];
  }

  /** The fills of an order, in order. */
  fills(orderId: string): readonly FillEvent[] {
    this.#readNew();
    return this.#fills.get(orderId) ?? [];
  }

  /** The fills of its order until an event, which counts too. */
  fillsAt(event: OrderEvent): readonly FillEvent[] {
    return this.fills(event.order.id).slice(0, this.#fillsAt.get(event));
  }

  wasDelayed(terms: OrderTerms): boolean {
    this.#readNew();
    return this.#delayed.has(terms);
  }

  #readNew(): void {
    const { events } = this.#account;
    for (; this.#read < events.length; this.#read += 1) {
      const event = events[this.#read]!;
      if (!('order' in event)) continue;
      const { id } = event.order;
      appended(this.#events, id, event);
      if (event.kind === 'fill') appended(this.#fills, id, event);
      if (event.kind === 'delayed') this.#delayed.add(event.order);
      this.#fillsAt.set(event, this.#fills.get(id)?.length ?? 0);
    }
  }
}

function appended<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
