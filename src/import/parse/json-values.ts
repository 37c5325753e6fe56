import { isFields, rejected } from '../../record/fields.ts';
import { SAMPLE_BYTES, SAMPLE_LINES, type Sample } from '../codec.ts';
import { LINE_BYTES_MAX, type Line, linesOf } from './lines.ts';

/**
 * Files of JSON values, however they are laid out: one a line, one over many lines, several of those after one another,
 * or the elements of one array. A value comes with the line on which it begins.
 */
const NEWLINE = 10;
const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const [OPEN_ARRAY, CLOSE_ARRAY] = [91, 93];
const [OPEN_OBJECT, CLOSE_OBJECT] = [123, 125];
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** The texts of a file's values, in order, none longer than LINE_BYTES_MAX. */
export async function* jsonValuesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  const source = chunks[Symbol.asyncIterator]();
  try {
    const { held, lines } = await beginning(source);
    const all = continued(held, source);
    if (isLineByLine(lines)) {
      yield* linesOf(all);
      return;
    }
    const scanner = new ValueScanner();
    for await (const chunk of all) yield* scanner.push(chunk);
    yield* scanner.end();
  } finally {
    await source.return?.();
  }
}

/** The first values of a file that can be read, array elements one by one: what the file is recognised by. */
export function sampledValues(sample: Sample): unknown[] {
  if (isLineByLine(sample.lines)) return sample.lines.flatMap(parsedOrNone);
  const values: unknown[] = [];
  let left = SAMPLE_LINES;
  for (const value of new ValueScanner().push(sample.head.subarray(0, SAMPLE_BYTES))) {
    try {
      values.push(...parsedOrNone(value.text()));
    } catch {
      // Not UTF-8: nothing to recognise.
    }
    left -= 1;
    if (left === 0) break;
  }
  return values;
}

/** Objects and arrays only, arrays as their elements: anything may contain a line that is a number. */
function parsedOrNone(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : isFields(value) ? [value] : [];
  } catch {
    return [];
  }
}

/** Whether lines are values by themselves. One that spreads over many lines may still contain a line that is one. */
function isLineByLine(lines: readonly string[]): boolean {
  const first = lines[0]?.trim() ?? '';
  const goesOn = first === '[' || first === '{' || (first.startsWith('[') && first.endsWith(','));
  return !goesOn && lines.some((line) => parsedOrNone(line).length > 0 || isQuotedJson(line));
}

/** A line that is a text which holds an object or an array. */
function isQuotedJson(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'string' && parsedOrNone(value).length > 0;
  } catch {
    return false;
  }
}

/** What is read to tell how the file is laid out. */
async function beginning(source: AsyncIterator<Uint8Array>) {
  const held: Uint8Array[] = [];
  let bytes = 0;
  let ended = false;
  while (bytes < SAMPLE_BYTES && !ended) {
    const next = await source.next();
    ended = next.done === true;
    if (next.done === true) break;
    held.push(next.value.slice());
    bytes += next.value.length;
  }
  const lines = new TextDecoder().decode(Buffer.concat(held)).split('\n');
  if (!ended) lines.pop();
  return { held, lines: lines.filter((line) => line.trim() !== '').slice(0, SAMPLE_LINES) };
}

async function* continued(held: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* held;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

/** Finds where values begin and end; whether they are JSON is asked when they are parsed. */
class ValueScanner {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #line = 1;
  #offset = 0;
  /** Brackets open within the value; 0 between values, and in what is neither object nor array. */
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
          throw rejected('the JSON breaks off before its end');
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

  /** Whether a value begins with this byte, which stands between values: brackets there are of arrays that hold them. */
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

  /** Numbers, words and whatever else is no object: up to the next thing that may be a value. */
  #endsWord(byte: number): boolean {
    return byte === NEWLINE || byte === COMMA || byte === CLOSE_ARRAY || byte === OPEN_OBJECT || byte === OPEN_ARRAY;
  }

  #keep(bytes: Uint8Array): void {
    // What lies beyond the bound is counted, not kept.
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
      try {
        return this.#decoder.decode(Buffer.concat(parts));
      } catch {
        throw rejected('the JSON value is not UTF-8');
      }
    };
    return { number: this.#startLine, text };
  }
}
