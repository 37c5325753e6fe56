import { formatInstant } from '../domain/instant.ts';
import type { Compression } from './compression.ts';
import type { ExportTally } from './export.ts';
import type { WrittenBytes } from './export-bytes.ts';
import type { ExportFormat } from './format.ts';

/** The contents of an export, for keeping and checking it. Nothing in it depends on when it was made: same data, same manifest. */
export interface Manifest {
  readonly format: ExportFormat;
  readonly compression: Compression | null;
  /** Version of the program that wrote it. */
  readonly bookreel: string;
  /** By the record types of the own format, however many rows they take in this one. */
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

export function manifestOf(
  format: ExportFormat,
  compression: Compression | undefined,
  version: string,
  { counts, firstMs, lastMs }: ExportTally,
  { content, written }: WrittenBytes,
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
