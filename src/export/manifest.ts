import { createHash } from 'node:crypto';
import { formatInstant } from '../domain/instant.ts';
import type { Compression } from './compression.ts';
import type { ExportTally } from './export.ts';
import type { ExportFormat } from './format.ts';

/** What an export holds, for who keeps it or checks it. It says nothing about when it was made: same data, same manifest. */
export interface Manifest {
  readonly format: ExportFormat;
  readonly compression: Compression | null;
  /** Version of the program that wrote it. */
  readonly bookreel: string;
  /** By the record types of the own format, whatever rows they take in this one. */
  readonly counts: ExportTally['counts'];
  /** Timestamps of the first and the last record that has one; null where there is none. */
  readonly first: string | null;
  readonly last: string | null;
  /** Of the export as written. */
  readonly bytes: number;
  readonly sha256: string;
  /** Of the export without its compression. */
  readonly contentBytes: number;
  readonly contentSha256: string;
}

/** Counts and digests bytes that go by. */
export class ByteTally {
  readonly #hash = createHash('sha256');
  #bytes = 0;

  add(chunk: Uint8Array): void {
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
  }

  /** To be called once, at the end. */
  finish(): { bytes: number; sha256: string } {
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }
}

export function manifestOf(
  format: ExportFormat,
  compression: Compression | undefined,
  version: string,
  { counts, firstMs, lastMs }: ExportTally,
  content: ReturnType<ByteTally['finish']>,
  written: ReturnType<ByteTally['finish']>,
): Manifest {
  return {
    format,
    compression: compression ?? null,
    bookreel: version,
    counts: { ...counts },
    first: firstMs === undefined ? null : formatInstant(firstMs),
    last: lastMs === undefined ? null : formatInstant(lastMs),
    bytes: written.bytes,
    sha256: written.sha256,
    contentBytes: content.bytes,
    contentSha256: content.sha256,
  };
}
