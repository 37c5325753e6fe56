/** A file that a codec reads. */
export interface RecordingFile {
  /** `-` for standard input, which cannot be Parquet. */
  readonly path: string;
  /** The path of its bytes for readers that seek in them, if not `path`: that of a copy of a member of a container. */
  readonly copy?: string;
  /** The file name without directory, `.gz`, `.zst` and `.xz`. */
  readonly name: string;
  /** True if each line is a JSON value. Only meaningful for JSON. */
  readonly isJsonLines: boolean;
  /** Set for some of the lines of a file that grows. */
  readonly isPart?: true;
  /** The decompressed bytes, to be read once. A chunk is valid until the next one. Throws 'unreadable' where they are damaged. */
  bytes(): AsyncIterable<Uint8Array>;
}
