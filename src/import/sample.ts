import { withoutNaN } from '../record/exact-json.ts';
import { isFields, parsedJson } from '../record/fields.ts';
import { scannedTexts } from './parse/json-values.ts';
import { withoutStamp } from './parse/stamped-line.ts';

export const SAMPLE_BYTES = 1024 * 1024;
export const SAMPLE_LINES = 20;
const NEWLINE = 10;
const OPEN_ARRAY = 91;

/** The beginning of a file, decompressed, and its name: codecs recognise their format by it. */
export class Sample {
  /** The file name without directory, `.gz`, `.zst` and `.xz`. */
  readonly name: string;
  /** The first bytes, at most SAMPLE_BYTES. */
  readonly head: Uint8Array;
  /** The complete non-blank lines of `head`, at most SAMPLE_LINES. */
  readonly lines: readonly string[];
  /** The column names of a Parquet file (none if it is damaged); undefined for other files. */
  readonly columns: ReadonlySet<string> | undefined;
  /** True if it comes from a pipe: `head` may be a single line. */
  readonly piped: boolean;
  /** True if each line is a JSON value. A value over many lines may also have lines that are values. */
  readonly isJsonLines: boolean;
  #values: readonly unknown[] | undefined;

  /** `bytes`: the whole file, or at least its first SAMPLE_BYTES. */
  constructor(name: string, bytes: Uint8Array, options: Partial<Pick<Sample, 'columns' | 'piped'>> = {}) {
    this.name = name;
    this.head = bytes.subarray(0, SAMPLE_BYTES);
    // Without the last line, which may be cut, unless `bytes` is the whole file.
    const end = bytes.length < SAMPLE_BYTES ? bytes.length : this.head.lastIndexOf(NEWLINE) + 1;
    this.lines = firstLines(this.head.subarray(0, end));
    this.columns = options.columns;
    this.piped = options.piped ?? false;
    this.isJsonLines = isJsonLines(this.lines);
  }

  /** The first JSON objects, and the elements of the first arrays. Not numbers or texts: any file may have such a line. */
  get values(): readonly unknown[] {
    this.#values ??= (this.isJsonLines ? this.lines : scannedTexts(this.head, SAMPLE_LINES)).flatMap(elementsOf);
    return this.#values;
  }

  /** The first elements of the first array in a value that is longer than `head`; none if a value ends in it. */
  get elementsOfLongValue(): readonly unknown[] {
    const first = this.values.length > 0 ? -1 : this.head.indexOf(OPEN_ARRAY);
    return first < 0 ? [] : scannedTexts(this.head.subarray(first), SAMPLE_LINES).flatMap(elementsOf);
  }
}

/** The first lines as text; binary data gives lines that no codec recognises. */
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
  const value = parsedJson(text) ?? parsedJson(withoutNaN(text));
  return Array.isArray(value) ? value : isFields(value) ? [value] : [];
}

function isJsonLines(lines: readonly string[]): boolean {
  const first = lines[0] ?? '';
  const continues = first === '[' || first === '{' || (first.startsWith('[') && first.endsWith(','));
  return !continues && lines.some(isJsonLine);
}

function isJsonLine(line: string): boolean {
  return elementsOf(withoutStamp(line)).length > 0 || isQuotedJson(line);
}

/** Returns true if a line is a JSON text that contains an object or an array. */
function isQuotedJson(line: string): boolean {
  const value = parsedJson(line);
  return typeof value === 'string' && elementsOf(value).length > 0;
}
