import { expect, test } from 'bun:test';
import { compressed } from '../../src/export/compression.ts';
import { randomsOf } from '../support/random-books.ts';

const random = randomsOf(20_261_122);
const CHUNKS = Array.from({ length: 40 }, (_, index) =>
  Uint8Array.from({ length: index * 1000 }, () => 97 + Math.floor(random() * 16)),
);

async function* chunksOf(): AsyncGenerator<Uint8Array> {
  yield* CHUNKS;
}

test.each(['zstd', 'gzip'] as const)('%s gives back every byte, also of nothing', async (compression) => {
  const decompress = compression === 'zstd' ? Bun.zstdDecompressSync : Bun.gunzipSync;
  for (const chunks of [CHUNKS, []]) {
    const packed: Uint8Array[] = [];
    async function* given() {
      yield* chunks;
    }
    for await (const piece of compressed(given(), compression, 'send')) packed.push(piece);
    expect(Buffer.compare(decompress(Buffer.concat(packed)), Buffer.concat(chunks))).toBe(0);
  }
});

test.each(['zstd', 'gzip'] as const)(
  '%s takes no chunk after its source failed, and fails as the source did',
  async (compression) => {
    let taken = 0;
    async function* failing() {
      for await (const chunk of chunksOf()) {
        taken += 1;
        if (taken === 10) throw new Error('the reader has left');
        yield chunk;
      }
    }
    await expect(Array.fromAsync(compressed(failing(), compression, 'send'))).rejects.toThrow('the reader has left');
    expect(taken).toBe(10);
  },
);

test.each(['zstd', 'gzip'] as const)('%s ends its source when its reader stops', async (compression) => {
  let ended = false;
  async function* watched() {
    try {
      yield* chunksOf();
    } finally {
      ended = true;
    }
  }
  for await (const _ of compressed(watched(), compression, 'send')) break;
  expect(ended).toBe(true);
});
