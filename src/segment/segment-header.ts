import { firstIndex } from '../domain/first-index.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import type { Position } from '../domain/page.ts';
import { damaged, unsignedBytes, VarintReader, VarintWriter } from './varint.ts';

/**
 * The header of every segment's payload, equal for all kinds of records:
 *
 *   version   unsigned, 2; with arrivals 3
 *   count     unsigned, 1 … SEGMENT_RECORDS_MAX
 *   times     first timestamp in ms (unsigned), then count-1 steps to the next one (unsigned: never descending)
 *   ids       first id (unsigned), then count-1 steps (signed)
 *   arrivals  only of version 3: their bytes (unsigned), the least delay in ms (signed), then for each record 0 if its arrival is not
 *             stated, else its delay from the least one, plus 1 (unsigned). A delay is the arrival minus the timestamp.
 *
 * So a page can be planned, and a nearest record found, without decoding a record, and arrivals are decoded only by those who need
 * them. After a step that equals the previous one, an unsigned number says how often it repeats (the repetitions count among the
 * count-1 steps); the step after that is not compared with it.
 */
const VERSION = 2;
const VERSION_WITH_ARRIVALS = 3;
export const SEGMENT_RECORDS_MAX = 128;

/**
 * A segment is closed when its payload reaches this many bytes: four such rows fill an 8 KiB page of the database.
 * A payload with a large first record may be KEYFRAMES_PER_SEGMENT times that record: otherwise deltas would save little.
 */
export const SEGMENT_PAYLOAD_BYTES = 1_960;
export const KEYFRAMES_PER_SEGMENT = 4;

/** A record at its position, and its arrival. */
export interface Received extends Position {
  /** The arrival by the recorder's clock; undefined if no recording states it. No part of what makes two records the same. */
  readonly receivedMs?: InstantMs | undefined;
}

/** The positions of a segment's records, ascending, and the offset of the records. */
export interface SegmentHeader {
  readonly count: number;
  readonly timestamps: Float64Array;
  readonly ids: Float64Array;
  /** The offset of the arrivals, see `arrivalsIn`; 0 if no arrival of the segment is stated. */
  readonly arrivalsOffset: number;
  readonly bodyOffset: number;
}

export interface OpenSegment {
  readonly payload: Uint8Array;
  readonly head: SegmentHeader;
}

/** Consecutive records of a segment: `from` … `to` - 1, ascending. */
export interface SegmentSlice extends OpenSegment {
  readonly from: number;
  readonly to: number;
}

/** Encodes and decodes the records of one kind. */
export interface SegmentCodec<R extends Position> {
  /** Encodes one segment: the records from index `from` that fit, at least one, at most `countMax`. */
  encode(records: readonly R[], from: number, countMax: number): EncodedSegment;
  /** Throws DomainError 'unavailable' when the payload is damaged. `withoutArrivals`: quotes and prices have no arrivals then. */
  decode(payload: Uint8Array, withoutArrivals?: boolean): R[];
  /** Returns true if two records of one timestamp are equal, apart from their ids. */
  same(a: R, b: R): boolean;
}

export interface EncodedSegment {
  readonly payload: Uint8Array;
  readonly count: number;
}

export function writeSegmentHeader(
  writer: VarintWriter,
  records: readonly Received[],
  from: number,
  count: number,
): void {
  const delays = delaysOf(records, from, count);
  writer.unsigned(delays === undefined ? VERSION : VERSION_WITH_ARRIVALS);
  writer.unsigned(count);
  writer.unsigned(records[from]!.timestampMs);
  writeSteps(writer, count, false, (i) => records[from + i]!.timestampMs - records[from + i - 1]!.timestampMs);
  writer.unsigned(records[from]!.id);
  writeSteps(writer, count, true, (i) => records[from + i]!.id - records[from + i - 1]!.id);
  if (delays === undefined) return;
  const column = new VarintWriter();
  const least = delays.reduce<number>((least, delay) => Math.min(least, delay ?? least), Infinity);
  column.signed(least);
  for (const delay of delays) column.unsigned(delay === undefined ? 0 : delay - least + 1);
  writer.unsigned(column.view().length);
  writer.append(column.view());
}

/** The delay of each record, undefined if its arrival is not stated; undefined if none is. */
function delaysOf(records: readonly Received[], from: number, count: number): (number | undefined)[] | undefined {
  const end = from + count;
  let first = from;
  while (first < end && records[first]!.receivedMs === undefined) first += 1;
  if (first === end) return undefined;
  return records.slice(from, end).map(delayOf);
}

function delayOf({ timestampMs, receivedMs }: Received): number | undefined {
  return receivedMs === undefined ? undefined : receivedMs - timestampMs;
}

/** Writes steps as described above. `stepTo(i)` is the step to record i, 1 … count-1. */
export function writeSteps(writer: VarintWriter, count: number, signed: boolean, stepTo: (i: number) => number): void {
  let before = Number.NaN;
  for (let i = 1; i < count; ) {
    const step = stepTo(i);
    if (signed) writer.signed(step);
    else writer.unsigned(step);
    i += 1;
    if (step !== before) {
      before = step;
      continue;
    }
    const first = i;
    while (i < count && stepTo(i) === step) i += 1;
    writer.unsigned(i - first);
    before = Number.NaN;
  }
}

