import { DECIMAL_PLACES_MAX, powerOfTen } from '../domain/decimal.ts';
import { type OrderBook, sameBook } from '../domain/orderbook.ts';
import { BookEncoder } from './book-encoder.ts';
import { type BookRecord, EDITS_IN_HALF_MAX, EditLog, SKIP_IN_OP_MAX } from './book-format.ts';
import { Ladder, outsidePrice } from './ladder.ts';
import { DOUBLES, divisorOf, readScale } from './scale.ts';
import {
  arrivalAt,
  arrivalsIn,
  readSegmentHeader,
  SEGMENT_PAYLOAD_BYTES,
  SEGMENT_RECORDS_MAX,
  type SegmentCodec,
  type SegmentHeader,
  type SegmentSlice,
} from './segment-header.ts';
import { checkedSize, DOUBLE, FINE, LEVEL, Operations, REMOVE, sizeOfLevel, WHOLE } from './size-change.ts';
import { damaged, VarintReader } from './varint.ts';

/** Encodes and decodes segments of books; book-format.ts describes the bytes. */
export const bookCodec: SegmentCodec<BookRecord> = {
  encode: (records, from, countMax) =>
    new BookEncoder(records, from, Math.min(records.length - from, countMax, SEGMENT_RECORDS_MAX)).encode(),
  decode: decodeBooks,
  same: (a, b) => sameBook(a.book, b.book),
};

/** Number of zeros after a payload: if its last edit is cut off, the loops read past its end by fewer bytes than this. */
const LOOK_AHEAD = 8;
const NO_BYTES = new Uint8Array(0);
const NO_HEAD: SegmentHeader = {
  count: 0,
  timestamps: new Float64Array(0),
  ids: new Float64Array(0),
  arrivalsOffset: 0,
  bodyOffset: 0,
};

/**
 * Reads the books of a segment in order, and then those of another segment. After `advance` has returned true, `bids` and
 * `asks` are the book at `index`, in integers of `priceScale` and `sizeScale`, and the edit logs have the edits that led to
 * it from the previous book (none at the keyframe). Throws DomainError 'unavailable' when the payload is damaged; the reader
 * can then open another segment.
 */
export class BookReader {
  head = NO_HEAD;
  priceScale = 0;
  sizeScale = 0;
  readonly bids = new Ladder();
  readonly asks = new Ladder();
  readonly bidEdits = new EditLog();
  readonly askEdits = new EditLog();
  index = -1;
  readonly #input = new VarintReader(NO_BYTES);
  readonly #operations = new Operations();
  /** The arrivals of the open segment, and its header, once one of them was read. */
  #arrivals: Float64Array | undefined;
  #arrivalsHead = NO_HEAD;
  /** The payload, then zeros: the loops may read past its end. */
  #padded = new Uint8Array(2 * SEGMENT_PAYLOAD_BYTES);

  constructor(payload?: Uint8Array, head?: SegmentHeader) {
    if (payload !== undefined) this.open(payload, head);
  }

  /** Opens a segment; `advance` moves to its first book. */
  open(payload: Uint8Array, head: SegmentHeader = readSegmentHeader(payload)): void {
    const input = this.#input;
    input.bytes = payload;
    input.position = head.bodyOffset;
    this.head = head;
    this.index = -1;
    this.bids.clear();
    this.asks.clear();
    this.bidEdits.begin(0);
    this.askEdits.begin(0);
    this.priceScale = readScale(input);
    this.sizeScale = readScale(input);
    if (this.priceScale > DECIMAL_PLACES_MAX) throw damaged();
    this.#operations.read(input, this.sizeScale);
    this.#pad(payload);
  }

  /** Moves to the book before the first one of a slice. Slices of one segment, in their order, are read without opening it again. */
  moveBefore({ payload, head, from }: SegmentSlice): void {
    if (head !== this.head || from <= this.index) this.open(payload, head);
    this.advanceTo(from - 1);
  }

  /** The arrival of the current book; undefined if it is not stated. */
  get receivedMs(): number | undefined {
    return this.receivedMsAt(this.index);
  }

