import { parseDecimal } from '../domain/decimal.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import {
  bookFields,
  conditionIdField,
  type Fields,
  instantField,
  isFields,
  nonNegative,
  numericField,
  optional,
  priceWithinOne,
  rejected,
  stated,
  textField,
} from '../record/fields.ts';
import { tradeFields, VENUE_TRADE_NAMES } from '../record/trade-fields.ts';
import { type BestPrices, bestPricesOf } from './best-prices.ts';
import { type HashedBook, statedLevels } from './book-hash.ts';
import { levelObjects } from './levels.ts';
import { MIN_ORDER_SIZE } from './market-status.ts';

/** The venue's market channel messages about books; reports count each kind. */
const BOOK_KINDS = ['book', 'price_change', 'last_trade_price', 'tick_size_change', 'best_bid_ask'] as const;
export type BookKind = (typeof BOOK_KINDS)[number];

/** The asset of a message, and its market. */
export interface AssetMessage {
  readonly assetId: string;
  /** The condition id; undefined if the recording does not have it. */
  readonly market: string | undefined;
}

/** A full book. */
export interface BookMessage extends AssetMessage {
  readonly timestampMs: number;
  readonly book: OrderBook;
  readonly droppedLevels: number;
  /** As the message states it; see `lastTradePriceIn`. */
  readonly lastTradePrice: string | undefined;
  readonly claim: HashClaim | undefined;
}

/** The hash in a book message, and the inputs of the hash that the message states. */
export interface HashClaim {
  readonly hash: string;
  readonly hashed: HashedBook;
  readonly tickSize: string | undefined;
  readonly lastTradePrice: string | undefined;
  /** True if the message states all inputs of the hash: then a book that does not match is damaged. */
  readonly isComplete: boolean;
}

/** The new size at one price of one asset. */
export interface Change extends AssetMessage {
  readonly isBid: boolean;
  readonly price: number;
  /** 0 removes the level. */
  readonly size: number;
  /** The hash of the book after the change; undefined if the recording does not have it. */
  readonly hash: string | undefined;
  readonly best: BestPrices | undefined;
}

export function bookKind(frame: Fields): BookKind | undefined {
  const type = frame.event_type;
  if (type === undefined && Array.isArray(frame.bids)) return 'book';
  return BOOK_KINDS.find((kind) => kind === type);
}

export function timestampOf(frame: Fields): number {
  return instantField(frame, 'timestamp');
}

export function assetOf(frame: Fields): AssetMessage {
  return { assetId: numericField(frame, 'asset_id'), market: optional(frame, 'market', conditionIdField) };
}

export function bookMessage(message: Fields): BookMessage {
  const frame = {
    ...message,
    bids: levelObjects(message.bids, 'bids'),
    asks: levelObjects(message.asks, 'asks'),
  };
  const { assetId, market } = assetOf(frame);
  const timestampMs = timestampOf(frame);
  const levels = bookFields(frame);
  const claim = hashClaim(frame, assetId, timestampMs, bestPricesOf(levels.book));
  return { assetId, market, timestampMs, ...levels, lastTradePrice: statedLastTrade(frame), claim };
}

function hashClaim(frame: Fields, assetId: string, timestampMs: number, best: BestPrices): HashClaim | undefined {
  const { hash, market } = frame;
  if (typeof hash !== 'string' || hash === '' || typeof market !== 'string') return undefined;
  const bids = statedLevels(frame.bids);
  const asks = statedLevels(frame.asks);
  if (bids === undefined || asks === undefined) return undefined;
  const tickSize = textOf(frame, 'tick_size');
  const lastTradePrice = statedLastTrade(frame);
  const minOrderSize = textOf(frame, 'min_order_size');
  const negRisk = stated(frame, 'neg_risk');
  return {
    hash,
    hashed: {
      // The venue hashes it in lower case; a recorder may write it in upper case.
      market: market.toLowerCase(),
      assetId,
      timestamp: String(timestampMs),
      bids,
      asks,
      best,
      minOrderSize: minOrderSize ?? MIN_ORDER_SIZE,
      negRisk: negRisk === true,
    },
    tickSize,
    lastTradePrice,
    isComplete: ![tickSize, lastTradePrice, minOrderSize].includes(undefined) && typeof negRisk === 'boolean',
  };
}

function statedLastTrade(frame: Fields): string | undefined {
  return textOf(frame, 'last_trade_price');
}

/** The price of the last trade in a book; undefined before the first trade ("" or "0"), and if the text is not a price. */
export function lastTradePriceIn(text: string | undefined): number | undefined {
  const price = text === undefined ? undefined : parseDecimal(text);
  return price !== undefined && price > 0 && price <= 1 ? price : undefined;
}

function textOf(frame: Fields, name: string): string | undefined {
  const value = stated(frame, name);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/**
 * The changes of a price_change message, not parsed yet. It has one of three shapes: `price_changes`, each with its asset (since
 * 15 September 2025); `changes` of one asset, with one hash after them all; or, before that, one change.
 */
export function rawChanges(frame: Fields): readonly unknown[] {
  const { price_changes: present, changes: former } = frame;
  if (Array.isArray(present)) return present;
  if (Array.isArray(former)) {
    const { asset_id, hash } = frame;
    return former.map((change, index) => {
      if (!isFields(change)) return change;
      return { asset_id, ...change, ...(index === former.length - 1 ? { hash } : {}) };
    });
  }
  return 'price' in frame ? [frame] : [];
}

export function changeOf(raw: unknown, frame: Fields): Change {
  if (!isFields(raw)) throw rejected('a change is not an object');
  const market = optional(frame, 'market', conditionIdField);
  const { hash } = raw;
  return {
    assetId: numericField(raw, 'asset_id'),
    market,
    isBid: isBuy(raw),
    price: priceWithinOne(raw.price, 'price'),
    size: nonNegative(raw.size, 'size'),
    hash: typeof hash === 'string' && hash !== '' ? hash : undefined,
    best: bestPrices(raw),
  };
}

function isBuy(fields: Fields): boolean {
  const side = textField(fields, 'side').toUpperCase();
  if (side !== 'BUY' && side !== 'SELL') throw rejected('side is neither BUY nor SELL');
  return side === 'BUY';
}

/** The best bid and ask; undefined if the message has neither. */
export function bestPrices(fields: Fields): BestPrices | undefined {
  const bid = stated(fields, 'best_bid');
  const ask = stated(fields, 'best_ask');
  if (bid === undefined && ask === undefined) return undefined;
  return {
    bid: bid === undefined || bid === '' ? 0 : priceWithinOne(bid, 'best_bid'),
    ask: ask === undefined || ask === '' ? 1 : priceWithinOne(ask, 'best_ask'),
  };
}

/** The trade of a last_trade_price message; `trade` has its other fields, if the recording has them. */
export function tradeMessage(frame: Fields) {
  const price = priceWithinOne(frame.price, 'price');
  return { ...assetOf(frame), timestampMs: timestampOf(frame), price, trade: tradeFields(frame, VENUE_TRADE_NAMES) };
}

/** The new tick, spelled as in the message. */
export function newTickSize(frame: Fields): string {
  const tickSize = textOf(frame, 'new_tick_size');
  if (tickSize === undefined) throw rejected('new_tick_size is missing');
  priceWithinOne(tickSize, 'new_tick_size');
  return tickSize;
}
