import { type LineCursor, NOT_PLAIN } from './line-cursor.ts';

/** A longer text is parsed every time. */
const REPEATED_BYTES_MAX = 128;

const decoder = new TextDecoder();

/** Reads texts that are mostly equal to the previous one: an equal text is neither decoded nor parsed again. */
export class RepeatedText<T> {
  readonly #parse: (text: string) => T;
  readonly #bytes = new Uint8Array(REPEATED_BYTES_MAX);
  readonly #view = new DataView(this.#bytes.buffer);
  #length = 0;
  #value: T | undefined;

  constructor(parse: (text: string) => T) {
    this.#parse = parse;
  }

  /** Takes a text in quotes; undefined if there is no plain text. Throws what `parse` throws. */
  take(cursor: LineCursor): T | undefined {
    if (this.#takeAgain(cursor)) return this.#value;
    const start = cursor.at;
    const end = cursor.text();
    return end === NOT_PLAIN ? undefined : this.#read(cursor, start, start + 1, end);
  }

  /** Takes the next `count` bytes. `parse` must throw unless they are plain. */
  takeBytes(cursor: LineCursor, count: number): T {
    if (this.#takeAgain(cursor)) return this.#value!;
    const start = cursor.at;
    cursor.at += count;
    return this.#read(cursor, start, start, cursor.at);
  }

  #takeAgain(cursor: LineCursor): boolean {
    if (this.#length === 0 || !cursor.has(this.#view, 0, this.#length, cursor.at)) return false;
    cursor.at += this.#length;
    return true;
  }

  /** Parses the text from `from` to `to`. Keeps the bytes from `start` to the cursor. */
  #read({ bytes, at }: LineCursor, start: number, from: number, to: number): T {
    const value = this.#parse(decoder.decode(bytes.subarray(from, to)));
    this.#length = at - start > REPEATED_BYTES_MAX ? 0 : at - start;
    this.#bytes.set(bytes.subarray(start, start + this.#length));
    this.#value = value;
    return value;
  }
}
