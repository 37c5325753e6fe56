import { comparePositions, type NearestMode, type PageQuery, type Position } from '../domain/page.ts';
import {
  type EncodedSegment,
  firstBehind,
  type OpenSegment,
  readSegmentHeader,
  type SegmentCodec,
  type SegmentSlice,
} from '../segment/segment-header.ts';
import { damaged } from '../segment/varint.ts';
import { BucketWalk } from './bucket-walk.ts';
import type { Database } from './database.ts';
import { type Found, lastAtOrBefore, type SegmentSource, SeriesWalk, type Walk } from './series-walk.ts';

interface SealedPayload {
  readonly digest: Uint8Array;
  readonly payload: Uint8Array;
}

interface SegmentRow extends SealedPayload {
  readonly segment_id: number;
  readonly first_ms: number;
  readonly first_id: number;
  readonly last_ms: number;
  readonly last_id: number;
}

/** A page over several series, planned by places alone: no record has been decoded yet. */
export interface PagePlan {
  /** Per series its slices, in the order in which the page takes them. */
  readonly slices: readonly (readonly SegmentSlice[])[];
  /** For each record of the page, in order, the index of its series. */
  readonly sequence: readonly number[];
  /** The page's last record when more follow, else undefined. */
  readonly next: Position | undefined;
}

export interface MergeOutcome<R> {
  readonly stored: number;
  readonly duplicates: number;
  /**
   * What changed, as stretches of the series in order: from the first new record to the last new one, and the record
   * behind it where there is one.
   */
  readonly changes: readonly (readonly R[])[];
}

/** Segments that belong together, and whether the last of them is the last of the series. */
interface Stored {
  readonly rows: readonly SegmentRow[];
  readonly atEnd: boolean;
}

/**
 * A plan ends early where its records would come to more than this, each counted as its whole segment: it bounds what is read
 * for a page, whatever the books are. Those of the usual size (a hundred levels, 2 kB a segment) take half of it at the
 * largest limit.
 */
const PAGE_PAYLOAD_BYTES = 4 * 1024 * 1024;

const ID_MAX = Number.MAX_SAFE_INTEGER;
const DIGEST_BYTES = 32;
const COLUMNS = 'segment_id, first_ms, first_id, last_ms, last_id, digest, payload';
const NEXT = 'WHERE series_id = ? AND (last_ms, last_id) > (?, ?) ORDER BY last_ms, last_id LIMIT 1';
const PREVIOUS = 'WHERE series_id = ? AND (last_ms, last_id) < (?, ?) ORDER BY last_ms DESC, last_id DESC LIMIT 1';

export const NEXT_SEGMENT = `SELECT ${COLUMNS} FROM segments ${NEXT}`;
export const PREVIOUS_SEGMENT = `SELECT ${COLUMNS} FROM segments ${PREVIOUS}`;
/** What reading takes of them. */
export const NEXT_PAYLOAD = `SELECT digest, payload FROM segments ${NEXT}`;
export const PREVIOUS_PAYLOAD = `SELECT digest, payload FROM segments ${PREVIOUS}`;

/**
 * Time series stored as segments of consecutive records, for records of any kind: the kind's codec turns records
 * into payloads and back. Records ascend by (timestamp, id) across the segments of a series, which do not overlap.
 * One seek on (series, last place) finds the segment a place lies in.
 */
export class Segments {
  readonly #next;
  readonly #previous;
  readonly #source: SegmentSource;
  readonly #insert;
  readonly #delete;
  readonly #clear;
  /** Of the payload read last. */
  readonly #digest = new Uint8Array(DIGEST_BYTES);

