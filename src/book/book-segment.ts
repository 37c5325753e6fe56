import { DECIMAL_PLACES_MAX, powerOfTen, toScaled } from '../domain/decimal.ts';
import { type OrderBook, sameBook } from '../domain/orderbook.ts';
import type { Place } from '../domain/page.ts';
import { Ladder } from './ladder.ts';
import {
  type EncodedRun,
  KEYFRAMES_PER_RUN,
  RUN_PAYLOAD_BYTES,
  RUN_RECORDS_MAX,
  type RunCodec,
  type RunHead,
  readRunHead,
  writeRunHead,
} from './run.ts';
import { columnScale, divisorOf, placesAtLeast, readScale, readScaled, writeScaled } from './scale.ts';
import { damaged, VarintReader, VarintWriter } from './varint.ts';

/** A snapshot at its place in the series of one market and outcome. */
export interface BookRecord extends Place {
  readonly book: OrderBook;
}

/**
 * A segment of books. Behind the head (run.ts):
 *
 *   price scale   unsigned: prices are integers, price · 10^scale
 *   size scale    unsigned: likewise, or DOUBLES (scale.ts)
 *   keyframe      the first book: bids, then asks; a side is its level count, then per level price and size
 *   deltas        for each further book: bids, then asks; a side is its number of edits, then the edits
 *
 * A price is written as its distance from the level before it, away from the best one, always 1 or more; in front of
 * the first level stands a price one tick outside the range (bids: 10^scale + 1; asks: -1).
 * An edit is unsigned skip · 4 + kind: skip so many levels of the previous book unchanged, then
 *   SET      give the next level a new size,
 *   REMOVE   take the next level away,
 *   INSERT   put a level here: its price and its size.
 * Levels behind the last edit stay as they were.
 */
const SET = 0;
const REMOVE = 1;
const INSERT = 2;

export const bookCodec: RunCodec<BookRecord> = {
  encode: encodeBooks,
  decode: decodeBooks,
  same: (a, b) => sameBook(a.book, b.book),
};

function encodeBooks(records: readonly BookRecord[], from: number, countMax: number): EncodedRun {
  const candidates = Math.min(records.length - from, countMax, RUN_RECORDS_MAX);
  const first = records[from]!.book;
  const scales = new ColumnScales();
  scales.cover(first.bidPrices, first.bidSizes);
  scales.cover(first.askPrices, first.askSizes);
  const bids = new SideEdits(-1);
  const asks = new SideEdits(1);
  const body = new VarintWriter();
  let bytesMax = writeKeyframe(body, first, scales);
  let count = 1;
  while (count < candidates) {
    const before = records[from + count - 1]!.book;
    const after = records[from + count]!.book;
    bids.find(before.bidPrices, before.bidSizes, after.bidPrices, after.bidSizes);
    asks.find(before.askPrices, before.askSizes, after.askPrices, after.askSizes);
    // What was not edited has been covered already. A finer scale, which few segments need twice, changes all that was written.
    const finer =
      scales.cover(bids.prices, bids.sizes, bids.levels) || scales.cover(asks.prices, asks.sizes, asks.levels);
    if (finer) {
      bytesMax = writeKeyframe(body, first, scales);
      count = 1;
      continue;
    }
    const length = body.length;
    bids.write(body, scales);
    asks.write(body, scales);
    // The head takes 3 to 4 bytes a record; times and ids are written once the count is known.
    if (body.length + 4 * count > bytesMax) {
      body.truncate(length);
      break;
    }
    count += 1;
  }
  const writer = new VarintWriter();
  writeRunHead(writer, records, from, count);
  writer.append(body.view());
  return { payload: writer.view().slice(), count };
}

/** The scales of a run's columns, as fine as the values that they have met so far need. */
class ColumnScales {
  price = 0;
  size = 0;
  #sizePlaces = 0;
  #sizeLargest = 0;

