import { createHash } from 'node:crypto';
import { decimalText } from '../domain/decimal.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { FillEvent, OrderEvent } from '../paper/account-event.ts';
import { microsText } from '../paper/micros.ts';
import type { PaperAccount } from '../paper/paper-account.ts';
import type { OrderTerms, PaperOrder } from '../paper/paper-order.ts';
import { VenueQuotes } from '../replay/clob/venue-quotes.ts';
import type { Replay } from '../replay/replay.ts';
import type { StoredMarket } from '../store/markets.ts';
import { isFilledAtOnce, KILLED } from '../venue/order-refusals.ts';
import {
  oppositeOf,
  type VenueAsset,
  type VenueOrder,
  type VenueOrderStatus,
  type VenueTrade,
  type VenueTradeStatus,
} from '../venue/order-writer.ts';

/** A trade is in a block, and confirmed, so long after its match; the venue takes seconds, and publishes no figure. */
export const SETTLING_MS: Readonly<Record<VenueTradeStatus, number>> = { MATCHED: 0, MINED: 2000, CONFIRMED: 5000 };

const OPEN = new Set<PaperOrder['state']>(['delayed', 'live']);

/** An account of a replay as the venue shows it at an instant. Call its methods within Database.readShared. */
export class VenueAccount {
  readonly account: PaperAccount;
  readonly #replay: Replay;
  readonly #nowMs: InstantMs;
  readonly #markets = new Map<number, StoredMarket | undefined>();

  constructor(replay: Replay, account: PaperAccount) {
    this.account = account;
    this.#replay = replay;
    this.#nowMs = replay.clock.nowMs;
  }

