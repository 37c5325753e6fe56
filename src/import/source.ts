import { type Dirent, existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ReadableStream } from 'node:stream/web';
import { setImmediate } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { DomainError } from '../domain/errors.ts';
import { type RecordingFile, SAMPLE_BYTES, SAMPLE_LINES, type Sample } from './codec.ts';
import { parquetColumns } from './codecs/parquet-books.ts';
import { fileChunks } from './file-chunks.ts';

/** A file to import, as it was named or found. */
export interface Source {
  /** `-` for standard input. */
  readonly path: string;
  /** How reports call it. */
  readonly name: string;
  /** Named by the user: then it must be a recording. Files found in a directory may be anything. */
  readonly named: boolean;
}

const GZIP = [0x1f, 0x8b];
const ZSTD = [0x28, 0xb5, 0x2f, 0xfd];
const PARQUET = [0x50, 0x41, 0x52, 0x31];
const NEWLINE = 10;
/** No recording is packed as densely as this: what expands to more is made to fill memories, or days. */
const EXPANSION_MAX = 8000;
const EXPANSION_ASKED_FROM_BYTES = 16 * 1024 * 1024;
/** Gzip packs at most 1,032 to 1: what one piece unpacks to is held as a whole. */
const PACKED_PIECE_BYTES = 16_384;
const UNPACKED_CHUNK_BYTES = 65_536;
const MARKETS_FILE = /^markets\.ndjson(?:\.gz|\.zst)?$/;

/**
 * The files behind `paths`, in the order in which they are to be read: directories in depth and by name, and in each the
 * `markets.ndjson` first, because records need their market; a Parquet file that is named brings along the one beside it.
 * Throws 'unreadable' for what is named and does not exist, cannot be read or is a device. What is found in a directory and
 * cannot be read is among the files: opening it says why.
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
      continue;
    }
    const stat = accessible(path, () => statSync(path));
    if (stat.isCharacterDevice() || stat.isBlockDevice()) {
      throw new DomainError('unreadable', `'${path}' is a device: name a file, a directory, a pipe, or -`);
    }
    if (stat.isDirectory()) {
      for (const found of filesIn(
        path,
        accessible(path, () => entriesOf(path)),
      )) {
        add({ path: found, name: found, named: false });
      }
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

function entriesOf(directory: string): Dirent[] {
  return readdirSync(directory, { withFileTypes: true });
}

function filesIn(directory: string, entries: Dirent[]): string[] {
  // Recorders number the parts of a capture: 10 comes behind 9, and a book goes on from one to the next.
  const { compare } = new Intl.Collator('en', { numeric: true });
  entries.sort((a, b) => compare(a.name, b.name) || (a.name < b.name ? -1 : 1));
  const markets = entries.filter((entry) => MARKETS_FILE.test(entry.name));
  const rest = entries.filter((entry) => !MARKETS_FILE.test(entry.name));
  return [...markets, ...rest].flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() || (entry.isSymbolicLink() && leadsToFile(path)) ? [path] : [];
  });
}

/** A directory that cannot be read stands for itself: opening it says why. */
function filesBelow(directory: string): string[] {
  let entries: Dirent[];
  try {
    entries = entriesOf(directory);
  } catch {
    return [directory];
  }
  return filesIn(directory, entries);
}

/** Links to directories may lead in circles, and what the system shows as files of no size may never end. */
function leadsToFile(path: string): boolean {
  if (!existsSync(path)) return false;
  const stat = statSync(path);
  return stat.isFile() && stat.size > 0;
}

function marketsBeside(path: string): string[] {
  const directory = dirname(path);
  return accessible(directory, () => readdirSync(directory))
    .filter((name) => MARKETS_FILE.test(name))
    .map((name) => join(directory, name));
}

/** Bytes of a file as they lie on the disk; undefined where there is no telling, as of a pipe. */
export function sizeOf(path: string): number | undefined {
  if (path === '-') return undefined;
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true ? stat.size : undefined;
}

interface OpenOptions {
  /** Ends the bytes of a file with an error, also while they are waited for. */
  readonly signal: AbortSignal | undefined;
  /** Told of bytes as they are read, before they are decompressed; not of those that a file is recognised by. */
  readonly onBytes: (bytes: number) => void;
}

/** A file and what it is to be recognised by. */
export interface OpenedSource {
  readonly sample: Sample;
  readonly file: RecordingFile;
}

