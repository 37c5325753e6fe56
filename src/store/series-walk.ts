import { ARRIVAL_EARLY_MAX_MS, comparePositions, type PageQuery, type Position } from '../domain/page.ts';
import {
  arrivalsIn,
  firstAfter,
  type OpenSegment,
  type SegmentHeader,
  type SegmentSlice,
} from '../segment/segment-header.ts';

/** Finds segments for a walk, with one seek each. */
export interface SegmentSource {
  /** The first segment whose last record comes after `position`. */
  following(seriesId: number, position: Position): OpenSegment | undefined;
  /** The last segment whose last record comes before `position`. */
  preceding(seriesId: number, position: Position): OpenSegment | undefined;
}

/** No record has a greater id. */
export const ID_MAX = Number.MAX_SAFE_INTEGER;

export interface Found extends OpenSegment {
  readonly index: number;
}

/** The last record at or before `position`; `following` is the first segment whose last record comes after it. */
export function lastAtOrBefore(
  source: SegmentSource,
  seriesId: number,
  position: Position,
  following: OpenSegment | undefined,
): Found | undefined {
  if (following !== undefined) {
    const index = firstAfter(following.head, position) - 1;
    if (index >= 0) return { ...following, index };
  }
  const before = source.preceding(seriesId, { timestampMs: position.timestampMs, id: position.id + 1 });
  return before === undefined ? undefined : { ...before, index: before.head.count - 1 };
}

/** Walks the positions of one series that a query takes, in the query's order, and keeps those that were taken. */
export abstract class Walk {
  protected readonly source: SegmentSource;
  protected readonly seriesId: number;
  protected readonly query: PageQuery;
  protected segment: OpenSegment | undefined;
  protected index = 0;
  /** The records taken so far: ascending within each slice, the slices in the walk's order. */
  readonly slices: SegmentSlice[] = [];
  /** The position of the next record; undefined after the last one that the query takes. */
  position: Position | undefined;

  constructor(source: SegmentSource, seriesId: number, query: PageQuery) {
    this.source = source;
    this.seriesId = seriesId;
    this.query = query;
  }

  /** Payload bytes of the segment that has `position`: the most that an answer with one of its records reads. */
  get payloadBytes(): number {
    return this.segment?.payload.length ?? 0;
  }

  /** The number of records of the segment that the query takes from `position` on, at most `count`. */
  abstract remaining(count: number): number;

  /** Takes `count` records of one segment, as `remaining` allows, moves on, and returns the last one's position. */
  abstract takeMany(count: number): Position;
}

export class SeriesWalk extends Walk {
  #taken: { payload: Uint8Array; head: SegmentHeader; from: number; to: number } | undefined;
  #arrivals: Float64Array | undefined;
  #arrivalsHead: SegmentHeader | undefined;

  constructor(source: SegmentSource, seriesId: number, query: PageQuery) {
    const { toMs, receivedByMs = Infinity } = query;
    super(source, seriesId, { ...query, toMs: Math.min(toMs, receivedByMs + ARRIVAL_EARLY_MAX_MS) });
    if (query.order === 'asc') this.#startForwards();
    else this.#startBackwards();
  }

  /** The record at `position`. */
  get found(): Found | undefined {
    return this.position === undefined ? undefined : { ...this.segment!, index: this.index };
  }

  remaining(count: number): number {
    const { head } = this.segment!;
    // The records next to one that had arrived may not have arrived.
    if (this.query.receivedByMs !== undefined) return Math.min(count, 1);
    if (this.query.order === 'asc') {
      const end = firstAfter(head, { timestampMs: this.query.toMs, id: ID_MAX });
      return Math.min(count, end - this.index);
    }
    const start = firstAfter(head, { timestampMs: this.query.fromMs, id: -1 });
    return Math.min(count, this.index - start + 1);
  }

  takeMany(count: number): Position {
    const segment = this.segment!;
    const forwards = this.query.order === 'asc';
    const last = forwards ? this.index + count - 1 : this.index - count + 1;
    const isAdjacent = this.#taken?.[forwards ? 'to' : 'from'] === (forwards ? this.index : this.index + 1);
    if (this.#taken?.payload !== segment.payload || !isAdjacent) {
      this.#taken = { ...segment, from: this.index, to: this.index + 1 };
      this.slices.push(this.#taken);
    }
    const taken = this.#taken!;
    if (forwards) taken.to = last + 1;
    else taken.from = last;
    this.index = forwards ? last + 1 : last - 1;
    this.#arrive();
    return positionAt(segment, last);
  }

  #startForwards(): void {
    const { fromMs, after } = this.query;
    const from = { timestampMs: fromMs, id: -1 };
    const start = after !== undefined && comparePositions(after, from) > 0 ? after : from;
    this.segment = this.source.following(this.seriesId, start);
    if (this.segment !== undefined) this.index = firstAfter(this.segment.head, start);
    this.#arrive();
  }

  #startBackwards(): void {
    const { toMs, after } = this.query;
    const to = { timestampMs: toMs, id: ID_MAX };
    // The walk starts at the greatest position at or before `start`; the cursor's own position was served already.
    const cursor = after === undefined ? to : { timestampMs: after.timestampMs, id: after.id - 1 };
    const start = comparePositions(cursor, to) < 0 ? cursor : to;
    const following = this.source.following(this.seriesId, start);
    const found = lastAtOrBefore(this.source, this.seriesId, start, following);
    this.segment = found;
    this.index = found?.index ?? -1;
    this.#arrive();
  }

  /**
   * Moves to the neighbouring segment if necessary, on to the next record that had arrived, and ends the walk if the query does not take the
   * record there.
   */
  #arrive(): void {
    const { fromMs, toMs, order } = this.query;
    this.position = undefined;
    for (; this.segment !== undefined; this.index += order === 'asc' ? 1 : -1) {
      const { segment } = this;
      const { head } = segment;
      if (this.index >= head.count) {
        this.segment = this.source.following(this.seriesId, positionAt(segment, head.count - 1));
        this.index = 0;
      } else if (this.index < 0) {
        this.segment = this.source.preceding(this.seriesId, positionAt(segment, 0));
        this.index = (this.segment?.head.count ?? 1) - 1;
      }
      if (this.segment === undefined) return;
      const position = positionAt(this.segment, this.index);
      if (position.timestampMs < fromMs || position.timestampMs > toMs) return;
      if (!this.#hasArrived(this.segment, position)) continue;
      this.position = position;
      return;
    }
  }

  #hasArrived(segment: OpenSegment, { timestampMs }: Position): boolean {
    const { receivedByMs } = this.query;
    if (receivedByMs === undefined) return true;
    if (this.#arrivalsHead !== segment.head) this.#arrivals = arrivalsIn(segment);
    this.#arrivalsHead = segment.head;
    // NaN: not stated.
    return (this.#arrivals?.[this.index] || timestampMs) <= receivedByMs;
  }
}

export function positionAt(segment: OpenSegment, index: number): Position {
  return { timestampMs: segment.head.timestamps[index]!, id: segment.head.ids[index]! };
}