/** The maximum length of a header, while the number of its segment's records is not known yet. */
export class SegmentHeaderBytes {
  readonly #times = new StepBytes();
  readonly #ids = new StepBytes();
  readonly #arrivals = new ArrivalBytes();
  /** Starts with the most bytes that version, count, first timestamp and first id can take. */
  #length = 20;

  constructor(first: Received) {
    this.#arrivals.add(first);
  }

  /** Adds a record; returns the length in bytes. */
  add(before: Position, after: Received): number {
    this.#length += this.#times.add(after.timestampMs - before.timestampMs);
    // Doubled, because the sign takes one bit.
    this.#length += this.#ids.add(2 * Math.abs(after.id - before.id));
    return this.#length + this.#arrivals.add(after);
  }
}

/** The maximum length of a column of arrivals: each takes as many bytes as the longest. */
class ArrivalBytes {
  #count = 0;
  #least = Infinity;
  #largest = -Infinity;

  add(record: Received): number {
    const delay = delayOf(record);
    this.#count += 1;
    if (delay !== undefined) {
      this.#least = Math.min(this.#least, delay);
      this.#largest = Math.max(this.#largest, delay);
    }
    // The length of the column takes two bytes, the least delay eight at most.
    return this.#least === Infinity ? 0 : 10 + this.#count * unsignedBytes(this.#largest - this.#least + 1);
  }
}

class StepBytes {
  #before = Number.NaN;
  #repeated = Number.NaN;

  add(step: number): number {
    if (step === this.#repeated) return 0;
    const bytes = unsignedBytes(step);
    const again = step === this.#before;
    this.#repeated = again ? step : Number.NaN;
    this.#before = again ? Number.NaN : step;
    return again ? bytes + 2 : bytes;
  }
}

export function readSegmentHeader(payload: Uint8Array): SegmentHeader {
  const reader = new VarintReader(payload);
  const version = reader.unsigned();
  if (version !== VERSION && version !== VERSION_WITH_ARRIVALS) throw damaged();
  const count = reader.unsigned();
  if (count < 1 || count > SEGMENT_RECORDS_MAX) throw damaged();
  const timestamps = new Float64Array(count);
  const ids = new Float64Array(count);
  readColumn(reader, timestamps, false);
  readColumn(reader, ids, true);
  if (version === VERSION) return { count, timestamps, ids, arrivalsOffset: 0, bodyOffset: reader.position };
  const bytes = reader.unsigned();
  const arrivalsOffset = reader.position;
  reader.skip(bytes);
  return { count, timestamps, ids, arrivalsOffset, bodyOffset: reader.position };
}

/** The arrivals of a segment's records, NaN where one is not stated; undefined if none is. Throws 'unavailable' if they are damaged. */
export function arrivalsIn({ payload, head }: OpenSegment): Float64Array | undefined {
  if (head.arrivalsOffset === 0) return undefined;
  const reader = new VarintReader(payload.subarray(0, head.bodyOffset), head.arrivalsOffset);
  const least = reader.signed();
  const arrivals = new Float64Array(head.count);
  for (let i = 0; i < head.count; i += 1) {
    const delay = reader.unsigned();
    arrivals[i] = delay === 0 ? Number.NaN : head.timestamps[i]! + least + delay - 1;
    if (arrivals[i]! < 0 || arrivals[i]! > INSTANT_MAX_MS) throw damaged();
  }
  reader.mustBeAtEnd();
  return arrivals;
}

/** The arrival of a record, if `arrivals` (see `arrivalsIn`) states it. */
export function arrivalAt(arrivals: Float64Array | undefined, index: number): InstantMs | undefined {
  const receivedMs = arrivals?.[index];
  return receivedMs === undefined || Number.isNaN(receivedMs) ? undefined : receivedMs;
}

export function readColumn(reader: VarintReader, column: Float64Array, signed: boolean): void {
  const { bytes } = reader;
  const count = column.length;
  let value = reader.unsigned();
  column[0] = value;
  let before = Number.NaN;
  let at = reader.position;
  for (let i = 1; i < count; ) {
    const first = bytes[at]!;
    const second = bytes[at + 1]!;
    const more = first >> 7;
    let step: number;
    // Nearly all steps have one or two bytes. They are read without a call and without an unpredictable branch.
    if ((more & (second >> 7)) === 0) {
      const low = (first & 127) | ((second & -more) << 7);
      step = !signed ? low : (low & 1) === 0 ? low >> 1 : -(low >> 1);
      at += 1 + more;
    } else {
      reader.position = at;
      step = signed ? reader.signed() : reader.unsigned();
      at = reader.position;
    }
    value += step;
    column[i] = value;
    i += 1;
    if (step === before) {
      reader.position = at;
      const end = i + reader.unsigned();
      at = reader.position;
      if (end > count) throw damaged();
      for (; i < end; i += 1) {
        value += step;
        column[i] = value;
      }
      before = Number.NaN;
    } else {
      before = step;
    }
    if (value < 0 || value > Number.MAX_SAFE_INTEGER) throw damaged();
  }
  reader.position = at;
  // Bytes past the end were read as 0.
  reader.mustEndWithin();
}

/** Index of the first record of `head` after `position`, or `count`. */
export function firstAfter(head: SegmentHeader, position: Position): number {
  const { timestamps, ids } = head;
  const { timestampMs, id } = position;
  return firstIndex(
    head.count,
    (index) => timestamps[index]! > timestampMs || (timestamps[index] === timestampMs && ids[index]! > id),
  );
}
