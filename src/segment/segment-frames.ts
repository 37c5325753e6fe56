import { createHash } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';
import { ByteBuffer } from './byte-buffer.ts';

/**
 * The form of segments, as it is framed; src/client/segments.md describes all of it. A first line, then frames: type (one
 * byte), length of the body (four bytes, the lowest first), body, digest.
 */
export const FIRST_LINE = Buffer.from('bookreel segments 1\n');
/** How a recording of any version begins. */
const FIRST_WORDS = Buffer.from('bookreel segments ');

/** M, G, S and E have JSON for their body, R has the number of its series, which records count, and a payload. */
export type FrameType = 'M' | 'G' | 'S' | 'R' | 'E';

export const HEAD_BYTES = 5;
const DIGEST_BYTES = 32;
/** Forty times the largest book (10,001 levels a side of 13 bytes) fit; no segment takes more. */
const BODY_BYTES_MAX = 12_000_000;

/** SHA-256 over the digest before (before the first frame: the first line), and the frame. */
export function digestOfFrame(before: Uint8Array, frame: Uint8Array): Uint8Array {
  return createHash('sha256').update(before).update(frame).digest();
}

export interface SegmentFrame {
  /** Types that are not known here are to be passed over. */
  readonly type: FrameType | (string & {});
  /** Valid until the next frame is asked for. */
  readonly body: Uint8Array;
  /** Counted from 1. */
  readonly number: number;
}

/** Whether a file that begins with `head` is a recording in the form of segments, of whatever version. */
export function looksLikeSegments(head: Uint8Array): boolean {
  return FIRST_WORDS.equals(head.subarray(0, FIRST_WORDS.length));
}

/**
 * The frames of a recording up to its end mark, which comes last; each has passed its digest. Throws DomainError
 * 'unreadable', after all good ones, where the recording is cut off, damaged or of another kind; `name` is what the error
 * calls it.
 */
export async function* segmentFramesOf(chunks: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<SegmentFrame> {
  const held = new ByteBuffer();
  let before: Uint8Array = FIRST_LINE;
  let number = 0;
  let isEnded = false;
  for await (const chunk of chunks) {
    held.append(chunk);
    let at = 0;
    if (number === 0) {
      if (held.length < FIRST_LINE.length) continue;
      if (!FIRST_LINE.equals(held.bytes.subarray(0, FIRST_LINE.length))) throw foreign(name, held.view());
      at = FIRST_LINE.length;
    }
    while (!isEnded && held.length >= at + HEAD_BYTES) {
      const bodyBytes = new DataView(held.bytes.buffer).getUint32(at + 1, true);
      const end = at + HEAD_BYTES + bodyBytes;
      if (bodyBytes > BODY_BYTES_MAX) throw broken(name, 'is damaged', number + 1);
      if (held.length < end + DIGEST_BYTES) break;
      number += 1;
      before = digestOfFrame(before, held.bytes.subarray(at, end));
      if (!Buffer.from(before).equals(held.bytes.subarray(end, end + DIGEST_BYTES))) {
        throw broken(name, 'is damaged', number);
      }
      const type = String.fromCharCode(held.bytes[at]!);
      yield { type, body: held.bytes.subarray(at + HEAD_BYTES, end), number };
      isEnded = type === 'E';
      at = end + DIGEST_BYTES;
    }
    // Until the first frame is whole, the first line stays before it.
    if (number === 0) continue;
    if (at > 0) held.bytes.copyWithin(0, at, held.length);
    held.length -= at;
    if (isEnded && held.length > 0) throw broken(name, 'goes on behind its end', number + 1);
  }
  if (isEnded) return;
  throw looksLikeSegments(held.view()) || number > 0
    ? broken(name, 'is cut off', number + 1)
    : foreign(name, held.view());
}

function foreign(name: string, head: Uint8Array): DomainError {
  return new DomainError(
    'unreadable',
    looksLikeSegments(head)
      ? `${name} is in a version of the form of segments that is not known here: export it with this version of bookreel`
      : `${name} is not in the form of segments: it is damaged, cut off, or of another kind`,
  );
}

function broken(name: string, what: string, number: number): DomainError {
  return new DomainError('unreadable', `${name} ${what} at frame ${number}: export it again`);
}
