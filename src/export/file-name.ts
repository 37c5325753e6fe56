import { basename } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import type { Compression } from './compression.ts';
import { EXPORT_FORMATS, type ExportFormat, suffixesOf } from './format.ts';

export interface FileContent {
  readonly format: ExportFormat;
  readonly compression: Compression | undefined;
}

/** The content that the user requested; if a field is undefined, the file's name decides. */
type RequestedContent = { readonly [Field in keyof FileContent]: FileContent[Field] | undefined };

const COMPRESSION_SUFFIXES = new Map<string, Compression>([
  ['zst', 'zstd'],
  ['gz', 'gzip'],
]);
const FORMAT_SUFFIXES = new Map(
  EXPORT_FORMATS.flatMap((format) => suffixesOf(format).map((suffix) => [suffix, format])),
);
const DEFAULT_FORMAT: ExportFormat = 'ndjson';

/**
 * The content of a file with this name: as requested, else by the suffixes of the name (`.csv.gz`), else NDJSON without
 * compression. Throws 'invalid-parameter' if the name contradicts the request. A name with the suffix of a format, but without that
 * of a compression, means a file without compression.
 */
export function contentOf(path: string, requested: RequestedContent): FileContent {
  const suffixes = basename(path).toLowerCase().split('.').slice(1);
  const compression = COMPRESSION_SUFFIXES.get(suffixes.at(-1) ?? '');
  const format = FORMAT_SUFFIXES.get(suffixes.at(compression === undefined ? -1 : -2) ?? '');
  if (format !== undefined && requested.format !== undefined && format !== requested.format) {
    throw contradiction(path, `${format}, not ${requested.format}`, '--format');
  }
  if (
    requested.compression !== undefined &&
    requested.compression !== compression &&
    (compression ?? format) !== undefined
  ) {
    throw contradiction(
      path,
      `${compression ?? 'no'} compression, not ${requested.compression}`,
      `--${requested.compression}`,
    );
  }
  return {
    format: requested.format ?? format ?? DEFAULT_FORMAT,
    compression: requested.compression ?? compression,
  };
}

function contradiction(path: string, text: string, flag: string): DomainError {
  return new DomainError('invalid-parameter', `the name '${path}' says ${text}: change the name or leave out ${flag}`);
}
