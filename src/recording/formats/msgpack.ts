import { DomainError } from '../../domain/errors.ts';
import type { RecordedItem } from '../record.ts';
import { type Fields, isFields, rejected } from './fields.ts';
import { JSON_VALUES_MAX } from './json-extent.ts';

/** A value longer than this is refused, not collected: memory stays bounded whatever a stream holds. */
export const VALUE_BYTES_MAX = 16 * 1024 * 1024;
/** More values than this in one record are refused, as in JSON: what they become takes many times their bytes. */
const VALUES_MAX = 2 * JSON_VALUES_MAX;
/** Maps and arrays within one another; records need four. */
export const NESTING_MAX = 64;

const RECORD_TYPES: Readonly<Record<RecordedItem['type'], true>> = {
  market: true,
  snapshot: true,
  quote: true,
  price: true,
  coinPrice: true,
  gap: true,
};

export interface MsgpackRecord {
  /** Counted from 1. */
  readonly number: number;
  /**
   * The value as plain objects, to be asked for before the next one. Throws DomainError 'rejected-record' when it is too
   * long, nested too deeply, or says what JSON could not say unchanged.
   */
  readonly value: () => unknown;
}

/**
 * The values of a stream of msgpack, which stand one after another with nothing in between. Only the value at hand is in
 * memory. Throws DomainError 'unreadable', behind all whole values, where the stream is cut off or is not msgpack; `name`
 * is what the error calls it.
 */
export async function* msgpackRecordsOf(
  chunks: AsyncIterable<Uint8Array>,
  name = 'the recording',
): AsyncGenerator<MsgpackRecord> {
  const skipper = new ValueSkipper();
  const decoder = new MsgpackDecoder();
  let number = 0;
  let parts: Uint8Array[] = [];
  let partBytes = 0;
  const finish = (tail: Uint8Array): MsgpackRecord => {
    number += 1;
    const tooLong = partBytes + tail.length > VALUE_BYTES_MAX;
    const bytes = parts.length === 0 ? tail : Buffer.concat([...parts, tail]);
    parts = [];
    partBytes = 0;
    return { number, value: () => decodeRecord(decoder, bytes, tooLong) };
  };
  for await (const chunk of chunks) {
    let start = 0;
    while (start < chunk.length) {
      const end = skipper.skip(chunk, start);
      if (end === NOT_MSGPACK) throw broken(name, 'is not msgpack', number + 1);
      if (end === UNFINISHED) break;
      yield finish(chunk.subarray(start, end));
      start = end;
    }
    const rest = chunk.subarray(start);
    // What lies beyond the bound is counted, not kept.
    if (partBytes <= VALUE_BYTES_MAX && rest.length > 0) parts.push(rest.slice());
    partBytes += rest.length;
  }
  if (partBytes > 0) throw broken(name, 'is cut off', number + 1);
}

/** Whether a stream that begins with `head` holds records of the own format: a map whose `type` is one of theirs. */
export function looksLikeMsgpackRecord(head: Uint8Array): boolean {
  const decoder = new MsgpackDecoder();
  try {
    let left = decoder.openMap(head);
    while (left > 0) {
      const key = decoder.next();
      if (key === 'type') {
        const type = decoder.next();
        return typeof type === 'string' && Object.hasOwn(RECORD_TYPES, type);
      }
      decoder.next();
      left -= 1;
    }
  } catch {
    // Not msgpack, or more than was looked at, is an answer here, not an error.
  }
  return false;
}

function broken(name: string, what: string, number: number): DomainError {
  return new DomainError(
    'unreadable',
    `${name} ${what} at record ${number}: it is damaged, cut off, or of another kind`,
  );
}

function decodeRecord(decoder: MsgpackDecoder, bytes: Uint8Array, tooLong: boolean): Fields {
  if (tooLong) throw rejected(`the record is longer than ${VALUE_BYTES_MAX} bytes`);
  const value = decoder.decode(bytes);
  if (!isFields(value)) throw rejected('the value is not a map');
  return value;
}

const UNFINISHED = -1;
const NOT_MSGPACK = -2;

/** Finds where values end, without making anything of them. A value may come in any number of chunks. */
class ValueSkipper {
  /** Values that have to follow until the one under way is whole; an array asks for its items. */
  #values = 1;
  /** Bytes of the present value that say nothing about where it ends. */
  #payload = 0;
  /** Bytes of a length that are still to come, and what those read so far say. */
  #lengthBytes = 0;
  #length = 0;
  /** How many values follow per unit of the length, or LENGTH_IS_BYTES. */
  #perUnit = 0;

