import { toScaled } from '../domain/decimal.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { type BookRecord, EDITS_IN_HALF_MAX, SKIP_IN_OP_MAX } from './book-format.ts';
import { outsidePrice } from './ladder.ts';
import { columnScale, DOUBLES, divisorOf, placesAtLeast } from './scale.ts';
import {
  type EncodedSegment,
  KEYFRAMES_PER_SEGMENT,
  SEGMENT_PAYLOAD_BYTES,
  SegmentHeaderBytes,
  writeSegmentHeader,
} from './segment-header.ts';
import { ChangeTable, DOUBLE, InlineChange, LEVEL, levelCode, REMOVE } from './size-change.ts';
import { unsignedBytes, VarintWriter } from './varint.ts';

const INITIAL_EDITS = 512;
/** The number of values kept per edit, and their offsets. */
const FIELDS = 4;
const SIZE = 1;
const BEFORE = 2;
const CHANGE = 3;

const RESIZED = 0;
const REMOVED = 1;
const ADDED = 2;

/** Encodes one segment of books (book-format.ts): the records from index `from` that fit, at most `countMax`. */
export class BookEncoder {
  readonly #records: readonly BookRecord[];
  readonly #from: number;
  readonly #countMax: number;
  readonly #scales = new ColumnScales();
  readonly #bids = new SideEdits(-1);
  readonly #asks = new SideEdits(1);
  /** Number of records that were compared with the record before them. */
  #compared = 1;
  readonly #body = new VarintWriter();

  constructor(records: readonly BookRecord[], from: number, countMax: number) {
    this.#records = records;
    this.#from = from;
    this.#countMax = countMax;
    const { book } = records[from]!;
    this.#scales.coverPrices(book.bidPrices);
    this.#scales.coverPrices(book.askPrices);
    this.#scales.coverSizes(book.bidSizes);
    this.#scales.coverSizes(book.askSizes);
  }

