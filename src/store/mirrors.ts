import type { BookRecord } from '../segment/book-format.ts';
import {
  expandMirror,
  isMirror,
  MIRRORED_SEGMENTS_MAX,
  mirroredRecords,
  mirrorOfSegment,
} from '../segment/mirror-segment.ts';
import { damaged } from '../segment/varint.ts';
import type { Queries } from './queries.ts';
import { isIntact, type SegmentRow, type StoredPayload } from './segment-queries.ts';

/** The book of an outcome may be stated this long after that of the other one. */
const APART_MAX_MS = 100;
/** Enough for the mirrors of some ten busy markets. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024;

export const SEGMENT_IN_ROW = 'SELECT digest, payload FROM segments WHERE segment_id = ?';
/** ?1: the series; ?2 and ?3: the range that the segments touch. */
export const ROWS_TOUCHING = `SELECT segment_id AS row, payload FROM segments
  WHERE series_id = ?1 AND last_ms >= ?2 AND first_ms <= ?3 ORDER BY last_ms, last_id LIMIT ${MIRRORED_SEGMENTS_MAX}`;

/** The payloads of the mirrors that were read last, by their digests. */
export class ExpandedMirrors {
  readonly #payloads = new Map<string, Uint8Array>();
  #bytes = 0;

  /** Returns the payload with this digest; `expand` makes one that is not kept, and it is kept if its digest is right. */
  get(digest: Uint8Array, expand: () => Uint8Array): Uint8Array {
    const name = Buffer.from(digest.buffer, digest.byteOffset, digest.length).toString('latin1');
    const kept = this.#payloads.get(name);
    const payload = kept ?? expand();
    if (kept !== undefined) this.#payloads.delete(name);
    else if (isIntact({ digest, payload })) this.#bytes += payload.length;
    else return payload;
    this.#payloads.set(name, payload);
    for (const [oldest, { length }] of this.#payloads) {
      if (this.#bytes <= KEPT_BYTES_MAX) break;
      this.#payloads.delete(oldest);
      this.#bytes -= length;
    }
    return payload;
  }
}

/** The segments that the file of a sealed market has as mirrors of others in it (mirror-segment.ts). */
export class Mirrors {
  readonly #file: Queries;
  readonly #expanded: ExpandedMirrors | undefined;

  /** `expanded`: left out by those who read a segment once. */
  constructor(file: Queries, expanded?: ExpandedMirrors) {
    this.#file = file;
    this.#expanded = expanded;
  }

  /** A segment as it was before it was stored as a mirror. Throws 'unavailable' if that, or what it mirrors, is damaged or missing. */
  whole<Row extends StoredPayload>(row: Row): Row {
    const { digest, payload: mirror } = row;
    if (!isMirror(mirror)) return row;
    const expand = () => expandMirror(mirror, (at) => this.#mirroredIn(at));
    return { ...row, payload: this.#expanded?.get(digest, expand) ?? expand() };
  }

  /** The payload to store of a segment of books: a mirror of books of the series `otherId`, which is in the file already, if there is one. */
  shortest({ firstMs, lastMs, payload }: SegmentRow, otherId: number): Uint8Array {
    const found = this.#file
      .query<{ row: number; payload: Uint8Array }, [number, number, number]>(ROWS_TOUCHING)
      .all(otherId, firstMs - APART_MAX_MS, lastMs);
    const end = found.findIndex(({ row }, i) => row !== found[0]!.row + i);
    const others = found
      .slice(0, end < 0 ? found.length : end)
      .map(({ row, payload: other }) => ({ row, records: mirroredRecords(other) }));
    return mirrorOfSegment(payload, others) ?? payload;
  }

  #mirroredIn(row: number): BookRecord[] {
    const found = this.#file.query<StoredPayload, [number]>(SEGMENT_IN_ROW).get(row);
    if (found === null || !isIntact(found)) throw damaged();
    return mirroredRecords(found.payload);
  }
}