  /** Takes the first `count` levels into account, and says whether a scale has become another one. */
  cover(prices: readonly number[], sizes: readonly number[], count: number = prices.length): boolean {
    const { price, size } = this;
    for (let i = 0; i < count; i += 1) {
      this.price = placesAtLeast(this.price, prices[i]!);
      this.#sizePlaces = placesAtLeast(this.#sizePlaces, sizes[i]!);
      if (sizes[i]! > this.#sizeLargest) this.#sizeLargest = sizes[i]!;
    }
    this.size = columnScale(this.#sizePlaces, this.#sizeLargest);
    return this.price !== price || this.size !== size;
  }
}

/** Writes the scales and the first book, and answers how many bytes the body of its run may come to. */
function writeKeyframe(body: VarintWriter, book: OrderBook, scales: ColumnScales): number {
  body.truncate(0);
  body.unsigned(scales.price);
  body.unsigned(scales.size);
  writeSide(body, book.bidPrices, book.bidSizes, scales, -1);
  writeSide(body, book.askPrices, book.askSizes, scales, 1);
  return Math.max(RUN_PAYLOAD_BYTES, KEYFRAMES_PER_RUN * body.length);
}

/** `away` is the direction in which prices leave the best one: -1 for bids, 1 for asks. */
function writeSide(
  body: VarintWriter,
  prices: readonly number[],
  sizes: readonly number[],
  scales: ColumnScales,
  away: -1 | 1,
): void {
  body.unsigned(prices.length);
  let before = outside(scales.price, away);
  for (let i = 0; i < prices.length; i += 1) {
    const price = toScaled(prices[i]!, scales.price);
    body.unsigned((price - before) * away);
    writeScaled(body, sizes[i]!, scales.size);
    before = price;
  }
}

function outside(priceScale: number, away: -1 | 1): number {
  return away === 1 ? -1 : powerOfTen(priceScale) + 1;
}

/** The edits that make one side out of what it was in the book before. Used for one pair of books after another. */
class SideEdits {
  readonly #away: -1 | 1;
  #count = 0;
  readonly #codes: number[] = [];
  /** How many levels the edits write: of the SETs and INSERTs, in order. */
  levels = 0;
  readonly prices: number[] = [];
  readonly sizes: number[] = [];
  /** The price in front of each of those levels; NaN in front of the best one. */
  readonly #pricesBefore: number[] = [];

  constructor(away: -1 | 1) {
    this.#away = away;
  }

  find(
    oldPrices: readonly number[],
    oldSizes: readonly number[],
    newPrices: readonly number[],
    newSizes: readonly number[],
  ): void {
    this.#count = 0;
    this.levels = 0;
    // Books that were read one after another share what did not change, which most prices did not.
    if (oldPrices === newPrices) this.#findSizes(oldSizes, newPrices, newSizes);
    else this.#findLevels(oldPrices, oldSizes, newPrices, newSizes);
  }

  #findSizes(oldSizes: readonly number[], prices: readonly number[], newSizes: readonly number[]): void {
    if (oldSizes === newSizes) return;
    let kept = 0;
    for (let i = 0; i < newSizes.length; i += 1) {
      if (oldSizes[i] === newSizes[i]) continue;
      this.#codes[this.#count] = (i - kept) * 4 + SET;
      this.#count += 1;
      this.prices[this.levels] = prices[i]!;
      this.sizes[this.levels] = newSizes[i]!;
      this.levels += 1;
      kept = i + 1;
    }
  }

  #findLevels(
    oldPrices: readonly number[],
    oldSizes: readonly number[],
    newPrices: readonly number[],
    newSizes: readonly number[],
  ): void {
    const oldCount = oldPrices.length;
    const newCount = newPrices.length;
    let o = 0;
    let n = 0;
    let kept = 0;
    for (;;) {
      while (o < oldCount && n < newCount && oldPrices[o] === newPrices[n] && oldSizes[o] === newSizes[n]) {
        o += 1;
        n += 1;
      }
      if (o === oldCount && n === newCount) return;
      const order = n === newCount ? -1 : o === oldCount ? 1 : (oldPrices[o]! - newPrices[n]!) * this.#away;
      this.#codes[this.#count] = (o - kept) * 4 + (order === 0 ? SET : order < 0 ? REMOVE : INSERT);
      this.#count += 1;
      if (order >= 0) {
        this.#pricesBefore[this.levels] = n === 0 ? Number.NaN : newPrices[n - 1]!;
        this.prices[this.levels] = newPrices[n]!;
        this.sizes[this.levels] = newSizes[n]!;
        this.levels += 1;
        n += 1;
      }
      if (order <= 0) o += 1;
      kept = o;
    }
  }

