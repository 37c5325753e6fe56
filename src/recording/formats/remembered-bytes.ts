import { type LineCursor, NOT_PLAIN } from './line-cursor.ts';

/** What is longer than this is read anew every time. */
const REMEMBERED_BYTES_MAX = 128;

const decoder = new TextDecoder();

/** Bytes that were read once, to recognise them when they come again: what follows from them need not be found again. */
export class RememberedBytes {
  readonly #bytes = new Uint8Array(REMEMBERED_BYTES_MAX);
  readonly #view = new DataView(this.#bytes.buffer);
  #length = 0;

  /** Takes the bytes from the cursor when they stand there. */
  take(cursor: LineCursor): boolean {
    const length = this.#length;
    if (length === 0 || !cursor.has(this.#view, 0, length, cursor.at)) return false;
    cursor.at += length;
    return true;
  }

  /** Remembers the bytes from `start` to `end`, which are plain, in the place of others; nothing when there are too many. */
  keep({ bytes }: LineCursor, start: number, end: number): void {
    this.#length = end - start > REMEMBERED_BYTES_MAX ? 0 : end - start;
    this.#bytes.set(bytes.subarray(start, start + this.#length));
  }
}

/**
 * Reads texts that are nearly always the same as the last time, and then neither decodes nor parses them: a record names its
 * market as the one before it did.
 */
export class RememberedText<T> {
  readonly #parse: (text: string) => T;
  readonly #bytes = new RememberedBytes();
  #value: T | undefined;

  constructor(parse: (text: string) => T) {
    this.#parse = parse;
  }

  /** Takes a text in quotes; undefined where none stands, or one that is not plain. Throws what `parse` throws. */
  take(cursor: LineCursor): T | undefined {
    if (this.#bytes.take(cursor)) return this.#value;
    const start = cursor.at;
    const end = cursor.text();
    return end === NOT_PLAIN
      ? undefined
      : this.#read(cursor, start, decoder.decode(cursor.bytes.subarray(start + 1, end)));
  }

  /** Takes the next `count` bytes as they are. `parse` must throw unless they are plain. */
  takeBytes(cursor: LineCursor, count: number): T {
    if (this.#bytes.take(cursor)) return this.#value!;
    const start = cursor.at;
    cursor.at += count;
    return this.#read(cursor, start, decoder.decode(cursor.bytes.subarray(start, cursor.at)));
  }

  /** Of the bytes from `start` to where the cursor stands. */
  #read(cursor: LineCursor, start: number, text: string): T {
    const value = this.#parse(text);
    this.#bytes.keep(cursor, start, cursor.at);
    this.#value = value;
    return value;
  }
}
