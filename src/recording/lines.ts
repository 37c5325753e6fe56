import { rejected } from './fields.ts';

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
/** A line longer than this is refused, not collected: memory stays bounded whatever a file holds. */
export const LINE_BYTES_MAX = 16 * 1024 * 1024;

export interface Line {
  /** Counted from 1. */
  readonly number: number;
  /** Throws DomainError 'rejected-record' when the line is too long or not UTF-8. */
  readonly text: () => string;
}

/** The non-blank lines of a byte stream; a byte order mark is skipped, the last line needs no newline. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  let parts: Uint8Array[] = [];
  let partBytes = 0;
  const finish = (tail: Uint8Array): Line | undefined => {
    number += 1;
    const tooLong = partBytes + tail.length > LINE_BYTES_MAX;
    const bytes = parts.length === 0 ? tail : Buffer.concat([...parts, tail]);
    parts = [];
    partBytes = 0;
    if (!tooLong && isBlank(bytes)) return undefined;
    return { number, text: () => decodeLine(decoder, bytes, tooLong) };
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const line = finish(chunk.subarray(start, end));
      start = end + 1;
      if (line !== undefined) yield line;
    }
    const rest = chunk.subarray(start);
    // What lies beyond the bound is counted, not kept.
    if (partBytes <= LINE_BYTES_MAX && rest.length > 0) parts.push(rest.slice());
    partBytes += rest.length;
  }
  if (partBytes > 0) {
    const line = finish(new Uint8Array());
    if (line !== undefined) yield line;
  }
}

function decodeLine(decoder: TextDecoder, bytes: Uint8Array, tooLong: boolean): string {
  if (tooLong) throw rejected(`the line is longer than ${LINE_BYTES_MAX} bytes`);
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw rejected(`the line is not UTF-8 (${String(error)})`);
  }
}

function isBlank(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte !== CARRIAGE_RETURN && byte !== 32 && byte !== 9) return false;
  return true;
}
