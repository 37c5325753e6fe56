import type { ByteBuffer } from '../segment/byte-buffer.ts';
import { jsonOpenings } from '../segment/json-writer.ts';
import type { LevelOpenings } from '../segment/level-openings.ts';
import { msgpackOpenings } from '../segment/msgpack-writer.ts';
import type { Sampling } from './selection.ts';
import { CsvWriter } from './writers/csv.ts';
import type { ExportWriter } from './writers/export-writer.ts';
import { msgpackWriter, ndjsonWriter } from './writers/ndjson-msgpack.ts';
import { ParquetGroups } from './writers/parquet-groups.ts';
import { RowsWriter } from './writers/rows.ts';
import { SegmentsWriter } from './writers/segments.ts';
import { TableWriter } from './writers/table.ts';
import type { EncoderOf } from './writers/table-encoder.ts';

/** Formats that are written from front to back, with their media types and file suffixes. */
const STREAMED = {
  ndjson: { mediaType: 'application/x-ndjson', suffix: 'ndjson' },
  msgpack: { mediaType: 'application/x-msgpack-stream', suffix: 'msgpack' },
  csv: { mediaType: 'text/csv; charset=utf-8', suffix: 'csv' },
  parquet: { mediaType: 'application/vnd.apache.parquet', suffix: 'parquet' },
  arrow: { mediaType: 'application/vnd.apache.arrow.stream', suffix: 'arrow' },
  segments: { mediaType: 'application/vnd.bookreel.segments', suffix: 'segments' },
} as const;

export type StreamedFormat = keyof typeof STREAMED;
/** sqlite is written to a temporary file first, because a database is not written from front to back. */
export type ExportFormat = StreamedFormat | 'sqlite';

export const STREAMED_FORMATS = Object.keys(STREAMED) as StreamedFormat[];
export const EXPORT_FORMATS: readonly ExportFormat[] = [...STREAMED_FORMATS, 'sqlite'];

/** The suffixes of file names in this format, without the dot. */
export function suffixesOf(format: ExportFormat): readonly string[] {
  return format === 'sqlite' ? ['sqlite', 'db'] : [STREAMED[format].suffix];
}

/** Returns true if the format is text, which may be written to a terminal. */
export function isText(format: ExportFormat): boolean {
  return format === 'ndjson' || format === 'csv';
}

export function fileKindOf(format: StreamedFormat): { readonly mediaType: string; readonly suffix: string } {
  return STREAMED[format];
}

/** The cached opening bytes of levels, shared by all writers. */
export interface ExportOpenings {
  readonly json: LevelOpenings;
  readonly msgpack: LevelOpenings;
}

export function exportOpenings(): ExportOpenings {
  return { json: jsonOpenings(), msgpack: msgpackOpenings() };
}

/** Why a format cannot be sampled (stored segments have all levels), to end a sentence; undefined if it can. */
export function samplingRefusal(
  format: ExportFormat,
  { intervalMs, depth }: Omit<Sampling, 'table'>,
): string | undefined {
  if (format !== 'segments' || (intervalMs === undefined && depth === undefined)) return undefined;
  return 'must not be segments with interval or depth: stored segments have all records and all levels';
}

/** Other writers may use `out` and `openings` between two steps; see `exportSteps`. */
export async function writerOf(
  format: StreamedFormat,
  out: ByteBuffer,
  openings: ExportOpenings,
  { depth, table }: Pick<Sampling, 'depth' | 'table'>,
): Promise<ExportWriter> {
  const tableWriter = (encoderOf: EncoderOf) =>
    table === undefined ? new RowsWriter(out, depth, encoderOf) : new TableWriter(out, table, depth, encoderOf);
  switch (format) {
    case 'ndjson':
      return ndjsonWriter(out, openings.json, depth);
    case 'msgpack':
      return msgpackWriter(out, openings.msgpack, depth);
    case 'csv':
      return new CsvWriter(out, depth);
    case 'parquet':
      return tableWriter((columns) => new ParquetGroups(out, columns));
    case 'arrow': {
      // Few exports need this library.
      const { ArrowBatches } = await import('./writers/arrow-batches.ts');
      return tableWriter((columns) => new ArrowBatches(out, columns));
    }
    case 'segments':
      return new SegmentsWriter(out);
  }
}
