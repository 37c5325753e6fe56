import { createHash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { ByteBuffer } from '../segment/byte-buffer.ts';
import type { Archive } from '../store/archive.ts';
import { explained } from '../store/database-errors.ts';
import { discard } from '../store/on-disk.ts';
import { type Compression, compressed } from './compression.ts';
import { type ExportTally, exportSteps } from './export.ts';
import { type ExportFormat, exportOpenings, writerOf } from './format.ts';
import type { ExportSelection } from './selection.ts';
import { SqliteWriter } from './writers/sqlite.ts';

/** Takes an export's bytes in order. It is called again when its promise has resolved. */
export type ByteSink = (bytes: Uint8Array) => Promise<void> | void;

/** The directory for the temporary files of an export, and the callback for its progress. */
export interface ExportEnvironment {
  /** An existing directory. */
  readonly scratch: string;
  /** Called after each step; the tally then counts what was written. */
  readonly onStep?: () => void;
}

/** An export in pieces. A piece is valid until the next one is requested. */
export async function* exportedBytes(
  archive: Archive,
  selection: ExportSelection,
  format: ExportFormat,
  tally: ExportTally,
  { scratch, onStep }: ExportEnvironment,
): AsyncGenerator<Uint8Array> {
  const { depth } = selection.sampling;
  if (format !== 'sqlite') {
    const out = new ByteBuffer();
    const writer = await writerOf(format, out, exportOpenings(), selection.sampling);
    for (const _ of exportSteps(archive, selection, writer, tally)) {
      onStep?.();
      if (out.length > 0) yield out.view();
      out.clear();
    }
    return;
  }
  const directory = mkdtempSync(join(scratch, '.bookreel-export-'));
  try {
    const path = join(directory, 'export.sqlite');
    explained(path, () => {
      using writer = new SqliteWriter(path, depth);
      // This writer writes to a file, not to `out`.
      for (const _ of exportSteps(archive, selection, writer, tally)) onStep?.();
    });
    yield* Bun.file(path).stream();
  } finally {
    discard(directory);
  }
}

/** The number of bytes and their SHA-256 in hex. */
interface Digest {
  readonly bytes: number;
  readonly sha256: string;
}

/** The bytes of an export before and after its compression. */
export interface WrittenBytes {
  readonly content: Digest;
  readonly written: Digest;
}

/** Sends `chunks` to `sink` as fast as it takes them, compressed if `compression` is given. */
export async function send(
  chunks: AsyncIterable<Uint8Array>,
  compression: Compression | undefined,
  sink: ByteSink,
): Promise<WrittenBytes> {
  const content = new ByteTally();
  const written = compression === undefined ? content : new ByteTally();
  const packed = compression === undefined ? chunks : compressed(copied(chunks, content), compression, 'keep');
  for await (const chunk of packed) {
    written.add(chunk);
    await sink(chunk);
  }
  const digest = written.finish();
  return { content: written === content ? digest : content.finish(), written: digest };
}

/** Copies of `chunks`, because compression still needs them when the next chunk overwrites them. */
async function* copied(chunks: AsyncIterable<Uint8Array>, tally: ByteTally): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    tally.add(chunk);
    yield chunk.slice();
  }
}

class ByteTally {
  readonly #hash = createHash('sha256');
  #bytes = 0;

  add(chunk: Uint8Array): void {
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
  }

  /** Call it once, at the end. */
  finish(): Digest {
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }
}
