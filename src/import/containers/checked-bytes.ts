import { crc32 } from 'node:zlib';

/** Passes the bytes of a member on. Throws an Error unless they are `size` bytes with the checksum `crc`, if it has one. */
export async function* checkedBytes(
  chunks: AsyncIterable<Uint8Array>,
  size: number,
  crc?: number,
): AsyncGenerator<Uint8Array> {
  let [bytes, sum] = [0, 0];
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > size) throw new Error(`it has more bytes than the ${size} that are stated`);
    if (crc !== undefined) sum = crc32(chunk, sum);
    yield chunk;
  }
  if (bytes < size) throw new Error(`it has ${bytes} of ${size} bytes`);
  if (crc !== undefined && sum !== crc) throw new Error('its checksum differs');
}