  constructor(database: Database) {
    this.#next = database.query<SegmentRow, [number, number, number]>(NEXT_SEGMENT);
    this.#previous = database.query<SegmentRow, [number, number, number]>(PREVIOUS_SEGMENT);
    const next = database.query<SealedPayload, [number, number, number]>(NEXT_PAYLOAD);
    const previous = database.query<SealedPayload, [number, number, number]>(PREVIOUS_PAYLOAD);
    this.#source = {
      following: (seriesId, place) => this.#run(next.get(seriesId, place.timestampMs, place.id)),
      preceding: (seriesId, place) => this.#run(previous.get(seriesId, place.timestampMs, place.id)),
    };
    this.#insert = database.query<never, [number, number, number, number, number, number, Uint8Array, Uint8Array]>(
      `INSERT INTO segments (series_id, first_ms, first_id, last_ms, last_id, records, digest, payload)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#clear = database.query<never, [number]>('DELETE FROM segments WHERE series_id = ?');
    this.#delete = database.query<never, [number]>('DELETE FROM segments WHERE segment_id = ?');
  }

  /** The records of all `seriesIds` together that `query` takes, in its order; ties between series go by id. */
  plan(seriesIds: readonly number[], query: PageQuery): PagePlan {
    const { intervalMs } = query;
    const walks: Walk[] = seriesIds.map((seriesId) =>
      intervalMs === undefined
        ? new SeriesWalk(this.#source, seriesId, query)
        : new BucketWalk(this.#source, seriesId, query, intervalMs),
    );
    const sequence: number[] = [];
    let last: Position | undefined;
    let budget = PAGE_PAYLOAD_BYTES;
    while (sequence.length < query.limit && budget > 0) {
      const index = nearestWalk(walks, query);
      const walk = walks[index];
      if (walk?.place === undefined) break;
      // Alone, a series is taken segment by segment; among others, record by record.
      const affordable = Math.max(1, Math.floor(budget / walk.payloadBytes));
      const count = walks.length > 1 ? 1 : walk.remaining(Math.min(query.limit - sequence.length, affordable));
      budget -= count * walk.payloadBytes;
      last = walk.takeMany(count);
      for (let i = 0; i < count; i += 1) sequence.push(index);
    }
    const more = walks.some((walk) => walk.place !== undefined);
    return { slices: walks.map((walk) => walk.slices()), sequence, next: more ? last : undefined };
  }

  /**
   * The record nearest to `timestampMs`, or, as `mode` says, the nearest that is not later ('before'), or not earlier
   * ('after'). As near before as after: the one before. Several records with the nearest timestamp: the one with the highest
   * id.
   */
  nearest(seriesId: number, timestampMs: number, mode: NearestMode = 'nearest'): Found | undefined {
    const target = { timestampMs, id: ID_MAX };
    const segment = this.#source.following(seriesId, target);
    const before = lastAtOrBefore(this.#source, seriesId, target, segment);
    const beforeMs = before?.head.timestamps[before.index];
    if (segment === undefined) return mode === 'after' && beforeMs !== timestampMs ? undefined : before;
    if (mode === 'before' || beforeMs === timestampMs) return before;
    const afterMs = segment.head.timestamps[firstBehind(segment.head, target)]!;
    if (mode === 'nearest' && beforeMs !== undefined && timestampMs - beforeMs <= afterMs - timestampMs) return before;
    const after = { timestampMs: afterMs, id: ID_MAX };
    return lastAtOrBefore(this.#source, seriesId, after, this.#source.following(seriesId, after));
  }

  /** Tells of a series whether it had a record by `asOfMs`; undefined: by any time. */
  knownBy(asOfMs: number | undefined): (seriesId: number) => boolean {
    if (asOfMs === undefined) return () => true;
    return (seriesId) => this.nearest(seriesId, asOfMs, 'before') !== undefined;
  }

  /**
   * Every record of a series between `fromMs` and `toMs`, both inclusive, ascending, one segment at a time: what takes
   * the whole of a series holds one segment of it.
   */
  *slices(seriesId: number, fromMs: number, toMs: number): Generator<SegmentSlice> {
    const end = { timestampMs: toMs, id: ID_MAX };
    let place: Position = { timestampMs: fromMs, id: -1 };
    for (;;) {
      const segment = this.#source.following(seriesId, place);
      if (segment === undefined) return;
      const from = firstBehind(segment.head, place);
      const to = firstBehind(segment.head, end);
      if (from < to) yield { ...segment, from, to };
      const { count, timestamps, ids } = segment.head;
      if (to < count) return;
      place = { timestampMs: timestamps[count - 1]!, id: ids[count - 1]! };
    }
  }

  /** The last record that stands before `place`, decoded. */
  recordBefore<R extends Position>(seriesId: number, place: Position, codec: SegmentCodec<R>): R | undefined {
    // (t, id-1) is the greatest place before (t, id).
    const target = { timestampMs: place.timestampMs, id: place.id - 1 };
    const found = lastAtOrBefore(this.#source, seriesId, target, this.#source.following(seriesId, target));
    return found === undefined ? undefined : codec.decode(found.payload)[found.index];
  }

  /**
   * Adds `incoming` (ascending by timestamp, those of one timestamp in the order in which they came) and drops what the
   * series already says at the same timestamp. `giveId` is asked once per record that stays, in order.
   */
  merge<R extends Position, I extends R>(
    seriesId: number,
    incoming: readonly I[],
    codec: SegmentCodec<R>,
    giveId: (record: I) => R,
  ): MergeOutcome<R> {
    let stored = 0;
    let duplicates = 0;
    const changes: R[][] = [];
    for (let from = 0; from < incoming.length; ) {
      const { rows, to, atEnd } = this.#cluster(seriesId, incoming, from);
      const present = this.#decode(rows, codec);
      const fresh = withoutRepeats(present, incoming.slice(from, to), codec);
      duplicates += to - from - fresh.length;
      stored += fresh.length;
      from = to;
      if (fresh.length === 0) continue;
      const given = fresh.map(giveId);
      const merged = inPositionOrder([...present, ...given]);
      this.#rewrite(seriesId, rows, merged, codec, atEnd);
      changes.push(this.#stretch(seriesId, merged, given, codec));
    }
    return { stored, duplicates, changes };
  }

  /** Takes every record of a series away. Within a write transaction. */
  clear(seriesId: number): void {
    this.#clear.run(seriesId);
  }

  /** Replaces what stands between `first` and `last` (both inclusive) by `records`, ascending and within them. */
  replace<R extends Position>(
    seriesId: number,
    first: Position,
    last: Position,
    records: readonly R[],
    codec: SegmentCodec<R>,
  ): void {
    const { rows, atEnd } = this.#rowsBetween(seriesId, first, last);
    const present = this.#decode(rows, codec);
    const kept = present.filter((record) => comparePositions(record, first) < 0 || comparePositions(record, last) > 0);
    if (kept.length === present.length && records.length === 0) return;
    this.#rewrite(seriesId, rows, inPositionOrder([...kept, ...records]), codec, atEnd);
  }

  /**
   * The stored segments that hold, or stand beside, the first of `incoming` from `from` on, and how far `incoming` falls
   * into them. All records of one timestamp land in one cluster, so that repeats are seen.
   */
  #cluster(seriesId: number, incoming: readonly Position[], from: number): Stored & { to: number } {
    const rows: SegmentRow[] = [];
    let row = this.#next.get(seriesId, incoming[from]!.timestampMs, -1);
    if (row === null) {
      const last = this.#previous.get(seriesId, incoming[from]!.timestampMs, -1);
      return { rows: last === null ? [] : [last], to: incoming.length, atEnd: true };
    }
    let to = from;
    for (;;) {
      rows.push(row);
      while (to < incoming.length && incoming[to]!.timestampMs <= row.last_ms) to += 1;
      const following = this.#next.get(seriesId, row.last_ms, row.last_id);
      // A segment that begins with the timestamp this one ends with belongs to the same cluster.
      if (following === null || following.first_ms !== row.last_ms) return { rows, to, atEnd: following === null };
      row = following;
    }
  }

  #rowsBetween(seriesId: number, first: Position, last: Position): Stored {
    const rows: SegmentRow[] = [];
    let row = this.#next.get(seriesId, first.timestampMs, first.id - 1);
    while (row !== null && comparePositions(firstPosition(row), last) <= 0) {
      rows.push(row);
      row = this.#next.get(seriesId, row.last_ms, row.last_id);
    }
    if (rows.length > 0) return { rows, atEnd: row === null };
    // Between two segments: the one behind takes what comes, or every such stretch would leave a short one there.
    if (row !== null) return { rows: [row], atEnd: this.#next.get(seriesId, row.last_ms, row.last_id) === null };
    // Behind everything: the last segment goes on.
    const open = this.#previous.get(seriesId, first.timestampMs, first.id);
    return { rows: open === null ? [] : [open], atEnd: true };
  }

  #decode<R extends Position>(rows: readonly SegmentRow[], codec: SegmentCodec<R>): R[] {
    return rows.flatMap((row) => {
      this.#refuseDamaged(row);
      return codec.decode(row.payload);
    });
  }

  #rewrite<R extends Position>(
    seriesId: number,
    rows: readonly SegmentRow[],
    records: readonly R[],
    codec: SegmentCodec<R>,
    atEnd: boolean,
  ): void {
    for (const row of rows) this.#delete.run(row.segment_id);
    let from = 0;
    for (const { payload, count } of runsOf(records, codec, atEnd)) {
      const first = records[from]!;
      const last = records[from + count - 1]!;
      this.#insert.run(
        seriesId,
        first.timestampMs,
        first.id,
        last.timestampMs,
        last.id,
        count,
        digestOf(payload),
        payload,
      );
      from += count;
    }
  }

  #stretch<R extends Position>(
    seriesId: number,
    merged: readonly R[],
    given: readonly R[],
    codec: SegmentCodec<R>,
  ): R[] {
    // Given in the order of time, but ids of one timestamp may come in any order.
    let first = given[0]!;
    let last = first;
    for (const record of given) {
      if (comparePositions(record, first) < 0) first = record;
      if (comparePositions(record, last) > 0) last = record;
    }
    const behind = merged.lastIndexOf(last) + 1;
    const stretch = merged.slice(merged.indexOf(first), behind + 1);
    if (behind < merged.length) return stretch;
    const following = this.#source.following(seriesId, last);
    if (following !== undefined) stretch.push(codec.decode(following.payload)[0]!);
    return stretch;
  }

  #run(row: SealedPayload | null): OpenSegment | undefined {
    if (row === null) return undefined;
    this.#refuseDamaged(row);
    return { payload: row.payload, head: readSegmentHeader(row.payload) };
  }

  /** A book that nobody recorded is never served, nor written again under a new digest. */
  #refuseDamaged({ payload, digest }: SealedPayload): void {
    const found = this.#digest;
    Bun.SHA256.hash(payload, found);
    for (let i = 0; i < found.length; i += 1) if (digest[i] !== found[i]) throw damaged();
  }
}

/**
 * Full segments and a rest that goes on later, at a series' end; elsewhere segments of about equal length, so that records that
 * come late and one by one do not leave a trail of short ones.
 */
function runsOf<R extends Position>(records: readonly R[], codec: SegmentCodec<R>, atEnd: boolean): EncodedSegment[] {
  const segments = encodeSegments(records, codec, records.length);
  if (atEnd || segments.length < 2) return segments;
  return encodeSegments(records, codec, Math.ceil(records.length / segments.length));
}

function encodeSegments<R extends Position>(
  records: readonly R[],
  codec: SegmentCodec<R>,
  countMax: number,
): EncodedSegment[] {
  const segments: EncodedSegment[] = [];
  for (let from = 0; from < records.length; ) {
    const segment = codec.encode(records, from, countMax);
    segments.push(segment);
    from += segment.count;
  }
  return segments;
}

function firstPosition(row: SegmentRow): Position {
  return { timestampMs: row.first_ms, id: row.first_id };
}

function digestOf(payload: Uint8Array): Uint8Array {
  const digest = new Uint8Array(DIGEST_BYTES);
  Bun.SHA256.hash(payload, digest);
  return digest;
}

function nearestWalk(walks: readonly Walk[], query: PageQuery): number {
  let nearest = -1;
  for (let i = 0; i < walks.length; i += 1) {
    const place = walks[i]!.place;
    if (place === undefined) continue;
    const best = walks[nearest]?.place;
    if (best === undefined) {
      nearest = i;
      continue;
    }
    const order = comparePositions(place, best);
    if (query.order === 'asc' ? order < 0 : order > 0) nearest = i;
  }
  return nearest;
}

/** Sorts what is not in order yet; most of what is imported comes behind everything that is stored. */
function inPositionOrder<R extends Position>(records: R[]): R[] {
  const inOrder = records.every((record, i) => i === 0 || comparePositions(records[i - 1]!, record) < 0);
  return inOrder ? records : records.sort(comparePositions);
}

/** `incoming` without what `present`, or an earlier one of `incoming`, says at the same timestamp. */
function withoutRepeats<R extends Position, I extends R>(
  present: readonly R[],
  incoming: readonly I[],
  codec: SegmentCodec<R>,
): I[] {
  const fresh: I[] = [];
  let p = 0;
  for (const record of incoming) {
    while (p < present.length && present[p]!.timestampMs < record.timestampMs) p += 1;
    let repeated = false;
    for (let i = p; !repeated && i < present.length && present[i]!.timestampMs === record.timestampMs; i += 1) {
      repeated = codec.same(present[i]!, record);
    }
    for (let i = fresh.length - 1; !repeated && i >= 0 && fresh[i]!.timestampMs === record.timestampMs; i -= 1) {
      repeated = codec.same(fresh[i]!, record);
    }
    if (!repeated) fresh.push(record);
  }
  return fresh;
}
