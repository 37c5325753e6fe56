import { bucketStartMs } from '../domain/interval.ts';
import { comparePositions, type Order, type PageQuery, type Position } from '../domain/page.ts';
import { firstAfter, type OpenSegment, type SegmentSlice } from '../segment/segment-header.ts';
import { type Found, ID_MAX, lastAtOrBefore, positionAt, type SegmentSource, SeriesWalk, Walk } from './series-walk.ts';

/** Takes the last record of each bucket, see PageQuery. A bucket takes two seeks, however many records it has. */
export class BucketWalk extends Walk {
  readonly #intervalMs: number;

  constructor(source: SegmentSource, seriesId: number, query: PageQuery, intervalMs: number) {
    super(source, seriesId, query);
    this.#intervalMs = intervalMs;
    const { fromMs, toMs, after, order } = query;
    if (order === 'asc') {
      const from = { timestampMs: fromMs, id: -1 };
      this.#seekAfter(after !== undefined && comparePositions(after, from) > 0 ? after : from);
    } else if (after === undefined) {
      this.#seekAtOrBefore(toMs);
    } else {
      this.#seekBefore(after);
    }
  }

  /** Always 1: the records between the last ones of two buckets are skipped. */
  remaining(): number {
    return 1;
  }

  takeMany(): Position {
    const taken = this.position!;
    this.slices.push({ ...this.segment!, from: this.index, to: this.index + 1 });
    const beginMs = this.#beginOf(taken.timestampMs);
    if (this.query.order === 'asc') this.#seekAfter({ timestampMs: beginMs + this.#intervalMs - 1, id: ID_MAX });
    else this.#seekAtOrBefore(beginMs - 1);
    return taken;
  }

  /** Moves to the last record of the first bucket that has any after `start`. */
  #seekAfter(start: Position): void {
    this.position = undefined;
    if (this.query.receivedByMs !== undefined) {
      const next = this.#received('asc', start.timestampMs, this.query.toMs, start);
      if (next === undefined) return;
      const nextEndMs = this.#beginOf(next.head.timestamps[next.index]!) + this.#intervalMs - 1;
      this.#seekAtOrBefore(Math.min(nextEndMs, this.query.toMs));
      return;
    }
    const segment = this.source.following(this.seriesId, start);
    if (segment === undefined) return;
    const first = positionAt(segment, firstAfter(segment.head, start));
    if (first.timestampMs > this.query.toMs) return;
    const endMs = this.#beginOf(first.timestampMs) + this.#intervalMs - 1;
    this.#seek({ timestampMs: Math.min(endMs, this.query.toMs), id: ID_MAX }, segment);
  }

  /** Moves to the last record before `cursor`, a position of this or of another series, that is the last of its bucket. */
  #seekBefore(cursor: Position): void {
    const endMs = this.#beginOf(cursor.timestampMs) + this.#intervalMs - 1;
    this.#seekAtOrBefore(Math.min(endMs, this.query.toMs));
    if (this.position !== undefined && comparePositions(this.position, cursor) >= 0) {
      this.#seekAtOrBefore(this.#beginOf(cursor.timestampMs) - 1);
    }
  }

  #seekAtOrBefore(lastMs: number): void {
    this.position = undefined;
    if (lastMs < this.query.fromMs) return;
    if (this.query.receivedByMs !== undefined) {
      this.#place(this.#received('desc', this.query.fromMs, lastMs));
      return;
    }
    const last = { timestampMs: lastMs, id: ID_MAX };
    this.#seek(last, this.source.following(this.seriesId, last));
  }

  /** Moves to the last record at or before `last`. `near`: the segment of the bucket's first record, or the one after `last`. */
  #seek(last: Position, near: OpenSegment | undefined): void {
    const isBefore = near !== undefined && comparePositions(positionAt(near, near.head.count - 1), last) <= 0;
    const following = isBefore ? this.source.following(this.seriesId, last) : near;
    this.#place(lastAtOrBefore(this.source, this.seriesId, last, following));
  }

  /** The first record of a window, in its order, that had arrived. */
  #received(order: Order, fromMs: number, toMs: number, after?: Position): Found | undefined {
    const query = { ...this.query, order, fromMs, toMs, after, intervalMs: undefined };
    return new SeriesWalk(this.source, this.seriesId, query).found;
  }

  #place(found: Found | undefined): void {
    if (found === undefined) return;
    this.segment = found;
    this.index = found.index;
    const position = positionAt(found, found.index);
    if (position.timestampMs >= this.query.fromMs) this.position = position;
  }

  #beginOf(timestampMs: number): number {
    return bucketStartMs(timestampMs, this.#intervalMs);
  }
}

/**
 * The last record of each bucket of a series, for a caller that reads all of it: `slices` has its records in their order, from the
 * first to the last one that the caller may see. Segments are read once, however many of their records are taken.
 */
export function* lastOfBuckets(slices: Iterable<SegmentSlice>, intervalMs: number): Generator<SegmentSlice> {
  let last: SegmentSlice | undefined;
  let lastStartMs = Number.NaN;
  for (const slice of slices) {
    const { timestamps } = slice.head;
    for (let index = slice.from; index < slice.to; index += 1) {
      const startMs = bucketStartMs(timestamps[index]!, intervalMs);
      if (index + 1 < slice.to && timestamps[index + 1]! < startMs + intervalMs) continue;
      if (last !== undefined && startMs !== lastStartMs) yield last;
      last = { ...slice, from: index, to: index + 1 };
      lastStartMs = startMs;
    }
  }
  if (last !== undefined) yield last;
}
