import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { comparePositions, type NearestMode, type Order, type PageQuery, type Position } from '../domain/page.ts';
import {
  type EncodedSegment,
  firstAfter,
  type OpenSegment,
  type Received,
  type SegmentCodec,
  type SegmentSlice,
} from '../segment/segment-header.ts';
import { damaged } from '../segment/varint.ts';
import { BucketWalk } from './bucket-walk.ts';
import { KeptSegments } from './kept-segments.ts';
import type { Queries } from './queries.ts';
import type { SealedFiles } from './sealed-files.ts';
import { SegmentQueries } from './segment-queries.ts';
import {
  type Found,
  ID_MAX,
  lastAtOrBefore,
  positionAt,
  type SegmentSource,
  SeriesWalk,
  type Walk,
} from './series-walk.ts';

/** A record that a source may state several times at one timestamp; `occurrence` is its number among equal ones, from 1. */
export interface Occurring {
  readonly occurrence?: number | undefined;
}

/** A page over several series, planned by positions alone: no record has been decoded yet. */
export interface PagePlan {
  /** The slices of each series, in the order in which the page takes them. */
  readonly slices: readonly (readonly SegmentSlice[])[];
  /** For each record of the page, in order, the index of its series. */
  readonly sequence: readonly number[];
  /** The page's last record when more follow, else undefined. */
  readonly next: Position | undefined;
}

/** Segments that belong together. `atEnd`: true if the last of them is the last of the series. */
interface Cluster {
  readonly segments: readonly OpenSegment[];
  readonly atEnd: boolean;
}

/**
 * A plan ends early where its records would take more than this, each counted as its whole segment. This bounds the bytes that
 * a page reads, whatever the size of the books. Books of the usual size (a hundred levels, 2 kB a segment) take half of it at
 * the largest limit.
 */
const PAGE_PAYLOAD_BYTES = 4 * 1024 * 1024;

const DIGEST_BYTES = 32;
/** Enough for some twenty busy markets. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024;

/** A database whose shared views show states with numbers. */
interface Shared extends Queries {
  /** Undefined outside of `readShared`. */
  readonly sharedState?: number | undefined;
}

export const DELETE_SEGMENT = 'DELETE FROM segments WHERE series_id = ? AND last_ms = ? AND last_id = ?';

/**
 * Time series stored as segments of consecutive records, for records of any kind: the kind's codec turns records
 * into payloads and back. Records ascend by (timestamp, id) across the segments of a series, which do not overlap.
 * One seek on (series, last position) finds the segment a position lies in.
 */
export class Segments {
  readonly #source: SegmentSource;
  readonly #main: SegmentQueries;
  readonly #sealed: SealedFiles | undefined;
  readonly #delete;

