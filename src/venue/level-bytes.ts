import { decimalText } from '../domain/decimal.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { ByteBuffer } from '../segment/byte-buffer.ts';
import { bestPricesOf } from './best-prices.ts';
import { type HashedBook, levelText } from './book-hash.ts';

const INITIAL_BYTES = 4096;

/**
 * The levels of one asset's books as their hash has them, like `hashedLevels`, as bytes. Consecutive books share most levels, so only
 * those that differ are written.
 */
export class LevelBytes {
  readonly #bids = new SideBytes();
  readonly #asks = new SideBytes();

  /** The result is valid until the next call. */
  of(book: OrderBook): Pick<HashedBook, 'bids' | 'asks' | 'best'> {
    return {
      bids: this.#bids.of(book.bidPrices, book.bidSizes),
      asks: this.#asks.of(book.askPrices, book.askSizes),
      best: bestPricesOf(book),
    };
  }
}

/** The levels of one side, the best one last, each with a comma after it. */
class SideBytes {
  readonly #bytes = new ByteBuffer(INITIAL_BYTES);
  readonly #encoder = new TextEncoder();
  /** Of the levels that are written, in their order; `#ends`: of their bytes. */
  readonly #prices: number[] = [];
  readonly #sizes: number[] = [];
  readonly #ends: number[] = [];

  of(prices: readonly number[], sizes: readonly number[]): Uint8Array {
    const count = prices.length;
    const before = this.#prices.length;
    const isWritten = (at: number, index: number) =>
      this.#prices[at] === prices[index] && this.#sizes[at] === sizes[index];
    const most = Math.min(count, before);
    let head = 0;
    while (head < most && isWritten(head, count - 1 - head)) head += 1;
    let tail = 0;
    while (tail < most - head && isWritten(before - 1 - tail, tail)) tail += 1;
    if (head + tail < count || count !== before) this.#replace(prices, sizes, head, tail);
    return this.#bytes.bytes.subarray(0, Math.max(0, this.#bytes.length - 1));
  }

  /** Writes the levels between the first `head` and the last `tail` ones, which stay. */
  #replace(prices: readonly number[], sizes: readonly number[], head: number, tail: number): void {
    const from = this.#endOf(head);
    const tailFrom = this.#endOf(this.#prices.length - tail);
    const removed = this.#prices.length - head - tail;
    const ends: number[] = [];
    const newPrices: number[] = [];
    const newSizes: number[] = [];
    let text = '';
    for (let index = prices.length - 1 - head; index >= tail; index -= 1) {
      const [price, size] = [prices[index]!, sizes[index]!];
      text += `${levelText(decimalText(price), decimalText(size))},`;
      newPrices.push(price);
      newSizes.push(size);
      ends.push(from + text.length);
    }
    const moved = from + text.length - tailFrom;
    const buffer = this.#bytes;
    buffer.reserve(Math.max(0, moved));
    buffer.bytes.copyWithin(tailFrom + moved, tailFrom, buffer.length);
    buffer.length += moved;
    this.#encoder.encodeInto(text, buffer.bytes.subarray(from, from + text.length));
    this.#prices.splice(head, removed, ...newPrices);
    this.#sizes.splice(head, removed, ...newSizes);
    this.#ends.splice(head, removed, ...ends);
    if (moved === 0) return;
    for (let at = head + ends.length; at < this.#ends.length; at += 1) this.#ends[at]! += moved;
  }

  #endOf(levels: number): number {
    return levels === 0 ? 0 : this.#ends[levels - 1]!;
  }
}
