import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { concatenated, type DecompressOptions, decompressed, firstBytesOf, isParquet } from './decompressed.ts';
import { ParquetFile } from './parse/parquet.ts';
import type { RecordingFile } from './recording-file.ts';
import { SAMPLE_BYTES, Sample } from './sample.ts';
import type { Source } from './source.ts';

const NEWLINE = 10;
const SAMPLING: DecompressOptions = { signal: undefined, onBytes: () => undefined };

/** A file and what it is to be recognised by. */
export interface OpenedSource {
  readonly sample: Sample;
  readonly file: RecordingFile;
}

/** Opens a file. What a pipe was recognised by is read again with the rest. Throws 'unreadable' for what cannot be opened. */
export async function openSource({ path }: Source, options: DecompressOptions): Promise<OpenedSource> {
  const name = basename(path).replace(/\.(?:gz|zst)$/i, '');
  const piped = path === '-' || isPipe(path);
  const columns = !piped && isParquet(await firstBytesOf(path)) ? await columnsOf(path) : undefined;
  const chunks = decompressed(path, piped ? options : SAMPLING);
  // A pipe may bring a line an hour: what has come so far has to do.
  const head = columns === undefined ? await headOf(chunks, piped ? 1 : SAMPLE_BYTES) : new Uint8Array();
  if (!piped) await chunks.return(undefined);
  const sample = new Sample(name, head, { columns, piped });
  // No function here may close over the head: all files of an import are open before the first is read.
  const bytes = piped ? rereading(head, chunks) : () => decompressed(path, options);
  return { sample, file: { path, name, isJsonLines: sample.isJsonLines, bytes } };
}

function rereading(head: Uint8Array, rest: AsyncIterator<Uint8Array>): () => AsyncIterable<Uint8Array> {
  return () => concatenated(head, rest);
}

function isPipe(path: string): boolean {
  // What is embedded in the executable has no entry in the file system.
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && (stat.isFIFO() || stat.isSocket());
}

/** The names of a Parquet file's columns; none when it is damaged. */
async function columnsOf(path: string): Promise<ReadonlySet<string>> {
  try {
    const { metadata } = await ParquetFile.open(path);
    return new Set(metadata.schema.map(({ name }) => name));
  } catch (error) {
    if (error instanceof DomainError && error.kind === 'unreadable') return new Set();
    throw error;
  }
}

/** At least `bytesWanted` bytes where there are so many, at most SAMPLE_BYTES more than the chunks that they came in. */
async function headOf(chunks: AsyncIterator<Uint8Array>, bytesWanted: number): Promise<Uint8Array> {
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
  return new Uint8Array(Buffer.concat(parts));
}