  /** `sealed`: left out while an archive is upgraded from a version without sealed markets. */
  constructor(database: Shared, sealed?: SealedFiles) {
    this.#main = new SegmentQueries(database, new KeptSegments(KEPT_BYTES_MAX, () => database.sharedState));
    this.#sealed = sealed;
    this.#source = {
      following: (seriesId, position) => this.#found(seriesId, (segments) => segments.next(seriesId, position)),
      preceding: (seriesId, position) => this.#found(seriesId, (segments) => segments.previous(seriesId, position)),
    };
    this.#delete = database.query<never, [number, number, number]>(DELETE_SEGMENT);
  }

  /** Looks where the segments of a series are: in bookreel.db, or in the file of its sealed market. */
  #found<T>(seriesId: number, look: (segments: SegmentQueries) => T | null): T | undefined {
    const found = this.#sealed?.readOpen(seriesId, look);
    return (found === undefined ? (look(this.#main) ?? this.#sealed?.read(seriesId, look)) : found) ?? undefined;
  }

  /** The records of all `seriesIds` that `query` takes, merged in its order; ties between series are in the order of ids. */
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
      if (walk?.position === undefined) break;
      // A single series is taken segment by segment, several are taken record by record.
      const affordable = Math.max(1, Math.floor(budget / walk.payloadBytes));
      const count = walks.length > 1 ? 1 : walk.remaining(Math.min(query.limit - sequence.length, affordable));
      budget -= count * walk.payloadBytes;
      last = walk.takeMany(count);
      for (let i = 0; i < count; i += 1) sequence.push(index);
    }
    const more = walks.some((walk) => walk.position !== undefined);
    return { slices: walks.map((walk) => walk.slices), sequence, next: more ? last : undefined };
  }

  /**
   * The record nearest to `timestampMs`, or by `mode` the nearest that is not later ('before') or not earlier ('after'). Of two
   * equally near timestamps it takes the earlier, of several records with one timestamp the highest id. Undefined without a
   * series. With `receivedByMs` it finds only records that had arrived then.
   */
  nearest(
    seriesId: number | undefined,
    timestampMs: number,
    mode: NearestMode = 'nearest',
    receivedByMs?: InstantMs,
  ): Found | undefined {
    if (seriesId === undefined) return undefined;
    if (receivedByMs !== undefined) return this.#nearestReceived(seriesId, timestampMs, mode, receivedByMs);
    const target = { timestampMs, id: ID_MAX };
    const segment = this.#source.following(seriesId, target);
    const before = lastAtOrBefore(this.#source, seriesId, target, segment);
    const beforeMs = before?.head.timestamps[before.index];
    if (segment === undefined) return mode === 'after' && beforeMs !== timestampMs ? undefined : before;
    if (mode === 'before' || beforeMs === timestampMs) return before;
    const afterMs = segment.head.timestamps[firstAfter(segment.head, target)]!;
    if (mode === 'nearest' && beforeMs !== undefined && timestampMs - beforeMs <= afterMs - timestampMs) return before;
    const after = { timestampMs: afterMs, id: ID_MAX };
    return lastAtOrBefore(this.#source, seriesId, after, this.#source.following(seriesId, after));
  }

  #nearestReceived(
    seriesId: number,
    timestampMs: number,
    mode: NearestMode,
    receivedByMs: InstantMs,
  ): Found | undefined {
    const first = (order: Order, fromMs: InstantMs, toMs: InstantMs) =>
      new SeriesWalk(this.#source, seriesId, { order, fromMs, toMs, after: undefined, limit: 1, receivedByMs });
    const before = mode === 'after' ? undefined : first('desc', 0, timestampMs);
    const afterMs = mode === 'before' ? undefined : first('asc', timestampMs, INSTANT_MAX_MS).position?.timestampMs;
    const beforeMs = before?.position?.timestampMs ?? -Infinity;
    if (afterMs === undefined || timestampMs - beforeMs <= afterMs - timestampMs) return before?.found;
    return first('desc', afterMs, afterMs).found;
  }

  /**
   * Returns a function that is true for a series with a record by `asOfMs` that had arrived by `receivedByMs`, or for every series if both
   * are undefined.
   */
  knownBy(asOfMs: InstantMs | undefined, receivedByMs?: InstantMs): (seriesId: number) => boolean {
    if (asOfMs === undefined && receivedByMs === undefined) return () => true;
    return (seriesId) => this.nearest(seriesId, asOfMs ?? INSTANT_MAX_MS, 'before', receivedByMs) !== undefined;
  }

  /**
   * Every record of a series between `fromMs` and `toMs`, both inclusive, ascending, one segment at a time: a caller that reads
   * a whole series has one segment of it in memory. Yields nothing without a series.
   */
  *slices(seriesId: number | undefined, fromMs: number, toMs: number): Generator<SegmentSlice> {
    const end = { timestampMs: toMs, id: ID_MAX };
    if (seriesId === undefined) return;
    let after: Position = { timestampMs: fromMs, id: -1 };
    for (;;) {
      const segment = this.#source.following(seriesId, after);
      if (segment === undefined) return;
      const from = firstAfter(segment.head, after);
      const to = firstAfter(segment.head, end);
      if (from < to) yield { ...segment, from, to };
      if (to < segment.head.count) return;
      after = lastOf(segment);
    }
  }

  /**
   * The number of records of a series that are not later than `untilMs`, and the time of the last of them (0 without any).
   * Reads the row of each segment until then, and one payload.
   */
  until(seriesId: number, untilMs: number = Number.MAX_SAFE_INTEGER): { count: number; lastMs: number } {
    const end = { timestampMs: untilMs, id: ID_MAX };
    const total = this.#found(seriesId, (segments) => {
      const { count, lastMs } = segments.count.get(seriesId, untilMs)!;
      return count === null ? null : { count, lastMs };
    });
    const segment = this.#source.following(seriesId, end);
    const more = segment === undefined ? 0 : firstAfter(segment.head, end);
    return { count: (total?.count ?? 0) + more, lastMs: segment?.head.timestamps[more - 1] ?? total?.lastMs ?? 0 };
  }

  /** The times of the first and last record of each segment of a series that touches a range. */
  ranges(seriesId: number, fromMs: InstantMs, toMs: InstantMs): readonly { firstMs: InstantMs; lastMs: InstantMs }[] {
    const found = this.#found(seriesId, ({ ranges }) => {
      const rows = ranges.all(seriesId, fromMs, toMs);
      return rows.length === 0 ? null : rows;
    });
    return found ?? [];
  }

  /** The last record before `position`, decoded. */
  recordBefore<R extends Position>(seriesId: number, position: Position, codec: SegmentCodec<R>): R | undefined {
    // (t, id-1) is the greatest position before (t, id).
    const target = { timestampMs: position.timestampMs, id: position.id - 1 };
    const found = lastAtOrBefore(this.#source, seriesId, target, this.#source.following(seriesId, target));
    return found === undefined ? undefined : codec.decode(found.payload)[found.index];
  }

  /**
   * The records of `incoming` (ascending by timestamp, ties in the order of arrival) that the series does not have at the same
   * timestamp, each as often as its `occurrence` says: once by default. Of those that repeat each other it has the first, with the
   * earliest arrival.
   */
  newRecords<R extends Received, I extends R & Occurring>(
    seriesId: number,
    incoming: readonly I[],
    codec: SegmentCodec<R>,
  ): I[] {
    const found: I[] = [];
    for (let from = 0; from < incoming.length; ) {
      const { segments, to } = this.#clusterOf(seriesId, incoming, from);
      const { timestampMs } = incoming[from]!;
      // After the end of the series there is nothing to compare with.
      const compared = segments.filter((segment) => lastOf(segment).timestampMs >= timestampMs);
      const present = compared.flatMap(({ payload }) => codec.decode(payload));
      found.push(...withoutRepeats(present, incoming.slice(from, to), codec));
      from = to;
    }
    return found;
  }

  /**
   * Adds `records` (ascending by timestamp), which must not be in the series yet. Returns the changed ranges of the series, in order.
   * Each range goes from its first new record to its last one, and includes the record after it if there is one.
   */
  add<R extends Position>(seriesId: number, records: readonly R[], codec: SegmentCodec<R>): R[][] {
    if (records.length > 0) this.#sealed?.unsealSeries(seriesId);
    const changes: R[][] = [];
    for (let from = 0; from < records.length; ) {
      const { segments, to, atEnd } = this.#clusterOf(seriesId, records, from);
      const present = segments.flatMap(({ payload }) => codec.decode(payload));
      const added = records.slice(from, to);
      const merged = inPositionOrder([...present, ...added]);
      this.#rewrite(seriesId, segments, merged, codec, atEnd);
      changes.push(this.#changedRange(seriesId, merged, added, codec));
      from = to;
    }
    return changes;
  }

  /**
   * Deletes the records from `fromMs` to before `toMs` that `isRemoved` names, with one segment in memory at a time. Returns their
   * number. Within a write transaction.
   */
  remove<R extends Position>(
    seriesId: number,
    fromMs: number,
    toMs: number,
    codec: SegmentCodec<R>,
    isRemoved: (record: R) => boolean = () => true,
  ): number {
    this.#sealed?.unsealSeries(seriesId);
    let removed = 0;
    let after: Position = { timestampMs: fromMs, id: -1 };
    for (;;) {
      const segment = this.#source.following(seriesId, after);
      if (segment === undefined || segment.head.timestamps[0]! >= toMs) return removed;
      const kept = codec
        .decode(segment.payload)
        .filter((record) => record.timestampMs < fromMs || record.timestampMs >= toMs || !isRemoved(record));
      after = lastOf(segment);
      if (kept.length === segment.head.count) continue;
      removed += segment.head.count - kept.length;
      this.#rewrite(seriesId, [segment], kept, codec, true);
    }
  }

  /** Replaces the records between `first` and `last` (both inclusive) by `records`, which ascend and lie between them too. */
  replace<R extends Position>(
    seriesId: number,
    first: Position,
    last: Position,
    records: readonly R[],
    codec: SegmentCodec<R>,
  ): void {
    this.#sealed?.unsealSeries(seriesId);
    const { segments, atEnd } = this.#clusterBetween(seriesId, first, last);
    const present = segments.flatMap(({ payload }) => codec.decode(payload));
    const kept = present.filter((record) => comparePositions(record, first) < 0 || comparePositions(record, last) > 0);
    if (kept.length === present.length && records.length === 0) return;
    this.#rewrite(seriesId, segments, inPositionOrder([...kept, ...records]), codec, atEnd);
  }

  /**
   * The stored segments that contain, or are next to, the first records of `incoming` from index `from` on, and the index `to` up to which
   * they take `incoming`. All records of one timestamp are in one cluster, so that repeats are found.
   */
  #clusterOf(seriesId: number, incoming: readonly Position[], from: number): Cluster & { to: number } {
    const segments: OpenSegment[] = [];
    const start = { timestampMs: incoming[from]!.timestampMs, id: -1 };
    let segment = this.#source.following(seriesId, start);
    if (segment === undefined) return { ...this.#lastBefore(seriesId, start), to: incoming.length };
    let to = from;
    for (;;) {
      segments.push(segment);
      const last = lastOf(segment);
      while (to < incoming.length && incoming[to]!.timestampMs <= last.timestampMs) to += 1;
      const following = this.#segmentAfter(seriesId, segment);
      // A segment that begins with the timestamp this one ends with belongs to the same cluster.
      if (following?.head.timestamps[0] !== last.timestampMs) return { segments, to, atEnd: following === undefined };
      segment = following;
    }
  }

  #clusterBetween(seriesId: number, first: Position, last: Position): Cluster {
    const segments: OpenSegment[] = [];
    let segment = this.#source.following(seriesId, { timestampMs: first.timestampMs, id: first.id - 1 });
    while (segment !== undefined && comparePositions(positionAt(segment, 0), last) <= 0) {
      segments.push(segment);
      segment = this.#segmentAfter(seriesId, segment);
    }
    if (segments.length > 0) return { segments, atEnd: segment === undefined };
    if (segment === undefined) return this.#lastBefore(seriesId, first);
    // Between two segments: the second takes the records, since a segment of their own would be short.
    return { segments: [segment], atEnd: this.#segmentAfter(seriesId, segment) === undefined };
  }

  /** Throws 'unavailable' where a row's columns contradict its payload: the walk would find that segment again and again. */
  #segmentAfter(seriesId: number, segment: OpenSegment): OpenSegment | undefined {
    const last = lastOf(segment);
    const following = this.#source.following(seriesId, last);
    if (following !== undefined && comparePositions(positionAt(following, 0), last) <= 0) throw damaged();
    return following;
  }

  /** The last segment if the whole series comes before `position`: later records are added to it. */
  #lastBefore(seriesId: number, position: Position): Cluster {
    const last = this.#source.preceding(seriesId, position);
    return { segments: last === undefined ? [] : [last], atEnd: true };
  }

  #rewrite<R extends Position>(
    seriesId: number,
    replaced: readonly OpenSegment[],
    records: readonly R[],
    codec: SegmentCodec<R>,
    atEnd: boolean,
  ): void {
    for (const segment of replaced) {
      const { timestampMs, id } = lastOf(segment);
      // Otherwise its records would be in the series twice.
      if (this.#delete.run(seriesId, timestampMs, id).changes !== 1) throw damaged();
    }
    let from = 0;
    for (const { payload, count } of splitEvenly(records, codec, atEnd)) {
      const first = records[from]!;
      const last = records[from + count - 1]!;
      const digest = new Uint8Array(DIGEST_BYTES);
      Bun.SHA256.hash(payload, digest);
      const [firstMs, lastMs] = [first.timestampMs, last.timestampMs];
      this.#main.insert({
        seriesId,
        firstMs,
        firstId: first.id,
        lastMs,
        lastId: last.id,
        records: count,
        digest,
        payload,
      });
      from += count;
    }
  }

  #changedRange<R extends Position>(
    seriesId: number,
    merged: readonly R[],
    added: readonly R[],
    codec: SegmentCodec<R>,
  ): R[] {
    // Added in the order of time, but ids of one timestamp may come in any order.
    const [first, last] = [added.reduce(earlier), added.reduce((a, b) => (earlier(a, b) === a ? b : a))];
    const end = merged.lastIndexOf(last) + 1;
    const range = merged.slice(merged.indexOf(first), end + 1);
    if (end < merged.length) return range;
    const following = this.#source.following(seriesId, last);
    if (following !== undefined) range.push(codec.decode(following.payload)[0]!);
    return range;
  }
}

