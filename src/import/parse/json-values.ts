import { attempt, rejected } from '../../record/fields.ts';
import type { RecordingFile } from '../recording-file.ts';
import { LINE_BYTES_MAX, type Line, visitLines } from './lines.ts';
import { decodedText, PLAIN_UTF8 } from './utf8.ts';

const NEWLINE = 10;
const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const [OPEN_ARRAY, CLOSE_ARRAY] = [91, 93];
const [OPEN_OBJECT, CLOSE_OBJECT] = [123, 125];
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/**
 * Calls `visit` for each JSON value of a file: one per line, one or several over many lines, or the elements of one array. Each has the
 * number of its first line. Getting the text of a value longer than LINE_BYTES_MAX throws 'rejected-record'.
 */
export async function visitJsonValues(file: RecordingFile, visit: (value: Line) => void): Promise<void> {
  if (file.isJsonLines) {
    await visitLines(file.bytes(), visit);
    return;
  }
  const scanner = new ValueScanner();
  for await (const chunk of file.bytes()) for (const value of scanner.push(chunk)) visit(value);
  for (const value of scanner.end()) visit(value);
}

/** The texts of the first complete values of a file, at most `count`, without those that are not UTF-8. */
export function scannedTexts(head: Uint8Array, count: number): string[] {
  const texts = new ValueScanner()
    .push(head)
    .take(count)
    .map((value) => attempt(value.text));
  return [...texts].filter((text) => typeof text === 'string');
}

/** Finds the first and last bytes of values. It does not check that they are JSON. */
class ValueScanner {
  #line = 1;
  #offset = 0;
  /** Number of open brackets within an object; 0 between values and within words. */
  #depth = 0;
  #inWord = false;
  #inString = false;
  #escaped = false;
  #startLine = 1;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  *push(chunk: Uint8Array): Generator<Line> {
    let start = 0;
    for (let i = 0; i < chunk.length; i += 1) {
      const byte = chunk[i]!;
      if (this.#inWord && this.#endsWord(byte)) {
        this.#inWord = false;
        yield this.#value(chunk.subarray(start, i));
      }
      if (byte === NEWLINE) this.#line += 1;
      if (this.#depth > 0) {
        this.#within(byte);
        if (this.#depth === 0) yield this.#value(chunk.subarray(start, i + 1));
      } else if (!this.#inWord && this.#begins(byte)) {
        start = i;
        this.#startLine = this.#line;
      }
      this.#offset += 1;
    }
    if (this.#depth > 0 || this.#inWord) this.#keep(chunk.subarray(start));
  }

  *end(): Generator<Line> {
    if (this.#inWord) yield this.#value(new Uint8Array());
    if (this.#depth > 0) {
      yield {
        number: this.#startLine,
        text: () => {
          throw rejected('the JSON is cut off');
        },
      };
    }
  }

  #within(byte: number): void {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#inString = false;
    } else if (byte === QUOTE) {
      this.#inString = true;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      this.#depth += 1;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      this.#depth -= 1;
    }
  }

  /** Returns true if a value begins with this byte. Square brackets between values belong to arrays of values. */
  #begins(byte: number): boolean {
    if (byte === OPEN_OBJECT) {
      this.#depth = 1;
      return true;
    }
    const isBetween = byte <= 32 || byte === COMMA || byte === OPEN_ARRAY || byte === CLOSE_ARRAY;
    if (isBetween || BYTE_ORDER_MARK[this.#offset] === byte) return false;
    this.#inWord = true;
    return true;
  }

  /** Returns true if this byte ends a word: a number, or anything else that is not an object. */
  #endsWord(byte: number): boolean {
    return byte === NEWLINE || byte === COMMA || byte === CLOSE_ARRAY || byte === OPEN_OBJECT || byte === OPEN_ARRAY;
  }

  #keep(bytes: Uint8Array): void {
    // Bytes beyond the limit are counted, not kept.
    if (this.#bytes <= LINE_BYTES_MAX) this.#parts.push(bytes.slice());
    this.#bytes += bytes.length;
  }

  #value(tail: Uint8Array): Line {
    this.#keep(tail);
    const [parts, bytes] = [this.#parts, this.#bytes];
    this.#parts = [];
    this.#bytes = 0;
    const text = () => {
      if (bytes > LINE_BYTES_MAX) throw rejected(`the JSON value is longer than ${LINE_BYTES_MAX} bytes`);
      return decodedText(PLAIN_UTF8, Buffer.concat(parts), 'the JSON value is not UTF-8');
    };
    return { number: this.#startLine, text };
  }
}