  /** The end of the value that goes on or begins at `start`; UNFINISHED when it lies behind the chunk. */
  skip(chunk: Uint8Array, start: number): number {
    let at = start;
    while (at < chunk.length) {
      if (this.#lengthBytes > 0) {
        this.#length = this.#length * 256 + chunk[at]!;
        this.#lengthBytes -= 1;
        at += 1;
        if (this.#lengthBytes === 0) this.#applyLength();
      } else if (this.#payload > 0) {
        const taken = Math.min(this.#payload, chunk.length - at);
        this.#payload -= taken;
        at += taken;
      } else {
        if (!this.#begin(chunk[at]!)) return NOT_MSGPACK;
        at += 1;
      }
      if (this.#values === 0 && this.#payload === 0 && this.#lengthBytes === 0) {
        this.#values = 1;
        return at;
      }
    }
    return UNFINISHED;
  }

  #applyLength(): void {
    if (this.#perUnit === LENGTH_IS_BYTES) this.#payload += this.#length;
    else this.#values += this.#length * this.#perUnit;
  }

  /** Takes a value's first byte in; false for the one that msgpack never uses. */
  #begin(byte: number): boolean {
    this.#values -= 1;
    if (byte < 0x80 || byte >= 0xe0) return true;
    if (byte < 0x90) this.#values += 2 * (byte & 0x0f);
    else if (byte < 0xa0) this.#values += byte & 0x0f;
    else if (byte < 0xc0) this.#payload = byte & 0x1f;
    else if (byte === 0xc1) return false;
    else this.#beginLong(byte);
    return true;
  }

  #beginLong(byte: number): void {
    const { payload, lengthBytes, perUnit } = LONG_FORMS[byte - 0xc0]!;
    this.#payload = payload;
    this.#lengthBytes = lengthBytes;
    this.#perUnit = perUnit;
    this.#length = 0;
  }
}

const LENGTH_IS_BYTES = 0;

interface LongForm {
  readonly payload: number;
  readonly lengthBytes: number;
  readonly perUnit: number;
}

const fixed = (payload: number): LongForm => ({ payload, lengthBytes: 0, perUnit: LENGTH_IS_BYTES });
const sized = (lengthBytes: number, perUnit = LENGTH_IS_BYTES, payload = 0): LongForm => ({
  payload,
  lengthBytes,
  perUnit,
});

/** What follows the first bytes 0xc0 … 0xdf (msgpack specification, "Formats"). An ext's type is a byte in front of its data. */
const LONG_FORMS: readonly LongForm[] = [
  ...[fixed(0), fixed(0), fixed(0), fixed(0)],
  ...[sized(1), sized(2), sized(4)],
  ...[sized(1, LENGTH_IS_BYTES, 1), sized(2, LENGTH_IS_BYTES, 1), sized(4, LENGTH_IS_BYTES, 1)],
  ...[fixed(4), fixed(8)],
  ...[fixed(1), fixed(2), fixed(4), fixed(8)],
  ...[fixed(1), fixed(2), fixed(4), fixed(8)],
  ...[fixed(2), fixed(3), fixed(5), fixed(9), fixed(17)],
  ...[sized(1), sized(2), sized(4)],
  ...[sized(2, 1), sized(4, 1)],
  ...[sized(2, 2), sized(4, 2)],
];

/** Makes plain objects of one value: what JSON can say, and nothing that would have to be changed on the way. */
class MsgpackDecoder {
  readonly #texts = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** Keys seen last, by a hash of their bytes: records say the same few over and over. */
  readonly #keys: (KnownKey | undefined)[] = new Array(KEYS_KEPT);
  #bytes: Uint8Array = new Uint8Array();
  #view: DataView = new DataView(new ArrayBuffer(0));
  #at = 0;
  #depth = 0;
  #values = 0;

  /** Throws DomainError 'rejected-record'. `bytes` are one whole value. */
  decode(bytes: Uint8Array): unknown {
    this.#open(bytes);
    return this.next();
  }

  /** Begins with a map, whose keys and values `next` then reads by turns; returns how many pairs it has. */
  openMap(bytes: Uint8Array): number {
    this.#open(bytes);
    const first = this.#unsigned(1);
    if (first >= 0x80 && first < 0x90) return first & 0x0f;
    if (first === 0xde) return this.#unsigned(2);
    if (first === 0xdf) return this.#unsigned(4);
    throw rejected('the value is not a map');
  }

  next(): unknown {
    const first = this.#unsigned(1);
    if (first < 0x80) return first;
    if (first < 0x90) return this.#map(first & 0x0f);
    if (first < 0xa0) return this.#array(first & 0x0f);
    if (first < 0xc0) return this.#text(first & 0x1f);
    if (first >= 0xe0) return first - 0x100;
    return this.#long(first);
  }

  #open(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#at = 0;
    this.#depth = 0;
    this.#values = 0;
  }

