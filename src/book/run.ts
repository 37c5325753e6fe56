import type { Place } from '../domain/page.ts';
import { damaged, VarintReader, type VarintWriter } from './varint.ts';

/**
 * The head that every segment's payload begins with, whatever its records are:
 *
 *   version   unsigned, 1
 *   count     unsigned, 1 … RUN_RECORDS_MAX
 *   times     first timestamp in ms (unsigned), then count-1 differences (unsigned: never descending)
 *   ids       first id (unsigned), then count-1 differences (signed)
 *
 * so a page can be planned, and a nearest record found, without reading a book.
 */
export const RUN_RECORDS_MAX = 128;

/**
 * A segment is closed when its payload reaches this many bytes: two such rows fill an 8 KiB page of the database.
 * A payload whose first record alone is large may be KEYFRAMES_PER_RUN times that record, or deltas would not pay.
 */
export const RUN_PAYLOAD_BYTES = 3_980;
export const KEYFRAMES_PER_RUN = 4;

const VERSION = 1;

/** The places of a segment's records, ascending, and where the records themselves begin. */
export interface RunHead {
  readonly count: number;
  readonly timestamps: Float64Array;
  readonly ids: Float64Array;
  readonly bodyOffset: number;
}

/** A segment's payload with its head read. */
export interface Run {
  readonly payload: Uint8Array;
  readonly head: RunHead;
}

/** Consecutive records of a run: `from` … `to` - 1, ascending. */
export interface RunSlice extends Run {
  readonly from: number;
  readonly to: number;
}

/** How records of one kind become segments and come back. `R` carries its place. */
export interface RunCodec<R extends Place> {
  /** Encodes as many of `records` from `from` on as one segment takes, at least one, at most `countMax`. */
  encode(records: readonly R[], from: number, countMax: number): EncodedRun;
  /** Throws DomainError 'unavailable' when the payload is damaged. */
  decode(payload: Uint8Array): R[];
  /** Whether two records say the same, their ids apart. Only asked about records with one timestamp. */
  same(a: R, b: R): boolean;
}

export interface EncodedRun {
  readonly payload: Uint8Array;
  readonly count: number;
}

export function writeRunHead(writer: VarintWriter, records: readonly Place[], from: number, count: number): void {
  writer.unsigned(VERSION);
  writer.unsigned(count);
  writer.unsigned(records[from]!.timestampMs);
  for (let i = from + 1; i < from + count; i += 1) {
    writer.unsigned(records[i]!.timestampMs - records[i - 1]!.timestampMs);
  }
  writer.unsigned(records[from]!.id);
  for (let i = from + 1; i < from + count; i += 1) writer.signed(records[i]!.id - records[i - 1]!.id);
}

export function readRunHead(payload: Uint8Array): RunHead {
  const reader = new VarintReader(payload);
  if (reader.unsigned() !== VERSION) throw damaged();
  const count = reader.unsigned();
  if (count < 1 || count > RUN_RECORDS_MAX) throw damaged();
  const timestamps = new Float64Array(count);
  const ids = new Float64Array(count);
  let timestamp = reader.unsigned();
  timestamps[0] = timestamp;
  for (let i = 1; i < count; i += 1) {
    timestamp += reader.unsigned();
    timestamps[i] = timestamp;
  }
  let id = reader.unsigned();
  ids[0] = id;
  for (let i = 1; i < count; i += 1) {
    id += reader.signed();
    ids[i] = id;
  }
  return { count, timestamps, ids, bodyOffset: reader.position };
}

/** Index of the first record of `head` that stands behind `place`, or `count`. */
export function firstBehind(head: RunHead, place: Place): number {
  let low = 0;
  let high = head.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const timestamp = head.timestamps[middle]!;
    const behind = timestamp > place.timestampMs || (timestamp === place.timestampMs && head.ids[middle]! > place.id);
    if (behind) high = middle;
    else low = middle + 1;
  }
  return low;
}
