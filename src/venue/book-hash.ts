import { decimalText } from '../domain/decimal.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { isFields } from '../record/fields.ts';
import { ByteBuffer } from '../segment/byte-buffer.ts';
import { type BestPrices, bestPricesOf } from './best-prices.ts';

/** The number of bytes of the longest digest: Bun accepts no shorter array for any digest. */
const DIGEST_BYTES_MAX = 64;
/** The initial size of the buffer, in bytes: enough for a book with a hundred levels. */
const WHOLE_BYTES = 8192;
const AFTER_TIMESTAMP = Buffer.from('","hash":"","bids":[');
const BETWEEN_SIDES = Buffer.from('],"asks":[');
/** A text that JSON writes without escapes. */
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
  /** Levels as compact JSON, without the brackets: as text, or as its bytes. */
  readonly bids: string | Uint8Array;
  readonly asks: string | Uint8Array;
  /** Not part of the hash: the last trade was usually at one of them. */
  readonly best: BestPrices;
  readonly minOrderSize: string;
  readonly negRisk: boolean;
}

/** The inputs of a hash that messages may leave out. */
export interface HashTail {
  readonly tickSize: string;
  readonly lastTradePrice: string;
}

/** The bytes of a text that is mostly the same as the one before. */
class LastEncoded {
  #text = '';
  #bytes = new Uint8Array();

  of(text: string): Uint8Array {
    if (text !== this.#text) {
      this.#text = text;
      this.#bytes = Buffer.from(text);
    }
    return this.#bytes;
  }
}

/** Hashes one book at a time with many prices of the last trade: the text before the price is hashed only once. */
export class BookHasher {
  /** Used for all books, because one for each would take a third more time. */
  readonly #head = new Bun.CryptoHasher('sha1');
  readonly #digest = new Uint8Array(DIGEST_BYTES_MAX);
  readonly #whole = new ByteBuffer(WHOLE_BYTES);
  readonly #encoder = new TextEncoder();
  readonly #begin = new LastEncoded();
  readonly #end = new LastEncoded();

  /** Replaces the book that was opened before. */
  open({ market, assetId, timestamp, bids, asks, minOrderSize, negRisk }: HashedBook, tickSize: string): void {
    // Taking the digest empties the hasher.
    this.#head.digest(this.#digest);
    this.#head
      .update(beforeTimestamp(market, assetId) + timestamp)
      .update(AFTER_TIMESTAMP)
      .update(bids)
      .update(BETWEEN_SIDES)
      .update(asks)
      .update(afterLevels(minOrderSize) + beforePrice(negRisk, tickSize));
  }

  /** The hash of a book, in hex, without opening it: quicker if only one price of the last trade is tried. */
  hashOf({ market, assetId, timestamp, bids, asks, minOrderSize, negRisk }: HashedBook, tail: HashTail): string {
    const out = this.#whole;
    out.clear();
    out.append(this.#begin.of(beforeTimestamp(market, assetId)));
    for (let i = 0; i < timestamp.length; i += 1) out.byte(timestamp.charCodeAt(i));
    out.append(AFTER_TIMESTAMP);
    out.append(typeof bids === 'string' ? this.#encoder.encode(bids) : bids);
    out.append(BETWEEN_SIDES);
    out.append(typeof asks === 'string' ? this.#encoder.encode(asks) : asks);
    out.append(this.#end.of(afterLevels(minOrderSize) + tailText(negRisk, tail)));
    return hashedBytes(out.view());
  }

  /** The hash of the open book, in hex. */
  hash(lastTradePrice: string): string {
    return this.#head.copy().update(fromPrice(lastTradePrice)).digest('hex');
  }
}

/** The hash, in hex, of bytes in the format of `HashedBook`. */
export function hashedBytes(bytes: Uint8Array): string {
  return Bun.SHA1.hash(bytes, 'hex');
}

function beforeTimestamp(market: string, assetId: string): string {
  return `{"market":"${market}","asset_id":"${assetId}","timestamp":"`;
}

/** The text from the end of the asks to the tick. */
export function afterLevels(minOrderSize: string): string {
  return `],"min_order_size":${JSON.stringify(minOrderSize)},"tick_size":`;
}

/** The text from the tick to the end. */
export function tailText(negRisk: boolean, { tickSize, lastTradePrice }: HashTail): string {
  return beforePrice(negRisk, tickSize) + fromPrice(lastTradePrice);
}

function beforePrice(negRisk: boolean, tickSize: string): string {
  return `${JSON.stringify(tickSize)},"neg_risk":${negRisk},"last_trade_price":`;
}

function fromPrice(lastTradePrice: string): string {
  return `${JSON.stringify(lastTradePrice)}}`;
}

/** The levels of a book in the venue's order and format. */
export function hashedLevels(book: OrderBook): Pick<HashedBook, 'bids' | 'asks' | 'best'> {
  return {
    bids: sideText(book.bidPrices, book.bidSizes),
    asks: sideText(book.askPrices, book.askSizes),
    best: bestPricesOf(book),
  };
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
 * The message of a trade follows the book that includes the trade: usually after 20 ms (xx8-btc-5min-YesNo, 71 trades). bookreel
 * looks for it within this time.
 */
export const TRADE_DELAY_MAX_MS = 250;

/** The price of a trade as it is hashed: with three decimals. */
export function tradePriceText(price: number): string {
  return price.toFixed(3);
}