  /** The arrival of a book of the open segment; undefined if it is not stated. */
  receivedMsAt(index: number): number | undefined {
    const { head } = this;
    if (head.arrivalsOffset === 0) return undefined;
    if (this.#arrivalsHead !== head) this.#arrivals = arrivalsIn({ payload: this.#input.bytes, head });
    this.#arrivalsHead = head;
    return arrivalAt(this.#arrivals, index);
  }

  #pad(payload: Uint8Array): void {
    const { length } = payload;
    if (length + LOOK_AHEAD > this.#padded.length) this.#padded = new Uint8Array(2 * (length + LOOK_AHEAD));
    this.#padded.set(payload);
    for (let i = length; i < length + LOOK_AHEAD; i += 1) this.#padded[i] = 0;
  }

  /** Moves to the next book; false after the last one. */
  advance(): boolean {
    if (this.index + 1 >= this.head.count) return false;
    this.bidEdits.begin(0);
    this.askEdits.begin(0);
    this.#move(1, this.bidEdits, this.askEdits);
    return true;
  }

  /** Moves forwards to the book at `index`, which is not below the current index. Leaves the edit logs empty. */
  advanceTo(index: number): void {
    if (index >= this.head.count) throw damaged();
    this.bidEdits.begin(0);
    this.askEdits.begin(0);
    if (this.index < index) this.#move(index - this.index, undefined, undefined);
  }

  #move(books: number, bidEdits: EditLog | undefined, askEdits: EditLog | undefined): void {
    const { index } = this;
    // If this throws, `moveBefore` opens the segment again.
    this.index = this.head.count;
    if (index < 0 && books > 0) {
      this.#readSide(this.bids, -1);
      this.#readSide(this.asks, 1);
    }
    const deltas = index < 0 ? books - 1 : books;
    if (deltas > 0) this.#edit(deltas, bidEdits, askEdits);
    if (index + books === this.head.count - 1) this.#input.mustBeAtEnd();
    this.index = index + books;
  }

  #readSide(side: Ladder, away: -1 | 1): void {
    const input = this.#input;
    const count = input.unsigned();
    const { bytes } = input;
    // A level takes at least one byte.
    if (count > bytes.length - input.position) throw damaged();
    side.reserve(count);
    const { values } = side;
    const one = powerOfTen(this.priceScale);
    const areDoubles = this.sizeScale === DOUBLES;
    const padded = this.#padded;
    const { units } = this.#operations;
    let price = outsidePrice(this.priceScale, away);
    // Nearly all numbers here have two or three bytes. They are read without a call and without an unpredictable branch.
    let at = input.position;
    for (let i = 0; i < 2 * count; i += 2) {
      const first = padded[at]!;
      const second = padded[at + 1]!;
      const third = padded[at + 2]!;
      const two = first >> 7;
      const three = two & (second >> 7);
      let isOdd = (first & 1) === 1;
      let size: number;
      if ((three & (third >> 7)) === 0) {
        const code = (first & 127) | ((second & 127 & -two) << 7) | ((third & -three) << 14);
        size = (code >> 2) * units[(code & 2) === 0 ? FINE : WHOLE]!;
        at += 1 + two + three;
      } else {
        input.position = at;
        const code = input.unsigned();
        isOdd = code % 2 === 1;
        size = sizeOfLevel(code, this.#operations.whole);
        at = input.position;
      }
      if (isOdd || areDoubles) {
        input.position = at;
        price += isOdd ? input.unsigned() * away : away;
        if (areDoubles) size = input.double();
        at = input.position;
      } else {
        price += away;
      }
      if (price < 0 || price > one) throw damaged();
      values[i] = price;
      values[i + 1] = checkedSize(size);
    }
    side.length = count;
    input.position = at;
    input.mustEndWithin();
  }

  /** Applies the next `books` deltas. The logs are given for a single one only, and get its edits. */
  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a call for each edit takes longer than the edit.
  #edit(books: number, bidEdits: EditLog | undefined, askEdits: EditLog | undefined): void {
    const input = this.#input;
    const padded = this.#padded;
    const { tableChanges, units } = this.#operations;
    const end = input.bytes.length;
    let counts = 0;
    let at = input.position;
    for (let nth = 0; nth < 2 * books; nth += 1) {
      const isBids = (nth & 1) === 0;
      if (isBids) {
        counts = padded[at]!;
        at += 1;
      }
      const side = isBids ? this.bids : this.asks;
      const log = isBids ? bidEdits : askEdits;
      let count = isBids ? counts & EDITS_IN_HALF_MAX : counts >> 4;
      if (count === EDITS_IN_HALF_MAX) {
        input.position = at;
        count += input.unsigned();
        at = input.position;
      }
      // An edit takes at least one byte.
      if (count > end - at) throw damaged();
      log?.begin(count);
      const skips = log?.skips;
      let { values, length } = side;
      let position = 0;
      for (let i = 0; i < count; i += 1) {
        const byte = padded[at]!;
        const op = byte >> 2;
        let skip = byte & SKIP_IN_OP_MAX;
        // No branches: the processor could not predict whether a skip or a number follows, nor how long it is.
        const skipFollows = (skip + 1) >> 2;
        const more = padded[at + 1]! & -skipFollows;
        at += 1 + skipFollows;
        skip += more;
        if (more >= 128) {
          input.position = at - 1;
          skip = SKIP_IN_OP_MAX + input.unsigned();
          at = input.position;
        }
        if (skips !== undefined) skips[i] = skip;
        position += skip;
        if (op >= REMOVE) {
          input.position = at;
          const leavesLevel = this.#restructure(op, side, position, isBids ? -1 : 1);
          at = input.position;
          ({ values, length } = side);
          if (log !== undefined && op === LEVEL) log.inserts(i);
          if (log !== undefined && op === REMOVE) log.removes(i);
          if (leavesLevel) position += 1;
          continue;
        }
        if (position >= length) throw damaged();
        const numberFollows = (WHOLE - 1 - op) >>> 31;
        const first = padded[at]! & -numberFollows;
        const second = padded[at + 1]!;
        const two = first >> 7;
        let change: number;
        if ((two & (second >> 7)) === 0) {
          const number = (op & 7) | ((first & 127) << 3) | ((second & -two) << 10);
          change = tableChanges[op]! + ((number >> 1) ^ -(number & 1)) * units[op]!;
          at += numberFollows + two;
        } else {
          input.position = at;
          change = this.#operations.change(input, op);
          at = input.position;
        }
        const sizeAt = 2 * position + 1;
        values[sizeAt] = checkedSize(values[sizeAt]! + change);
        position += 1;
      }
    }
    input.position = at;
    input.mustEndWithin();
  }

