import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ReadableStream } from 'node:stream/web';
import { createGunzip } from 'node:zlib';
import { DomainError } from '../domain/errors.ts';
import { linesOf } from './lines.ts';
import { looksLikeRecord } from './ndjson.ts';

/** A file to import, as it was named or found. */
export interface Source {
  /** `-` for standard input. */
  readonly path: string;
  /** How reports call it. */
  readonly name: string;
  /** Named by the user: then it must be a recording. Files found in a directory may be anything. */
  readonly named: boolean;
}

export type Format = 'ndjson' | 'parquet';

const GZIP = [0x1f, 0x8b];
const ZSTD = [0x28, 0xb5, 0x2f, 0xfd];
const PARQUET = [0x50, 0x41, 0x52, 0x31];
/** How far into a file is looked for a first record before it is called unknown. */
const SNIFF_LINES = 20;
const MARKETS_FILE = /^markets\.ndjson(?:\.gz|\.zst)?$/;
const RECORDING_NAME = /\.ndjson(?:\.gz|\.zst)?$/;

/**
 * The files behind `paths`, in the order in which they are to be read: directories in depth and by name, and in each the
 * `markets.ndjson` first, because records need their market; a Parquet file that is named brings along the one beside it.
 * Throws 'unreadable' for what does not exist or cannot be read.
 */
export function sourcesOf(paths: readonly string[]): Source[] {
  const sources: Source[] = [];
  const seen = new Set<string>();
  const add = (source: Source) => {
    if (seen.has(source.path)) return;
    seen.add(source.path);
    sources.push(source);
  };
  for (const path of paths) {
    if (path === '-') {
      add({ path, name: 'standard input', named: true });
    } else if (accessible(path, () => statSync(path)).isDirectory()) {
      for (const found of filesIn(path)) add({ path: found, name: found, named: false });
    } else {
      for (const beside of path.endsWith('.parquet') ? marketsBeside(path) : [])
        add({ path: beside, name: beside, named: true });
      add({ path, name: path, named: true });
    }
  }
  return sources;
}

/** Errors of the file system as DomainError 'unreadable'. */
function accessible<T>(path: string, look: () => T): T {
  try {
    return look();
  } catch (error) {
    throw inaccessible(path, error);
  }
}

function inaccessible(path: string, cause: unknown): DomainError {
  return new DomainError('unreadable', `'${path}' cannot be read: check the path and its permissions`, { cause });
}

function filesIn(directory: string): string[] {
  const entries = accessible(directory, () => readdirSync(directory, { withFileTypes: true }));
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const markets = entries.filter((entry) => MARKETS_FILE.test(entry.name));
  const rest = entries.filter((entry) => !MARKETS_FILE.test(entry.name));
  return [...markets, ...rest].flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return filesIn(path);
    return entry.isFile() || (entry.isSymbolicLink() && existsSync(path) && statSync(path).isFile()) ? [path] : [];
  });
}

function marketsBeside(path: string): string[] {
  const directory = dirname(path);
  return accessible(directory, () => readdirSync(directory))
    .filter((name) => MARKETS_FILE.test(name))
    .map((name) => join(directory, name));
}

/** What a file holds, by its content first and its name second; undefined when it is no recording known here. */
export async function formatOf(path: string): Promise<Format | undefined> {
  // What was read from a pipe to recognise it would be missing afterwards.
  if (isPipe(path)) return 'ndjson';
  const head = await headOf(path);
  if (startsWith(head, PARQUET)) return 'parquet';
  if (RECORDING_NAME.test(basename(path))) return 'ndjson';
  try {
    let looked = 0;
    for await (const line of linesOf(decompressed(path))) {
      if (looksLikeRecord(line.text())) return 'ndjson';
      looked += 1;
      if (looked >= SNIFF_LINES) break;
    }
  } catch (error) {
    // Binary files and damaged archives are not recordings; a damaged recording is found out by its name.
    if (!(error instanceof DomainError)) throw error;
  }
  return undefined;
}

function isPipe(path: string): boolean {
  // What is embedded in the executable has no entry in the file system.
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && (stat.isFIFO() || stat.isCharacterDevice() || stat.isSocket());
}

async function headOf(path: string): Promise<Uint8Array> {
  try {
    return new Uint8Array(await Bun.file(path).slice(0, 4).arrayBuffer());
  } catch (error) {
    throw inaccessible(path, error);
  }
}

/** The bytes of a file or of standard input, with gzip or zstd taken off. Errors as DomainError 'unreadable'. */
export async function* decompressed(path: string): AsyncGenerator<Uint8Array> {
  // Bun.file also reads what is embedded in the executable.
  const raw: AsyncIterable<Uint8Array> = path === '-' ? Bun.stdin.stream() : Bun.file(path).stream();
  const source = raw[Symbol.asyncIterator]();
  try {
    const first = await firstBytes(source);
    if (path === '-' && startsWith(first, PARQUET)) {
      throw new DomainError('unreadable', 'Parquet cannot be read from standard input: import the file by its name');
    }
    const rest = concatenated(first, source);
    if (startsWith(first, GZIP)) yield* inflated(rest, createGunzip());
    // Not createZstdDecompress: that one takes a frame that was cut off for a whole one.
    else if (startsWith(first, ZSTD)) yield* ReadableStream.from(rest).pipeThrough(new DecompressionStream('zstd'));
    else yield* rest;
  } catch (error) {
    if (error instanceof DomainError) throw error;
    const name = path === '-' ? 'standard input' : `'${path}'`;
    const sentence = `${name} cannot be read to its end (${reasonOf(error)}): it is damaged or cut off`;
    throw new DomainError('unreadable', sentence, { cause: error });
  } finally {
    await source.return?.();
  }
}

async function firstBytes(source: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let first = new Uint8Array();
  while (first.length < 4) {
    const next = await source.next();
    if (next.done === true) break;
    first = Uint8Array.from(Buffer.concat([first, next.value]));
  }
  return first;
}

async function* concatenated(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (first.length > 0) yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

async function* inflated(chunks: AsyncIterable<Uint8Array>, inflate: Transform): AsyncGenerator<Uint8Array> {
  // The pipeline's own failure arrives through the stream that is read; here it must only not go unhandled.
  const done = pipeline(chunks, inflate).catch((error: unknown) =>
    inflate.destroy(error instanceof Error ? error : undefined),
  );
  yield* inflate as AsyncIterable<Uint8Array>;
  await done;
}

function startsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, index) => bytes[index] === byte);
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.message : String(error);
}
