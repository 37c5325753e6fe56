import type { DomainError } from '../../domain/errors.ts';
import { JSON_VALUES_MAX } from '../../record/exact-json.ts';
import { type Fields, isFields, rejected } from '../../record/fields.ts';
import { RECORD_TYPES } from '../../record/record.ts';
import { unreadable } from '../source.ts';
import { decodedText, EXACT_UTF8 } from './utf8.ts';

/** A longer value is rejected without being collected, to limit memory. */
export const VALUE_BYTES_MAX = 16 * 1024 * 1024;
/** Maximum number of values in one record, as in JSON: decoded values take many times their bytes. */
const VALUES_MAX = 2 * JSON_VALUES_MAX;
/** Maximum depth of maps and arrays. Records need four. */
export const NESTING_MAX = 64;

export interface MsgpackRecord {
  /** From 1. */
  readonly number: number;
  /** Decodes the record to plain objects. Call it before the next record. Throws 'rejected-record' for values that JSON cannot have. */
  readonly value: () => unknown;
}

/**
 * The values of a stream of msgpack, which follow each other without separators. Only the current value is in memory.
 * Throws DomainError 'unreadable', after all complete values, where the stream is cut off or is not msgpack. `name` is the
 * stream's name in the error.
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
    const value = () => {
      if (tooLong) throw rejected(`the record is longer than ${VALUE_BYTES_MAX} bytes`);
      return decoder.decode(bytes);
    };
    return { number, value };
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
    // Bytes beyond the limit are counted, not kept.
    if (partBytes <= VALUE_BYTES_MAX && rest.length > 0) parts.push(rest.slice());
    partBytes += rest.length;
  }
  if (partBytes > 0) throw broken(name, 'is cut off', number + 1);
}

/** Returns true if a stream that begins with `head` has records of bookreel's own format: a map with a known `type`. */
export function looksLikeMsgpackRecord(head: Uint8Array): boolean {
  const decoder = new MsgpackDecoder();
  try {
    for (let left = decoder.openMap(head); left > 0; left -= 1) {
      const isType = decoder.next() === 'type';
      const value = decoder.next();
      if (isType) return RECORD_TYPES.some((known) => known === value);
    }
  } catch {
    // Not msgpack, or cut off by the end of `head`.
  }
  return false;
}

function broken(name: string, what: string, number: number): DomainError {
  return unreadable(`${name} ${what} at record ${number}: it is damaged, cut off or in another format`);
}

const UNFINISHED = -1;
const NOT_MSGPACK = -2;

const [CONSTANT, SMALL_INTEGER, UNSIGNED, SIGNED, FLOAT, TEXT, ARRAY, MAP, BINARY, EXTENSION] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
];

interface Format {
  readonly kind: number;
  /** Number of bytes after the first one that give the length; 0: `length` is the length. */
  readonly lengthBytes: number;
  readonly length: number;
  /** Bytes besides the length and its content: a number, or the type of an extension. */
  readonly payload: number;
}

const fixed = (kind: number, payload: number): Format => ({ kind, lengthBytes: 0, length: 0, payload });
const short = (kind: number, length: number): Format => ({ kind, lengthBytes: 0, length, payload: 0 });
const long = (kind: number, lengthBytes: number, payload = 0): Format => ({ kind, lengthBytes, length: 0, payload });

/** The formats of the first bytes 0xc0 … 0xdf (msgpack specification, "Formats"); undefined for the unused byte. */
const LONG_FORMATS: readonly (Format | undefined)[] = [
  fixed(CONSTANT, 0),
  undefined,
  ...[fixed(CONSTANT, 0), fixed(CONSTANT, 0)],
  ...[1, 2, 4].map((bytes) => long(BINARY, bytes)),
  ...[1, 2, 4].map((bytes) => long(EXTENSION, bytes, 1)),
  ...[4, 8].map((bytes) => fixed(FLOAT, bytes)),
  ...[1, 2, 4, 8].map((bytes) => fixed(UNSIGNED, bytes)),
  ...[1, 2, 4, 8].map((bytes) => fixed(SIGNED, bytes)),
  ...[2, 3, 5, 9, 17].map((bytes) => fixed(EXTENSION, bytes)),
  ...[1, 2, 4].map((bytes) => long(TEXT, bytes)),
  ...[2, 4].map((bytes) => long(ARRAY, bytes)),
  ...[2, 4].map((bytes) => long(MAP, bytes)),
];

