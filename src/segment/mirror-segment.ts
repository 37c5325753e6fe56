import { powerOfTen } from '../domain/decimal.ts';
import { sameBook } from '../domain/orderbook.ts';
import { BookReader, bookCodec } from './book-decoder.ts';
import type { BookRecord, EditLog } from './book-format.ts';
import type { Ladder } from './ladder.ts';
import { divisorOf } from './scale.ts';
import { readColumn, SEGMENT_RECORDS_MAX, writeSteps } from './segment-header.ts';
import { damaged, VarintReader, VarintWriter } from './varint.ts';

/**
 * A mirror: a shorter payload for a segment of one outcome's books that mirror the books of the other outcome. It is written only to files
 * that have both and are never changed. Readers get the payload that it was made from, byte by byte: that of its `recordsOfMirror`.
 *
 *   version     unsigned, 4
 *   count       unsigned, 1 … SEGMENT_RECORDS_MAX
 *   row         unsigned: the row of a segment of the other outcome; its books and those of the rows after it are numbered from 1
 *   numbers     for each record the number of its book; 0 if its book mirrors none: an own record, see below
 *   times       for each record with a number, its timestamp minus that of its book
 *   ids         likewise
 *   arrivals    likewise, where both state one; where only the record does, its arrival minus the timestamp of its book
 *   own         the rest: the payload of a segment (book-format.ts) of all own records, if there are any
 *
 * Numbers are a column: the first one (unsigned), then steps as in segment-header.ts (signed). Differences are the least one (signed), then
 * a column of 0 where there is none, else 1 more than the difference from the least one.
 */
const VERSION = 4;
/** A mirror has books of at most this many segments of the other outcome. */
export const MIRRORED_SEGMENTS_MAX = 4;
/** The farthest book from the expected one that a record is compared with. */
const NEAR_BOOKS = 8;
/** A longer mirror would save too little for the time that it takes to read. */
const LENGTH_SHARE_MAX = 0.5;

/** The books of a segment, mirrored, and its row. */
export interface MirroredSegment {
  readonly row: number;
  readonly records: readonly BookRecord[];
}

export function isMirror(payload: Uint8Array): boolean {
  return payload[0] === VERSION;
}

/**
 * Returns the records of the segment that a mirror was made from. `mirroredAt` returns the `mirroredRecords` of the segment in a row. Throws
 * DomainError 'unavailable' for a damaged mirror; if it does not, their payload must still be compared with its digest.
 */
export function recordsOfMirror(mirror: Uint8Array, mirroredAt: (row: number) => readonly BookRecord[]): BookRecord[] {
  const reader = new VarintReader(mirror);
  if (reader.unsigned() !== VERSION) throw damaged();
  const count = reader.unsigned();
  if (count < 1 || count > SEGMENT_RECORDS_MAX) throw damaged();
  const row = reader.unsigned();
  const numbers = columnOf(reader, count);
  const mirrored = numbersOf(
    numbers.filter((number) => number > 0),
    row,
    mirroredAt,
  );
  const times = differencesOf(reader, mirrored.length);
  const ids = differencesOf(reader, mirrored.length);
  const arrivals = differencesOf(reader, mirrored.length);
  const own = mirrored.length === count ? [] : bookCodec.decode(mirror.subarray(reader.position));
  if (own.length === 0) reader.mustBeAtEnd();
  if (mirrored.length + own.length !== count) throw damaged();
  let next = 0;
  return Array.from(numbers, (number, i): BookRecord => {
    if (number === 0) return own[i - next]!;
    const { timestampMs, id, receivedMs = timestampMs, book } = mirrored[next]!;
    const [time, idStep, arrival] = [times[next]!, ids[next]!, arrivals[next]!];
    next += 1;
    if (Number.isNaN(time) || Number.isNaN(idStep)) throw damaged();
    const arrived = Number.isNaN(arrival) ? undefined : receivedMs + arrival;
    return { timestampMs: timestampMs + time, id: id + idStep, receivedMs: arrived, book };
  });
}

/**
 * Returns a mirror of the segments in `others`, which are in consecutive rows, at most MIRRORED_SEGMENTS_MAX of them; undefined if it would
 * not be much shorter than `payload`, or not come back as it.
 */
export function mirrorOfSegment(payload: Uint8Array, others: readonly MirroredSegment[]): Uint8Array | undefined {
  const records = bookCodec.decode(payload);
  const books = others.flatMap((segment) => segment.records);
  const places = placesOf(records, books);
  const pairs = places.flatMap((place, i) => (place === undefined ? [] : [[records[i]!, books[place]!] as const]));
  const own = records.filter((_, i) => places[i] === undefined);
  if (pairs.length <= own.length) return undefined;
  // Segments before the first book that is used are not read for nothing.
  const least = Math.min(...places.filter((place) => place !== undefined));
  let [first, before] = [0, 0];
  for (; before + others[first]!.records.length <= least; first += 1) before += others[first]!.records.length;
  const { row } = others[first]!;
  const writer = new VarintWriter();
  writer.unsigned(VERSION);
  writer.unsigned(records.length);
  writer.unsigned(row);
  writeColumn(
    writer,
    places.map((place) => (place === undefined ? 0 : place - before + 1)),
  );
  writeDifferences(
    writer,
    pairs.map(([record, { timestampMs }]) => record.timestampMs - timestampMs),
  );
  writeDifferences(
    writer,
    pairs.map(([record, { id }]) => record.id - id),
  );
  writeDifferences(
    writer,
    pairs.map(([{ receivedMs }, book]) =>
      receivedMs === undefined ? undefined : receivedMs - (book.receivedMs ?? book.timestampMs),
    ),
  );
  if (own.length > 0) {
    const rest = bookCodec.encode(own, 0, own.length);
    if (rest.count < own.length) return undefined;
    writer.append(rest.payload);
  }
  if (writer.length > LENGTH_SHARE_MAX * payload.length) return undefined;
  const mirror = writer.view().slice();
  const found = recordsOfMirror(mirror, (at) => others[first + at - row]!.records);
  return Buffer.from(bookCodec.encode(found, 0, found.length).payload).equals(payload) ? mirror : undefined;
}

