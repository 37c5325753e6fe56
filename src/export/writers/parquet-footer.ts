import type { RowGroup, SchemaElement } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { ByteBuffer } from '../../segment/byte-buffer.ts';
import { STEP_BYTES } from './export-writer.ts';

/** The length of the metadata follows it, in 32 bits. */
const LENGTH_BYTES = 4;
const MAGIC = new TextEncoder().encode('PAR1');
/** In Thrift's compact protocol a list starts with its element type and, in the upper four bits, its size up to this one. */
const SHORT_LIST_MAX = 14;
const LONG_LIST = 0xf0;
const STRUCT = 0x0c;
const NO_GROUP: RowGroup = { columns: [], total_byte_size: 0n, num_rows: 0n };

/**
 * The end of a Parquet file: its FileMetaData (apache/parquet-format, in Thrift's compact protocol), which lists every column of
 * every row group. Each group is encoded when it is written, 3 kB of memory per group, so that ending a long file takes no
 * longer than ending a short one. The library writes the bytes of each group, and they are cut out of its metadata.
 */
export class ParquetFooter {
  readonly #schema: SchemaElement[];
  readonly #createdBy: string;
  /** The offset in bytes of the list of groups in metadata without rows. */
  readonly #listAt: number;
  /** The number of bytes after the list. */
  readonly #tailBytes: number;
  readonly #groups = new ByteBuffer();
  #count = 0;
  #rows = 0n;

  constructor(schema: SchemaElement[], createdBy: string) {
    this.#schema = schema;
    this.#createdBy = createdBy;
    const none = this.#metadata(0n, []);
    const one = this.#metadata(0n, [NO_GROUP]);
    this.#listAt = none.findIndex((byte, index) => byte !== one[index]);
    this.#tailBytes = none.length - this.#listAt - 1;
  }

  add(group: RowGroup): void {
    const metadata = this.#metadata(0n, [group]);
    this.#groups.append(metadata.subarray(this.#listAt + 1, metadata.length - this.#tailBytes));
    this.#count += 1;
    this.#rows += group.num_rows;
  }

  /** The footer in pieces of at most STEP_BYTES. */
  *pieces(): Generator<Uint8Array> {
    const metadata = this.#metadata(this.#rows, []);
    const list = listHead(this.#count);
    const groups = this.#groups.view();
    const tailAt = metadata.length - this.#tailBytes;
    yield metadata.subarray(0, tailAt - 1);
    yield list;
    for (let at = 0; at < groups.length; at += STEP_BYTES) yield groups.subarray(at, at + STEP_BYTES);
    yield metadata.subarray(tailAt);
    const length = new ByteWriter();
    length.appendUint32(metadata.length - 1 + list.length + groups.length);
    yield length.getBytes();
    yield MAGIC;
  }

  #metadata(rows: bigint, groups: RowGroup[]): Uint8Array {
    const writer = new ByteWriter();
    writeMetadata(writer, {
      version: 2,
      created_by: this.#createdBy,
      schema: this.#schema,
      num_rows: rows,
      row_groups: groups,
      metadata_length: 0,
    });
    return writer.getBytes().subarray(0, -LENGTH_BYTES);
  }
}

function listHead(count: number): Uint8Array {
  const writer = new ByteWriter();
  if (count === 0) writer.appendUint8(0);
  else if (count <= SHORT_LIST_MAX) writer.appendUint8((count << 4) | STRUCT);
  else {
    writer.appendUint8(LONG_LIST | STRUCT);
    writer.appendVarInt(count);
  }
  return writer.getBytes();
}
