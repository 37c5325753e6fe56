import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import type { ImportReport } from '../../../src/import/report.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { booksOf } from '../../support/imported.ts';

export const SLUG = 'btc-updown-5m-1776808200';
export const CONDITION_ID = `0x${'5'.repeat(64)}`;
const AT_MS = 1_776_808_300_000;

export const MARKET = `${JSON.stringify({
  ...{ type: 'market', conditionId: CONDITION_ID, slug: SLUG, symbol: 'btc', timeframe: '5m' },
  ...{ outcomes: ['up', 'down'], clobTokenIds: ['1111', '2222'] },
  ...{ startTime: '2026-04-21T21:50:00Z', endTime: '2026-04-21T21:55:00Z' },
})}\n`;

/** Lines of snapshots: one per size, a second apart. */
export function snapshots(sizes: readonly number[], fromMs = AT_MS): string {
  const labels = { type: 'snapshot', conditionId: CONDITION_ID, outcome: 'up' };
  return sizes
    .map((size, index) => ({ ...labels, timestamp: fromMs + index * 1000, bids: [{ price: 0.5, size }], asks: [] }))
    .map((record) => `${JSON.stringify(record)}\n`)
    .join('');
}

export function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

export type Content = string | Uint8Array;

/** Whether a program of the system is installed. */
export function has(...programs: readonly string[]): boolean {
  return programs.every((program) => Bun.which(program) !== null);
}

/** Runs a program in a directory; its standard output. Throws if it fails. */
export function run(cwd: string, program: string, ...args: string[]): Uint8Array {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, maxBuffer: 2 ** 30 });
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
  return stdout;
}

/** Writes files into a directory, by their paths in it. */
export function writeAll(directory: string, files: Readonly<Record<string, Content>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
}

interface Imported {
  readonly report: ImportReport;
  /** The sizes of the stored bids, in the order of time; none if the market is unknown. */
  readonly sizes: readonly number[];
  /** Names in the directory for temporary files at the end. */
  readonly left: readonly string[];
  readonly error: unknown;
}

/** Imports a file with this content, with a directory for temporary files of its own; the paths in the report begin with its name. */
export async function importNamed(name: string, content: Content): Promise<Imported> {
  using directory = temporaryDirectory();
  const path = join(directory.path, name);
  writeAll(directory.path, { [name]: content });
  return await importPath(path, directory.path);
}

/** The same for a path in `directory`. */
export async function importPath(path: string, directory: string): Promise<Imported> {
  using place = temporaryArchive();
  using temporary = temporaryDirectory();
  const before = process.env.TMPDIR;
  process.env.TMPDIR = temporary.path;
  let report: ImportReport | undefined;
  let error: unknown;
  try {
    report = await importPaths(place.archive, path);
  } catch (thrown) {
    error = thrown;
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
  const isKnown = place.archive.markets.findBySlug(SLUG) !== undefined;
  const sizes = isKnown ? booksOf(place.archive, SLUG, 'up').map(({ book }) => book.bidSizes[0]!) : [];
  const none = { files: [], skipped: [], notes: [], rejections: [] } as unknown as ImportReport;
  const shortened = JSON.parse(JSON.stringify(report ?? none).replaceAll(`${directory}/`, ''));
  return { report: shortened, sizes, left: readdirSync(temporary.path), error };
}

/** What a test states of a member that it makes by hand. */
export interface MadeEntry {
  readonly name: string;
  readonly content: Content;
  readonly method?: number;
  readonly flags?: number;
  readonly size?: number;
  readonly crc?: number;
  /** Mode of the file on Unix, with its type. */
  readonly mode?: number;
  /** Lists the bytes of the first member again. */
  readonly isOverlapping?: boolean;
}

/** A zip file, written by hand so that it can be wrong. */
export function madeZip(entries: readonly MadeEntry[]): Uint8Array {
  const parts: Uint8Array[] = [];
  const listed: Uint8Array[] = [];
  let at = 0;
  for (const { name, content, method = 8, flags = 0x800, mode = 0o100644, ...stated } of entries) {
    const plain = Buffer.from(content);
    const packed = method === 8 ? deflateRawSync(plain) : plain;
    const named = Buffer.from(name);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(flags, 2);
    fields.writeUInt16LE(method, 4);
    fields.writeUInt32LE(stated.crc ?? crc32(plain), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(stated.size ?? plain.length, 18);
    fields.writeUInt16LE(named.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE((mode << 16) >>> 0, 6);
    place.writeUInt32LE(stated.isOverlapping === true ? 0 : at, 10);
    listed.push(Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0003'), fields, place, named]));
    if (stated.isOverlapping === true) continue;
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), fields, named, packed]);
    parts.push(local);
    at += local.length;
  }
  const directory = Buffer.concat(listed);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006');
  end.writeUInt16LE(entries.length % 0x10000, 8);
  end.writeUInt16LE(entries.length % 0x10000, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, directory, end]);
}

interface MadeBlock {
  readonly name: string;
  readonly content?: Content;
  readonly type?: string;
  readonly size?: number;
}

/** A tar file, written by hand so that it can be wrong. */
export function madeTar(blocks: readonly MadeBlock[]): Uint8Array {
  const parts = blocks.map(({ name, content = '', type = '0', size }) => {
    const bytes = Buffer.from(content);
    const header = Buffer.alloc(512);
    header.write(name, 0, 100);
    header.write('0000644\0', 100);
    header.write((size ?? bytes.length).toString(8).padStart(11, '0'), 124);
    header.write(`        ${type}`, 148);
    header.write('ustar\u000000', 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
  });
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}
