/** The compression of a whole file. */
export type Compression = 'gzip' | 'zstd' | 'xz';

/** The first bytes: RFC 1952, RFC 8878, and https://tukaani.org/xz/xz-file-format.txt. */
const COMPRESSIONS: readonly (readonly [Compression, readonly number[]])[] = [
  ['gzip', [0x1f, 0x8b]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
  // A skippable frame, with which pzstd begins: its first byte is one of 16.
  ...Array.from({ length: 16 }, (_, index) => ['zstd', [0x50 + index, 0x2a, 0x4d, 0x18]] as const),
  ['xz', [0xfd, 0x37, 0x7a, 0x58]],
];

/** Finds the compression of a file by its first four bytes; undefined if it has none that is read. */
export function compressionOf(head: Uint8Array): Compression | undefined {
  return COMPRESSIONS.find(([, magic]) => magic.every((byte, index) => head[index] === byte))?.[0];
}
