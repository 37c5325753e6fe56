import type { RecordSink } from './record-sink.ts';

/** What a file is recognised by: how it begins, decompressed, and its name. */
export interface Sample {
  /** Without directory, `.gz` and `.zst`. */
  readonly name: string;
  /** The first bytes, at most SAMPLE_BYTES. */
  readonly head: Uint8Array;
  /** The whole non-blank lines among them, at most SAMPLE_LINES. None when they are not UTF-8. */
  readonly lines: readonly string[];
  /** Names of the columns of a Parquet file (none when it is damaged), else undefined. */
  readonly columns: ReadonlySet<string> | undefined;
  /** From a pipe: what had come so far, perhaps not much. */
  readonly piped: boolean;
}

export const SAMPLE_BYTES = 1024 * 1024;
export const SAMPLE_LINES = 20;

/** A file that a codec reads. */
export interface RecordingFile {
  /** `-` for standard input, which no Parquet can come from. */
  readonly path: string;
  /** Without directory, `.gz` and `.zst`. */
  readonly name: string;
  /**
   * The bytes, gzip or zstd taken off; to be read once. A chunk is valid until the next one is asked for. Throws DomainError
   * 'unreadable' where they are damaged.
   */
  bytes(): AsyncIterable<Uint8Array>;
}

/** How recordings of one format become records. One is made per import, so state may span files. */
export interface Codec {
  /** How reports call the format. */
  readonly format: string;
  /** Whether files of this format state markets: they are read before all others. */
  readonly statesMarkets: boolean;
  recognises(sample: Sample): boolean;
  /** Reads one file. Throws DomainError 'unreadable' where it is damaged; what was taken in before counts. */
  read(file: RecordingFile, intake: RecordSink): Promise<void>;
  /** Called when every file was read, for codecs that hold records back. */
  finish?(intake: RecordSink): void;
  /** What is to be said about all that was read, one sentence each. */
  notes?(): readonly string[];
}