  encode(): EncodedSegment {
    for (;;) {
      // The table is made from the records that fit without one: no record after the segment has an influence on it.
      const fits = this.#fill(ChangeTable.none(), false);
      const table = fits === undefined ? ChangeTable.none() : this.#tableOf(fits);
      const count = fits === undefined ? undefined : this.#fill(table, true);
      // A book needed a finer scale: encode again. Few segments need this twice.
      if (count === undefined) continue;
      const writer = new VarintWriter();
      writeSegmentHeader(writer, this.#records, this.#from, count);
      writer.append(this.#body.view());
      return { payload: writer.view().slice(), count };
    }
  }

  /** Writes the body if `writes`. Returns the number of records that fit; undefined if a later book needs a finer scale. */
  #fill(table: ChangeTable, writes: boolean): number | undefined {
    const body = this.#body;
    const bytesMax = this.#writeKeyframe(table);
    const head = new SegmentHeaderBytes(this.#records[this.#from]!);
    let length = body.length;
    for (let count = 1; count < this.#countMax; count += 1) {
      const before = this.#records[this.#from + count - 1]!;
      const after = this.#records[this.#from + count]!;
      if (count === this.#compared && this.#compare(before.book, after.book)) return undefined;
      const written = body.length;
      if (writes) this.#write(count, table);
      else length += 1 + this.#bids.plainBytes(count, this.#scales) + this.#asks.plainBytes(count, this.#scales);
      if (writes) length = body.length;
      if (length + head.add(before, after) > bytesMax) {
        body.truncate(written);
        return count;
      }
    }
    return this.#countMax;
  }

  /** Adds the edits from one book to the next; returns whether they need finer scales. */
  #compare(before: OrderBook, after: OrderBook): boolean {
    const { price, size } = this.#scales;
    this.#bids.compare(before.bidPrices, before.bidSizes, after.bidPrices, after.bidSizes, this.#scales);
    this.#asks.compare(before.askPrices, before.askSizes, after.askPrices, after.askSizes, this.#scales);
    this.#compared += 1;
    if (this.#scales.price === price && this.#scales.size === size) return false;
    this.#bids.scale(0, this.#scales);
    this.#asks.scale(0, this.#scales);
    return true;
  }

  #tableOf(count: number): ChangeTable {
    if (this.#scales.size === DOUBLES) return ChangeTable.none();
    const changes: number[] = [];
    this.#bids.addChanges(count, changes);
    this.#asks.addChanges(count, changes);
    return ChangeTable.of(changes, this.#scales.size);
  }

  /** Writes the scales, the table and the first book; returns the maximum length of the payload in bytes. */
  #writeKeyframe(table: ChangeTable): number {
    const body = this.#body;
    const scales = this.#scales;
    const { book } = this.#records[this.#from]!;
    body.truncate(0);
    body.unsigned(scales.price);
    body.unsigned(scales.size);
    table.write(body);
    writeSide(body, book.bidPrices, book.bidSizes, scales, -1);
    writeSide(body, book.askPrices, book.askSizes, scales, 1);
    return Math.max(SEGMENT_PAYLOAD_BYTES, KEYFRAMES_PER_SEGMENT * body.length);
  }

  #write(record: number, table: ChangeTable): void {
    const [bids, asks] = [this.#bids.countOf(record), this.#asks.countOf(record)];
    this.#body.byte(Math.min(bids, EDITS_IN_HALF_MAX) + 16 * Math.min(asks, EDITS_IN_HALF_MAX));
    this.#bids.write(this.#body, record, table, this.#scales);
    this.#asks.write(this.#body, record, table, this.#scales);
  }
}

/** The scales of a segment's columns: as fine as the values so far need. */
class ColumnScales {
  price = 0;
  size = 0;
  #sizePlaces = 0;
  #sizeLargest = 0;

  coverPrices(prices: readonly number[], from = 0): void {
    for (let i = from; i < prices.length; i += 1) this.price = placesAtLeast(this.price, prices[i]!);
  }

  /** Every `step`th number from index `from` (inclusive) to `to` (exclusive). */
  coverSizes(sizes: ArrayLike<number>, from = 0, step = 1, to = sizes.length): void {
    for (let i = from; i < to; i += step) {
      this.#sizePlaces = placesAtLeast(this.#sizePlaces, sizes[i]!);
      if (sizes[i]! > this.#sizeLargest) this.#sizeLargest = sizes[i]!;
    }
    this.size = columnScale(this.#sizePlaces, this.#sizeLargest);
  }
}

/** `away`: the direction from the best price to the others, -1 for bids and 1 for asks. */
function writeSide(
  body: VarintWriter,
  prices: readonly number[],
  sizes: readonly number[],
  scales: ColumnScales,
  away: -1 | 1,
): void {
  body.unsigned(prices.length);
  let before = outsidePrice(scales.price, away);
  for (let i = 0; i < prices.length; i += 1) {
    const price = toScaled(prices[i]!, scales.price);
    writeLevel(body, (price - before) * away, sizes[i]!, scales.size);
    before = price;
  }
}

function writeLevel(body: VarintWriter, step: number, size: number, scale: number): void {
  const code = scale === DOUBLES ? 0 : levelCode(toScaled(size, scale), divisorOf(scale));
  body.unsigned(step === 1 ? code : code + 1);
  if (step !== 1) body.unsigned(step);
  if (scale === DOUBLES) body.double(size);
}

/** An upper bound of a level's bytes: its number, a step, a double. */
const LEVEL_BYTES_MAX = 24;

/** The edits of one side from each book of a segment to the next. */
class SideEdits {
  readonly #away: -1 | 1;
  /** Per record: the end of its edits. The first record has none. */
  readonly #ends: number[] = [0];
  #count = 0;
  /**
   * Per edit: skip · 4 + kind; the new size (0 for a removed level); the old size (0 for an added one); the difference of a
   * resized level, in units of the scale.
   */
  #edits = new Float64Array(INITIAL_EDITS * FIELDS);
  /** The edits that add a level, its price, and the price of the level before it (NaN for the best level). */
  readonly #added: number[] = [];
  readonly #prices: number[] = [];
  readonly #pricesBefore: number[] = [];
  readonly #inline = new InlineChange();

  constructor(away: -1 | 1) {
    this.#away = away;
  }

  countOf(record: number): number {
    return this.#ends[record]! - this.#ends[record - 1]!;
  }

  /** Maximum bytes of a record's edits without a table. */
  plainBytes(record: number, { size: scale }: ColumnScales): number {
    const inline = this.#inline;
    const whole = divisorOf(scale);
    const end = this.#ends[record]!;
    let bytes = unsignedBytes(this.countOf(record));
    for (let i = this.#ends[record - 1]!; i < end; i += 1) {
      const code = this.#edits[FIELDS * i]!;
      bytes += code < 4 * SKIP_IN_OP_MAX ? 1 : 1 + unsignedBytes(code >> 2);
      if ((code & 3) === ADDED) bytes += LEVEL_BYTES_MAX;
      if ((code & 3) !== RESIZED) continue;
      if (scale === DOUBLES) {
        bytes += 8;
      } else {
        inline.set(this.#edits[FIELDS * i + CHANGE]!, whole);
        bytes += unsignedBytes(inline.rest);
      }
    }
    return bytes;
  }

  addChanges(records: number, changes: number[]): void {
    const end = this.#ends[records - 1]!;
    for (let at = 0; at < FIELDS * end; at += FIELDS) {
      if ((this.#edits[at]! & 3) === RESIZED) changes.push(this.#edits[at + CHANGE]!);
    }
  }

  /** Adds the edits of the next record and makes the scales fine enough for them. */
  compare(
    oldPrices: readonly number[],
    oldSizes: readonly number[],
    newPrices: readonly number[],
    newSizes: readonly number[],
    scales: ColumnScales,
  ): void {
    const first = this.#count;
    const firstAdded = this.#added.length;
    // Consecutive books may share the arrays that did not change, most often the prices.
    if (oldPrices === newPrices) this.#findSizes(oldSizes, newSizes);
    else this.#findLevels(oldPrices, oldSizes, newPrices, newSizes);
    this.#ends.push(this.#count);
    // The scales already cover the levels that were not edited.
    scales.coverPrices(this.#prices, firstAdded);
    scales.coverSizes(this.#edits, FIELDS * first + SIZE, FIELDS, FIELDS * this.#count);
    this.scale(first, scales);
  }

  /** Converts the changes of the edits from `first` on into units of the scale. */
  scale(first: number, { size: scale }: ColumnScales): void {
    const edits = this.#edits;
    for (let at = FIELDS * first; at < FIELDS * this.#count; at += FIELDS) {
      const isScaled = scale !== DOUBLES && (edits[at]! & 3) === RESIZED;
      edits[at + CHANGE] = isScaled ? toScaled(edits[at + SIZE]!, scale) - toScaled(edits[at + BEFORE]!, scale) : 0;
    }
  }

  #findSizes(oldSizes: readonly number[], newSizes: readonly number[]): void {
    if (oldSizes === newSizes) return;
    let kept = 0;
    for (let i = 0; i < newSizes.length; i += 1) {
      if (oldSizes[i] === newSizes[i]) continue;
      this.#add(RESIZED, i - kept, newSizes[i]!, oldSizes[i]!);
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
      if (order < 0) {
        this.#add(REMOVED, o - kept, 0, 0);
      } else if (order === 0) {
        this.#add(RESIZED, o - kept, newSizes[n]!, oldSizes[o]!);
      } else {
        this.#added.push(this.#count);
        this.#prices.push(newPrices[n]!);
        this.#pricesBefore.push(n === 0 ? Number.NaN : newPrices[n - 1]!);
        this.#add(ADDED, o - kept, newSizes[n]!, 0);
      }
      if (order >= 0) n += 1;
      if (order <= 0) o += 1;
      kept = o;
    }
  }

  #add(kind: number, skip: number, size: number, sizeBefore: number): void {
    const at = FIELDS * this.#count;
    if (at === this.#edits.length) {
      const grown = new Float64Array(2 * at);
      grown.set(this.#edits);
      this.#edits = grown;
    }
    const edits = this.#edits;
    edits[at] = 4 * skip + kind;
    edits[at + SIZE] = size;
    edits[at + BEFORE] = sizeBefore;
    this.#count += 1;
  }

  write(body: VarintWriter, record: number, table: ChangeTable, scales: ColumnScales): void {
    const inline = this.#inline;
    const edits = this.#edits;
    const whole = divisorOf(scales.size);
    const end = this.#ends[record]!;
    let i = this.#ends[record - 1]!;
    if (end - i >= EDITS_IN_HALF_MAX) body.unsigned(end - i - EDITS_IN_HALF_MAX);
    for (; i < end; i += 1) {
      const code = edits[FIELDS * i]!;
      const size = edits[FIELDS * i + SIZE]!;
      const kind = code & 3;
      if (kind === REMOVED) {
        writeOp(body, REMOVE, code >> 2);
      } else if (kind === ADDED) {
        writeOp(body, LEVEL, code >> 2);
        writeLevel(body, this.#step(i, scales.price), size, scales.size);
      } else if (scales.size === DOUBLES) {
        writeOp(body, DOUBLE, code >> 2);
        body.double(size);
      } else {
        const change = edits[FIELDS * i + CHANGE]!;
        const op = table.opOf(change);
        if (op === undefined) inline.set(change, whole);
        writeOp(body, op ?? inline.op, code >> 2);
        if (op === undefined) body.unsigned(inline.rest);
      }
    }
  }

  /** The step to the price of an added level. */
  #step(edit: number, scale: number): number {
    const nth = this.#added.indexOf(edit);
    const before = this.#pricesBefore[nth]!;
    const from = Number.isNaN(before) ? outsidePrice(scale, this.#away) : toScaled(before, scale);
    return (toScaled(this.#prices[nth]!, scale) - from) * this.#away;
  }
}

function writeOp(body: VarintWriter, op: number, skip: number): void {
  body.byte(4 * op + Math.min(skip, SKIP_IN_OP_MAX));
  if (skip >= SKIP_IN_OP_MAX) body.unsigned(skip - SKIP_IN_OP_MAX);
}
