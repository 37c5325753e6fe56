import { DomainError } from '../../domain/errors.ts';
import { JSON_VALUES_MAX } from '../../record/exact-json.ts';
import { type Fields, isFields, rejected } from '../../record/fields.ts';
import { RECORD_TYPES } from '../../record/record.ts';

/** A value longer than this is refused, not collected: memory stays bounded whatever a stream holds. */
export const VALUE_BYTES_MAX = 16 * 1024 * 1024;
/** More values than this in one record are refused, as in JSON: what they become takes many times their bytes. */
const VALUES_MAX = 2 * JSON_VALUES_MAX;
/** Maps and arrays within one another; records need four. */
export const NESTING_MAX = 64;

export interface MsgpackRecord {
  /** Counted from 1. */
  readonly number: number;
  /** Plain objects, to be asked for before the next record. Throws 'rejected-record' for what JSON could not say. */
  readonly value: () => unknown;
}

/**
 * The values of a stream of msgpack, one after another with nothing in between. Only the present value is in memory.
 * Throws DomainError 'unreadable', after all whole values, where the stream is cut off or is not msgpack; `name`
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
    for (let left = decoder.openMap(head); left > 0; left -= 1) {
      const isType = decoder.next() === 'type';
      const value = decoder.next();
      if (isType) return RECORD_TYPES.some((known) => known === value);
    }
  } catch {
    // Not msgpack, or more than was looked at, is an answer here, not an error.
  }
  return false;
}

function broken(name: string, what: string, number: number): DomainError {
  const sentence = `${name} ${what} at record ${number}: it is damaged, cut off, or of another kind`;
  return new DomainError('unreadable', sentence);
}

const UNFINISHED = -1;
const NOT_MSGPACK = -2;

/** What a value is, by its first byte. */
const [CONSTANT, SMALL_INTEGER, UNSIGNED, SIGNED, FLOAT, TEXT, ARRAY, MAP, BINARY, EXTENSION] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
];

interface Format {
  readonly kind: number;
  /** How many bytes after the first one say how long the value is; where none do, the first byte says it. */
  readonly lengthBytes: number;
  readonly length: number;
  /** Bytes that come in any case: a number, or the type of an extension. */
  readonly payload: number;
}

const fixed = (kind: number, payload: number): Format => ({ kind, lengthBytes: 0, length: 0, payload });
const short = (kind: number, length: number): Format => ({ kind, lengthBytes: 0, length, payload: 0 });
const long = (kind: number, lengthBytes: number, payload = 0): Format => ({ kind, lengthBytes, length: 0, payload });
const widths = <T>(counts: readonly number[], format: (count: number) => T) => counts.map(format);

/** What the first bytes 0xc0 … 0xdf begin (msgpack specification, "Formats"); undefined for the one that is never used. */
const LONG_FORMATS: readonly (Format | undefined)[] = [
  fixed(CONSTANT, 0),
  undefined,
  ...[fixed(CONSTANT, 0), fixed(CONSTANT, 0)],
  ...widths([1, 2, 4], (bytes) => long(BINARY, bytes)),
  ...widths([1, 2, 4], (bytes) => long(EXTENSION, bytes, 1)),
  ...widths([4, 8], (bytes) => fixed(FLOAT, bytes)),
  ...widths([1, 2, 4, 8], (bytes) => fixed(UNSIGNED, bytes)),
  ...widths([1, 2, 4, 8], (bytes) => fixed(SIGNED, bytes)),
  ...widths([2, 3, 5, 9, 17], (bytes) => fixed(EXTENSION, bytes)),
  ...widths([1, 2, 4], (bytes) => long(TEXT, bytes)),
  ...widths([2, 4], (bytes) => long(ARRAY, bytes)),
  ...widths([2, 4], (bytes) => long(MAP, bytes)),
];

const FORMATS: readonly (Format | undefined)[] = Array.from({ length: 256 }, (_, byte) => {
  if (byte < 0x80 || byte >= 0xe0) return fixed(SMALL_INTEGER, 0);
  if (byte < 0x90) return short(MAP, byte & 0x0f);
  if (byte < 0xa0) return short(ARRAY, byte & 0x0f);
  return byte < 0xc0 ? short(TEXT, byte & 0x1f) : LONG_FORMATS[byte - 0xc0];
});

/** Finds where values end, without making anything of them. A value may come in any number of chunks. */
class ValueSkipper {
  /** Values that have to follow until the one under way is whole; an array asks for its items. */
  #values = 1;
  /** Bytes of the present value that say nothing about where it ends. */
  #payload = 0;
  #kind = CONSTANT;
  /** Bytes of a length that are still to come, and what those read so far say. */
  #lengthBytes = 0;
  #length = 0;

  /** The end of the value that goes on or begins at `start`; UNFINISHED when it lies beyond the chunk. */
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
 * Makes plain objects of one value: what JSON can say, and nothing that would have to be changed on the way. (msgpackr takes
 * the last of two equal keys, renames `__proto__`, mends what is no UTF-8, and knows extensions.)
 */
class MsgpackDecoder {
  readonly #texts = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** Keys seen last, by a hash of their bytes: records say the same few over and over. */
  readonly #keys: (KnownKey | undefined)[] = new Array(KEYS_KEPT);
  #bytes: Uint8Array = new Uint8Array();
  #view: DataView = new DataView(new ArrayBuffer(0));
  #at = 0;
  #depth = 0;
  #values = 0;

  /** Throws DomainError 'rejected-record'. `bytes` are one whole value, which has to be a map. */
  decode(bytes: Uint8Array): Fields {
    this.#open(bytes);
    const value = this.next();
    if (!isFields(value)) throw rejected('the value is not a map');
    return value;
  }

  /** Begins with a map, whose keys and values `next` then reads in turn; returns how many pairs it has. */
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
        throw rejected(kind === BINARY ? 'it holds binary data' : 'it holds an extension type of msgpack');
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
    const format = this.#format();
    if (format.kind !== TEXT) throw rejected('it has a key that is not a text');
    const length = this.#lengthOf(format);
    const start = this.#take(length);
    const bytes = this.#bytes.subarray(start, start + length);
    const slot = (length * 31 + (bytes[0] ?? 0) * 7 + (bytes[length - 1] ?? 0)) % KEYS_KEPT;
    const known = this.#keys[slot];
    if (known !== undefined && isSame(known.bytes, bytes)) return known.text;
    const text = this.#decodeText(bytes);
    if (length <= KEY_BYTES_KEPT_MAX) this.#keys[slot] = { bytes: bytes.slice(), text };
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

  #unsigned(bytes: number): number {
    const at = this.#take(bytes);
    return bytes === 1 ? this.#bytes[at]! : bytes === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at);
  }

  #signed(bytes: number): number {
    const at = this.#take(bytes);
    return bytes === 1 ? this.#view.getInt8(at) : bytes === 2 ? this.#view.getInt16(at) : this.#view.getInt32(at);
  }

  /** Where the next `count` bytes are. */
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

function finite(value: number): number {
  if (!Number.isFinite(value)) throw rejected(`it holds the number ${value}`);
  return value;
}

function safe(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw rejected(`it holds the integer ${value}, which is beyond 2^53-1`);
  return number;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}