/** Opens a file. What a pipe was recognised by is read again with the rest. Throws 'unreadable' for what cannot be opened. */
export async function openSource({ path }: Source, options: OpenOptions): Promise<OpenedSource> {
  const name = basename(path).replace(/\.(?:gz|zst)$/i, '');
  if (path !== '-' && !isPipe(path)) {
    const columns = startsWith(await headOf(path), PARQUET) ? await columnsOf(path) : undefined;
    const head = columns === undefined ? await sampledHead(path) : new Uint8Array();
    return {
      sample: sampleOf(name, head, columns, false),
      file: { path, name, bytes: () => decompressed(path, options) },
    };
  }
  // A pipe may bring a line an hour: what has come so far has to do.
  const { head, rest } = await headOfStream(decompressed(path, options), 1);
  const bytes = () => concatenated(head, rest);
  return { sample: sampleOf(name, head, undefined, true), file: { path, name, bytes } };
}

async function columnsOf(path: string): Promise<ReadonlySet<string>> {
  try {
    return await parquetColumns(path);
  } catch (error) {
    if (error instanceof DomainError && error.kind === 'unreadable') return new Set();
    throw error;
  }
}

const SAMPLING: OpenOptions = { signal: undefined, onBytes: () => undefined };

async function sampledHead(path: string): Promise<Uint8Array> {
  const chunks = decompressed(path, SAMPLING);
  try {
    return (await headOfStream(chunks, SAMPLE_BYTES)).head;
  } finally {
    await chunks.return(undefined);
  }
}

/** At least `bytesWanted` bytes where there are so many, at most SAMPLE_BYTES more than the chunks that they came in. */
async function headOfStream(chunks: AsyncGenerator<Uint8Array>, bytesWanted: number) {
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    while (length < bytesWanted || (length < SAMPLE_BYTES && !parts.some((part) => part.includes(NEWLINE)))) {
      const next = await chunks.next();
      if (next.done === true) break;
      parts.push(next.value.slice());
      length += next.value.length;
    }
  } catch (error) {
    // What cannot be read to its end is found out when it is read; what came before may tell what it is.
    if (!(error instanceof DomainError)) throw error;
  }
  return { head: new Uint8Array(Buffer.concat(parts)), rest: chunks };
}

function sampleOf(name: string, bytes: Uint8Array, columns: Sample['columns'], piped: boolean): Sample {
  const head = bytes.subarray(0, SAMPLE_BYTES);
  // The last line may be cut, unless it is all there is.
  const end = bytes.length < SAMPLE_BYTES ? head.length : head.lastIndexOf(NEWLINE) + 1;
  const lines = textOf(head.subarray(0, end))
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(0, SAMPLE_LINES);
  return { name, head, lines, columns, piped };
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // Binary, or damaged: lines that are text may still tell, and those that are not match nothing.
    return new TextDecoder('utf-8').decode(bytes);
  }
}

function isPipe(path: string): boolean {
  // What is embedded in the executable has no entry in the file system.
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && (stat.isFIFO() || stat.isSocket());
}

async function headOf(path: string): Promise<Uint8Array> {
  try {
    return new Uint8Array(await Bun.file(path).slice(0, 4).arrayBuffer());
  } catch (error) {
    throw inaccessible(path, error);
  }
}

/** The bytes of a file or of standard input, with gzip or zstd taken off. Errors as DomainError 'unreadable'. */
async function* decompressed(path: string, options: OpenOptions): AsyncGenerator<Uint8Array> {
  const name = path === '-' ? 'standard input' : `'${path}'`;
  const raw: AsyncIterable<Uint8Array> = path === '-' ? Bun.stdin.stream() : await chunksOf(path);
  const packed = { bytes: 0 };
  const onBytes = (bytes: number) => {
    packed.bytes += bytes;
    options.onBytes(bytes);
  };
  const source = watched(raw, { signal: options.signal, onBytes });
  try {
    const first = await firstBytes(source);
    if (path === '-' && startsWith(first, PARQUET)) {
      throw new DomainError('unreadable', 'Parquet cannot be read from standard input: import the file by its name');
    }
    const rest = concatenated(first, source);
    if (startsWith(first, GZIP)) yield* proportionate(inflated(rest), packed, name, options);
    // Not createZstdDecompress: that one takes a frame that was cut off for a whole one.
    else if (startsWith(first, ZSTD)) {
      const unzstd = ReadableStream.from(rest).pipeThrough(new DecompressionStream('zstd'));
      yield* proportionate(unzstd, packed, name, options);
    } else yield* rest;
  } catch (error) {
    if (error instanceof DomainError) throw error;
    const sentence = `${name} cannot be read to its end (${reasonOf(error)}): it is damaged or cut off`;
    throw new DomainError('unreadable', sentence, { cause: error });
  } finally {
    await source.return(undefined);
  }
}