  /** Applies an edit that is not a change of size by a number; returns whether it leaves a level at `position`. */
  #restructure(op: number, side: Ladder, position: number, away: -1 | 1): boolean {
    if (op === LEVEL) {
      this.#insert(side, position, away);
      return true;
    }
    if (position >= side.length) throw damaged();
    if (op === REMOVE) {
      side.remove(position);
      return false;
    }
    if (op !== DOUBLE || this.sizeScale !== DOUBLES) throw damaged();
    side.values[2 * position + 1] = checkedSize(this.#input.double());
    return true;
  }

  #insert(side: Ladder, position: number, away: -1 | 1): void {
    if (position > side.length) throw damaged();
    const input = this.#input;
    const { values } = side;
    const before = position === 0 ? outsidePrice(this.priceScale, away) : values[2 * position - 2]!;
    const code = input.unsigned();
    const price = before + (code % 2 === 1 ? input.unsigned() : 1) * away;
    if (price < 0 || price > powerOfTen(this.priceScale)) throw damaged();
    if (position < side.length && (values[2 * position]! - price) * away <= 0) throw damaged();
    const size = this.sizeScale === DOUBLES ? input.double() : sizeOfLevel(code, this.#operations.whole);
    side.insert(position, price, checkedSize(size));
  }
}

/** The current book of a reader, in exact decimals; at most the best `depth` levels of a side. */
export function bookOf({ bids, asks, priceScale, sizeScale }: BookReader, depth = Infinity): OrderBook {
  return {
    bidPrices: column(bids, 0, priceScale, depth),
    bidSizes: column(bids, 1, sizeScale, depth),
    askPrices: column(asks, 0, priceScale, depth),
    askSizes: column(asks, 1, sizeScale, depth),
  };
}

function column(side: Ladder, offset: 0 | 1, scale: number, depth: number): number[] {
  const { values } = side;
  const length = Math.min(side.length, depth);
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
    const { index, receivedMs } = reader;
    records.push({ timestampMs: head.timestamps[index]!, id: head.ids[index]!, receivedMs, book: bookOf(reader) });
  }
  return records;
}
