import { open } from 'node:fs/promises';

const CHUNK_BYTES = 256 * 1024;

/**
 * The bytes of a file from its start to its end, in two buffers by turns: while one is worked on, the other is filled. What
 * was handed out is valid until the next chunk is asked for. (The engine's own stream makes a new buffer for every chunk,
 * which costs as much as a third of reading all the records in it.)
 */
export async function* fileChunks(path: string): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r');
  let [filling, handedOut] = [new Uint8Array(CHUNK_BYTES), new Uint8Array(CHUNK_BYTES)];
  const readOn = () => {
    const read = file.read(filling, 0, CHUNK_BYTES, null);
    // It may fail while nobody waits for it yet.
    read.catch(() => undefined);
    return read;
  };
  let reading = readOn();
  try {
    for (let { bytesRead } = await reading; bytesRead > 0; { bytesRead } = await reading) {
      [filling, handedOut] = [handedOut, filling];
      reading = readOn();
      yield handedOut.subarray(0, bytesRead);
    }
  } finally {
    await reading.catch(() => undefined);
    await file.close();
  }
}
