import type { Position } from '../domain/page.ts';
import {
  type EncodedSegment,
  readSegmentHeader,
  SEGMENT_PAYLOAD_BYTES,
  SEGMENT_RECORDS_MAX,
  type SegmentCodec,
  writeSegmentHeader,
} from './segment-header.ts';
import { damaged, VarintReader, VarintWriter } from './varint.ts';

/** A size of a level, and the hash of the book with it: 40 hexadecimal digits; undefined without one. */
export interface StatedSize {
  readonly size: number;
  readonly hash: string | undefined;
}

/** The sizes that recordings state for one level at one time. */
export interface StatedLevel {
  readonly isBid: boolean;
  readonly price: number;
  /** The sizes in the order in which a source states them; several such orders if sources differ. None is a part of another. */
  readonly orders: readonly (readonly StatedSize[])[];
}

/**
 * The statements of recordings about an outcome's book at one time, as far as the stored books do not show them. A stored book without a
 * statement is proved by a hash, and recordings stated exactly those of its levels that differ from the stored book before it.
 */
export interface Statement extends Position {
  /** True if a hash proves the book of this time: the stored one, or if none is stored, the stored book before it. */
  readonly isProved: boolean;
  /** True if a recording states the whole book. */
  readonly isFull: boolean;
  /** True if no change of the outcome is known, so that whole books need no changes applied. */
  readonly isAlone: boolean;
  /** True if the stored books of this time are snapshots to which changes were not applied. */
  readonly isForeign: boolean;
  /** The stated levels; undefined: those in which the stored book differs from the one before it. */
  readonly levels: readonly StatedLevel[] | undefined;
}

/** The id of every statement: there is one per timestamp. */
export const STATEMENT_ID = 1;

const PROVED = 1;
const FULL = 2;
const FOREIGN = 4;
const LISTED = 8;
const ALONE = 16;
const HASH_BYTES = 20;

/**
 * A segment of statements. After the header (segment-header.ts) for each: its flags; where LISTED is set, the number of levels, and for
 * each its side (1: bid), its price as a double, the number of orders, and for each order the number of sizes, and for each size the
 * size as a double, then 0, or 1 and the 20 bytes of the hash.
 */
export const statementCodec: SegmentCodec<Statement> = {
  encode: encodeStatements,
  decode: decodeStatements,
  same: (a, b) => Bun.deepEquals(a, b),
};

function encodeStatements(records: readonly Statement[], from: number, countMax: number): EncodedSegment {
  const body = new VarintWriter();
  let count = 0;
  const most = Math.min(records.length - from, countMax, SEGMENT_RECORDS_MAX);
  while (count < most && body.view().length < SEGMENT_PAYLOAD_BYTES) {
    writeStatement(body, records[from + count]!);
    count += 1;
  }
  const writer = new VarintWriter();
  writeSegmentHeader(writer, records, from, count);
  const header = writer.view().slice();
  return { payload: new Uint8Array(Buffer.concat([header, body.view()])), count };
}

function writeStatement(writer: VarintWriter, statement: Statement): void {
  const { isProved, isFull, isAlone, isForeign, levels } = statement;
  const flags = (isProved ? PROVED : 0) | (isFull ? FULL : 0) | (isAlone ? ALONE : 0) | (isForeign ? FOREIGN : 0);
  writer.unsigned(levels === undefined ? flags : flags | LISTED);
  if (levels === undefined) return;
  writer.unsigned(levels.length);
  for (const { isBid, price, orders } of levels) {
    writer.unsigned(isBid ? 1 : 0);
    writer.double(price);
    writer.unsigned(orders.length);
    for (const sizes of orders) {
      writer.unsigned(sizes.length);
      for (const { size, hash } of sizes) {
        writer.double(size);
        writer.unsigned(hash === undefined ? 0 : 1);
        if (hash !== undefined) writer.append(Buffer.from(hash, 'hex'));
      }
    }
  }
}

function decodeStatements(payload: Uint8Array): Statement[] {
  const { count, timestamps, ids, bodyOffset } = readSegmentHeader(payload);
  const reader = new VarintReader(payload, bodyOffset);
  const statements = Array.from({ length: count }, (_, i): Statement => {
    const flags = reader.unsigned();
    return {
      timestampMs: timestamps[i]!,
      id: ids[i]!,
      isProved: (flags & PROVED) !== 0,
      isFull: (flags & FULL) !== 0,
      isAlone: (flags & ALONE) !== 0,
      isForeign: (flags & FOREIGN) !== 0,
      levels: (flags & LISTED) === 0 ? undefined : listOf(reader, readLevel),
    };
  });
  reader.mustBeAtEnd();
  return statements;
}

function readLevel(reader: VarintReader): StatedLevel {
  const isBid = reader.unsigned() === 1;
  const price = reader.double();
  return { isBid, price, orders: listOf(reader, () => listOf(reader, readSize)) };
}

function readSize(reader: VarintReader): StatedSize {
  const size = reader.double();
  return { size, hash: reader.unsigned() === 0 ? undefined : hashOf(reader) };
}

function hashOf(reader: VarintReader): string {
  const from = reader.position;
  reader.position += HASH_BYTES;
  reader.mustEndWithin();
  return Buffer.from(reader.bytes.subarray(from, reader.position)).toString('hex');
}

/** Throws DomainError 'unavailable' when the list is longer than the payload. */
function listOf<T>(reader: VarintReader, read: (reader: VarintReader) => T): T[] {
  const count = reader.unsigned();
  if (count > reader.bytes.length) throw damaged();
  return Array.from({ length: count }, () => read(reader));
}
