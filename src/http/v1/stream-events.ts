import type { Gap } from '../../domain/gap.ts';
import { comparePositions, type Position } from '../../domain/page.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';

/**
 * The position of an event in a stream. Events ascend by time; at one time gaps that end then come before snapshots, each by id.
 * So a gap is sent at its end, when a listener of that time would have known it, and before the next book.
 */
export interface StreamPosition extends Position {
  readonly kind: 'gap' | 'snapshot';
}

const GAP_ID_BITS = 53;

/** Gaps have no ids: a hash distinguishes gaps with the same end, and does not change with later imports. */
function positionOfGap({ fromMs, toMs, reason }: Gap): StreamPosition {
  const hash = Bun.hash.xxHash3(`${fromMs} ${reason}`);
  return { kind: 'gap', timestampMs: toMs, id: Number(BigInt.asUintN(GAP_ID_BITS, hash)) };
}

/** The `id:` of an event: a cursor that is valid for the stream's scope and the kind of event. */
export function eventId({ kind, timestampMs, id }: StreamPosition, scope: string): string {
  return encodeCursor({ timestampMs, id }, scopeOf(kind, scope));
}

/** The position of the event with this id; undefined if the id was altered or is of another stream. */
export function readEventId(text: string, scope: string): StreamPosition | undefined {
  for (const kind of ['snapshot', 'gap'] as const) {
    const position = decodeCursor(text, scopeOf(kind, scope));
    if (position !== undefined) return { kind, ...position };
  }
  return undefined;
}

function scopeOf(kind: StreamPosition['kind'], scope: string): string {
  return `stream of ${scope}: ${kind}`;
}

export interface GapEvent {
  readonly gap: Gap;
  readonly position: StreamPosition;
}

/**
 * Gaps ordered by their ends. They are read ordered by their beginnings, and only as far as needed: in memory are the gaps that
 * begin before the first end. That is one gap if gaps do not overlap.
 */
export class GapsByEnd {
  readonly #unread: Iterator<GapEvent, undefined>;
  /** Read and not passed; the gap with the first end is the last element. */
  readonly #begun: GapEvent[] = [];
  #unopened: GapEvent | undefined;

  /** `gaps` ascend by their beginnings; gaps before the event `after` are ignored. */
  constructor(gaps: Iterable<Gap>, after: StreamPosition | undefined) {
    this.#unread = eventsAfter(gaps, after);
    this.#unopened = this.#unread.next().value;
    this.#fill();
  }

  /** The next gap; undefined after the last one. */
  get first(): GapEvent | undefined {
    return this.#begun.at(-1);
  }

  /** Removes the first gap. */
  pass(): void {
    this.#begun.pop();
    this.#fill();
  }

  #fill(): void {
    for (;;) {
      const next = this.#unopened;
      const { first } = this;
      if (next === undefined || (first !== undefined && next.gap.fromMs > first.gap.toMs)) return;
      const index = this.#begun.findLastIndex(({ position }) => comparePositions(position, next.position) > 0);
      this.#begun.splice(index + 1, 0, next);
      this.#unopened = this.#unread.next().value;
    }
  }
}

function* eventsAfter(gaps: Iterable<Gap>, after: StreamPosition | undefined): Generator<GapEvent, undefined> {
  for (const gap of gaps) {
    const position = positionOfGap(gap);
    if (after === undefined || isAfter(position, after)) yield { gap, position };
  }
}

function isAfter(gap: StreamPosition, after: StreamPosition): boolean {
  // A snapshot comes after the gaps that end at its time.
  if (after.kind === 'snapshot') return gap.timestampMs > after.timestampMs;
  return comparePositions(gap, after) > 0;
}
