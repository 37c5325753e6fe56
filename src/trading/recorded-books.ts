import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { complement } from '../domain/mirrored-book.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { MomentBook } from '../paper/market-moment.ts';
import { BookReader } from '../segment/book-decoder.ts';
import type { Ladder } from '../segment/ladder.ts';
import { divisorOf } from '../segment/scale.ts';
import type { SegmentSlice } from '../segment/segment-header.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';

/** The recorded books of one outcome in order, read in place: a book that nobody looks at costs its edits only. */
export class RecordedBooks implements MomentBook {
  readonly recordedFor: Outcome;
  readonly #reader = new BookReader();
  readonly #slices: Iterator<SegmentSlice>;
  /** The slice that begins with the next book; undefined within a slice, and after the last book. */
  #slice: SegmentSlice | undefined;
  /** The end of the slice that is read, exclusive. */
  #to = 0;
  id = 0;
  /** The time of the book of now; -Infinity before the first one. */
  atMs: InstantMs = -Infinity;
  /** The time of the next book; Infinity after the last one. */
  nextMs: InstantMs = Infinity;

  /** The book of now is the last one up to `fromMs`, inclusive. Read it within Database.read. */
  constructor({ snapshots }: Archive, market: StoredMarket, outcome: Outcome, fromMs: InstantMs) {
    this.recordedFor = outcome;
    const last = snapshots.nearest(market, outcome, fromMs, 'before');
    if (last !== undefined) {
      this.#reader.open(last.payload, last.head);
      this.#reader.advanceTo(last.index);
      this.#arrive();
    }
    this.#slices = snapshots.slices(market, outcome, fromMs + 1, INSTANT_MAX_MS)[Symbol.iterator]();
    this.#findNext();
  }

  /** Moves to the next book, which must exist. */
  take(): void {
    const reader = this.#reader;
    if (this.#slice !== undefined) {
      reader.moveBefore(this.#slice);
      this.#to = this.#slice.to;
      this.#slice = undefined;
    }
    // Unlike `advance` it keeps no log of the edits.
    reader.advanceTo(reader.index + 1);
    this.#arrive();
    if (reader.index + 1 < this.#to) this.nextMs = reader.head.timestamps[reader.index + 1]!;
    else this.#findNext();
  }

  best(outcome: Outcome, isBid: boolean): number | undefined {
    const { values, length } = this.#side(outcome, isBid);
    return length === 0 ? undefined : this.#priceFor(outcome, values[0]! / divisorOf(this.#reader.priceScale));
  }

  sizesAt(outcome: Outcome, isBid: boolean, prices: readonly number[]): readonly number[] {
    const { values, length } = this.#side(outcome, isBid);
    const divisor = divisorOf(this.#reader.priceScale);
    const sizeDivisor = divisorOf(this.#reader.sizeScale);
    const away = this.#isOwnBid(outcome, isBid) ? -1 : 1;
    const sizes: number[] = [];
    let low = 0;
    for (const price of prices) {
      const own = this.#priceFor(outcome, price);
      const units = Math.round(own * divisor);
      // Prices in a row are often neighbours: the steps begin small.
      let step = 1;
      while (low + step <= length && (units - values[2 * (low + step - 1)]!) * away > 0) {
        low += step;
        step *= 2;
      }
      for (let high = Math.min(length, low + step - 1); low < high; ) {
        const middle = (low + high) >>> 1;
        if ((units - values[2 * middle]!) * away > 0) low = middle + 1;
        else high = middle;
      }
      const isFound = low < length && values[2 * low] === units && units / divisor === own;
      sizes.push(isFound ? values[2 * low + 1]! / sizeDivisor : 0);
    }
    return sizes;
  }

  *levels(outcome: Outcome, isBid: boolean): Generator<{ readonly price: number; readonly size: number }> {
    const { values, length } = this.#side(outcome, isBid);
    const [price, size] = [divisorOf(this.#reader.priceScale), divisorOf(this.#reader.sizeScale)];
    for (let at = 0; at < 2 * length; at += 2)
      yield { price: this.#priceFor(outcome, values[at]! / price), size: values[at + 1]! / size };
  }

  /** Returns true if a side of an outcome is the bids of this book. */
  #isOwnBid(outcome: Outcome, isBid: boolean): boolean {
    return isBid === (outcome === this.recordedFor);
  }

  #side(outcome: Outcome, isBid: boolean): Ladder {
    return this.#isOwnBid(outcome, isBid) ? this.#reader.bids : this.#reader.asks;
  }

  /** Between the prices of an outcome and those of this book. */
  #priceFor(outcome: Outcome, price: number): number {
    return outcome === this.recordedFor ? price : complement(price);
  }

  #arrive(): void {
    const { head, index } = this.#reader;
    this.id = head.ids[index]!;
    this.atMs = head.timestamps[index]!;
  }

  #findNext(): void {
    const { done, value } = this.#slices.next();
    this.#slice = done === true ? undefined : value;
    this.nextMs = this.#slice?.head.timestamps[this.#slice.from] ?? Infinity;
  }
}
