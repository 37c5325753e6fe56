/** Bytes that are read from the first to the last. */
export interface ByteSource {
  /** Its name in messages. */
  readonly label: string;
  /** Set if it is read while another program writes it. */
  readonly isPipe?: boolean;
  /** The bytes as they are stored. Throws 'unreadable'. */
  stored(): Promise<AsyncIterable<Uint8Array>>;
  /** Undoes how a container stores its members. Throws an Error with the reason where they are damaged. */
  unpacked?(stored: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}
