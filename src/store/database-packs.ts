import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { DomainError } from '../domain/errors.ts';
import { PAGE_BYTES } from './database-connection.ts';

/** A table has at most this many blocks: those of larger databases are two, four … pages. */
const BLOCKS_MAX = 1 << 20;
/** The blocks of a pack, before they are compressed. */
const PACK_BYTES = 8 << 20;
/** The blocks that are compared in one turn of the event loop: 8 MB at least. */
const BLOCKS_PER_TURN = 1024;
/** A pack of which less than this part is in use is not used again. */
const USED_MIN = 0.25;
/** The beginning of the SHA-256 of a block, the number of its pack, its place in the pack. */
const [HASH_BYTES, PACK_AT, PLACE_AT, ENTRY_BYTES] = [16, 16, 20, 24];

/** A pack of blocks: the name and size of its object, and their number. */
interface Pack {
  readonly sha256: string;
  readonly bytes: number;
  readonly blocks: number;
}

/**
 * The blocks of a database in the order of its file, and the packs that have them. SQLite changes pages in place, so a backup stores the blocks
 * that differ from those at the same place in the backup before, and names the packs of that one for the rest.
 */
export interface PackTable {
  readonly blockBytes: number;
  readonly packs: readonly Pack[];
  readonly entries: Buffer;
}

/** Objects by their SHA-256. `put` returns it; `get` throws if there is no such object. */
export interface ObjectStore {
  readonly put: (bytes: Uint8Array) => Promise<string>;
  readonly get: (sha256: string) => Promise<Uint8Array>;
}

/** Stores the blocks of a file that `before` does not have, in memory of a few packs. `has`: the object of an earlier pack is there. */
export async function storePacks(
  path: string,
  before: PackTable | undefined,
  put: ObjectStore['put'],
  has: (sha256: string, bytes: number) => boolean,
): Promise<PackTable> {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const blockBytes = blockBytesFor(size);
    const known = before?.blockBytes === blockBytes ? before : undefined;
    const entries = Buffer.alloc(Math.ceil(size / blockBytes) * ENTRY_BYTES);
    const block = Buffer.alloc(blockBytes);
    const inUse = new Uint32Array(known?.packs.length ?? 0);
    for (let at = 0; at < entries.length; at += ENTRY_BYTES) {
      if (at % (BLOCKS_PER_TURN * ENTRY_BYTES) === 0) await Bun.sleep(0);
      const length = readSync(file, block, 0, blockBytes, (at / ENTRY_BYTES) * blockBytes);
      createHash('sha256').update(block.subarray(0, length)).digest().copy(entries, at, 0, HASH_BYTES);
      if (isSame(known, entries, at)) inUse[known!.entries.readUInt32LE(at + PACK_AT)]! += 1;
    }
    const packs: Pack[] = [];
    /** The numbers of earlier packs in the new table. */
    const kept = known?.packs.map((pack, index) => {
      if (inUse[index]! < USED_MIN * pack.blocks || inUse[index] === 0 || !has(pack.sha256, pack.bytes))
        return undefined;
      return packs.push(pack) - 1;
    });
    let pending: Buffer[] = [];
    const flush = async () => {
      if (pending.length === 0) return;
      const bytes = zstdCompressSync(Buffer.concat(pending));
      packs.push({ sha256: await put(bytes), bytes: bytes.length, blocks: pending.length });
      pending = [];
    };
    for (let at = 0; at < entries.length; at += ENTRY_BYTES) {
      const pack = isSame(known, entries, at) ? kept![known!.entries.readUInt32LE(at + PACK_AT)] : undefined;
      if (pack !== undefined) {
        entries.writeUInt32LE(pack, at + PACK_AT);
        entries.writeUInt32LE(known!.entries.readUInt32LE(at + PLACE_AT), at + PLACE_AT);
        continue;
      }
      const length = readSync(file, block, 0, blockBytes, (at / ENTRY_BYTES) * blockBytes);
      entries.writeUInt32LE(packs.length, at + PACK_AT);
      entries.writeUInt32LE(pending.push(Buffer.from(block.subarray(0, length))) - 1, at + PLACE_AT);
      if (pending.length * blockBytes >= PACK_BYTES) await flush();
    }
    await flush();
    return { blockBytes, packs, entries };
  } finally {
    closeSync(file);
  }
}

/** Writes the blocks of a table into an open file, in memory of one pack. */
export async function readPacks(
  { blockBytes, packs, entries }: PackTable,
  get: ObjectStore['get'],
  file: number,
): Promise<void> {
  const byPack = packs.map((): number[] => []);
  for (let at = 0; at < entries.length; at += ENTRY_BYTES) byPack[entries.readUInt32LE(at + PACK_AT)]?.push(at);
  for (const [index, { sha256 }] of packs.entries()) {
    const blocks = expand(await get(sha256), PACK_BYTES);
    for (const at of byPack[index]!) {
      const from = entries.readUInt32LE(at + PLACE_AT) * blockBytes;
      writeSync(file, blocks, from, Math.min(blockBytes, blocks.length - from), (at / ENTRY_BYTES) * blockBytes);
    }
  }
}

export function tableBytes({ blockBytes, packs, entries }: PackTable): Uint8Array {
  return zstdCompressSync(Buffer.concat([Buffer.from(`${JSON.stringify({ blockBytes, packs })}\n`), entries]));
}

/** Reads what `tableBytes` returned. */
export function tableOf(bytes: Uint8Array): PackTable {
  const text = expand(bytes, 1 << 30);
  const end = text.indexOf('\n');
  const { blockBytes, packs } = JSON.parse(text.toString('utf8', 0, end)) as Omit<PackTable, 'entries'>;
  return { blockBytes, packs, entries: text.subarray(end + 1) };
}

/** Throws 'unreadable' if it is not compressed, or longer than `maxOutputLength`. */
export function expand(bytes: Uint8Array, maxOutputLength: number): Buffer {
  try {
    return zstdDecompressSync(bytes, { maxOutputLength });
  } catch (error) {
    throw new DomainError('unreadable', 'a part of the backup is damaged: restore an earlier backup', { cause: error });
  }
}

function blockBytesFor(size: number): number {
  let bytes = PAGE_BYTES;
  while (size / bytes > BLOCKS_MAX) bytes *= 2;
  return bytes;
}

/** Compares the hashes of two tables at one place. */
function isSame(known: PackTable | undefined, entries: Buffer, at: number): boolean {
  return (
    known !== undefined &&
    at < known.entries.length &&
    entries.compare(known.entries, at, at + HASH_BYTES, at, at + HASH_BYTES) === 0
  );
}
