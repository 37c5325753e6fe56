import type { InstantMs } from '../domain/instant.ts';
import type { Position } from '../domain/page.ts';
import { type OpenSegment, readSegmentHeader } from '../segment/segment-header.ts';
import { damaged } from '../segment/varint.ts';
import type { KeptSegments } from './kept-segments.ts';
import type { Queries } from './queries.ts';

/** A payload, and its digest. */
export interface StoredPayload {
  readonly digest: Uint8Array;
  readonly payload: Uint8Array;
}

/** Returns true if a payload has its digest. */
export function isIntact({ payload, digest }: StoredPayload): boolean {
  return Buffer.from(Bun.SHA256.hash(payload).buffer).equals(digest);
}

export interface SegmentRow extends StoredPayload {
  readonly seriesId: number;
  readonly firstMs: InstantMs;
  readonly firstId: number;
  readonly lastMs: InstantMs;
  readonly lastId: number;
  readonly records: number;
}

export const NEXT_SEGMENT = `SELECT digest, payload FROM segments
  WHERE series_id = ? AND (last_ms, last_id) > (?, ?) ORDER BY last_ms, last_id LIMIT 1`;
export const PREVIOUS_SEGMENT = `SELECT digest, payload FROM segments
  WHERE series_id = ? AND (last_ms, last_id) < (?, ?) ORDER BY last_ms DESC, last_id DESC LIMIT 1`;
export const COUNT_RECORDS = `SELECT SUM(records) AS count, MAX(last_ms) AS lastMs FROM segments
  WHERE series_id = ? AND last_ms <= ?`;
/** ?2 and ?3: the range that the segments touch. Segments of one series end in the order in which they begin. */
export const RANGES_OF_SERIES = `SELECT first_ms AS firstMs, last_ms AS lastMs FROM segments
  WHERE series_id = ?1 AND last_ms >= ?2 AND first_ms <= ?3`;
export const SEGMENTS_OF_SERIES = `SELECT series_id AS seriesId, first_ms AS firstMs, first_id AS firstId, last_ms AS lastMs,
  last_id AS lastId, records, digest, payload FROM segments WHERE series_id = ? ORDER BY last_ms, last_id`;
const INSERT_SEGMENT = `INSERT INTO segments (series_id, first_ms, first_id, last_ms, last_id, records, digest, payload)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

const DIGEST_BYTES = 32;

/** The segments in one file: bookreel.db, or the file of a sealed market. */
export class SegmentQueries {
  readonly count;
  readonly ranges;
  readonly #database: Queries;
  readonly #kept: KeptSegments | undefined;
  readonly #whole: (<Row extends StoredPayload>(row: Row) => Row) | undefined;
  /** The digest of the payload that was read last. */
  readonly #digest = new Uint8Array(DIGEST_BYTES);
  readonly #next;
  readonly #previous;
  /** Prepared at their first use: most files are only read. */
  #insert: ReturnType<typeof insertInto> | undefined;

  /** `kept`: of this file, for those who read it more than once. `whole`: for the file of a sealed market, see ShortPayloads. */
  constructor(database: Queries, kept?: KeptSegments, whole?: <Row extends StoredPayload>(row: Row) => Row) {
    this.#kept = kept;
    this.#whole = whole;
    this.#next = database.query<StoredPayload, [number, number, number]>(NEXT_SEGMENT);
    this.#previous = database.query<StoredPayload, [number, number, number]>(PREVIOUS_SEGMENT);
    this.count = database.query<{ count: number | null; lastMs: number | null }, [number, number]>(COUNT_RECORDS);
    this.ranges = database.query<{ firstMs: InstantMs; lastMs: InstantMs }, [number, number, number]>(RANGES_OF_SERIES);
    this.#database = database;
  }

  /** The first segment of a series whose last record comes after a position. Throws 'unavailable' if its digest does not match. */
  next(seriesId: number, position: Position): OpenSegment | null {
    const read = () => this.#opened(this.#next.get(seriesId, position.timestampMs, position.id));
    return this.#kept === undefined ? read() : this.#kept.following(seriesId, position, read);
  }

  /** The last segment of a series whose last record comes before a position. Throws as `next` does. */
  previous(seriesId: number, { timestampMs, id }: Position): OpenSegment | null {
    return this.#opened(this.#previous.get(seriesId, timestampMs, id));
  }

  /** A payload without its digest is never served, nor stored under a new digest. */
  #opened(row: StoredPayload | null): OpenSegment | null {
    if (row === null) return null;
    const { payload, digest } = this.#whole?.(row) ?? row;
    const found = this.#digest;
    Bun.SHA256.hash(payload, found);
    for (let i = 0; i < found.length; i += 1) if (digest[i] !== found[i]) throw damaged();
    return { payload, head: readSegmentHeader(payload) };
  }

  /** The segments of a series in its order, one in memory at a time. */
  *all(seriesId: number): Generator<SegmentRow> {
    const rows = this.#database.query<SegmentRow, [number]>(SEGMENTS_OF_SERIES).iterate(seriesId);
    for (const row of rows) yield this.#whole?.(row) ?? row;
  }

  insert({ seriesId, firstMs, firstId, lastMs, lastId, records, digest, payload }: SegmentRow): void {
    this.#insert ??= insertInto(this.#database);
    this.#insert.run(seriesId, firstMs, firstId, lastMs, lastId, records, digest, payload);
  }
}

function insertInto(database: Queries) {
  return database.query<never, [number, number, number, number, number, number, Uint8Array, Uint8Array]>(
    INSERT_SEGMENT,
  );
}
