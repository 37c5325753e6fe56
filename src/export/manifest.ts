import { formatInstant } from '../domain/instant.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Compression } from './compression.ts';
import type { ExportTally } from './export.ts';
import type { WrittenBytes } from './export-bytes.ts';
import type { ExportFormat } from './format.ts';
import type { Sampling } from './selection.ts';
import type { TableShape } from './table-shape.ts';

/** Describes an export, so that it can be checked later. The same data always gives the same manifest. */
export interface Manifest {
  readonly format: ExportFormat;
  readonly compression: Compression | null;
  /** The outcome whose records were exported; null: both. */
  readonly outcome: Outcome | null;
  /** The length of the buckets of which the export has the last record of each series; null: it has all records. */
  readonly intervalMs: number | null;
  /** Maximum number of levels per side; null: all. */
  readonly depth: number | null;
  /** The table of Parquet, see TableShape; null: that of all records. */
  readonly table: TableShape | null;
  /** Version of the program that wrote the export. */
  readonly bookreel: string;
  /** The number of records by type; a format may write a record as several rows. */
  readonly counts: ExportTally['counts'];
  /** The first and the last timestamp of the records; null if no record has one. */
  readonly first: string | null;
  readonly last: string | null;
  /** Size and SHA-256 in hex of the file, after compression; of files in directories, the sum. */
  readonly bytes: number;
  readonly sha256?: string;
  /** The same before compression. */
  readonly contentBytes?: number;
  readonly contentSha256?: string;
  /** The files of a directory by path, instead of one file. */
  readonly files?: readonly DirectoryFile[];
}

interface DirectoryFile {
  /** Below the directory. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export function manifestOf(
  format: ExportFormat,
  compression: Compression | undefined,
  { outcome, intervalMs, depth, table }: Sampling,
  version: string,
  { counts, firstMs, lastMs }: ExportTally,
  output: WrittenBytes | readonly DirectoryFile[],
): Manifest {
  return {
    format,
    compression: compression ?? null,
    outcome: outcome ?? null,
    intervalMs: intervalMs ?? null,
    depth: depth ?? null,
    table: table ?? null,
    bookreel: version,
    counts: { ...counts },
    first: firstMs === undefined ? null : formatInstant(firstMs),
    last: lastMs === undefined ? null : formatInstant(lastMs),
    ...('content' in output
      ? { ...output.written, contentBytes: output.content.bytes, contentSha256: output.content.sha256 }
      : { bytes: output.reduce((sum, { bytes }) => sum + bytes, 0), files: output }),
  };
}
