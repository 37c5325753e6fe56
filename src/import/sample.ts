import { isFields, parsedJson } from '../record/fields.ts';
import { scannedTexts } from './parse/json-values.ts';

export const SAMPLE_BYTES = 1024 * 1024;
const SAMPLE_LINES = 20;
const NEWLINE = 10;

/** What a file is recognised by: how it begins, decompressed, and its name. */
export class Sample {
  /** Without directory, `.gz` and `.zst`. */
  readonly name: string;
  /** The first bytes, at most SAMPLE_BYTES. */
  readonly head: Uint8Array;
  /** The whole non-blank lines among them, at most SAMPLE_LINES. */
  readonly lines: readonly string[];
  /** Names of the columns of a Parquet file (none when it is damaged), else undefined. */
  readonly columns: ReadonlySet<string> | undefined;
  /** From a pipe: what had come so far, perhaps not much. */
  readonly piped: boolean;
  /** Whether lines are JSON values by themselves. A value that spreads over many lines may still contain a line that is one. */
  readonly isJsonLines: boolean;
  #values: readonly unknown[] | undefined;

  /** `bytes`: all there are, or at least SAMPLE_BYTES of them. */
  constructor(name: string, bytes: Uint8Array, options: Partial<Pick<Sample, 'columns' | 'piped'>> = {}) {
    this.name = name;
    this.head = bytes.subarray(0, SAMPLE_BYTES);
    // The last line may be cut, unless it is all there is.
    const end = bytes.length < SAMPLE_BYTES ? bytes.length : this.head.lastIndexOf(NEWLINE) + 1;
    this.lines = firstLines(this.head.subarray(0, end));
    this.columns = options.columns;
    this.piped = options.piped ?? false;
    this.isJsonLines = isJsonLines(this.lines);
  }

  /** The first JSON objects and arrays, arrays as their elements: anything may contain a line that is a number. */
  get values(): readonly unknown[] {
    this.#values ??= (this.isJsonLines ? this.lines : scannedTexts(this.head, SAMPLE_LINES)).flatMap(elementsOf);
    return this.#values;
  }
}

/** What is no text has no line that anything is recognised by. */
function firstLines(text: Uint8Array): string[] {
  const decoder = new TextDecoder();
  const lines: string[] = [];
  for (let start = 0; start < text.length && lines.length < SAMPLE_LINES; ) {
    const newline = text.indexOf(NEWLINE, start);
    const end = newline < 0 ? text.length : newline;
    const line = decoder.decode(text.subarray(start, end)).trim();
    if (line !== '') lines.push(line);
    start = end + 1;
  }
  return lines;
}

function elementsOf(text: string): readonly unknown[] {
  const value = parsedJson(text);
  return Array.isArray(value) ? value : isFields(value) ? [value] : [];
}

function isJsonLines(lines: readonly string[]): boolean {
  const first = lines[0] ?? '';
  const goesOn = first === '[' || first === '{' || (first.startsWith('[') && first.endsWith(','));
  return !goesOn && lines.some((line) => elementsOf(line).length > 0 || isQuotedJson(line));
}

/** A line that is a text which holds an object or an array. */
function isQuotedJson(line: string): boolean {
  const value = parsedJson(line);
  return typeof value === 'string' && elementsOf(value).length > 0;
}
