import { decimalText } from '../domain/decimal.ts';
import { ByteBuffer } from '../segment/byte-buffer.ts';
import { bestPricesOf } from './best-prices.ts';
import { type HashedBook, levelText } from './book-hash.ts';
import type { EditableBook } from './editable-book.ts';

const INITIAL_BYTES = 4096;

/**
 * The levels of one asset's books as bytes in the format that is hashed, like `hashedLevels`. Consecutive books share most levels, so only
 * those that differ are written.
 */
export class LevelBytes {
  readonly #bids = new SideBytes();
  readonly #asks = new SideBytes();

  /** The book that was written last, and its changes then. */
  #book: EditableBook | undefined;
  #bidChanges = -1;
  #askChanges = -1;

  /** The result is valid until the next call. */
  of(book: EditableBook): Pick<HashedBook, 'bids' | 'asks' | 'best'> {
    const isSame = book === this.#book;
    const bids =
      isSame && book.bidChanges === this.#bidChanges ? this.#bids.view() : this.#bids.of(book.bidPrices, book.bidSizes);
    const asks =
      isSame && book.askChanges === this.#askChanges ? this.#asks.view() : this.#asks.of(book.askPrices, book.askSizes);
    this.#book = book;
    this.#bidChanges = book.bidChanges;
    this.#askChanges = book.askChanges;
    return { bids, asks, best: bestPricesOf(book) };
  }
}

/** The levels of one side, the best one last, each with a comma after it. */
class SideBytes {
  readonly #bytes = new ByteBuffer(INITIAL_BYTES);
  /** Prices and sizes of the written levels, in the order of their bytes; `#ends` has the end of each level in the bytes. */
  readonly #prices: number[] = [];
  readonly #sizes: number[] = [];
  readonly #ends: number[] = [];

  of(prices: readonly number[], sizes: readonly number[]): Uint8Array {
    const [written, writtenSizes] = [this.#prices, this.#sizes];
    const count = prices.length;
    const before = written.length;
    const most = Math.min(count, before);
    let head = 0;
    for (; head < most; head += 1) {
      const index = count - 1 - head;
      if (written[head] !== prices[index] || writtenSizes[head] !== sizes[index]) break;
    }
    let tail = 0;
    for (; tail < most - head; tail += 1) {
      const at = before - 1 - tail;
      if (written[at] !== prices[tail] || writtenSizes[at] !== sizes[tail]) break;
    }
    if (head + tail < count || count !== before) this.#replace(prices, sizes, head, tail);
    return this.view();
  }

  view(): Uint8Array {
    return this.#bytes.bytes.subarray(0, Math.max(0, this.#bytes.length - 1));
  }

  /** Writes the levels between the first `head` and the last `tail` ones, which stay. */
  #replace(prices: readonly number[], sizes: readonly number[], head: number, tail: number): void {
    const written = this.#prices.length - head - tail;
    const count = prices.length - head - tail;
    const from = this.#endOf(head);
    const tailFrom = this.#endOf(head + written);
    if (count !== written) this.#resize(head, written, count);
    let text = '';
    for (let at = head; at < head + count; at += 1) {
      const index = prices.length - 1 - at;
      const [price, size] = [prices[index]!, sizes[index]!];
      text += `${levelText(decimalText(price), decimalText(size))},`;
      this.#prices[at] = price;
      this.#sizes[at] = size;
      this.#ends[at] = from + text.length;
    }
    const moved = from + text.length - tailFrom;
    const buffer = this.#bytes;
    if (moved !== 0) {
      buffer.reserve(Math.max(0, moved));
      buffer.bytes.copyWithin(tailFrom + moved, tailFrom, buffer.length);
      buffer.length += moved;
      for (let at = head + count; at < this.#ends.length; at += 1) this.#ends[at]! += moved;
    }
    for (let i = 0; i < text.length; i += 1) buffer.bytes[from + i] = text.charCodeAt(i);
  }

  #resize(head: number, written: number, count: number): void {
    const zeros = new Array<number>(count).fill(0);
    for (const column of [this.#prices, this.#sizes, this.#ends]) column.splice(head, written, ...zeros);
  }

  #endOf(levels: number): number {
    return levels === 0 ? 0 : this.#ends[levels - 1]!;
  }
}