function earlier<R extends Position>(a: R, b: R): R {
  return comparePositions(a, b) <= 0 ? a : b;
}

function lastOf(segment: OpenSegment): Position {
  return positionAt(segment, segment.head.count - 1);
}

/**
 * Divides records into full segments and a last one that later records fill, if they end the series; otherwise into segments of about
 * equal length, so that late records that arrive one by one do not leave many short segments.
 */
function splitEvenly<R extends Position>(
  records: readonly R[],
  codec: SegmentCodec<R>,
  atEnd: boolean,
): EncodedSegment[] {
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

function nearestWalk(walks: readonly Walk[], query: PageQuery): number {
  let nearest = -1;
  for (let i = 0; i < walks.length; i += 1) {
    const { position } = walks[i]!;
    if (position === undefined) continue;
    const best = walks[nearest]?.position;
    const order = best === undefined ? undefined : comparePositions(position, best);
    if (order === undefined || (query.order === 'asc' ? order < 0 : order > 0)) nearest = i;
  }
  return nearest;
}

/** Sorts the records unless they are already in order. Most are: imports mostly add records after all stored ones. */
function inPositionOrder<R extends Position>(records: R[]): R[] {
  const inOrder = records.every((record, i) => i === 0 || comparePositions(records[i - 1]!, record) < 0);
  return inOrder ? records : records.sort(comparePositions);
}

function arriveEarlier(record: { receivedMs?: InstantMs | undefined }, receivedMs: InstantMs | undefined): void {
  if (receivedMs === undefined) return;
  record.receivedMs = Math.min(receivedMs, record.receivedMs ?? receivedMs);
}

/** Leaves out the records of `incoming` that occur `occurrence` times or more among `present` and earlier ones of their timestamp. */
function withoutRepeats<R extends Received, I extends R & Occurring>(
  present: readonly R[],
  incoming: readonly I[],
  codec: SegmentCodec<R>,
): I[] {
  const fresh: I[] = [];
  /** The different records of one timestamp, with the number of times that each occurs. */
  let known: { readonly record: R; count: number }[] = [];
  let knownMs = -1;
  let p = 0;
  const found = (record: R) => known.find((one) => codec.same(one.record, record));
  const add = (record: R) => {
    const same = found(record);
    if (same === undefined) known.push({ record, count: 1 });
    else same.count += 1;
  };
  for (const record of incoming) {
    const { timestampMs, occurrence = 1 } = record;
    if (timestampMs !== knownMs) {
      known = [];
      knownMs = timestampMs;
      while (p < present.length && present[p]!.timestampMs < timestampMs) p += 1;
      for (; p < present.length && present[p]!.timestampMs === timestampMs; p += 1) add(present[p]!);
    }
    const same = found(record);
    if (same !== undefined && same.count >= occurrence) {
      // Without effect on a stored record: `present` is only compared.
      arriveEarlier(same.record, record.receivedMs);
      continue;
    }
    fresh.push(record);
    if (same === undefined) known.push({ record, count: 1 });
    else same.count += 1;
  }
  return fresh;
}
