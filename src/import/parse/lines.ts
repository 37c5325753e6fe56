import { rejected } from '../../record/fields.ts';
import { decodedText, PLAIN_UTF8 } from './utf8.ts';

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
/** A longer line is rejected without being collected, to limit memory. */
export const LINE_BYTES_MAX = 16 * 1024 * 1024;

export interface Line {
  /** From 1. */
  readonly number: number;
  /** Throws DomainError 'rejected-record' if the line is too long or not UTF-8. */
  readonly text: () => string;
}

/** A line as bytes, for readers that need no text. Valid until the next chunk. */
export interface ByteLine extends Line {
  readonly bytes: Uint8Array;
  /** The line is bytes[start] … bytes[end - 1], without its newline; empty if the line is too long. */
  readonly start: number;
  readonly end: number;
}

/**
 * Calls `visit` for each line of a byte stream, without `hasBlank` for those that are not blank: a promise per line would cost as much as
 * reading it. A byte order mark is skipped; the last line needs no newline.
 */
export async function visitLines(
  chunks: AsyncIterable<Uint8Array>,
  visit: (line: ByteLine) => void,
  { hasBlank = false } = {},
): Promise<void> {
  const cutter = new LineCutter(hasBlank);
  for await (const chunk of chunks) cutter.push(chunk, visit);
  cutter.end(visit);
}

/** Cuts chunks into lines. Keeps an incomplete line until the next chunk. */
class LineCutter {
  readonly #hasBlank: boolean;
  #number = 0;
  #parts: Uint8Array[] = [];
  #partBytes = 0;

  constructor(hasBlank: boolean) {
    this.#hasBlank = hasBlank;
  }

  push(chunk: Uint8Array, visit: (line: ByteLine) => void): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const line = this.#partBytes > 0 ? this.#joined(chunk.subarray(start, end)) : this.#line(chunk, start, end);
      start = end + 1;
      if (line !== undefined) visit(line);
    }
    const rest = chunk.subarray(start);
    // Bytes beyond the limit are counted, not kept.
    if (this.#partBytes <= LINE_BYTES_MAX && rest.length > 0) this.#parts.push(rest.slice());
    this.#partBytes += rest.length;
  }

  end(visit: (line: ByteLine) => void): void {
    const line = this.#partBytes > 0 ? this.#joined(new Uint8Array()) : undefined;
    if (line !== undefined) visit(line);
  }

  /** The line that starts in earlier chunks and ends with `tail`. */
  #joined(tail: Uint8Array): ByteLine | undefined {
    const length = this.#partBytes + tail.length;
    const parts = length > LINE_BYTES_MAX ? [] : [...this.#parts, tail];
    this.#parts = [];
    this.#partBytes = 0;
    // Not a Buffer: the functions that read lines are fastest with one type of array.
    const bytes = new Uint8Array(Buffer.concat(parts));
    return this.#line(bytes, 0, bytes.length, length);
  }

  /** Undefined for a blank line that is left out; it still gets a number. */
  #line(bytes: Uint8Array, start: number, end: number, length = end - start): ByteLine | undefined {
    this.#number += 1;
    const number = this.#number;
    if (length > LINE_BYTES_MAX) return { number, bytes, start: 0, end: 0, text: tooLong };
    if (!this.#hasBlank && isBlank(bytes, start, end)) return undefined;
    const text = () => decodedText(PLAIN_UTF8, bytes.subarray(start, end), 'the line is not UTF-8');
    return { number, bytes, start, end, text };
  }
}

function tooLong(): never {
  throw rejected(`the line is longer than ${LINE_BYTES_MAX} bytes`);
}

function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at];
    if (byte !== CARRIAGE_RETURN && byte !== 32 && byte !== 9) return false;
  }
  return true;
}