/** The index in `books` of each record's book; undefined if none of those near its time is the same. */
function placesOf(records: readonly BookRecord[], books: readonly BookRecord[]): (number | undefined)[] {
  let last = -1;
  let atTime = 0;
  return records.map(({ timestampMs, book }) => {
    while (atTime < books.length && books[atTime]!.timestampMs < timestampMs) atTime += 1;
    const expected = books[last + 1]?.timestampMs === timestampMs ? last + 1 : atTime;
    for (let distance = 0; distance <= NEAR_BOOKS; distance += 1) {
      for (const place of [expected + distance, expected - distance]) {
        if (books[place] === undefined || !sameBook(books[place].book, book)) continue;
        last = place;
        return place;
      }
    }
    return undefined;
  });
}

/** The mirrored records with these numbers, from 1. */
function numbersOf(
  numbers: Float64Array,
  row: number,
  mirroredAt: (row: number) => readonly BookRecord[],
): BookRecord[] {
  const last = numbers.reduce((a, b) => Math.max(a, b), 0);
  const books: BookRecord[] = [];
  for (let nth = 0; books.length < last; nth += 1) {
    if (nth === MIRRORED_SEGMENTS_MAX) throw damaged();
    books.push(...mirroredAt(row + nth));
  }
  return Array.from(numbers, (number) => books[number - 1]!);
}

/** The records of a segment with their books mirrored; books that follow each other share the arrays that did not change. */
export function mirroredRecords(payload: Uint8Array): BookRecord[] {
  const reader = new BookReader(payload);
  const { head, priceScale, bids, asks, bidEdits, askEdits } = reader;
  const divisor = divisorOf(reader.sizeScale);
  const [mirroredBids, mirroredAsks] = [new MirroredSide(priceScale, divisor), new MirroredSide(priceScale, divisor)];
  const records: BookRecord[] = [];
  while (reader.advance()) {
    const { index, receivedMs } = reader;
    mirroredBids.follow(asks, askEdits, index === 0);
    mirroredAsks.follow(bids, bidEdits, index === 0);
    const book = {
      bidPrices: mirroredBids.prices,
      bidSizes: mirroredBids.sizes,
      askPrices: mirroredAsks.prices,
      askSizes: mirroredAsks.sizes,
    };
    records.push({ timestampMs: head.timestamps[index]!, id: head.ids[index]!, receivedMs, book });
  }
  return records;
}

/** A side of a mirrored book, made from the other side of the original. */
class MirroredSide {
  prices: readonly number[] = [];
  sizes: readonly number[] = [];
  readonly #one: number;
  readonly #divisor: number;

  constructor(priceScale: number, sizeDivisor: number) {
    this.#one = powerOfTen(priceScale);
    this.#divisor = sizeDivisor;
  }

  /** `edits` led to the present state of the other side, unless that `isFirst`. */
  follow({ values, length }: Ladder, edits: EditLog, isFirst: boolean): void {
    if (!isFirst && edits.length === 0) return;
    const sizes = new Array<number>(length);
    for (let i = 0; i < length; i += 1) sizes[i] = values[2 * i + 1]! / this.#divisor;
    this.sizes = sizes;
    if (!isFirst && !edits.restructures) return;
    const prices = new Array<number>(length);
    for (let i = 0; i < length; i += 1) prices[i] = (this.#one - values[2 * i]!) / this.#one;
    this.prices = prices;
  }
}

function writeColumn(writer: VarintWriter, values: readonly number[]): void {
  writer.unsigned(values[0]!);
  writeSteps(writer, values.length, true, (i) => values[i]! - values[i - 1]!);
}

function columnOf(reader: VarintReader, count: number): Float64Array {
  const column = new Float64Array(count);
  readColumn(reader, column, true);
  return column;
}

function writeDifferences(writer: VarintWriter, differences: readonly (number | undefined)[]): void {
  const stated = differences.filter((difference) => difference !== undefined);
  const least = stated.length === 0 ? 0 : Math.min(...stated);
  writer.signed(least);
  writeColumn(
    writer,
    differences.map((difference) => (difference === undefined ? 0 : difference - least + 1)),
  );
}

/** The differences; NaN where there is none. */
function differencesOf(reader: VarintReader, count: number): Float64Array {
  if (count === 0) throw damaged();
  const least = reader.signed();
  return columnOf(reader, count).map((value) => (value === 0 ? Number.NaN : value - 1 + least));
}
