import { comparePositions, type PageQuery, type Position } from '../domain/page.ts';
import { firstBehind, type OpenSegment, type SegmentSlice } from '../segment/segment-header.ts';

/** Where a walk gets its segments from, one seek each. */
export interface SegmentSource {
  /** The first segment whose last record stands behind `place`. */
  following(seriesId: number, place: Position): OpenSegment | undefined;
  /** The last segment whose last record stands before `place`. */
  preceding(seriesId: number, place: Position): OpenSegment | undefined;
}

const ID_MAX = Number.MAX_SAFE_INTEGER;

/** One record of a segment. */
export interface Found extends OpenSegment {
  readonly index: number;
}

/** The last record at or before `place`; `behind` is the first segment whose last record stands behind it. */
export function lastAtOrBefore(
  source: SegmentSource,
  seriesId: number,
  place: Position,
  behind: OpenSegment | undefined,
): Found | undefined {
  if (behind !== undefined) {
    const index = firstBehind(behind.head, place) - 1;
    if (index >= 0) return { ...behind, index };
  }
  const before = source.preceding(seriesId, { timestampMs: place.timestampMs, id: place.id + 1 });
  return before === undefined ? undefined : { ...before, index: before.head.count - 1 };
}

/** Walks the places of one series that a query takes, in the query's order, and notes what was taken as slices. */
export interface Walk {
  /** The place the walk stands at; undefined behind the last one that the query takes. */
  readonly place: Position | undefined;
  /** Payload bytes of the segment that `place` lies in: how costly one record of it is to answer with, at the most. */
  readonly payloadBytes: number;
  /** How many records from `place` on the segment holds that the query takes, at most `count`. */
  remaining(count: number): number;
  /** Takes `count` records of one segment, as `remaining` allows, moves on, and returns the last one's place. */
  takeMany(count: number): Position;
  /** What was taken so far: ascending within each slice, the slices in the walk's order. */
  slices(): readonly SegmentSlice[];
}

/** Every record. */
export class SeriesWalk implements Walk {
  readonly #source: SegmentSource;
  readonly #seriesId: number;
  readonly #query: PageQuery;
  readonly #slices: SegmentSlice[] = [];
  #segment: OpenSegment | undefined;
  #index = 0;
  #taken = 0;
  place: Position | undefined;

  constructor(source: SegmentSource, seriesId: number, query: PageQuery) {
    this.#source = source;
    this.#seriesId = seriesId;
    this.#query = query;
    if (query.order === 'asc') this.#startForwards();
    else this.#startBackwards();
  }

  get payloadBytes(): number {
    return this.#segment?.payload.length ?? 0;
  }

  remaining(count: number): number {
    const { head } = this.#segment!;
    if (this.#query.order === 'asc') {
      const end = firstBehind(head, { timestampMs: this.#query.toMs, id: ID_MAX });
      return Math.min(count, end - this.#index);
    }
    const start = firstBehind(head, { timestampMs: this.#query.fromMs, id: -1 });
    return Math.min(count, this.#index - start + 1);
  }

  takeMany(count: number): Position {
    const forwards = this.#query.order === 'asc';
    const last = positionAt(this.#segment!, forwards ? this.#index + count - 1 : this.#index - count + 1);
    this.#taken += count;
    this.#index += forwards ? count : -count;
    this.#settle();
    return last;
  }

  slices(): readonly SegmentSlice[] {
    this.#closeSlice();
    return this.#slices;
  }

  #startForwards(): void {
    const { fromMs, after } = this.#query;
    const from = { timestampMs: fromMs, id: -1 };
    const start = after !== undefined && comparePositions(after, from) > 0 ? after : from;
    this.#segment = this.#source.following(this.#seriesId, start);
    if (this.#segment !== undefined) this.#index = firstBehind(this.#segment.head, start);
    this.#settle();
  }

  #startBackwards(): void {
    const { toMs, after } = this.#query;
    const to = { timestampMs: toMs, id: ID_MAX };
    // The walk starts at the greatest place at or before `start`; a cursor's own place was served already.
    const cursor = after === undefined ? to : { timestampMs: after.timestampMs, id: after.id - 1 };
    const start = comparePositions(cursor, to) < 0 ? cursor : to;
    const behind = this.#source.following(this.#seriesId, start);
    const found = lastAtOrBefore(this.#source, this.#seriesId, start, behind);
    this.#segment = found;
    this.#index = found?.index ?? -1;
    this.#settle();
  }

  /** Crosses into the neighbouring segment where need be, and sees whether the query still takes what stands there. */
  #settle(): void {
    const segment = this.#segment;
    this.place = undefined;
    if (segment === undefined) return;
    const { head } = segment;
    if (this.#index >= head.count) {
      this.#enter(this.#source.following(this.#seriesId, positionAt(segment, head.count - 1)), 0);
    } else if (this.#index < 0) {
      const before = this.#source.preceding(this.#seriesId, positionAt(segment, 0));
      this.#enter(before, before === undefined ? 0 : before.head.count - 1);
    }
    if (this.#segment === undefined) return;
    const place = positionAt(this.#segment, this.#index);
    const { fromMs, toMs } = this.#query;
    if (place.timestampMs >= fromMs && place.timestampMs <= toMs) this.place = place;
  }

  #enter(segment: OpenSegment | undefined, index: number): void {
    this.#closeSlice();
    this.#segment = segment;
    this.#index = index;
  }

  #closeSlice(): void {
    if (this.#segment === undefined || this.#taken === 0) return;
    const forwards = this.#query.order === 'asc';
    const from = forwards ? this.#index - this.#taken : this.#index + 1;
    const { payload, head } = this.#segment;
    this.#slices.push({ payload, head, from, to: from + this.#taken });
    this.#taken = 0;
  }
}

export function positionAt(segment: OpenSegment, index: number): Position {
  return { timestampMs: segment.head.timestamps[index]!, id: segment.head.ids[index]! };
}