  #long(first: number): unknown {
    switch (first) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xca:
        return this.#float(this.#view.getFloat32(this.#take(4)));
      case 0xcb:
        return this.#float(this.#view.getFloat64(this.#take(8)));
      case 0xcc:
        return this.#unsigned(1);
      case 0xcd:
        return this.#unsigned(2);
      case 0xce:
        return this.#unsigned(4);
      case 0xcf:
        return this.#integer(this.#view.getBigUint64(this.#take(8)));
      case 0xd0:
        return this.#view.getInt8(this.#take(1));
      case 0xd1:
        return this.#view.getInt16(this.#take(2));
      case 0xd2:
        return this.#view.getInt32(this.#take(4));
      case 0xd3:
        return this.#integer(this.#view.getBigInt64(this.#take(8)));
      default:
        return this.#sized(first);
    }
  }

  #sized(first: number): unknown {
    switch (first) {
      case 0xd9:
        return this.#text(this.#unsigned(1));
      case 0xda:
        return this.#text(this.#unsigned(2));
      case 0xdb:
        return this.#text(this.#unsigned(4));
      case 0xdc:
        return this.#array(this.#unsigned(2));
      case 0xdd:
        return this.#array(this.#unsigned(4));
      case 0xde:
        return this.#map(this.#unsigned(2));
      case 0xdf:
        return this.#map(this.#unsigned(4));
      default:
        throw rejected(first <= 0xc6 ? 'it holds binary data' : 'it holds an extension type of msgpack');
    }
  }

  #float(value: number): number {
    if (!Number.isFinite(value)) throw rejected(`it holds the number ${value}`);
    return value;
  }

  #integer(value: bigint): number {
    const held = Number(value);
    if (!Number.isSafeInteger(held)) throw rejected(`it holds the integer ${value}, which is beyond 2^53-1`);
    return held;
  }

  #array(length: number): unknown[] {
    this.#descend(length);
    const items: unknown[] = [];
    for (let i = 0; i < length; i += 1) items.push(this.next());
    this.#depth -= 1;
    return items;
  }

  #map(length: number): Fields {
    this.#descend(2 * length);
    const fields: Record<string, unknown> = {};
    for (let i = 0; i < length; i += 1) {
      const key = this.#key();
      if (Object.hasOwn(fields, key)) throw rejected(`it says '${key}' twice`);
      const value = this.next();
      // Set like any other, this name would give the object another prototype.
      if (key === '__proto__') Object.defineProperty(fields, key, { value, enumerable: true });
      else fields[key] = value;
    }
    this.#depth -= 1;
    return fields;
  }

  #descend(values: number): void {
    this.#depth += 1;
    if (this.#depth > NESTING_MAX) throw rejected(`it is nested more than ${NESTING_MAX} deep`);
    // Every value takes a byte at least: a length that lies is found out before anything is made for it.
    if (values > this.#bytes.length - this.#at) throw rejected('it is cut off');
    this.#values += values;
    if (this.#values > VALUES_MAX) throw rejected(`it holds more than ${VALUES_MAX} values`);
  }

  #key(): string {
    const first = this.#unsigned(1);
    if (first >= 0xa0 && first < 0xc0) return this.#knownKey(first & 0x1f);
    if (first === 0xd9) return this.#text(this.#unsigned(1));
    if (first === 0xda) return this.#text(this.#unsigned(2));
    if (first === 0xdb) return this.#text(this.#unsigned(4));
    throw rejected('it has a key that is not a text');
  }

  #knownKey(length: number): string {
    const start = this.#take(length);
    const bytes = this.#bytes.subarray(start, start + length);
    const slot = (length * 31 + (bytes[0] ?? 0) * 7 + (bytes[length - 1] ?? 0)) % KEYS_KEPT;
    const known = this.#keys[slot];
    if (known !== undefined && isSame(known.bytes, bytes)) return known.text;
    const text = this.#decodeText(bytes);
    this.#keys[slot] = { bytes: bytes.slice(), text };
    return text;
  }

  #text(length: number): string {
    const start = this.#take(length);
    return this.#decodeText(this.#bytes.subarray(start, start + length));
  }

  #decodeText(bytes: Uint8Array): string {
    try {
      return this.#texts.decode(bytes);
    } catch {
      throw rejected('it holds a text that is not UTF-8');
    }
  }

  #unsigned(bytes: 1 | 2 | 4): number {
    const at = this.#take(bytes);
    if (bytes === 1) return this.#bytes[at]!;
    return bytes === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at);
  }

  /** Where the next `count` bytes stand. */
  #take(count: number): number {
    const at = this.#at;
    if (count > this.#bytes.length - at) throw rejected('it is cut off');
    this.#at = at + count;
    return at;
  }
}

const KEYS_KEPT = 256;

interface KnownKey {
  readonly bytes: Uint8Array;
  readonly text: string;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}
