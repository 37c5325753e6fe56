import { DomainError } from '../domain/errors.ts';
import type { AccountEvent } from '../paper/account-event.ts';
import type { PaperAccount } from '../paper/paper-account.ts';
import type { OrderTerms, PaperOrder } from '../paper/paper-order.ts';
import type { Replay } from '../replay/replay.ts';
import type { OrderBody } from '../venue/order-body-parser.ts';
import { REFUSALS } from '../venue/order-refusals.ts';
import { ApiKeys, type Sender } from './api-keys.ts';
import { Heartbeats } from './heartbeats.ts';
import { checkedOrder, refusalText } from './order-checks.ts';
import { type FillEvent, OrderHistory } from './order-history.ts';
import type { PaperDesk } from './paper-desk.ts';
import { type SignedTerms, VenueAccount } from './venue-account.ts';

/** An order that the venue took, with its fills at once; or the text of its refusal. */
export type PlacedOrder =
  | {
      readonly order: PaperOrder;
      readonly status: 'live' | 'matched' | 'delayed';
      readonly fills: readonly FillEvent[];
    }
  | string;

/** The answer to a cancel: ids, and a reason for each of the others. */
export interface CancelledOrders {
  readonly canceled: readonly string[];
  readonly notCanceled: Readonly<Record<string, string>>;
}

export interface DeskListener {
  event(event: AccountEvent, account: PaperAccount): void;
  /** The account of an address, in lower case, begins anew; undefined: all of them. */
  reset(address: string | undefined): void;
}

/** The venue's order side of one replay: keys, signed orders, heartbeats and the events of accounts, over its desk. */
export class VenueDesk {
  readonly replay: Replay;
  readonly keys = new ApiKeys();
  readonly #desk: PaperDesk;
  readonly #heartbeats: Heartbeats;
  readonly #signed = new WeakMap<OrderTerms, SignedTerms>();
  /** The accounts of wallets whose orders the key of another address signs, by the wallet's address. */
  readonly #signers = new Map<string, string>();
  readonly #listeners = new Set<DeskListener>();
  readonly #followed = new WeakSet<PaperAccount>();
  readonly #histories = new WeakMap<PaperAccount, OrderHistory>();

