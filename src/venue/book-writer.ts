import { decimalPlaces, decimalText } from '../domain/decimal.ts';
import type { InstantMs } from '../domain/instant.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { writeText } from '../segment/decimal-text.ts';
import { afterLevels, hashedBytes, tailText, tradePriceText } from './book-hash.ts';
import { MIN_ORDER_SIZE } from './market-status.ts';
import { SideWriter } from './side-writer.ts';

const encoder = new TextEncoder();

/** The fields of a book besides its levels; its hash depends on them. */
export interface BookContext {
  readonly timestampMs: InstantMs;
  readonly tickSize: string;
  readonly lastTrade: { readonly price: number } | undefined;
}

/** The venue writes the price of a trade with this many decimals. */
const TRADE_DECIMALS = 3;
/** An upper bound of a level's bytes: two decimals of 24 characters each, and the text around them. */
const LEVEL_BYTES_MAX = 80;
/** An upper bound of the bytes besides the levels: asset, market, time, ticks, prices. */
const FRAME_BYTES_MAX = 1024;
const INITIAL_LEVELS = 128;
const AFTER_TIMESTAMP = '","hash":"","bids":[';
const BETWEEN_SIDES = '],"asks":[';

/** Writes a book and its hash as the venue sends them. Keeps the hashed bytes, and writes changed levels only. */
export class BookWriter {
  readonly conditionId: string;
  readonly assetId: string;
  readonly #bids = new SideWriter(true);
  readonly #asks = new SideWriter(false);
  #bytes = new Uint8Array(FRAME_BYTES_MAX + INITIAL_LEVELS * LEVEL_BYTES_MAX);
  readonly #timestampAt: number;
  #bidsAt = 0;
  /** Offset after the asks. */
  #end = 0;
  #tail: (Omit<BookContext, 'timestampMs'> & { readonly text: string; readonly bytes: Uint8Array }) | undefined;

  constructor(conditionId: string, assetId: string) {
    this.conditionId = conditionId;
    this.assetId = assetId;
    this.#timestampAt = writeText(this.#bytes, 0, `{"market":"${conditionId}","asset_id":"${assetId}","timestamp":"`);
    this.#bidsAt = this.#timestampAt;
    this.#end = this.#timestampAt;
    this.reset({ bidPrices: [], bidSizes: [], askPrices: [], askSizes: [] });
  }

  reset(book: OrderBook): void {
    this.#reserve(book.bidPrices.length + book.askPrices.length);
    const bids = this.#bids.reset(book.bidPrices, book.bidSizes);
    const asks = this.#asks.reset(book.askPrices, book.askSizes);
    this.#end = writeText(this.#bytes, this.#bidsAt, `${bids}${BETWEEN_SIDES}${asks}`);
  }

  /** Sets the level at a price to a size; '0' removes it. `priceText` is the price in digits. */
  set(isBid: boolean, price: number, priceText: string, size: string): void {
    this.#reserve(1);
    const asksAt = this.#bidsAt + this.#bids.length + BETWEEN_SIDES.length;
    this.#end += isBid
      ? this.#bids.set(price, priceText, size, this.#bytes, this.#bidsAt, this.#end)
      : this.#asks.set(price, priceText, size, this.#bytes, asksAt, this.#end);
  }

  /** The hash of the book, in hex. */
  hash(context: BookContext): string {
    this.#stamp(context.timestampMs);
    const { bytes } = this.#tailOf(context);
    this.#bytes.set(bytes, this.#end);
    return hashedBytes(this.#bytes.subarray(0, this.#end + bytes.length));
  }

  /** The `book` message at the start of a subscription. */
  opening(context: BookContext): string {
    const { tickSize, lastTrade } = context;
    return `${this.#stamped(context)}],"tick_size":"${tickSize}","event_type":"book","last_trade_price":"${lastTradeText(lastTrade)}"}`;
  }

  /** The `book` message after a trade. */
  following(context: BookContext): string {
    return `{"market":"${this.conditionId}","asset_id":"${this.assetId}",${this.#sides()}],"hash":"${this.hash(context)}","timestamp":"${context.timestampMs}","event_type":"book"}`;
  }

  /** The body of REST's `/book`. */
  summary(context: BookContext): string {
    return `${this.#stamped(context)}${this.#tailOf(context).text}`;
  }

  #stamped(context: BookContext): string {
    return `{"market":"${this.conditionId}","asset_id":"${this.assetId}","timestamp":"${context.timestampMs}","hash":"${this.hash(context)}",${this.#sides()}`;
  }

  /** The text after the levels. It is kept until a trade or a new tick changes it. */
  #tailOf({ tickSize, lastTrade }: BookContext): { readonly text: string; readonly bytes: Uint8Array } {
    if (this.#tail?.tickSize === tickSize && this.#tail.lastTrade === lastTrade) return this.#tail;
    const text = afterLevels(MIN_ORDER_SIZE) + tailText(false, { tickSize, lastTradePrice: lastTradeText(lastTrade) });
    this.#tail = { tickSize, lastTrade, text, bytes: encoder.encode(text) };
    return this.#tail;
  }

  /** Both sides, without the bracket after the asks. */
  #sides(): string {
    return `"bids":[${Buffer.from(this.#bytes.buffer, this.#bidsAt, this.#end - this.#bidsAt).toString('latin1')}`;
  }

  #stamp(timestampMs: InstantMs): void {
    const digits = String(timestampMs);
    // Times have 13 digits from 2001 to 2286; a time of another length moves the sides.
    if (this.#bidsAt !== this.#timestampAt + digits.length + AFTER_TIMESTAMP.length) this.#moveSides(digits.length);
    writeText(this.#bytes, this.#timestampAt, digits);
  }

  #moveSides(digits: number): void {
    const after = this.#timestampAt + digits;
    const bidsAt = after + AFTER_TIMESTAMP.length;
    this.#bytes.copyWithin(bidsAt, this.#bidsAt, this.#end);
    this.#end += bidsAt - this.#bidsAt;
    this.#bidsAt = bidsAt;
    writeText(this.#bytes, after, AFTER_TIMESTAMP);
  }

  /** Makes room for `levels` more levels and the text around them. */
  #reserve(levels: number): void {
    const needed = this.#end + levels * LEVEL_BYTES_MAX + FRAME_BYTES_MAX;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(2 * needed);
    grown.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = grown;
  }
}

/** The last trade's price with at least three decimals; empty before the first trade. */
function lastTradeText(lastTrade: BookContext['lastTrade']): string {
  if (lastTrade === undefined) return '';
  const { price } = lastTrade;
  return (decimalPlaces(price) ?? 0) > TRADE_DECIMALS ? decimalText(price) : tradePriceText(price);
}
