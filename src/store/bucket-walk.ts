import { comparePositions, type PageQuery, type Position } from '../domain/page.ts';
import { firstBehind, type OpenSegment, type SegmentSlice } from '../segment/segment-header.ts';
import { lastAtOrBefore, positionAt, type SegmentSource, type Walk } from './series-walk.ts';

const ID_MAX = Number.MAX_SAFE_INTEGER;

/**
 * The last record of each bucket of `intervalMs` that has any, see PageQuery. Each is found with two seeks, whatever the
 * bucket holds.
 */
export class BucketWalk implements Walk {
  readonly #source: SegmentSource;
  readonly #seriesId: number;
  readonly #query: PageQuery;
  readonly #intervalMs: number;
  readonly #slices: SegmentSlice[] = [];
  #segment: OpenSegment | undefined;
  #index = 0;
  place: Position | undefined;

  constructor(source: SegmentSource, seriesId: number, query: PageQuery, intervalMs: number) {
    this.#source = source;
    this.#seriesId = seriesId;
    this.#query = query;
    this.#intervalMs = intervalMs;
    const { fromMs, toMs, after, order } = query;
    if (order === 'asc') {
      const from = { timestampMs: fromMs, id: -1 };
      this.#standBehind(after !== undefined && comparePositions(after, from) > 0 ? after : from);
    } else if (after === undefined) {
      this.#standAtOrBefore(toMs);
    } else {
      this.#standBefore(after);
    }
  }

  get payloadBytes(): number {
    return this.#segment?.payload.length ?? 0;
  }

  /** What follows in the same segment belongs to the same bucket, or is not its last record. */
  remaining(): number {
    return 1;
  }

  takeMany(): Position {
    const taken = this.place!;
    this.#slices.push({ ...this.#segment!, from: this.#index, to: this.#index + 1 });
    const beginMs = this.#beginOf(taken.timestampMs);
    if (this.#query.order === 'asc') this.#standBehind({ timestampMs: beginMs + this.#intervalMs - 1, id: ID_MAX });
    else this.#standAtOrBefore(beginMs - 1);
    return taken;
  }

  slices(): readonly SegmentSlice[] {
    return this.#slices;
  }

  /** Stands at the last record of the first bucket that has any behind `start`. */
  #standBehind(start: Position): void {
    this.place = undefined;
    const segment = this.#source.following(this.#seriesId, start);
    if (segment === undefined) return;
    const first = positionAt(segment, firstBehind(segment.head, start));
    if (first.timestampMs > this.#query.toMs) return;
    const endMs = this.#beginOf(first.timestampMs) + this.#intervalMs - 1;
    this.#stand({ timestampMs: Math.min(endMs, this.#query.toMs), id: ID_MAX }, segment);
  }

  /** Stands at the last record in front of `cursor`, the place of this or of another series, that is one of its bucket's. */
  #standBefore(cursor: Position): void {
    const endMs = this.#beginOf(cursor.timestampMs) + this.#intervalMs - 1;
    this.#standAtOrBefore(Math.min(endMs, this.#query.toMs));
    if (this.place !== undefined && comparePositions(this.place, cursor) >= 0) {
      this.#standAtOrBefore(this.#beginOf(cursor.timestampMs) - 1);
    }
  }

  #standAtOrBefore(lastMs: number): void {
    this.place = undefined;
    if (lastMs < this.#query.fromMs) return;
    const last = { timestampMs: lastMs, id: ID_MAX };
    this.#stand(last, this.#source.following(this.#seriesId, last));
  }

  /** Stands at the last record at or before `last`, if there is one; `near`: a segment that may hold it, or stands behind. */
  #stand(last: Position, near: OpenSegment | undefined): void {
    const isBefore = near !== undefined && comparePositions(positionAt(near, near.head.count - 1), last) <= 0;
    const behind = isBefore ? this.#source.following(this.#seriesId, last) : near;
    const found = lastAtOrBefore(this.#source, this.#seriesId, last, behind);
    if (found === undefined) return;
    this.#segment = found;
    this.#index = found.index;
    const place = positionAt(found, found.index);
    if (place.timestampMs >= this.#query.fromMs) this.place = place;
  }

  #beginOf(timestampMs: number): number {
    return timestampMs - (timestampMs % this.#intervalMs);
  }
}
