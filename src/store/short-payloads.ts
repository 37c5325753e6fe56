import { DomainError } from '../domain/errors.ts';
import type { Outcome } from '../domain/outcome.ts';
import { bookCodec } from '../segment/book-decoder.ts';
import type { BookRecord } from '../segment/book-format.ts';
import { type DerivedKind, derivedPayload, expandDerived, isDerived, topsIn } from '../segment/derived-segment.ts';
import {
  isMirror,
  MIRRORED_SEGMENTS_MAX,
  mirroredRecords,
  mirrorOfSegment,
  recordsOfMirror,
} from '../segment/mirror-segment.ts';
import { readSegmentHeader } from '../segment/segment-header.ts';
import { damaged } from '../segment/varint.ts';
import type { Queries } from './queries.ts';
import { isIntact, type SegmentRow, type StoredPayload } from './segment-queries.ts';

interface Series {
  readonly seriesId: number;
  readonly outcome: Outcome;
  readonly kind: string;
}

/** The book of an outcome may be stated this long after that of the other one. */
const APART_MAX_MS = 100;
/** Enough for some ten busy markets. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024;

export const SEGMENT_IN_ROW = 'SELECT digest, payload FROM segments WHERE segment_id = ?';
/** ?1: the series; ?2 and ?3: the range that the segments touch. */
export const ROWS_TOUCHING = `SELECT segment_id AS row, digest, payload FROM segments
  WHERE series_id = ?1 AND last_ms >= ?2 AND first_ms <= ?3 ORDER BY last_ms, last_id LIMIT ${MIRRORED_SEGMENTS_MAX}`;

/** The whole payloads of the short ones that were read last, by their digests. */
export class WholePayloads {
  readonly #payloads = new Map<string, Uint8Array>();
  #bytes = 0;

  /** Returns the payload with this digest; `make` makes one that is not kept, and it is kept if its digest is right. */
  get(digest: Uint8Array, make: () => Uint8Array): Uint8Array {
    const name = digest.toBase64();
    const kept = this.#payloads.get(name);
    const payload = kept ?? make();
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

/**
 * The payloads in the file of a sealed market that can be made from others in it: books that mirror those of the other outcome
 * (mirror-segment.ts), and what was derived from books (derived-segment.ts). Rows of a series follow each other.
 */
export class ShortPayloads {
  readonly #file: Queries;
  readonly #wholes: WholePayloads | undefined;

  /** `wholes`: left out by those who read a segment once. */
  constructor(file: Queries, wholes?: WholePayloads) {
    this.#file = file;
    this.#wholes = wholes;
  }

  /** A segment with its whole payload. Throws 'unavailable' if that cannot be made: it, or a segment that it is made from, is damaged or missing. */
  whole<Row extends StoredPayload>(row: Row): Row {
    const { digest, payload } = row;
    if (!isMirror(payload) && !isDerived(payload)) return row;
    const make = () => this.#made(payload);
    return { ...row, payload: this.#wholes?.get(digest, make) ?? make() };
  }

  /** The shortest payload of a segment of `series`. The series of `books` are in the file before others, up before down. */
  shortest(row: SegmentRow, { kind, outcome }: Series, books: readonly Series[]): Uint8Array {
    const booksOf = (of: Outcome) => books.find((series) => series.outcome === of)?.seriesId;
    let short: Uint8Array | undefined;
    if (kind === 'book' && outcome === 'down') short = this.#mirrorOf(row, booksOf('up'));
    if (kind === 'derived-quote' || kind === 'derived-mid') short = this.#derived(row, kind, booksOf(outcome));
    return short ?? row.payload;
  }

  #mirrorOf({ firstMs, lastMs, payload }: SegmentRow, otherId: number | undefined): Uint8Array | undefined {
    const found = this.#touching(otherId, firstMs - APART_MAX_MS, lastMs);
    const end = found.findIndex((other, i) => other.row !== found[0]!.row + i || !isIntact(other));
    const others = found.slice(0, end < 0 ? found.length : end);
    return mirrorOfSegment(
      payload,
      others.map((other) => ({ row: other.row, records: mirroredRecords(other.payload) })),
    );
  }

  #derived(
    { firstMs, firstId, digest, payload }: SegmentRow,
    kind: DerivedKind,
    booksId: number | undefined,
  ): Uint8Array | undefined {
    for (const found of this.#touching(booksId, firstMs, firstMs)) {
      const { ids, timestamps } = readSegmentHeader(this.whole(found).payload);
      const index = ids.findIndex((id, i) => id === firstId && timestamps[i] === firstMs);
      if (index < 0) continue;
      const short = derivedPayload(kind, payload, found.row, index);
      return short.length < payload.length && this.#comesBack(short, digest) ? short : undefined;
    }
    return undefined;
  }

  /** False also where the books of a derived record are not there. */
  #comesBack(short: Uint8Array, digest: Uint8Array): boolean {
    try {
      return isIntact({ payload: this.#made(short), digest });
    } catch (error) {
      if (error instanceof DomainError) return false;
      throw error;
    }
  }

  #made(payload: Uint8Array): Uint8Array {
    if (isDerived(payload)) return expandDerived(payload, (row) => this.#topsIn(row));
    const records = recordsOfMirror(payload, (row) => this.#mirroredIn(row));
    const { payload: whole, count } = bookCodec.encode(records, 0, records.length);
    if (count < records.length) throw damaged();
    return whole;
  }

  #topsIn(row: number): BookRecord[] {
    const { payload } = this.#inRow(row);
    return isMirror(payload) ? recordsOfMirror(payload, (other) => this.#mirroredIn(other)) : topsIn(payload);
  }

  #mirroredIn(row: number): BookRecord[] {
    const found = this.#inRow(row);
    // The digest of another short payload is not its own.
    if (!isIntact(found)) throw damaged();
    return mirroredRecords(found.payload);
  }

  #inRow(row: number): StoredPayload {
    const found = this.#file.query<StoredPayload, [number]>(SEGMENT_IN_ROW).get(row);
    if (found === null) throw damaged();
    return found;
  }

  #touching(seriesId: number | undefined, fromMs: number, toMs: number) {
    if (seriesId === undefined) return [];
    return this.#file
      .query<StoredPayload & { row: number }, [number, number, number]>(ROWS_TOUCHING)
      .all(seriesId, fromMs, toMs);
  }
}
