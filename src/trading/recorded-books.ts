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
    reader.advance();
    this.#arrive();
    if (reader.index + 1 < this.#to) this.nextMs = reader.head.timestamps[reader.index + 1]!;
    else this.#findNext();
  }

  best(isBid: boolean): number | undefined {
    const { values, length } = this.#side(isBid);
    return length === 0 ? undefined : values[0]! / divisorOf(this.#reader.priceScale);
  }

  sizeAt(isBid: boolean, price: number): number {
    const { values, length } = this.#side(isBid);
    const divisor = divisorOf(this.#reader.priceScale);
    const units = Math.round(price * divisor);
    let [low, high] = [0, length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = values[2 * middle]!;
      if (found === units)
        return units / divisor === price ? values[2 * middle + 1]! / divisorOf(this.#reader.sizeScale) : 0;
      if (found > units === isBid) low = middle + 1;
      else high = middle;
    }
    return 0;
  }

  *levels(isBid: boolean): Generator<{ readonly price: number; readonly size: number }> {
    const { values, length } = this.#side(isBid);
    const [price, size] = [divisorOf(this.#reader.priceScale), divisorOf(this.#reader.sizeScale)];
    for (let at = 0; at < 2 * length; at += 2) yield { price: values[at]! / price, size: values[at + 1]! / size };
  }

  #side(isBid: boolean): Ladder {
    return isBid ? this.#reader.bids : this.#reader.asks;
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

/** The other outcome's book: its ask at p is a bid at 1 − p of the same size. */
export class MirroredBook implements MomentBook {
  readonly #other: MomentBook;

  constructor(other: MomentBook) {
    this.#other = other;
  }

  get id(): number {
    return this.#other.id;
  }

  get atMs(): InstantMs {
    return this.#other.atMs;
  }

  get recordedFor(): Outcome {
    return this.#other.recordedFor;
  }

  best(isBid: boolean): number | undefined {
    const best = this.#other.best(!isBid);
    return best === undefined ? undefined : complement(best);
  }

  sizeAt(isBid: boolean, price: number): number {
    return this.#other.sizeAt(!isBid, complement(price));
  }

  *levels(isBid: boolean): Generator<{ readonly price: number; readonly size: number }> {
    for (const { price, size } of this.#other.levels(!isBid)) yield { price: complement(price), size };
  }
}
