import { DecompressionStream, ReadableStream } from 'node:stream/web';
import { setImmediate } from 'node:timers/promises';
import { createGunzip, type Gunzip, type InflateRaw } from 'node:zlib';
import { DomainError } from '../domain/errors.ts';
import type { ByteSource } from './byte-source.ts';
import { compressionOf } from './compression.ts';
import { type ByteRange, fileChunks } from './file-chunks.ts';
import { inaccessible, sizeOf, unreadable } from './source.ts';
import { xzChunks } from './xz-chunks.ts';

const PARQUET = [0x50, 0x41, 0x52, 0x31];
/** The maximum ratio of decompression, which no recording reaches: a file that expands to more is a decompression bomb. */
const EXPANSION_MAX = 8000;
const EXPANSION_CHECKED_FROM_BYTES = 16 * 1024 * 1024;
/** The number of bytes that zlib gets at a time. It packs at most 1,032 to 1, so their output fits into memory. */
const PACKED_PIECE_BYTES = 16_384;
const UNPACKED_CHUNK_BYTES = 65_536;
/** The type with Bun's formats: that of browsers, which preact's types bring in, does not know zstd. */
const BunDecompressionStream = DecompressionStream as new (format: Bun.CompressionFormat) => DecompressionStream;

export interface DecompressOptions {
  /** Ends the bytes of a file with an error, even while a read is waiting. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of compressed bytes that were read since the last call. */
  readonly onBytes?: (bytes: number) => void;
}

export function isParquet(bytes: Uint8Array): boolean {
  return startsWith(bytes, PARQUET);
}

/** The four bytes of a file at `start`, not decompressed. */
export async function firstBytesOf(path: string, start = 0): Promise<Uint8Array> {
  try {
    return new Uint8Array(
      await Bun.file(path)
        .slice(start, start + 4)
        .arrayBuffer(),
    );
  } catch (error) {
    throw inaccessible(path, error);
  }
}

/** The bytes of a file, of standard input (`-`) or of a member of a container, decompressed. Throws DomainError 'unreadable'. */
export async function* decompressed(
  input: string | ByteSource,
  options: DecompressOptions,
): AsyncGenerator<Uint8Array> {
  const { signal, onBytes } = options;
  const given = typeof input === 'string' ? wholeFile(input) : input;
  const name = given.label;
  const packed = { bytes: 0, reported: 0 };
  const source = untilAborted(await given.stored(), signal, packed);
  const content: AsyncIterator<Uint8Array> = given.unpacked?.(source)[Symbol.asyncIterator]() ?? source;
  let bytes = 0;
  try {
    const first = await firstChunk(content);
    if (input === '-' && isParquet(first)) {
      throw unreadable('Parquet cannot be read from standard input: give the name of the file');
    }
    if (given.isPipe === true && compressionOf(first) === 'xz') {
      const remedy = `decompress it on the way, xzcat FILE | bookreel import -`;
      throw unreadable(`xz cannot be read from a pipe: ${remedy}`);
    }
    for await (const chunk of unpacked(first, content)) {
      bytes += chunk.length;
      if (bytes > EXPANSION_CHECKED_FROM_BYTES && bytes > EXPANSION_MAX * packed.bytes) {
        const sentence = `${name} expands to more than ${EXPANSION_MAX} times its size: it is not a recording`;
        throw unreadable(sentence);
      }
      yield chunk;
      onBytes?.(packed.bytes - packed.reported);
      packed.reported = packed.bytes;
      if (signal !== undefined) await checkpoint(signal);
    }
  } catch (error) {
    if (error instanceof DomainError) throw error;
    const sentence = `${name} cannot be read to its end (${reasonOf(error)}): it is damaged or cut off`;
    throw unreadable(sentence, error);
  } finally {
    await content.return?.(undefined);
    await source.return(undefined);
  }
}

/** Lets the event loop handle signals, which file reads alone do not. Throws 'unreadable' if the import was stopped. */
export async function checkpoint(signal: AbortSignal | undefined): Promise<void> {
  await setImmediate();
  if (signal?.aborted === true) throw stoppedError();
}

function unpacked(first: Uint8Array, source: AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> {
  const packed = concatenated(first, source);
  switch (compressionOf(first)) {
    case 'gzip':
      return inflated(packed, createGunzip({ chunkSize: UNPACKED_CHUNK_BYTES }));
    case 'zstd':
      // Not createZstdDecompress, which accepts a truncated frame.
      return ReadableStream.from(packed).pipeThrough(new BunDecompressionStream('zstd'));
    case 'xz':
      return xzChunks(packed);
    case undefined:
      return packed;
  }
}

function wholeFile(path: string): ByteSource {
  if (path === '-') return { label: 'standard input', isPipe: true, stored: async () => Bun.stdin.stream() };
  // An embedded file has no size either, and is never xz.
  return { label: `'${path}'`, isPipe: sizeOf(path) === undefined, stored: () => chunksOf(path) };
}

/** Decompressors keep references to their input, so compressed files are not read with `fileChunks`, which reuses its buffers. */
async function chunksOf(path: string): Promise<AsyncIterable<Uint8Array>> {
  // A pipe cannot be read twice.
  const head = sizeOf(path) === undefined ? undefined : await firstBytesOf(path);
  const isPlainFile = head !== undefined && compressionOf(head) === undefined;
  // Bun.file also reads files that are embedded in the executable.
  return isPlainFile ? fileChunks(path) : Bun.file(path).stream();
}

/** The bytes of a range as they are stored. A chunk is valid until the next one, unless they are compressed. */
export async function rangeChunks(path: string, range: ByteRange): Promise<AsyncIterable<Uint8Array>> {
  const head = range.end - range.start < 4 ? new Uint8Array() : await firstBytesOf(path, range.start);
  const chunks = fileChunks(path, range);
  return compressionOf(head) === undefined ? chunks : copied(chunks);
}

async function* copied(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield chunk.slice();
}

/** Passes `chunks` on and adds their sizes to `passed.bytes`. Throws as soon as the signal is aborted. */
async function* untilAborted(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
  passed: { bytes: number },
): AsyncGenerator<Uint8Array> {
  const iterator: AsyncIterator<Uint8Array> = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await unlessAborted(() => iterator.next(), signal);
      if (next.done === true) return;
      passed.bytes += next.value.length;
      yield next.value;
    }
  } finally {
    // Not awaited after an abort: a pipe without input never answers.
    if (signal?.aborted === true) iterator.return?.(undefined).catch(() => undefined);
    else await iterator.return?.(undefined);
  }
}

/** Runs `step`; throws if the signal is aborted first. One promise for all steps would keep every result in memory. */
async function unlessAborted<T>(step: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await step();
  if (signal.aborted) throw stoppedError();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(stoppedError());
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([step(), aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** The first bytes: four or more, unless the file is shorter. */
async function firstChunk(source: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let first = new Uint8Array();
  while (first.length < 4) {
    const next = await source.next();
    if (next.done === true) break;
    first = new Uint8Array(Buffer.concat([first, next.value]));
  }
  return first;
}

export async function* concatenated(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (first.length > 0) yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

/** Inflates in small pieces and yields each result, because a stream that fails drops the output that was not read yet. */
export async function* inflated(
  chunks: AsyncIterable<Uint8Array>,
  gunzip: Gunzip | InflateRaw,
): AsyncGenerator<Uint8Array> {
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

function stoppedError(): DomainError {
  return unreadable('the import was stopped');
}

function startsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, index) => bytes[index] === byte);
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.message : String(error);
}
