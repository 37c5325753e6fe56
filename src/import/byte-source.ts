/** Bytes that are read from the first to the last. */
export interface ByteSource {
  /** Its name in messages. */
  readonly label: string;
  /** Set for a pipe, which may be read while another program is still writing it. */
  readonly isPipe?: boolean;
  /** The bytes as they are stored. Throws 'unreadable'. */
  stored(): Promise<AsyncIterable<Uint8Array>>;
  /** Decompresses a member of a container. Throws an Error with the reason where the bytes are damaged. */
  unpacked?(stored: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}
