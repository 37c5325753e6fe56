const INITIAL_BYTES = 64 * 1024;
/** `clear` releases a buffer that is larger than this. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;

/** A growing buffer, reused from answer to answer. */
export class ByteBuffer {
  bytes: Uint8Array<ArrayBuffer>;
  length = 0;
  /** Number of calls of `clear`, by which a writer that copies earlier bytes finds out that they are gone. */
  clears = 0;

  constructor(initialBytes = INITIAL_BYTES) {
    this.bytes = new Uint8Array(initialBytes);
  }

  clear(): void {
    this.clears += 1;
    if (this.bytes.length > KEPT_BYTES_MAX) this.bytes = new Uint8Array(INITIAL_BYTES);
    this.length = 0;
  }

  reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    let size = this.bytes.length * 2;
    while (size < this.length + count) size *= 2;
    const grown = new Uint8Array(size);
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  append(source: Uint8Array): void {
    this.reserve(source.length);
    this.bytes.set(source, this.length);
    this.length += source.length;
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  /** The bytes written so far; valid until the next write. */
  view(): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(0, this.length);
  }
}