/** Decompressors hold on to the chunks that they are given, so they get none that is used again. */
async function chunksOf(path: string): Promise<AsyncIterable<Uint8Array>> {
  // What is looked at in a pipe is gone from it.
  const head = sizeOf(path) === undefined ? undefined : await headOf(path);
  const isPlainFile = head !== undefined && !startsWith(head, GZIP) && !startsWith(head, ZSTD);
  // Bun.file also reads what is embedded in the executable.
  return isPlainFile ? fileChunks(path) : Bun.file(path).stream();
}

/** Tells of what passes, and ends with an error as soon as the signal says so. */
async function* watched(
  chunks: AsyncIterable<Uint8Array>,
  { signal, onBytes }: OpenOptions,
): AsyncGenerator<Uint8Array> {
  const iterator: AsyncIterator<Uint8Array> = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await unlessAborted(() => iterator.next(), signal);
      if (next.done === true) return;
      onBytes(next.value.length);
      yield next.value;
      // Reads of a file settle without the event loop going round: signals would wait for the file's end.
      if (signal !== undefined) await setImmediate();
    }
  } finally {
    // A pipe that nothing comes from does not end for being asked: not waited for.
    if (signal?.aborted === true) iterator.return?.(undefined).catch(() => undefined);
    else await iterator.return?.(undefined);
  }
}

/**
 * What `step` comes to, or an error as soon as the signal says so. Every step has a promise of its own to race against: one
 * that lasted would hold on to what every step came to.
 */
async function unlessAborted<T>(step: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await step();
  if (signal.aborted) throw isStopping();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(isStopping());
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([step(), aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

async function firstBytes(source: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let first = new Uint8Array();
  while (first.length < 4) {
    const next = await source.next();
    if (next.done === true) break;
    first = new Uint8Array(Buffer.concat([first, next.value]));
  }
  return first;
}

async function* concatenated(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (first.length > 0) yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

/**
 * Gunzips in small pieces and hands out what each of them gave before anything is said of the next: a stream that ends with
 * an error forgets what nobody has read of it.
 */
async function* inflated(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: UNPACKED_CHUNK_BYTES });
  const parts: Uint8Array[] = [];
  let failure: Error | undefined;
  gunzip.on('data', (part: Uint8Array) => parts.push(part));
  const ended = new Promise<void>((resolve) => {
    gunzip.once('end', resolve);
    gunzip.once('error', (error) => {
      failure = error;
      resolve();
    });
  });
  const written = (piece: Uint8Array) => new Promise<void>((resolve) => gunzip.write(piece, () => resolve()));
  try {
    for await (const chunk of chunks) {
      for (let start = 0; start < chunk.length && failure === undefined; start += PACKED_PIECE_BYTES) {
        await Promise.race([written(chunk.subarray(start, start + PACKED_PIECE_BYTES)), ended]);
        yield* parts.splice(0);
      }
      if (failure !== undefined) break;
    }
    gunzip.end();
    await ended;
    yield* parts.splice(0);
    if (failure !== undefined) throw failure;
  } finally {
    gunzip.destroy();
  }
}

/**
 * Unpacked bytes, up to where they are out of all proportion to those that they were packed in. A few packed bytes may become
 * many: in between, progress is told and the signal heard.
 */
async function* proportionate(
  chunks: AsyncIterable<Uint8Array>,
  packed: { readonly bytes: number },
  name: string,
  { signal, onBytes }: OpenOptions,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > EXPANSION_ASKED_FROM_BYTES && bytes > EXPANSION_MAX * packed.bytes) {
      throw new DomainError(
        'unreadable',
        `${name} expands to more than ${EXPANSION_MAX} times its size: it is no recording`,
      );
    }
    yield chunk;
    onBytes(0);
    if (signal !== undefined) await setImmediate();
    if (signal?.aborted === true) throw isStopping();
  }
}

function isStopping(): DomainError {
  return new DomainError('unreadable', 'the import was told to stop');
}

function startsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, index) => bytes[index] === byte);
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.message : String(error);
}
