import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ByteBuffer } from '../segment/byte-buffer.ts';
import type { Archive } from '../store/archive.ts';
import { explained } from '../store/database.ts';
import { type Compression, compressed } from './compression.ts';
import { type ExportTally, exportSteps } from './export.ts';
import { type ExportFormat, exportOpenings, type StreamedFormat, writerOf } from './format.ts';
import { ByteTally } from './manifest.ts';
import type { ExportSelection } from './selection.ts';
import { SqliteWriter } from './writers/sqlite.ts';

/** Where an export's bytes go, in order; the next ones come when it is done with these. */
export type ByteSink = (bytes: Uint8Array) => Promise<void> | void;

export interface WrittenBytes {
  readonly content: ReturnType<ByteTally['finish']>;
  readonly written: ReturnType<ByteTally['finish']>;
}

/** An export in pieces; each is valid until the next one is asked for. `scratch` is a directory for files on the way. */
export function exportedBytes(
  archive: Archive,
  selection: ExportSelection,
  format: ExportFormat,
  tally: ExportTally,
  scratch: string,
): AsyncGenerator<Uint8Array> {
  if (format === 'sqlite') return databaseBytes(archive, selection, tally, scratch);
  return streamedBytes(archive, selection, format, tally);
}

async function* streamedBytes(
  archive: Archive,
  selection: ExportSelection,
  format: StreamedFormat,
  tally: ExportTally,
): AsyncGenerator<Uint8Array> {
  const out = new ByteBuffer();
  for (const _ of exportSteps(archive, selection, writerOf(format, out, exportOpenings()), tally)) {
    if (out.length > 0) yield out.view();
    out.clear();
  }
}

async function* databaseBytes(
  archive: Archive,
  selection: ExportSelection,
  tally: ExportTally,
  scratch: string,
): AsyncGenerator<Uint8Array> {
  const directory = mkdtempSync(join(scratch, '.bookreel-export-'));
  try {
    const path = join(directory, 'export.sqlite');
    writeDatabase(archive, selection, tally, path);
    yield* Bun.file(path).stream();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function writeDatabase(archive: Archive, selection: ExportSelection, tally: ExportTally, path: string): void {
  explained(path, () => {
    using writer = new SqliteWriter(path);
    for (const _ of exportSteps(archive, selection, writer, tally)) {
      // It writes to its file as it goes: there is nothing to empty.
    }
  });
}

/** Sends `chunks` to `sink` at its pace, compressed if so wished, and says what went through. */
export async function send(
  chunks: AsyncIterable<Uint8Array>,
  compression: Compression | undefined,
  sink: ByteSink,
): Promise<WrittenBytes> {
  const content = new ByteTally();
  if (compression === undefined) {
    for await (const chunk of chunks) {
      content.add(chunk);
      await sink(chunk);
    }
    const finished = content.finish();
    return { content: finished, written: finished };
  }
  const written = new ByteTally();
  for await (const chunk of compressed(kept(chunks, content), compression, 'keep')) {
    written.add(chunk);
    await sink(chunk);
  }
  return { content: content.finish(), written: written.finish() };
}

/** Copies that stay valid while they are being compressed. */
async function* kept(chunks: AsyncIterable<Uint8Array>, tally: ByteTally): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    tally.add(chunk);
    yield chunk.slice();
  }
}