const FORMATS: readonly (Format | undefined)[] = Array.from({ length: 256 }, (_, byte) => {
  if (byte < 0x80 || byte >= 0xe0) return fixed(SMALL_INTEGER, 0);
  if (byte < 0x90) return short(MAP, byte & 0x0f);
  if (byte < 0xa0) return short(ARRAY, byte & 0x0f);
  return byte < 0xc0 ? short(TEXT, byte & 0x1f) : LONG_FORMATS[byte - 0xc0];
});

/** Finds the ends of values without decoding them. A value may come in any number of chunks. */
class ValueSkipper {
  /** Number of values that the current one still needs: an array needs its items. */
  #values = 1;
  /** Bytes of the current value that can be skipped. */
  #payload = 0;
  #kind = CONSTANT;
  /** Bytes of the length that are still to come. */
  #lengthBytes = 0;
  #length = 0;

  /** The end of the value that continues or begins at `start`; UNFINISHED if it is beyond the chunk. */
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
        const format = FORMATS[chunk[at]!];
        if (format === undefined) return NOT_MSGPACK;
        this.#begin(format);
        at += 1;
      }
      if (this.#values === 0 && this.#payload === 0 && this.#lengthBytes === 0) {
        this.#values = 1;
        return at;
      }
    }
    return UNFINISHED;
  }

  #begin({ kind, lengthBytes, length, payload }: Format): void {
    this.#values -= 1;
    this.#kind = kind;
    this.#payload = payload;
    this.#lengthBytes = lengthBytes;
    this.#length = length;
    if (length > 0) this.#applyLength();
  }

  #applyLength(): void {
    if (this.#kind === ARRAY) this.#values += this.#length;
    else if (this.#kind === MAP) this.#values += 2 * this.#length;
    else this.#payload += this.#length;
  }
}

/**
 * Decodes one value to plain objects. Rejects everything that JSON cannot represent unchanged. (msgpackr takes the last of two equal
 * keys, renames `__proto__`, replaces invalid UTF-8, and decodes extensions.)
 */
class MsgpackDecoder {
  /** The latest keys, by a hash of their bytes: all records have the same few keys. */
  readonly #keys: (KnownKey | undefined)[] = new Array(KEYS_KEPT);
  #bytes: Uint8Array = new Uint8Array();
  #view: DataView = new DataView(new ArrayBuffer(0));
  #at = 0;
  #depth = 0;
  #values = 0;

  /** `bytes`: one complete value, which must be a map. Throws DomainError 'rejected-record'. */
  decode(bytes: Uint8Array): Fields {
    this.#open(bytes);
    const value = this.next();
    if (!isFields(value)) throw rejected('the value is not a map');
    return value;
  }

  /** Starts reading a map: `next` then returns its keys and values in turn. Returns the number of pairs. */
  openMap(bytes: Uint8Array): number {
    this.#open(bytes);
    const format = this.#format();
    if (format.kind !== MAP) throw rejected('the value is not a map');
    return this.#lengthOf(format);
  }

