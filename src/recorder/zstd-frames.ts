const MAGIC = 0xfd2fb528;
const MAGIC_BYTES = 4;
const CHECKSUM_BYTES = 4;
const BLOCK_HEADER_BYTES = 3;
const RLE_BLOCK = 1;
const DICTIONARY_ID_BYTES = [0, 1, 2, 4];
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];

/**
 * The number of bytes that the whole zstd frames at the beginning of `bytes` take: what follows is cut off, or no frame. Blocks are not
 * decompressed. The format is RFC 8878, section 3.1.1.
 */
export function wholeFramesLength(bytes: Uint8Array): number {
  let end = 0;
  for (let next = frameEnd(bytes, 0); next !== undefined; next = frameEnd(bytes, end)) end = next;
  return end;
}

/** The end of the frame that starts at `start`; undefined if it is not whole. */
function frameEnd(bytes: Uint8Array, start: number): number | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (start + MAGIC_BYTES >= bytes.length || view.getUint32(start, true) !== MAGIC) return undefined;
  const descriptor = bytes[start + MAGIC_BYTES]!;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const sizeFlag = descriptor >> 6;
  const sizeBytes = sizeFlag === 0 && isSingleSegment ? 1 : CONTENT_SIZE_BYTES[sizeFlag]!;
  const windowBytes = isSingleSegment ? 0 : 1;
  let at = start + MAGIC_BYTES + 1 + windowBytes + DICTIONARY_ID_BYTES[descriptor & 3]! + sizeBytes;
  for (let isLast = false; !isLast; ) {
    if (at + BLOCK_HEADER_BYTES > bytes.length) return undefined;
    const header = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16);
    isLast = (header & 1) === 1;
    // A block of one repeated byte has only this byte.
    at += BLOCK_HEADER_BYTES + (((header >> 1) & 3) === RLE_BLOCK ? 1 : header >> 3);
  }
  const end = at + ((descriptor & 4) === 0 ? 0 : CHECKSUM_BYTES);
  return end <= bytes.length ? end : undefined;
}
