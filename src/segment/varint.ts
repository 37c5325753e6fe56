import { DomainError } from '../domain/errors.ts';
import { ByteBuffer } from './byte-buffer.ts';

/**
 * Unsigned LEB128 integers below 2^53; signed ones likewise, with the sign in the lowest bit of the first byte (zigzag
 * would need a 54th bit); doubles as IEEE 754 little endian.
 * A reader throws DomainError 'unavailable' at the end of its bytes.
 */
const LOW_BITS = 128;
const SIGNED_LOW = 64;
const INT32_MAX = 0x7fffffff;
const INITIAL_BYTES = 4096;

export class VarintWriter extends ByteBuffer {
  constructor() {
    super(INITIAL_BYTES);
  }

  truncate(length: number): void {
    this.length = length;
  }

  unsigned(value: number): void {
    this.reserve(8);
    let rest = value;
    // Nearly all numbers fit 32-bit arithmetic, which is several times faster.
    while (rest > INT32_MAX) {
      this.bytes[this.length++] = (rest % LOW_BITS) | LOW_BITS;
      rest = Math.floor(rest / LOW_BITS);
    }
    for (let low = rest | 0; ; low >>>= 7) {
      if (low < LOW_BITS) {
        this.bytes[this.length++] = low;
        return;
      }
      this.bytes[this.length++] = (low & 127) | LOW_BITS;
    }
  }

  signed(value: number): void {
    const magnitude = Math.abs(value);
    const sign = value < 0 ? 1 : 0;
    if (magnitude < SIGNED_LOW) {
      this.unsigned(magnitude * 2 + sign);
      return;
    }
    this.reserve(1);
    this.bytes[this.length++] = (magnitude % SIGNED_LOW) * 2 + sign + LOW_BITS;
    this.unsigned(Math.floor(magnitude / SIGNED_LOW));
  }

  double(value: number): void {
    this.reserve(8);
    new DataView(this.bytes.buffer).setFloat64(this.length, value, true);
    this.length += 8;
  }
}

/** The number of bytes that `VarintWriter.unsigned` writes for `value`. */
export function unsignedBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= LOW_BITS; rest /= LOW_BITS) bytes += 1;
  return bytes;
}

/** Reads what VarintWriter writes. Loops over many numbers may read `bytes` themselves and then move `position`. */
export class VarintReader {
  bytes: Uint8Array;
  position: number;

  constructor(bytes: Uint8Array, position = 0) {
    this.bytes = bytes;
    this.position = position;
  }

  byte(): number {
    const byte = this.bytes[this.position++];
    if (byte === undefined) throw damaged();
    return byte;
  }

  unsigned(): number {
    const bytes = this.bytes;
    const at = this.position;
    // Nearly all numbers have one to three bytes: those are read in 32-bit arithmetic. Past the end a byte is undefined, and
    // every comparison below is false.
    const first = bytes[at]!;
    if (first < LOW_BITS) {
      this.position = at + 1;
      return first;
    }
    const second = bytes[at + 1]!;
    if (second < LOW_BITS) {
      this.position = at + 2;
      return (first & 127) | (second << 7);
    }
    const third = bytes[at + 2]!;
    if (third < LOW_BITS) {
      this.position = at + 3;
      return (first & 127) | ((second & 127) << 7) | (third << 14);
    }
    return this.#long();
  }

  #long(): number {
    let value = 0;
    let unit = 1;
    for (;;) {
      const byte = this.bytes[this.position++];
      if (byte === undefined || unit > Number.MAX_SAFE_INTEGER) throw damaged();
      value += (byte % LOW_BITS) * unit;
      if (value > Number.MAX_SAFE_INTEGER) throw damaged();
      if (byte < LOW_BITS) return value;
      unit *= LOW_BITS;
    }
  }

  signed(): number {
    const first = this.bytes[this.position++];
    if (first === undefined) throw damaged();
    const low = (first % LOW_BITS) >> 1;
    const magnitude = first < LOW_BITS ? low : low + this.unsigned() * SIGNED_LOW;
    return first % 2 === 0 ? magnitude : -magnitude;
  }

  skip(bytes: number): void {
    if (bytes > this.bytes.length - this.position) throw damaged();
    // Without `| 0` the runtime keeps the position as a double, as it does large numbers, and all reads after it take half as long again.
    this.position += bytes | 0;
  }

  /** Throws when a caller moved `position` past the end. */
  mustEndWithin(): void {
    if (this.position > this.bytes.length) throw damaged();
  }

  /** Throws when unread bytes are left. */
  mustBeAtEnd(): void {
    if (this.position !== this.bytes.length) throw damaged();
  }

  double(): number {
    if (this.position + 8 > this.bytes.length) throw damaged();
    const view = new DataView(this.bytes.buffer, this.bytes.byteOffset + this.position, 8);
    this.position += 8;
    return view.getFloat64(0, true);
  }
}

/** The payload of a segment cannot be decoded, or has another digest. */
export class DamagedSegment extends DomainError {
  constructor() {
    super('unavailable', 'a stored segment is damaged: restore the data directory from a backup');
  }
}

export function damaged(): DamagedSegment {
  return new DamagedSegment();
}
