import type { ByteBuffer } from './byte-buffer.ts';
import { writeInteger } from './decimal-text.ts';
import { LevelOpenings } from './level-openings.ts';
import { divisorOf } from './scale.ts';
import { SideBytes } from './side-bytes.ts';
import { type LabelBytes, type RecordingLabels, type SnapshotLabels, SnapshotWriter } from './snapshot-writer.ts';

/**
 * Snapshots in msgpack (github.com/msgpack/msgpack/blob/master/spec.md), every value in the fewest bytes: whole numbers below
 * 2^32 are integers, others doubles. msgpackr packs the same objects to the same bytes with
 * `{ useRecords: false, variableMapSize: true }`.
 */
const FIX_MAP = 0x80;
const FIX_ARRAY = 0x90;
const FIX_TEXT = 0xa0;
const NIL = 0xc0;
const FALSE = 0xc2;
const TRUE = 0xc3;
const DOUBLE = 0xcb;
const UINT8 = 0xcc;
const UINT16 = 0xcd;
const UINT32 = 0xce;
const TEXT8 = 0xd9;
const ARRAY16 = 0xdc;
const ARRAY32 = 0xdd;

const NUMBER_BYTES_MAX = 9;
const ARRAY_LENGTH_BYTES_MAX = 5;
const INSTANT_CHARS = 24;
/** Fields of a snapshot that are not labels: id, timestamp, bids, asks; in a recording also its type. */
const UNLABELLED_FIELDS = 4;

const encoder = new TextEncoder();
const FIX_TEXT_MAX = 31;

/** A text of up to 255 bytes. */
export function msgpackText(text: string): Uint8Array {
  const bytes = encoder.encode(text);
  if (bytes.length <= FIX_TEXT_MAX) return Uint8Array.of(FIX_TEXT | bytes.length, ...bytes);
  return Uint8Array.of(TEXT8, bytes.length, ...bytes);
}

/** A number of 0 or more. */
export function msgpackNumber(value: number): Uint8Array {
  const bytes = new Uint8Array(NUMBER_BYTES_MAX);
  return bytes.subarray(0, new NumberWriter().write(bytes, 0, value));
}

const LEVEL_OPENS = Uint8Array.of(FIX_MAP | 2, ...msgpackText('price'));
const SIZE_OPENS = msgpackText('size');
const LEVEL_BYTES_MAX = LEVEL_OPENS.length + SIZE_OPENS.length + 2 * NUMBER_BYTES_MAX;
const ZONE = encoder.encode('Z');
const FRAME = {
  arrival: Uint8Array.of(...ZONE, ...msgpackText('receivedAt'), FIX_TEXT | INSTANT_CHARS),
  noArrival: Uint8Array.of(...ZONE, ...msgpackText('receivedAt'), NIL, ...msgpackText('bids')),
  bids: Uint8Array.of(...ZONE, ...msgpackText('bids')),
  asks: msgpackText('asks'),
  end: new Uint8Array(0),
};

/** The bytes of a level before its size: the map's header, the price, and the name `size`. */
export function msgpackOpenings(): LevelOpenings {
  const numbers = new NumberWriter();
  return new LevelOpenings(LEVEL_BYTES_MAX, (bytes, position, price, scale) => {
    bytes.set(LEVEL_OPENS, position);
    const end = numbers.write(bytes, position + LEVEL_OPENS.length, price / divisorOf(scale));
    bytes.set(SIZE_OPENS, end);
    return end + SIZE_OPENS.length;
  });
}

export function msgpackLabels(labels: SnapshotLabels | RecordingLabels): LabelBytes {
  const { type, ...rest } = { type: undefined, ...labels };
  const fields = Object.entries(rest);
  const count = UNLABELLED_FIELDS + fields.length + (type === undefined ? 0 : 1);
  const packed = fields.flatMap(([name, value]) => [
    ...msgpackText(name),
    ...(typeof value === 'boolean' ? [value ? TRUE : FALSE] : msgpackText(value)),
  ]);
  const typed = type === undefined ? [] : [...msgpackText('type'), ...msgpackText(type)];
  return {
    opening: Uint8Array.of(FIX_MAP | count, ...typed, ...msgpackText('id')),
    middle: Uint8Array.of(...packed, ...msgpackText('timestamp'), FIX_TEXT | INSTANT_CHARS),
  };
}

/** Snapshots as msgpackr packs them, see SnapshotWriter. */
export class SnapshotMsgpackWriter extends SnapshotWriter {
  constructor(out: ByteBuffer, openings: LevelOpenings) {
    super(out, new SideMsgpack(out, openings, LEVEL_BYTES_MAX), new SideMsgpack(out, openings, LEVEL_BYTES_MAX), FRAME);
  }

  /** An id has at most 16 digits. */
  protected writeId(bytes: Uint8Array, position: number, id: number): number {
    const end = writeInteger(bytes, position + 1, id);
    bytes[position] = FIX_TEXT | (end - position - 1);
    return end;
  }

  /** A record begins with its map's number of fields, which is below 15. */
  protected addField(bytes: Uint8Array, position: number): void {
    bytes[position]! += 1;
  }
}

class SideMsgpack extends SideBytes {
  readonly #numbers = new NumberWriter();

  protected open(bytes: Uint8Array, position: number, count: number): number {
    return writeArrayLength(bytes, position, count);
  }

  protected closeLevel(bytes: Uint8Array, position: number, size: number, scale: number): number {
    return this.#numbers.write(bytes, position, size / divisorOf(scale));
  }

  protected join(): void {
    // Nothing comes between levels.
  }

  protected close(_bytes: Uint8Array, position: number): number {
    return position;
  }
}

export function appendArrayLength(out: ByteBuffer, count: number): void {
  out.reserve(ARRAY_LENGTH_BYTES_MAX);
  out.length = writeArrayLength(out.bytes, out.length, count);
}

function writeArrayLength(bytes: Uint8Array, position: number, count: number): number {
  if (count < 16) {
    bytes[position] = FIX_ARRAY | count;
    return position + 1;
  }
  if (count >= 0x10000) return writeBigEndian(bytes, position, ARRAY32, count, 4);
  return writeBigEndian(bytes, position, ARRAY16, count, 2);
}

/** Writes numbers of 0 or more: whole ones below 2^32 as integers, others as doubles. */
class NumberWriter {
  readonly #double = new DataView(new ArrayBuffer(8));
  readonly #doubleBytes = new Uint8Array(this.#double.buffer);

  write(bytes: Uint8Array, position: number, value: number): number {
    if (value >>> 0 !== value) return this.#writeDouble(bytes, position, value);
    if (value < 0x80) {
      bytes[position] = value;
      return position + 1;
    }
    if (value < 0x100) return writeBigEndian(bytes, position, UINT8, value, 1);
    if (value < 0x10000) return writeBigEndian(bytes, position, UINT16, value, 2);
    return writeBigEndian(bytes, position, UINT32, value, 4);
  }

  #writeDouble(bytes: Uint8Array, position: number, value: number): number {
    this.#double.setFloat64(0, value);
    bytes[position] = DOUBLE;
    for (let i = 0; i < 8; i += 1) bytes[position + 1 + i] = this.#doubleBytes[i]!;
    return position + 9;
  }
}

function writeBigEndian(bytes: Uint8Array, position: number, type: number, value: number, length: number): number {
  bytes[position] = type;
  for (let i = length, rest = value; i > 0; i -= 1, rest >>>= 8) bytes[position + i] = rest & 255;
  return position + 1 + length;
}
