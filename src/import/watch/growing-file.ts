import { open } from 'node:fs/promises';
import { isFields, parsedJson } from '../../record/fields.ts';
import type { LinesOf } from '../codec.ts';
import { LINE_BYTES_MAX } from '../parse/lines.ts';
import { inaccessible } from '../source.ts';

const NEWLINE = 10;
const BLANK: readonly number[] = [NEWLINE, 13, 32, 9];
/** Maximum number of new bytes of a file that are read at once: a line that fills a part is one that is refused. */
const PART_BYTES_MAX = LINE_BYTES_MAX + 1;
/**
 * Bytes that are read again with the next part: records of one time, and messages that belong before others, are near each other. Importing
 * them again stores nothing.
 */
const REPEATED_BYTES = 64 * 1024;
/** The first bytes, by which a file is recognised that replaced another of its name. The header of CSV must be in them. */
const HEAD_BYTES = 64 * 1024;

/** How far a growing file was read, all in bytes of the file. */
export interface ReadPosition {
  /** The next part begins here: at the beginning of a line, or within one that is very long. */
  readonly from: number;
  /** The number of lines before `from`. */
  readonly lines: number;
  /** The end of the lines that were read. */
  readonly end: number;
  /** Hashes of the first bytes up to `end`, at most HEAD_BYTES, and of those from `from` to `end`. */
  readonly head: string;
  readonly tail: string;
}

/** Whole lines of a file. */
export interface GrowingPart {
  /** After the header of the file, if they are rows. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Added to the number of a line in `bytes` it gives the number in the file, apart from the header. */
  readonly linesBefore: number;
  /** The number of the first lines of `bytes` that were read before. */
  readonly repeatedLines: number;
  readonly position: ReadPosition;
  /** True if further lines can be read at once. */
  readonly hasMore: boolean;
  /** True if the file ends in a line that may not be complete. */
  readonly isCut: boolean;
}

/** No new whole line. */
type NoPart = Pick<GrowingPart, 'isCut'> & { readonly position: ReadPosition | undefined; readonly bytes?: undefined };

/**
 * Reads the whole lines after a position. Undefined if the position is of another file, or the file was truncated. A line is whole with its newline;
 * a JSON object or array without one is whole as well, a row is not. Throws 'unreadable'.
 */
export async function nextPart(
  path: string,
  lines: LinesOf,
  after: ReadPosition | undefined,
): Promise<GrowingPart | NoPart | undefined> {
  await using file = await open(path, 'r').catch((error) => {
    throw inaccessible(path, error);
  });
  const read = async (start: number, length: number) => {
    const bytes = new Uint8Array(length);
    const { bytesRead } = await file.read(bytes, 0, length, start);
    return bytes.subarray(0, bytesRead);
  };
  const head = await read(0, HEAD_BYTES);
  const start = after ?? BEGINNING;
  const bytes = await read(start.from, start.end - start.from + PART_BYTES_MAX);
  const isSame =
    hashOf(head.subarray(0, start.end)) === start.head &&
    hashOf(bytes.subarray(0, start.end - start.from)) === start.tail;
  if (!isSame) return undefined;
  const repeated = start.end - start.from;
  const isFull = bytes.length === repeated + PART_BYTES_MAX;
  const ended = bytes.lastIndexOf(NEWLINE) + 1;
  const isWhole = isFull ? ended <= repeated : lines === 'json' && isJson(bytes.subarray(ended));
  const length = isWhole ? bytes.length : Math.max(ended, repeated);
  const isCut = !isFull && bytes.subarray(length).some((byte) => !BLANK.includes(byte));
  const part = bytes.subarray(0, length);
  const headerEnd = lines === 'csv' ? endOfHeader(head) : 0;
  if (length === repeated) return { position: after, isCut };
  const firstRepeated = Math.max(0, length - REPEATED_BYTES);
  const newline = firstRepeated === 0 ? -1 : part.indexOf(NEWLINE, firstRepeated);
  const nextFrom = newline < 0 ? firstRepeated : newline + 1;
  const position = {
    from: start.from + nextFrom,
    lines: start.lines + newlinesIn(part.subarray(0, nextFrom)),
    end: start.from + length,
    head: hashOf(head.subarray(0, start.from + length)),
    tail: hashOf(part.subarray(nextFrom)),
  };
  const header = start.from < headerEnd ? new Uint8Array() : head.subarray(0, headerEnd);
  const headerLines = newlinesIn(header);
  const isOpen = repeated > 0 && part[repeated - 1] !== NEWLINE;
  return {
    bytes: new Uint8Array(Buffer.concat([header, part])),
    linesBefore: start.lines - headerLines,
    repeatedLines: headerLines + newlinesIn(part.subarray(0, repeated)) + (isOpen ? 1 : 0),
    position,
    hasMore: isFull,
    isCut,
  };
}

const BEGINNING: ReadPosition = {
  from: 0,
  lines: 0,
  end: 0,
  head: hashOf(new Uint8Array()),
  tail: hashOf(new Uint8Array()),
};

function hashOf(bytes: Uint8Array): string {
  return Bun.hash(bytes).toString(36);
}

function newlinesIn(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

/** The end of the first line that is not blank. */
function endOfHeader(head: Uint8Array): number {
  const first = head.findIndex((byte) => !BLANK.includes(byte));
  return first < 0 ? 0 : head.indexOf(NEWLINE, first) + 1;
}

/** Returns true for a complete object or array: text that is cut is never one. */
function isJson(bytes: Uint8Array): boolean {
  const value = parsedJson(new TextDecoder().decode(bytes));
  return isFields(value) || Array.isArray(value);
}
