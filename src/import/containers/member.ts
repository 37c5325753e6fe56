import type { ByteSource } from '../byte-source.ts';

/** A file in a container. */
export interface Member extends ByteSource {
  /** Its path in the container, which never leaves it. */
  readonly name: string;
  /** The bytes that it takes in the file of the container. */
  readonly storedBytes: number;
}
