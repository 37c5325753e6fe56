import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { parquetRows } from '../../../src/import/mapping/parquet-rows.ts';
import { decompressLz4Block } from '../../../src/import/parse/lz4-block.ts';
import { temporaryDirectory } from '../../support/archive.ts';

/** Made by LZ4_compress_default of liblz4 1.9.4. */
const BLOCK = Buffer.from(
  '/wZ7InAiOjAuNTEsInMiOjEyMC41fSwVAP///yP/vAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj9AQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVpbXF1eX2BhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ent8fX5/gIGCg4SFhoeIiYqLjI2Oj5CRkpOUlZaXmJmam5ydnp+goaKjpKWmp6ipqqusra6vsLGys7S1tre4ubq7vL2+v8DBwsPExcbHYWFhAwD//6jwAWVuZCBvZiB0aGUgYmxvY2s=',
  'base64',
);
const TEXT = Buffer.concat([
  Buffer.from('{"p":0.51,"s":120.5},'.repeat(40)),
  Buffer.from(Array.from({ length: 200 }, (_, index) => index)),
  Buffer.from(`${'a'.repeat(700)}end of the block`),
]);

describe('a block of LZ4', () => {
  test('is what the library compressed', () => {
    expect(Buffer.from(decompressLz4Block(BLOCK, TEXT.length)).equals(TEXT)).toBe(true);
  });

  test('is refused wherever it is cut, and if its size is another one', () => {
    for (let length = 0; length < BLOCK.length; length += 1) {
      expect(() => decompressLz4Block(BLOCK.subarray(0, length), TEXT.length)).toThrow('LZ4 block');
    }
    for (const size of [0, 1, TEXT.length - 1, TEXT.length + 1]) {
      expect(() => decompressLz4Block(BLOCK, size)).toThrow('LZ4 block');
    }
  });

  test.each([
    ['a match before the beginning', [0x10, 65, 2, 0]],
    ['a match at no distance', [0x10, 65, 0, 0]],
    ['more literals than there are', [0x20, 65]],
  ])('with %s is refused', (_, bytes) => {
    expect(() => decompressLz4Block(Uint8Array.from(bytes), 5)).toThrow('LZ4 block');
  });
});

/** Literals only, which is a valid block. */
function literals(bytes: Uint8Array): Uint8Array {
  const rest = bytes.length - 15;
  if (rest < 0) return Buffer.from([bytes.length << 4, ...bytes]);
  return Buffer.from([0xf0, ...Array<number>(Math.floor(rest / 255)).fill(255), rest % 255, ...bytes]);
}

test.each([
  ['BROTLI', (bytes: Uint8Array) => brotliCompressSync(bytes)],
  ['LZ4_RAW', literals],
] as const)('A Parquet file that is compressed with %s is read.', async (codec, compress) => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'rows.parquet');
  const data = Array.from({ length: 1000 }, (_, index) => `text ${index}`);
  const columnData = [{ name: 'a', data, type: 'STRING' as const }];
  writeFileSync(path, Buffer.from(parquetWriteBuffer({ columnData, codec, compressors: { [codec]: compress } })));
  const read: unknown[] = [];
  await parquetRows(path).read(['a'], ({ fields }) => read.push(fields().a));
  expect(read).toEqual(data);
});
