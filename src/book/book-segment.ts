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

interface Scales {
  readonly price: number;
  readonly size: number;
}

export const bookCodec: RunCodec<BookRecord> = {
  encode: encodeBooks,
  decode: decodeBooks,
  same: (a, b) => sameBook(a.book, b.book),
};

function encodeBooks(records: readonly BookRecord[], from: number, countMax: number): EncodedRun {
  const candidates = Math.min(records.length - from, countMax, RUN_RECORDS_MAX);
  const scales = scalesOf(records, from, candidates);
  const body = new VarintWriter();
  body.unsigned(scales.price);
  body.unsigned(scales.size);
  writeKeyframe(body, records[from]!.book, scales);
  const bytesMax = Math.max(RUN_PAYLOAD_BYTES, KEYFRAMES_PER_RUN * body.length);
  let count = 1;
  while (count < candidates) {
    const before = body.length;
    writeDelta(body, records[from + count - 1]!.book, records[from + count]!.book, scales);
    // The head takes 3 to 4 bytes a record; times and ids are written once the count is known.
    if (body.length + 4 * count > bytesMax) {
      body.truncate(before);
      break;
    }
    count += 1;
  }
  const writer = new VarintWriter();
  writeRunHead(writer, records, from, count);
  writer.append(body.view());
  return { payload: writer.view().slice(), count };
}

function scalesOf(records: readonly BookRecord[], from: number, count: number): Scales {
  let price = 0;
  let size = 0;
  let sizeLargest = 0;
  for (let i = from; i < from + count; i += 1) {
    const { bidPrices, bidSizes, askPrices, askSizes } = records[i]!.book;
    for (const prices of [bidPrices, askPrices]) for (const value of prices) price = placesAtLeast(price, value);
    for (const sizes of [bidSizes, askSizes]) {
      for (const value of sizes) {
        size = placesAtLeast(size, value);
        if (value > sizeLargest) sizeLargest = value;
      }
    }
  }
  return { price, size: columnScale(size, sizeLargest) };
}

function writeKeyframe(writer: VarintWriter, book: OrderBook, scales: Scales): void {
  writeSide(writer, book.bidPrices, book.bidSizes, scales, -1);
  writeSide(writer, book.askPrices, book.askSizes, scales, 1);
}

/** `away` is the direction in which prices leave the best one: -1 for bids, 1 for asks. */
function writeSide(
  writer: VarintWriter,
  prices: readonly number[],
  sizes: readonly number[],
  scales: Scales,
  away: -1 | 1,
): void {
  writer.unsigned(prices.length);
  let before = outside(scales.price, away);
  for (let i = 0; i < prices.length; i += 1) {
    const price = toScaled(prices[i]!, scales.price);
    writer.unsigned((price - before) * away);
    writeScaled(writer, sizes[i]!, scales.size);
    before = price;
  }
}

function outside(priceScale: number, away: -1 | 1): number {
  return away === 1 ? -1 : powerOfTen(priceScale) + 1;
}

function writeDelta(writer: VarintWriter, before: OrderBook, after: OrderBook, scales: Scales): void {
  writeSideDelta(writer, before.bidPrices, before.bidSizes, after.bidPrices, after.bidSizes, scales, -1);
  writeSideDelta(writer, before.askPrices, before.askSizes, after.askPrices, after.askSizes, scales, 1);
}

function writeSideDelta(
  writer: VarintWriter,
  oldPrices: readonly number[],
  oldSizes: readonly number[],
  newPrices: readonly number[],
  newSizes: readonly number[],
  scales: Scales,
  away: -1 | 1,
): void {
  writer.unsigned(countEdits(oldPrices, oldSizes, newPrices, newSizes, away));
  let skip = 0;
  let o = 0;
  let n = 0;
  while (o < oldPrices.length || n < newPrices.length) {
    const order = compareLevels(oldPrices[o], newPrices[n], away);
    if (order === 0 && oldSizes[o] === newSizes[n]) {
      skip += 1;
      o += 1;
      n += 1;
      continue;
    }
    if (order === 0) {
      writer.unsigned(skip * 4 + SET);
      writeScaled(writer, newSizes[n]!, scales.size);
      o += 1;
      n += 1;
    } else if (order < 0) {
      writer.unsigned(skip * 4 + REMOVE);
      o += 1;
    } else {
      writer.unsigned(skip * 4 + INSERT);
      const previous = n === 0 ? outside(scales.price, away) : toScaled(newPrices[n - 1]!, scales.price);
      writer.unsigned((toScaled(newPrices[n]!, scales.price) - previous) * away);
      writeScaled(writer, newSizes[n]!, scales.size);
      n += 1;
    }
    skip = 0;
  }
}

function countEdits(
  oldPrices: readonly number[],
  oldSizes: readonly number[],
  newPrices: readonly number[],
  newSizes: readonly number[],
  away: -1 | 1,
): number {
  let edits = 0;
  let o = 0;
  let n = 0;
  while (o < oldPrices.length || n < newPrices.length) {
    const order = compareLevels(oldPrices[o], newPrices[n], away);
    if (order !== 0 || oldSizes[o] !== newSizes[n]) edits += 1;
    if (order <= 0) o += 1;
    if (order >= 0) n += 1;
  }
  return edits;
}

/** Which of two levels is nearer to the best price: negative for `a`; a level that is missing stands behind all. */
function compareLevels(a: number | undefined, b: number | undefined, away: -1 | 1): number {
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  return (a - b) * away;
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