  /** `failed` gets an error of a cancel for silence. */
  constructor(desk: PaperDesk, failed: (error: unknown) => void, silenceMs?: number) {
    this.replay = desk.replay;
    this.#desk = desk;
    const cancelAll = (address: string) => {
      const account = this.#desk.find(address);
      if (account !== undefined) this.#desk.cancel(account, [...account.orders.keys()]).catch(failed);
    };
    this.#heartbeats = new Heartbeats(desk.replay.clock, cancelAll, silenceMs);
    desk.onReset((address) => {
      if (address === undefined) {
        this.#heartbeats.clear();
        this.#signers.clear();
      } else {
        const reset = address.toLowerCase();
        for (const [maker, sender] of this.#signers) if (sender === reset) this.#signers.delete(maker);
      }
      for (const listener of [...this.#listeners]) listener.reset(address?.toLowerCase());
    });
    desk.replay.onStop(() => this.#heartbeats.clear());
  }

  /** The account of an address at the clock's instant; made at its first use. Throws as the desk does. */
  #account(address: string): PaperAccount {
    const account = this.#desk.account(address);
    if (!this.#followed.has(account)) {
      this.#followed.add(account);
      account.onEvent((event) => {
        for (const listener of [...this.#listeners]) listener.event(event, account);
      });
    }
    return account;
  }

  /** The same to read; one that was never used is as it would begin. */
  look(address: string): VenueAccount {
    return this.view(this.#desk.find(address) ?? this.#desk.opening(address));
  }

  /** The account of a wallet: of its key, or of the key that signs its orders; undefined if it was never used. */
  find(wallet: string): VenueAccount | undefined {
    const address = wallet.toLowerCase();
    const account = this.#desk.find(address) ?? this.#desk.find(this.#signers.get(address) ?? '');
    return account && this.view(account);
  }

  view(account: PaperAccount): VenueAccount {
    const history = this.#histories.get(account) ?? new OrderHistory(account);
    this.#histories.set(account, history);
    return new VenueAccount(this.replay, account, history, (terms) => this.#signed.get(terms));
  }

  /** Settles when accounts are as they are at the clock's instant. */
  catchUp(): Promise<void> {
    return this.#desk.catchUp();
  }

  /** Listens to the events of all accounts; returns a function that ends it. */
  listen(listener: DeskListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Places orders in their sequence, and waits until they have arrived. */
  async place(sender: Sender, bodies: readonly OrderBody[]): Promise<PlacedOrder[]> {
    await this.catchUp();
    return Promise.all(bodies.map((body) => this.#place(sender, body)));
  }

  /** Cancels orders that are open, and waits until the cancels have arrived. */
  async cancel(sender: Sender, orderIds: readonly string[]): Promise<CancelledOrders> {
    await this.catchUp();
    const { account } = this.look(sender.address);
    const before = new Map(orderIds.map((id) => [id, account.orders.get(id)?.state]));
    const open = [...before.keys()].filter((id) => account.orders.get(id)?.endedMs === undefined);
    let conflict: string | undefined;
    try {
      if (this.#desk.find(sender.address) !== undefined) await this.#desk.cancel(account, open);
    } catch (error) {
      conflict = conflictIn(error);
    }
    const canceled: string[] = [];
    const notCanceled: Record<string, string> = {};
    for (const [id, state] of before) {
      const isCancelled = account.orders.get(id)?.state === 'cancelled';
      if (isCancelled && state !== 'cancelled') canceled.push(id);
      else if (conflict !== undefined && account.orders.has(id) && open.includes(id)) notCanceled[id] = conflict;
      else notCanceled[id] = isCancelled ? REFUSALS.cancelled : REFUSALS.notFound;
    }
    return { canceled, notCanceled };
  }

  /** See Heartbeats.beat. */
  beat({ address }: Sender, id?: string): ReturnType<Heartbeats['beat']> {
    return this.#heartbeats.beat(address, id);
  }

  async #place(sender: Sender, body: OrderBody): Promise<PlacedOrder> {
    const { archive, clock } = this.replay;
    const isKnown = (id: string) => (this.#desk.find(sender.address)?.orders.get(id)?.state ?? 'refused') !== 'refused';
    const checked = archive.database.readShared(() => checkedOrder(this.replay, sender, body, clock.nowMs, isKnown));
    if (typeof checked === 'string') return checked;
    const { market, terms } = checked;
    const { maker, expiration } = body.order;
    this.#signed.set(terms, { owner: sender.apiKey, makerAddress: maker, expiration });
    let account: PaperAccount;
    let order: PaperOrder;
    try {
      account = this.#account(sender.address);
      order = await this.#desk.send(account, market, terms);
    } catch (error) {
      // The replay is at its end, or the account was reset: the sentence says what to do.
      return conflictIn(error);
    }
    if (order.refusal !== undefined) return refusalText(order.refusal, terms);
    const wallet = maker.toLowerCase();
    if (!this.#signers.has(wallet)) this.#signers.set(wallet, sender.address);
    const events = this.view(account).arrival(order);
    const fills = events.filter((event) => event.kind === 'fill' && event.fill.role === 'taker') as FillEvent[];
    const isDelayed = events.some(({ kind }) => kind === 'delayed');
    // Its delay may have passed meanwhile.
    if (isDelayed) return { order, status: 'delayed', fills: [] };
    return { order, status: fills.length > 0 ? 'matched' : 'live', fills };
  }
}

/** The sentence of a 'conflict'; throws any other error. */
function conflictIn(error: unknown): string {
  if (error instanceof DomainError && error.kind === 'conflict') return error.message;
  throw error;
}
