import { createHash } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';
import { ByteBuffer } from './byte-buffer.ts';

/**
 * The frames of the segments format, which src/manual/segments.md describes in full. A first line, then frames: type (one
 * byte), length of the body (four bytes, little endian), body, digest.
 */
export const FIRST_LINE = Buffer.from('bookreel segments 1\n');
/** A recording of any version begins with this. */
const FIRST_LINE_PREFIX = Buffer.from('bookreel segments ');

/** The body of M, G, S and E is JSON; that of R is the number of its series, the range of records to take, and a payload. */
export type FrameType = 'M' | 'G' | 'S' | 'R' | 'E';

export const HEAD_BYTES = 5;
const DIGEST_BYTES = 32;
/** Room for forty times the largest book (two sides of 10,001 levels of 13 bytes each); no segment is larger. */
const BODY_BYTES_MAX = 12_000_000;

/** SHA-256 over the previous digest (for the first frame: the first line) and the frame. */
export function digestOfFrame(before: Uint8Array, frame: Uint8Array): Uint8Array {
  return createHash('sha256').update(before).update(frame).digest();
}

export interface SegmentFrame {
  /** Readers skip a type that they do not know. */
  readonly type: FrameType | (string & {});
  /** Valid until the next frame is read. */
  readonly body: Uint8Array;
  /** The number of the frame, from 1. */
  readonly number: number;
}

/** Returns true if a file that begins with `head` is in the segments format, of any version. */
export function looksLikeSegments(head: Uint8Array): boolean {
  return FIRST_LINE_PREFIX.equals(head.subarray(0, FIRST_LINE_PREFIX.length));
}

/**
 * Yields the frames of a recording in order, the end mark last; each one's digest has been checked. Throws DomainError
 * 'unreadable', after all good frames, when the recording is cut off, damaged or of another kind. `name` is the recording's
 * name in the message.
 */
export async function* segmentFramesOf(chunks: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<SegmentFrame> {
  const buffered = new ByteBuffer();
  let before: Uint8Array = FIRST_LINE;
  let number = 0;
  let isEnded = false;
  for await (const chunk of chunks) {
    buffered.append(chunk);
    let at = 0;
    if (number === 0) {
      if (buffered.length < FIRST_LINE.length) continue;
      if (!FIRST_LINE.equals(buffered.bytes.subarray(0, FIRST_LINE.length))) throw foreign(name, buffered.view());
      at = FIRST_LINE.length;
    }
    while (!isEnded) {
      const frame = frameAt(buffered, at, before);
      if (frame === undefined) break;
      number += 1;
      if (frame === 'damaged') throw broken(name, 'is damaged', number);
      const { type, body, end } = frame;
      yield { type, body, number };
      isEnded = type === 'E';
      before = frame.digest;
      at = end;
    }
    // The first line stays in the buffer until the first frame is complete.
    if (number === 0) continue;
    if (at > 0) buffered.bytes.copyWithin(0, at, buffered.length);
    buffered.length -= at;
    if (isEnded && buffered.length > 0) throw broken(name, 'has data after its end', number + 1);
  }
  if (!isEnded) throw cutOff(name, buffered.view(), number);
}

/** The error of a recording that ends after a number of frames, and `rest`, without its end mark. */
function cutOff(name: string, rest: Uint8Array, number: number): DomainError {
  return number > 0 || looksLikeSegments(rest) ? broken(name, 'is cut off', number + 1) : foreign(name, rest);
}

/** The frame at a place, whose digest has been checked; undefined if it is not complete yet. */
function frameAt({ bytes, length }: ByteBuffer, at: number, before: Uint8Array) {
  if (length < at + HEAD_BYTES) return undefined;
  const bodyBytes = new DataView(bytes.buffer).getUint32(at + 1, true);
  if (bodyBytes > BODY_BYTES_MAX) return 'damaged';
  const bodyEnd = at + HEAD_BYTES + bodyBytes;
  const end = bodyEnd + DIGEST_BYTES;
  if (length < end) return undefined;
  const digest = digestOfFrame(before, bytes.subarray(at, bodyEnd));
  if (!Buffer.from(digest).equals(bytes.subarray(bodyEnd, end))) return 'damaged';
  return { type: String.fromCharCode(bytes[at]!), body: bytes.subarray(at + HEAD_BYTES, bodyEnd), end, digest };
}

function foreign(name: string, head: Uint8Array): DomainError {
  return new DomainError(
    'unreadable',
    looksLikeSegments(head)
      ? `${name} is in an unknown version of the segments format: export it with this version of bookreel`
      : `${name} is not in the segments format: it is damaged, cut off, or of another kind`,
  );
}

function broken(name: string, what: string, number: number): DomainError {
  return new DomainError('unreadable', `${name} ${what} at frame ${number}: export it again`);
}
