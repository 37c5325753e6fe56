import { DomainError } from '../domain/errors.ts';
import type { FillEvent } from '../paper/account-event.ts';
import type { PaperAccount } from '../paper/paper-account.ts';
import type { PaperOrder } from '../paper/paper-order.ts';
import type { Replay } from '../replay/replay.ts';
import type { OrderBody } from '../venue/order-body-parser.ts';
import { REFUSALS } from '../venue/order-refusals.ts';
import { ApiKeys, type Sender } from './api-keys.ts';
import { Heartbeats } from './heartbeats.ts';
import { checkedOrder, refusalText } from './order-checks.ts';
import type { DeskListener, PaperDesk } from './paper-desk.ts';
import { isFill, VenueAccount } from './venue-account.ts';

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

/** The venue's order side of one replay: keys, signed orders, heartbeats and the events of accounts, over its desk. */
export class VenueDesk {
  readonly replay: Replay;
  readonly keys = new ApiKeys();
  readonly #desk: PaperDesk;
  readonly #heartbeats: Heartbeats;
  /** The accounts of wallets whose orders the key of another address signs, by the wallet's address. */
  readonly #signers = new Map<string, string>();

  /** `failed` gets an error of a cancel for silence. */
  constructor(desk: PaperDesk, failed: (error: unknown) => void, silenceMs?: number) {
    this.replay = desk.replay;
    this.#desk = desk;
    const cancelAll = (address: string) => {
      const account = desk.find(address);
      if (account !== undefined) desk.cancel(account, [...account.orders.keys()]).catch(failed);
    };
    this.#heartbeats = new Heartbeats(desk.replay.clock, cancelAll, silenceMs);
    desk.listen({
      reset: (address) => {
        if (address === undefined) this.#heartbeats.clear();
        for (const [wallet, signer] of this.#signers)
          if (address === undefined || signer === address) this.#signers.delete(wallet);
      },
    });
    desk.replay.onStop(() => this.#heartbeats.clear());
  }

  /** The account of an address to read; one that was never used is as it would begin. */
  look(address: string): VenueAccount {
    return new VenueAccount(this.replay, this.#desk.find(address) ?? this.#desk.opening(address));
  }

  /** The account of a wallet: of its key, or of the key that signs its orders; undefined if it was never used. */
  find(wallet: string): VenueAccount | undefined {
    const address = wallet.toLowerCase();
    const account = this.#desk.find(address) ?? this.#desk.find(this.#signers.get(address) ?? '');
    return account && new VenueAccount(this.replay, account);
  }

  /** Settles when accounts are as they are at the clock's instant. */
  catchUp(): Promise<void> {
    return this.#desk.catchUp();
  }

  /** See PaperDesk.listen. */
  listen(listener: DeskListener): () => void {
    return this.#desk.listen(listener);
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
    let [account, order]: [PaperAccount?, PaperOrder?] = [];
    try {
      account = this.#desk.account(sender.address);
      order = await this.#desk.send(account, market, terms);
    } catch (error) {
      // The replay is at its end, or the account was reset: the sentence says what to do.
      return conflictIn(error);
    }
    if (order.refusal !== undefined) return refusalText(order.refusal, terms);
    const wallet = body.order.maker.toLowerCase();
    if (!this.#signers.has(wallet)) this.#signers.set(wallet, sender.address);
    const arrival = account.history(terms.id).filter(({ atMs }) => atMs === order.arrivedMs);
    // Its delay may have passed meanwhile.
    if (arrival.some(({ kind }) => kind === 'delayed')) return { order, status: 'delayed', fills: [] };
    const fills = arrival.filter(isFill).filter(({ fill }) => fill.role === 'taker');
    return { order, status: fills.length > 0 ? 'matched' : 'live', fills };
  }
}

/** The sentence of a 'conflict'; throws any other error. */
function conflictIn(error: unknown): string {
  if (error instanceof DomainError && error.kind === 'conflict') return error.message;
  throw error;
}
