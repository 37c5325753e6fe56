import { decimalText } from '../domain/decimal.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { isFields } from '../record/fields.ts';

/** A number that JSON writes as it is. */
const PLAIN = /^[0-9.]*$/;

/**
 * The venue's hash of a book: SHA-1 over compact JSON with these keys in this order; levels are `{"price","size"}`, the best
 * one last (py-clob-client, utilities.py, generate_orderbook_summary_hash):
 *
 *   market, asset_id, timestamp, hash: "", bids, asks, min_order_size, tick_size, neg_risk, last_trade_price
 */
export interface HashedBook {
  readonly market: string;
  readonly assetId: string;
  /** Unix milliseconds in digits. */
  readonly timestamp: string;
  /** Levels as compact JSON, without the brackets. */
  readonly bids: string;
  readonly asks: string;
  readonly minOrderSize: string;
  readonly negRisk: boolean;
}

/** The inputs of a hash that messages may leave out. */
export interface HashTail {
  readonly tickSize: string;
  readonly lastTradePrice: string;
}

/** The hash of a book with this tail, in hex. */
export type BookHash = (tail: HashTail) => string;

/** The hash of a book, for all tails: what comes before the tail is hashed once. */
export function hashesOf(book: HashedBook): BookHash {
  const head = new Bun.CryptoHasher('sha1').update(headText(book));
  return (tail) => head.copy().update(tailText(book.negRisk, tail)).digest('hex');
}

/** The hash, in hex, of bytes in the format of `HashedBook`. */
export function hashedBytes(bytes: Uint8Array): string {
  return Bun.SHA1.hash(bytes, 'hex');
}

function headText({ market, assetId, timestamp, bids, asks, minOrderSize }: HashedBook): string {
  return `{"market":"${market}","asset_id":"${assetId}","timestamp":"${timestamp}","hash":"","bids":[${bids}],"asks":[${asks}${afterLevels(minOrderSize)}`;
}

/** The text from the end of the asks to the tick. */
export function afterLevels(minOrderSize: string): string {
  return `],"min_order_size":${JSON.stringify(minOrderSize)},"tick_size":`;
}

/** The text from the tick to the end. */
export function tailText(negRisk: boolean, { tickSize, lastTradePrice }: HashTail): string {
  return `${JSON.stringify(tickSize)},"neg_risk":${negRisk},"last_trade_price":${JSON.stringify(lastTradePrice)}}`;
}

/** The levels of a book in the venue's order and format. */
export function hashedLevels(book: OrderBook): Pick<HashedBook, 'bids' | 'asks'> {
  return { bids: sideText(book.bidPrices, book.bidSizes), asks: sideText(book.askPrices, book.askSizes) };
}

function sideText(prices: readonly number[], sizes: readonly number[]): string {
  let text = '';
  for (let i = prices.length - 1; i >= 0; i -= 1) {
    text += `${levelText(decimalText(prices[i]!), decimalText(sizes[i]!))}${i > 0 ? ',' : ''}`;
  }
  return text;
}

/** The text of a level around its price and its size. */
export const BEFORE_PRICE = '{"price":"';
export const BEFORE_SIZE = '","size":"';
export const AFTER_SIZE = '"}';

/** A level in digits, as the venue writes it. */
export function levelText(price: string, size: string): string {
  return `${BEFORE_PRICE}${price}${BEFORE_SIZE}${size}${AFTER_SIZE}`;
}

/** The levels of a message as compact JSON, in its own order and digits; undefined if they are not in the venue's format. */
export function statedLevels(levels: unknown): string | undefined {
  if (!Array.isArray(levels)) return undefined;
  const texts: string[] = [];
  for (const level of levels) {
    if (!isFields(level)) return undefined;
    const [price, size] = [String(level.price), String(level.size)];
    texts.push(PLAIN.test(price) && PLAIN.test(size) ? levelText(price, size) : JSON.stringify({ price, size }));
  }
  return texts.join(',');
}

/**
 * The message of a trade follows the book that counts the trade: usually after 20 ms (xx8-btc-5min-YesNo, 71 trades), and for bookreel
 * within this time.
 */
export const TRADE_DELAY_MAX_MS = 250;

/** The price of a trade as the hash has it: with three decimals. */
export function tradePriceText(price: number): string {
  return price.toFixed(3);
}