  /** Those that are at the venue and open. */
  openOrders(): VenueOrder[] {
    const open = [...this.account.orders.values()].filter(({ state }) => OPEN.has(state));
    return open.flatMap((order) => this.#shown(order) ?? []);
  }

  /** Undefined if there is none, or it has not arrived yet. */
  order(id: string): VenueOrder | undefined {
    const order = this.account.orders.get(id);
    return order === undefined || order.state === 'sent' || order.state === 'refused' ? undefined : this.#shown(order);
  }

  /** The order that an event is about, as it was right after the event; undefined if its market was deleted. */
  orderAt(event: OrderEvent): VenueOrder | undefined {
    const order = this.account.orders.get(event.order.id);
    const history = this.account.history(event.order.id);
    return order && this.#shown(order, statusAfter(event), history.slice(0, history.indexOf(event) + 1));
  }

  /** All fills, the latest first. */
  fills(): FillEvent[] {
    return this.account.events.filter((event) => event.kind === 'fill').reverse();
  }

  /** The order of a fill, without its trades; undefined if its market was deleted. */
  placed({ order: { id } }: FillEvent): VenueOrder | undefined {
    const order = this.account.orders.get(id);
    return order && this.#shown(order, undefined, []);
  }

  /** A fill as a trade, with the status at `atMs`. */
  trade(event: FillEvent, atMs = this.#nowMs): VenueTrade | undefined {
    const { fill, order: terms } = event;
    // Nothing of a trade tells of the other fills of its order.
    const order = this.placed(event);
    if (order === undefined) return undefined;
    const { evidence, price, shares } = fill;
    const isTaker = fill.role === 'taker';
    const id = this.tradeId(event);
    const own = { outcome: terms.outcome, price: decimalText(price), size: microsText(shares) };
    const recorded = evidence.kind === 'trade' && {
      ...{ outcome: evidence.outcome, side: sideOf(evidence), price: decimalText(evidence.price) },
      size: microsText(evidence.shares),
    };
    const ageMs = atMs - event.atMs;
    const status = (['CONFIRMED', 'MINED'] as const).find((each) => ageMs >= SETTLING_MS[each]) ?? 'MATCHED';
    const matchedMs = event.atMs + this.#replay.shiftMs;
    return {
      ...{ id, role: isTaker ? 'TAKER' : 'MAKER', order, otherOrderId: `0x${digestOf(`other order ${id}`)}` },
      ...{ price: own.price, size: own.size },
      taker: isTaker ? { ...own, side: order.side } : recorded || { ...own, side: oppositeOf(order.side) },
      feeRateBps: fill.fee > 0 ? String(this.#baseFee(order.asset) ?? 0) : '0',
      ...{ status, matchedMs, updatedMs: matchedMs + SETTLING_MS[status] },
      transactionHash: this.transactionHash(id),
    };
  }

  /** A UUID. */
  tradeId({ fill, order }: Pick<FillEvent, 'fill' | 'order'>): string {
    const digest = digestOf(`trade ${this.account.address} ${order.id} ${fill.number}`);
    return digest.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5');
  }

  /** A stand-in for the hash of the transaction of a trade, a payout or a merge, of which `name` is unique in the account. */
  transactionHash(name: string): string {
    return `0x${digestOf(`transaction ${this.account.address} ${name}`)}`;
  }

  /** The market with a key; undefined if it was deleted. */
  market(key: number): StoredMarket | undefined {
    if (!this.#markets.has(key)) this.#markets.set(key, this.#replay.marketByKey(key));
    return this.#markets.get(key);
  }

  #baseFee({ assetIds }: VenueAsset): number | undefined {
    return new VenueQuotes(this.#replay, this.#nowMs).feeRate(assetIds[0]);
  }

  #shown(
    order: PaperOrder,
    status = statusOf(order),
    history: readonly OrderEvent[] = this.account.history(order.terms.id),
  ): VenueOrder | undefined {
    const { terms, marketKey, arrivedMs = order.sentMs } = order;
    const { signedBy, expirationMs } = terms;
    const { shiftMs } = this.#replay;
    const market = this.market(marketKey);
    if (market === undefined) return undefined;
    const { conditionId, clobTokenIds } = market;
    const fills = history.filter(isFill);
    return {
      ...{ id: terms.id, owner: signedBy?.apiKey ?? '', makerAddress: signedBy?.wallet ?? this.account.address },
      asset: { conditionId, assetIds: [clobTokenIds[0], clobTokenIds[1]], outcome: terms.outcome },
      ...{ side: sideOf(terms), type: terms.type, price: decimalText(terms.price) },
      ...{ originalSize: microsText(terms.amount), sizeMatched: amountsOf(fills).shares, status },
      createdMs: arrivedMs + shiftMs,
      expiration: expirationMs === undefined ? '0' : String((expirationMs + shiftMs) / 1000),
      trades: fills.map((event) => this.tradeId(event)),
    };
  }
}

export function isFill(event: OrderEvent): event is FillEvent {
  return event.kind === 'fill';
}

/** The dollars of fills, and their shares, as an answer to an order has them. */
export function amountsOf(fills: readonly FillEvent[]): { readonly dollars: string; readonly shares: string } {
  const sum = (amountOf: (event: FillEvent) => number) =>
    microsText(fills.reduce((all, event) => all + amountOf(event), 0));
  return { dollars: sum(({ fill }) => fill.cost), shares: sum(({ fill }) => fill.shares) };
}

function sideOf({ side }: Pick<OrderTerms, 'side'>): 'BUY' | 'SELL' {
  return side === 'buy' ? 'BUY' : 'SELL';
}

function statusOf({ state, terms: { type } }: Pick<PaperOrder, 'state' | 'terms'>): VenueOrderStatus {
  if (state === 'delayed') return 'DELAYED';
  if (state === 'sent' || state === 'live') return 'LIVE';
  if (state === 'matched') return 'MATCHED';
  // nautilus_trader, ws_user_order_venue_cancel.json.
  if (state === 'ended') return 'INVALID';
  const isKilled = (state === 'killed' || state === 'refused') && isFilledAtOnce(type);
  return isKilled ? `CANCELED_${KILLED[type]}` : 'CANCELED';
}

function statusAfter(event: OrderEvent): VenueOrderStatus {
  if (event.kind === 'live') return event.hasFailed ? 'UNMATCHED' : 'LIVE';
  if (event.kind === 'fill') return event.left === 0 ? 'MATCHED' : 'LIVE';
  return statusOf({ state: event.kind === 'closed' ? event.state : event.kind, terms: event.order });
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
