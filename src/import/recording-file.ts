/** A file that a codec reads. */
export interface RecordingFile {
  /** `-` for standard input, which no Parquet can come from. */
  readonly path: string;
  /** Without directory, `.gz` and `.zst`. */
  readonly name: string;
  /** Whether its lines are JSON values by themselves; of no meaning where it holds no JSON. */
  readonly isJsonLines: boolean;
  /** Unpacked bytes, to be read once; a chunk is valid until the next one. Throws 'unreadable' where they are damaged. */
  bytes(): AsyncIterable<Uint8Array>;
}
