import { digestOfFrame, FIRST_LINE } from '../../src/segment/segment-frames.ts';

const HEAD_BYTES = 5;
const DIGEST_BYTES = 32;

/** The frames of a recording in the segments format, without their digests. */
export function framesOf(bytes: Uint8Array): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = FIRST_LINE.length; at < bytes.length; ) {
    const end = at + HEAD_BYTES + new DataView(bytes.buffer, bytes.byteOffset).getUint32(at + 1, true);
    frames.push(bytes.subarray(at, end));
    at = end + DIGEST_BYTES;
  }
  return frames;
}

/** A recording of `frames`, with correct digests. */
export function sealed(frames: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [FIRST_LINE];
  for (const frame of frames) parts.push(frame, digestOfFrame(parts.at(-1)!, frame));
  return new Uint8Array(Buffer.concat(parts));
}

export function frame(type: string, body: Uint8Array | object): Uint8Array {
  const bytes = body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body));
  const head = Buffer.alloc(HEAD_BYTES, type);
  head.writeUInt32LE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

export const typesOf = (frames: readonly Uint8Array[]) => frames.map(([type]) => String.fromCharCode(type!)).join('');
export const bodyOf = (framed: Uint8Array) => Buffer.from(framed.subarray(HEAD_BYTES));
