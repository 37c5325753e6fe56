import { closeSync, openSync, readSync } from 'node:fs';

const MAGIC = 0xfd2fb528;
/** The longest header of a frame: magic number, descriptor, window, id of a dictionary, size of the content. */
const HEADER_BYTES_MAX = 18;
const MAGIC_BYTES = 4;
const CHECKSUM_BYTES = 4;
/** In the descriptor, which follows the magic number: the frame ends with a checksum. */
const CHECKSUM_FLAG = 4;
/** Repetitive lines become smaller than at the next levels. */
const LEVEL = 1;
const BLOCK_HEADER_BYTES = 3;
const RLE_BLOCK = 1;
const DICTIONARY_ID_BYTES = [0, 1, 2, 4];
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];

/**
 * A zstd frame of bytes, with their checksum: a byte that the disk changes is noticed. Bun compresses in a third of the time of node:zlib,
 * but has no option for the checksum. It is the lower half of XXH64 (RFC 8878, section 3.1.1).
 */
export async function checkedFrame(bytes: Uint8Array): Promise<Uint8Array> {
  const compressed = await Bun.zstdCompress(bytes, { level: LEVEL });
  const frame = new Uint8Array(compressed.length + CHECKSUM_BYTES);
  frame.set(compressed);
  frame[MAGIC_BYTES]! |= CHECKSUM_FLAG;
  const checksum = Number(Bun.hash.xxHash64(bytes) & 0xffff_ffffn);
  new DataView(frame.buffer).setUint32(compressed.length, checksum, true);
  return frame;
}

/**
 * The ends of the whole zstd frames of a file from `start` on, the beginning of a frame. Those after bytes that are no frame, or are cut
 * off, are not found. Only headers are read, so that a large file takes no memory. The format is RFC 8878, section 3.1.1.
 */
export function frameEnds(path: string, start: number): number[] {
  const file = openSync(path, 'r');
  const buffer = new Uint8Array(HEADER_BYTES_MAX);
  const read = (position: number, length: number) => buffer.subarray(0, readSync(file, buffer, 0, length, position));
  try {
    const ends: number[] = [];
    for (let end = frameEnd(read, start); end !== undefined; end = frameEnd(read, end)) ends.push(end);
    return ends;
  } finally {
    closeSync(file);
  }
}

/** The end of the frame that starts at `start`; undefined if it is not whole. */
function frameEnd(read: (position: number, length: number) => Uint8Array, start: number): number | undefined {
  const header = read(start, HEADER_BYTES_MAX);
  if (header.length <= MAGIC_BYTES) return undefined;
  if (new DataView(header.buffer, header.byteOffset).getUint32(0, true) !== MAGIC) return undefined;
  const descriptor = header[MAGIC_BYTES]!;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const sizeFlag = descriptor >> 6;
  const sizeBytes = sizeFlag === 0 && isSingleSegment ? 1 : CONTENT_SIZE_BYTES[sizeFlag]!;
  const windowBytes = isSingleSegment ? 0 : 1;
  let at = start + MAGIC_BYTES + 1 + windowBytes + DICTIONARY_ID_BYTES[descriptor & 3]! + sizeBytes;
  for (let isLast = false; !isLast; ) {
    const block = read(at, BLOCK_HEADER_BYTES);
    if (block.length < BLOCK_HEADER_BYTES) return undefined;
    const word = block[0]! | (block[1]! << 8) | (block[2]! << 16);
    isLast = (word & 1) === 1;
    // A block of one repeated byte has only this byte.
    at += BLOCK_HEADER_BYTES + (((word >> 1) & 3) === RLE_BLOCK ? 1 : word >> 3);
  }
  const end = at + ((descriptor & CHECKSUM_FLAG) === 0 ? 0 : CHECKSUM_BYTES);
  return end === start || read(end - 1, 1).length === 1 ? end : undefined;
}
