import { decimalText } from '../domain/decimal.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { isFields } from '../record/fields.ts';

const encoder = new TextEncoder();
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

/** Longer tails do not exist: a tick and a price take some ten characters. */
const TAIL_BYTES_MAX = 4096;

/** Hashes books, one after the other, in one buffer of bytes. */
export class BookHasher {
  #bytes = new Uint8Array(16 * 1024);

  /** The hash of a book, for all tails. Valid until the next call. */
  of(book: HashedBook): BookHash {
    const head = headText(book);
    // A character takes at most three bytes.
    const bytesMax = head.length * 3 + TAIL_BYTES_MAX;
    if (bytesMax > this.#bytes.length) this.#bytes = new Uint8Array(bytesMax * 2);
    const bytes = this.#bytes;
    const { written } = encoder.encodeInto(head, bytes);
    return (tail) => {
      const end = encoder.encodeInto(tailText(book.negRisk, tail), bytes.subarray(written));
      return hashedBytes(bytes.subarray(0, written + end.written));
    };
  }
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

/** The price of a trade as the hash has it: with three decimals. */
export function tradePriceText(price: number): string {
  return price.toFixed(3);
}
