import type { InstantMs } from '../domain/instant.ts';
import { VENUE_OUTCOMES } from './message-writer.ts';
import { assetIdOf, tradeReport, type VenueOrder, type VenueTrade } from './order-writer.ts';

export type OrderChange = 'PLACEMENT' | 'UPDATE' | 'CANCELLATION';

/**
 * An order in the user channel (docs.polymarket.com, user channel; nautilus_trader, ws_user_order_*.json). An order that was refused, so
 * that it never was at the venue, has no matched size, outcome and time of creation.
 */
export function orderFrame(order: VenueOrder, type: OrderChange, timestampMs: InstantMs, wasPlaced = true): string {
  const { id, owner, asset, side, price } = order;
  return JSON.stringify({
    ...{ id, owner, market: asset.conditionId, asset_id: assetIdOf(asset), side, order_owner: owner },
    ...{ original_size: order.originalSize, size_matched: wasPlaced ? order.sizeMatched : '', price },
    ...{ associate_trades: order.trades, outcome: wasPlaced ? VENUE_OUTCOMES[asset.outcome] : '', type },
    ...{ created_at: wasPlaced ? String(order.createdMs) : '', expiration: order.expiration, order_type: order.type },
    ...{ status: order.status, maker_address: order.makerAddress, timestamp: String(timestampMs), event_type: 'order' },
  });
}

/** A trade in the user channel, at its match and at each change of its status. `matchtime` is that of the documentation. */
export function userTradeFrame(trade: VenueTrade): string {
  const { role, order, matchedMs, updatedMs } = trade;
  return JSON.stringify({
    type: 'TRADE',
    ...tradeReport(trade),
    matchtime: String(Math.floor(matchedMs / 1000)),
    trade_owner: role === 'TAKER' ? order.owner : '',
    timestamp: String(updatedMs),
    event_type: 'trade',
  });
}