  write(body: VarintWriter, scales: ColumnScales): void {
    body.unsigned(this.#count);
    let level = 0;
    for (let i = 0; i < this.#count; i += 1) {
      const code = this.#codes[i]!;
      body.unsigned(code);
      if (code % 4 === REMOVE) continue;
      if (code % 4 === INSERT) {
        const before = this.#pricesBefore[level]!;
        const from = Number.isNaN(before) ? outside(scales.price, this.#away) : toScaled(before, scales.price);
        body.unsigned((toScaled(this.prices[level]!, scales.price) - from) * this.#away);
      }
      writeScaled(body, this.sizes[level]!, scales.size);
      level += 1;
    }
  }
}

/** The edits that led to a side's present state, for writers that copy what did not change. */
export class EditLog {
  /** Levels of the previous book passed over before the edit. */
  skips = new Int32Array(256);
  /** True where the edit used up a level of the previous book (SET, REMOVE). */
  consumes = new Uint8Array(256);
  /** True where the edit leaves a level to be written (SET, INSERT). */
  produces = new Uint8Array(256);
  length = 0;

  add(skip: number, kind: number): void {
    if (this.length === this.skips.length) this.#grow();
    this.skips[this.length] = skip;
    this.consumes[this.length] = kind === INSERT ? 0 : 1;
    this.produces[this.length] = kind === REMOVE ? 0 : 1;
    this.length += 1;
  }

  #grow(): void {
    const skips = new Int32Array(this.length * 2);
    const consumes = new Uint8Array(this.length * 2);
    const produces = new Uint8Array(this.length * 2);
    skips.set(this.skips);
    consumes.set(this.consumes);
    produces.set(this.produces);
    this.skips = skips;
    this.consumes = consumes;
    this.produces = produces;
  }
}

/**
 * Reads a segment's books one after another, forwards. After `advance` has returned true, `bids` and `asks` are the book
 * at `index`, in the integers of `priceScale` and `sizeScale`, and the edit logs tell how they came from the book before
 * (empty logs at the keyframe).
 */
export class BookReader {
  readonly head: RunHead;
  readonly priceScale: number;
  readonly sizeScale: number;
  readonly bids = new Ladder();
  readonly asks = new Ladder();
  readonly bidEdits = new EditLog();
  readonly askEdits = new EditLog();
  index = -1;
  readonly #reader: VarintReader;

  constructor(payload: Uint8Array, head: RunHead = readRunHead(payload)) {
    this.head = head;
    this.#reader = new VarintReader(payload, head.bodyOffset);
    this.priceScale = readScale(this.#reader);
    this.sizeScale = readScale(this.#reader);
    if (this.priceScale > DECIMAL_PLACES_MAX) throw damaged();
  }

  /** Moves to the next book; false behind the last one. */
  advance(): boolean {
    if (this.index + 1 >= this.head.count) return false;
    this.index += 1;
    if (this.index === 0) {
      this.#readSide(this.bids, -1);
      this.#readSide(this.asks, 1);
    } else {
      this.#edit(this.bids, this.bidEdits, -1);
      this.#edit(this.asks, this.askEdits, 1);
    }
    return true;
  }

  /** Moves forwards to the book at `index`, which must not lie behind the present one. */
  advanceTo(index: number): void {
    while (this.index < index) if (!this.advance()) throw damaged();
  }

  #readSide(side: Ladder, away: -1 | 1): void {
    const reader = this.#reader;
    side.clear();
    let price = outside(this.priceScale, away);
    for (let left = reader.unsigned(); left > 0; left -= 1) {
      price += reader.unsigned() * away;
      side.push(price, readScaled(reader, this.sizeScale));
    }
  }

  #edit(side: Ladder, log: EditLog, away: -1 | 1): void {
    const reader = this.#reader;
    log.length = 0;
    let position = 0;
    for (let left = reader.unsigned(); left > 0; left -= 1) {
      const code = reader.unsigned();
      const kind = code % 4;
      const skip = (code - kind) / 4;
      position += skip;
      if (position > side.length || (kind !== INSERT && position === side.length)) throw damaged();
      log.add(skip, kind);
      if (kind === SET) {
        side.values[2 * position + 1] = readScaled(reader, this.sizeScale);
        position += 1;
      } else if (kind === REMOVE) {
        side.remove(position);
      } else if (kind === INSERT) {
        const previous = position === 0 ? outside(this.priceScale, away) : side.values[2 * position - 2]!;
        const price = previous + reader.unsigned() * away;
        side.insert(position, price, readScaled(reader, this.sizeScale));
        position += 1;
      } else {
        throw damaged();
      }
    }
  }
}

/** The book a reader stands at, as exact decimals. */
export function bookOf({ bids, asks, priceScale, sizeScale }: BookReader): OrderBook {
  return {
    bidPrices: column(bids, 0, priceScale),
    bidSizes: column(bids, 1, sizeScale),
    askPrices: column(asks, 0, priceScale),
    askSizes: column(asks, 1, sizeScale),
  };
}

function column({ values, length }: Ladder, offset: 0 | 1, scale: number): number[] {
  const divisor = divisorOf(scale);
  const out = new Array<number>(length);
  for (let i = 0; i < length; i += 1) out[i] = values[2 * i + offset]! / divisor;
  return out;
}

function decodeBooks(payload: Uint8Array): BookRecord[] {
  const reader = new BookReader(payload);
  const { head } = reader;
  const records: BookRecord[] = [];
  while (reader.advance()) {
    records.push({ timestampMs: head.timestamps[reader.index]!, id: head.ids[reader.index]!, book: bookOf(reader) });
  }
  return records;
}
