import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import type { ByteSource } from './byte-source.ts';
import { PrivateCopy } from './containers/private-copy.ts';
import { concatenated, type DecompressOptions, decompressed, firstBytesOf, isParquet } from './decompressed.ts';
import { ParquetFile } from './parse/parquet.ts';
import { isSqlite } from './parse/sqlite.ts';
import type { RecordingFile } from './recording-file.ts';
import { SAMPLE_BYTES, Sample } from './sample.ts';
import type { Source } from './source.ts';

const NEWLINE = 10;

/** A file and the sample by which its format is recognised. */
export interface OpenedSource {
  readonly sample: Sample;
  readonly file: RecordingFile;
  /** Set for a member of a container that is read at random positions: makes the copy whose path is `RecordingFile.copy`. */
  readonly copy?: () => Promise<PrivateCopy>;
}

/** Opens a file. The sample of a pipe is part of its bytes. Throws 'unreadable' if the file cannot be opened. */
export async function openSource(
  { path, fileName, member }: Source,
  options: DecompressOptions,
): Promise<OpenedSource> {
  const name = basename(fileName ?? path).replace(/\.(?:gz|zst|xz)$/i, '');
  if (member !== undefined) return await openMember(path, name, member, options);
  const piped = path === '-' || isPipe(path);
  const columns = !piped && isParquet(await firstBytesOf(path)) ? await columnsOf(path) : undefined;
  const chunks = decompressed(path, piped ? options : {});
  // A pipe may deliver a line per hour, so its first line must be enough.
  const head = columns === undefined ? await headOf(chunks, piped ? 1 : SAMPLE_BYTES, piped) : new Uint8Array();
  if (!piped) await chunks.return(undefined);
  const sample = new Sample(name, head, { columns, piped });
  // Bound, because a closure would also hold the heads of files, all of which are opened before the first is read.
  const bytes = piped ? concatenated.bind(undefined, head, chunks) : decompressed.bind(undefined, path, options);
  return { sample, file: { path, name, isJsonLines: sample.isJsonLines, bytes } };
}

async function openMember(
  path: string,
  name: string,
  member: ByteSource,
  options: DecompressOptions,
): Promise<OpenedSource> {
  const chunks = decompressed(member, {});
  const head = await headOf(chunks, SAMPLE_BYTES, true);
  await chunks.return(undefined);
  const bytes = decompressed.bind(undefined, member, options);
  if (!isParquet(head) && !isSqlite(head)) {
    const sample = new Sample(name, head);
    return { sample, file: { path, name, isJsonLines: sample.isJsonLines, bytes } };
  }
  const copy = copyOf.bind(undefined, member, options.signal);
  using parquet = isParquet(head) ? await copy() : undefined;
  const columns = parquet === undefined ? undefined : await columnsOf(path, parquet.path);
  const sample = new Sample(name, parquet === undefined ? head : new Uint8Array(), { columns });
  return { sample, file: { path, name, isJsonLines: false, bytes }, copy };
}

/** Throws 'unreadable' if the member is damaged or there is no space for the copy. */
async function copyOf(member: ByteSource, signal: AbortSignal | undefined): Promise<PrivateCopy> {
  const copy = new PrivateCopy();
  try {
    const damage = await copy.write(member.label, decompressed(member, { signal }));
    if (damage !== undefined) throw damage;
    return copy;
  } catch (error) {
    copy[Symbol.dispose]();
    throw error;
  }
}

function isPipe(path: string): boolean {
  // An embedded file has no entry in the file system.
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && (stat.isFIFO() || stat.isSocket());
}

/** The names of a Parquet file's columns; none if it is damaged. */
async function columnsOf(path: string, copy?: string): Promise<ReadonlySet<string>> {
  try {
    const { metadata } = await ParquetFile.open(path, copy);
    return new Set(metadata.schema.map(({ name }) => name));
  } catch (error) {
    if (error instanceof DomainError && error.kind === 'unreadable') return new Set();
    throw error;
  }
}

/**
 * The first chunks: at least `bytesWanted` bytes and one line, or SAMPLE_BYTES bytes, or all. `isOnly`: true for a pipe, which is not
 * read again: an error before its first byte must be thrown here.
 */
async function headOf(chunks: AsyncIterator<Uint8Array>, bytesWanted: number, isOnly = false): Promise<Uint8Array> {
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
    // Reading the file will report the error. The bytes before it may be enough to recognise the format.
    if (!(error instanceof DomainError) || (isOnly && length === 0)) throw error;
  }
  return new Uint8Array(Buffer.concat(parts));
}
