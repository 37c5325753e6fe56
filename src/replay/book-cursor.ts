import type { InstantMs } from '../domain/instant.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { BookReader, bookOf } from '../segment/book-decoder.ts';
import type { EditLog } from '../segment/book-format.ts';
import type { Ladder } from '../segment/ladder.ts';
import { divisorOf } from '../segment/scale.ts';
import type { SegmentSlice } from '../segment/segment-header.ts';
import { EditableBook } from '../venue/editable-book.ts';
import { changesBetween, type LevelChange } from '../venue/level-change.ts';

/** The books of one series in order, as changes: the stored edits within a slice, differences between slices. */
export class BookCursor {
  readonly #slices: Iterator<SegmentSlice>;
  readonly #reader = new BookReader();
  #from = 0;
  #to = 0;
  #book: EditableBook | undefined;
  /** The id of the last book that was taken. */
  id = 0;
  /** Its arrival; undefined if it is not known. */
  receivedMs: InstantMs | undefined;
  /** The time of the next book, Infinity after the last one. */
  nextMs = Infinity;

  /** `before` is the last book before the slices. */
  constructor(slices: Iterable<SegmentSlice>, before: OrderBook | undefined) {
    this.#slices = slices[Symbol.iterator]();
    if (before !== undefined) this.#book = EditableBook.of(before);
    this.#enter();
  }

  /** The last book that was taken; `takeAt` edits it. Undefined before the first one. */
  get book(): EditableBook | undefined {
    return this.#book;
  }

  /** The arrival of the next book; undefined if it is not known. */
  get nextReceivedMs(): InstantMs | undefined {
    return this.nextMs === Infinity ? undefined : this.#reader.receivedMsAt(this.#reader.index + 1);
  }

  /** Takes the next book if it has this timestamp, and returns its changes; the first book has none. */
  takeAt(timestampMs: InstantMs): readonly LevelChange[] | undefined {
    if (this.nextMs !== timestampMs) return undefined;
    const reader = this.#reader;
    reader.advance();
    const changes = this.#changes();
    this.id = reader.head.ids[reader.index]!;
    this.receivedMs = reader.receivedMs;
    if (reader.index + 1 < this.#to) this.nextMs = reader.head.timestamps[reader.index + 1]!;
    else this.#enter();
    return changes;
  }

  #changes(): readonly LevelChange[] {
    const reader = this.#reader;
    const book = this.#book;
    if (book === undefined) {
      this.#book = EditableBook.of(bookOf(reader));
      return [];
    }
    // An import in the meantime may have put another record before this slice.
    const changes = reader.index === this.#from ? changesBetween(book, bookOf(reader)) : editsOf(reader, book);
    book.apply(changes);
    return changes;
  }

  #enter(): void {
    const { done, value } = this.#slices.next();
    this.nextMs = Infinity;
    if (done === true) return;
    const { payload, head, from, to } = value;
    this.#reader.open(payload, head);
    if (from > 0) this.#reader.advanceTo(from - 1);
    this.#from = from;
    this.#to = to;
    this.nextMs = head.timestamps[from]!;
  }
}

function editsOf(reader: BookReader, before: OrderBook): readonly LevelChange[] {
  const { bids, bidEdits, asks, askEdits } = reader;
  const removed: LevelChange[] = [];
  const set: LevelChange[] = [];
  const divisors = { price: divisorOf(reader.priceScale), size: divisorOf(reader.sizeScale) };
  collect(true, before.bidPrices, bids, bidEdits, divisors, removed, set);
  collect(false, before.askPrices, asks, askEdits, divisors, removed, set);
  // In the order of `changesBetween`.
  for (const change of set) removed.push(change);
  return removed;
}

/** Turns a side's edits into changes: the previous side has the removed levels, the present one all others. */
function collect(
  isBid: boolean,
  pricesBefore: readonly number[],
  { values }: Ladder,
  { length, skips, consumes, produces }: EditLog,
  divisors: { readonly price: number; readonly size: number },
  removed: LevelChange[],
  set: LevelChange[],
): void {
  let before = 0;
  let now = 0;
  for (let i = 0; i < length; i += 1) {
    before += skips[i]!;
    now += skips[i]!;
    if (produces[i] === 0) {
      removed.push({ isBid, price: pricesBefore[before]!, size: 0 });
    } else {
      set.push({ isBid, price: values[2 * now]! / divisors.price, size: values[2 * now + 1]! / divisors.size });
      now += 1;
    }
    before += consumes[i]!;
  }
}