  next(): unknown {
    const first = this.#bytes[this.#at]!;
    const format = this.#format();
    const { kind, payload } = format;
    switch (kind) {
      case SMALL_INTEGER:
        return first < 0x80 ? first : first - 0x100;
      case TEXT:
        return this.#text(this.#lengthOf(format));
      case MAP:
        return this.#map(this.#lengthOf(format));
      case ARRAY:
        return this.#array(this.#lengthOf(format));
      case FLOAT:
        return finite(payload === 4 ? this.#view.getFloat32(this.#take(4)) : this.#view.getFloat64(this.#take(8)));
      case UNSIGNED:
        return payload === 8 ? safe(this.#view.getBigUint64(this.#take(8))) : this.#unsigned(payload);
      case SIGNED:
        return payload === 8 ? safe(this.#view.getBigInt64(this.#take(8))) : this.#signed(payload);
      case CONSTANT:
        return first === 0xc0 ? null : first === 0xc3;
      default:
        throw rejected(kind === BINARY ? 'it has binary data' : 'it has an extension type of msgpack');
    }
  }

  #open(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#at = 0;
    this.#depth = 0;
    this.#values = 0;
  }

  #format(): Format {
    const format = FORMATS[this.#bytes[this.#take(1)]!];
    if (format === undefined) throw rejected('it is not msgpack');
    return format;
  }

  #lengthOf({ lengthBytes, length }: Format): number {
    return lengthBytes === 0 ? length : this.#unsigned(lengthBytes);
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
      if (Object.hasOwn(fields, key)) throw rejected(`it has the key '${key}' twice`);
      const value = this.next();
      // An assignment would change the object's prototype.
      if (key === '__proto__') Object.defineProperty(fields, key, { value, enumerable: true });
      else fields[key] = value;
    }
    this.#depth -= 1;
    return fields;
  }

  #descend(values: number): void {
    this.#depth += 1;
    if (this.#depth > NESTING_MAX) throw rejected(`it is nested more than ${NESTING_MAX} deep`);
    // Every value takes a byte at least, so a false length is found before memory is allocated.
    if (values > this.#bytes.length - this.#at) throw rejected('it is cut off');
    this.#values += values;
    if (this.#values > VALUES_MAX) throw rejected(`it has more than ${VALUES_MAX} values`);
  }

  #key(): string {
    const format = this.#format();
    if (format.kind !== TEXT) throw rejected('it has a key that is not text');
    const length = this.#lengthOf(format);
    const start = this.#take(length);
    const bytes = this.#bytes.subarray(start, start + length);
    const slot = (length * 31 + (bytes[0] ?? 0) * 7 + (bytes[length - 1] ?? 0)) % KEYS_KEPT;
    const known = this.#keys[slot];
    if (known !== undefined && isSame(known.bytes, bytes)) return known.text;
    const text = textOf(bytes);
    if (length <= KEY_BYTES_KEPT_MAX) this.#keys[slot] = { bytes: bytes.slice(), text };
    return text;
  }

  #text(length: number): string {
    const start = this.#take(length);
    return textOf(this.#bytes.subarray(start, start + length));
  }

  #unsigned(bytes: number): number {
    const at = this.#take(bytes);
    return bytes === 1 ? this.#bytes[at]! : bytes === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at);
  }

  #signed(bytes: number): number {
    const at = this.#take(bytes);
    return bytes === 1 ? this.#view.getInt8(at) : bytes === 2 ? this.#view.getInt16(at) : this.#view.getInt32(at);
  }

  /** Position of the next `count` bytes, which it takes. */
  #take(count: number): number {
    const at = this.#at;
    if (count > this.#bytes.length - at) throw rejected('it is cut off');
    this.#at = at + count;
    return at;
  }
}

const KEYS_KEPT = 256;
const KEY_BYTES_KEPT_MAX = 31;

interface KnownKey {
  readonly bytes: Uint8Array;
  readonly text: string;
}

function textOf(bytes: Uint8Array): string {
  return decodedText(EXACT_UTF8, bytes, 'it has text that is not UTF-8');
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw rejected(`it has the number ${value}`);
  return value;
}

function safe(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw rejected(`it has the integer ${value}, which is beyond 2^53-1`);
  return number;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}
