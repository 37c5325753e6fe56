import type { InstantMs } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import { VENUE_OUTCOMES } from './message-writer.ts';
import type { VenueOrderType } from './order-body-parser.ts';

export type VenueSide = 'BUY' | 'SELL';

/** The status of an order (nautilus_trader, adapters/polymarket/common/enums.rs), also with a reason: `CANCELED_…`. */
export type VenueOrderStatus =
  | ('LIVE' | 'MATCHED' | 'DELAYED' | 'UNMATCHED' | 'CANCELED' | 'INVALID')
  | `CANCELED_${string}`;
export type VenueTradeStatus = 'MATCHED' | 'MINED' | 'CONFIRMED';

/** The market and outcome of an order or a trade. */
export interface VenueAsset {
  readonly conditionId: string;
  /** The ids of up and down. */
  readonly assetIds: readonly [up: string, down: string];
  readonly outcome: Outcome;
}

/** An order as its account sees it. Sizes and prices are decimals in digits, times are moved as the replay's are. */
export interface VenueOrder {
  readonly id: string;
  /** The API key of its sender. */
  readonly owner: string;
  readonly makerAddress: string;
  readonly asset: VenueAsset;
  readonly side: VenueSide;
  readonly type: VenueOrderType;
  readonly price: string;
  /** Shares; dollars of a BUY that is filled at once. */
  readonly originalSize: string;
  /** Shares. */
  readonly sizeMatched: string;
  readonly status: VenueOrderStatus;
  readonly createdMs: InstantMs;
  /** Seconds; '0': none. */
  readonly expiration: string;
  /** The ids of its trades. */
  readonly trades: readonly string[];
}

/** A fill of an own order, as a trade of the venue: that of a taker with one maker. */
export interface VenueTrade {
  readonly id: string;
  readonly role: 'TAKER' | 'MAKER';
  readonly order: VenueOrder;
  /** The order of the other side, which no recording has: a stand-in. */
  readonly otherOrderId: string;
  readonly price: string;
  readonly size: string;
  /** The taker's, where the own order was the maker: of either outcome. */
  readonly taker: {
    readonly outcome: Outcome;
    readonly side: VenueSide;
    readonly price: string;
    readonly size: string;
  };
  /** The taker's, in hundredths of a percent. */
  readonly feeRateBps: string;
  readonly status: VenueTradeStatus;
  readonly matchedMs: InstantMs;
  /** The time of the status. */
  readonly updatedMs: InstantMs;
  readonly transactionHash: string;
}

const UNKNOWN_WALLET = `0x${'0'.repeat(40)}`;
const UNKNOWN_KEY = '00000000-0000-0000-0000-000000000000';

/** The answer to `POST /order`; amounts are '' if nothing has matched. A BUY makes dollars and takes shares. */
export function orderAnswer(answer: {
  readonly orderId: string;
  readonly status: 'live' | 'matched' | 'delayed';
  readonly making: string;
  readonly taking: string;
  readonly trades: readonly Pick<VenueTrade, 'id' | 'transactionHash'>[];
}): object {
  const { orderId, status, making, taking, trades } = answer;
  return {
    ...{ success: true, errorMsg: '', orderID: orderId, status, makingAmount: making, takingAmount: taking },
    transactionsHashes: trades.map(({ transactionHash }) => transactionHash),
    tradeIDs: trades.map(({ id }) => id),
  };
}

/** The element of a refused order in the answer to `POST /orders`: the venue leaves `success` true. */
export function refusedAnswer(errorMsg: string): object {
  return { success: true, errorMsg, orderID: '', status: '', makingAmount: '', takingAmount: '' };
}

/** An order as `/data/orders` and `/data/order/{id}` return it (clob-client-v2, OpenOrder). */
export function openOrder(order: VenueOrder): object {
  const { asset, trades } = order;
  return {
    ...{ id: order.id, status: order.status, owner: order.owner, maker_address: order.makerAddress },
    ...{ market: asset.conditionId, asset_id: assetIdOf(asset), side: order.side },
    ...{ original_size: order.originalSize, size_matched: order.sizeMatched, price: order.price },
    ...{ outcome: VENUE_OUTCOMES[asset.outcome], expiration: order.expiration, order_type: order.type },
    ...{ associate_trades: trades, created_at: Math.floor(order.createdMs / 1000) },
  };
}

/** A trade as `/data/trades` returns it (clob-client-v2, Trade): the order of a MAKER is in `maker_orders`, all else is its taker's. */
export function tradeReport(trade: VenueTrade): object {
  const { order, role, taker, otherOrderId } = trade;
  const { asset, owner, makerAddress } = order;
  const isTaker = role === 'TAKER';
  const own = { order_id: order.id, owner, maker_address: makerAddress };
  const other = { order_id: otherOrderId, owner: UNKNOWN_KEY, maker_address: UNKNOWN_WALLET };
  const takerAsset = { ...asset, outcome: taker.outcome };
  const makerSide = isTaker ? oppositeOf(order.side) : order.side;
  return {
    ...{ id: trade.id, taker_order_id: isTaker ? order.id : otherOrderId },
    ...{ market: asset.conditionId, asset_id: assetIdOf(takerAsset), side: taker.side, size: taker.size },
    ...{ fee_rate_bps: trade.feeRateBps, price: taker.price, status: trade.status },
    ...{ match_time: secondsText(trade.matchedMs), last_update: secondsText(trade.updatedMs) },
    ...{ outcome: VENUE_OUTCOMES[taker.outcome], bucket_index: 0, owner, maker_address: makerAddress },
    ...{ transaction_hash: trade.transactionHash, trader_side: role },
    maker_orders: [
      {
        ...(isTaker ? other : own),
        ...{ matched_amount: trade.size, price: trade.price, fee_rate_bps: '0' },
        ...{ asset_id: assetIdOf(asset), outcome: VENUE_OUTCOMES[asset.outcome], side: makerSide },
      },
    ],
  };
}

export function assetIdOf({ assetIds, outcome }: VenueAsset): string {
  return assetIds[outcome === 'up' ? 0 : 1];
}

export function oppositeOf(side: VenueSide): VenueSide {
  return side === 'BUY' ? 'SELL' : 'BUY';
}

function secondsText(instantMs: InstantMs): string {
  return String(Math.floor(instantMs / 1000));
}
