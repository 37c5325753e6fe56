import type { Gap } from '../../domain/gap.ts';
import { comparePositions, type Position } from '../../domain/page.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';

/**
 * One event of a stream. Events go by time; of one time come first the gaps that end then, then the snapshots, each by id. So
 * a gap is sent when it is over, as a listener of that time would have known of it, and before the book that follows it.
 */
export interface StreamPosition extends Position {
  readonly kind: 'gap' | 'snapshot';
}

const GAP_ID_BITS = 53;

/** Gaps have no ids: this hash tells those of one end apart, whatever else is recorded later. */
function positionOfGap({ fromMs, toMs, reason }: Gap): StreamPosition {
  const hash = Bun.hash.xxHash3(`${fromMs} ${reason}`);
  return { kind: 'gap', timestampMs: toMs, id: Number(BigInt.asUintN(GAP_ID_BITS, hash)) };
}

/** The `id:` of an event: a cursor, bound to the question of the stream and to the kind of event. */
export function eventId({ kind, timestampMs, id }: StreamPosition, scope: string): string {
  return encodeCursor({ timestampMs, id }, scopeOf(kind, scope));
}

/** The event that an id was given to; undefined when it was altered or given for another stream. */
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
 * Gaps in the order in which they end. They are read in the order in which they begin, and only as far as needed: those in
 * memory are the ones that began before the next one to end does, one where they do not overlap.
 */
export class GapsByEnd {
  readonly #unread: Iterator<GapEvent, undefined>;
  /** Read and not passed; the one to end first is the last. */
  readonly #begun: GapEvent[] = [];
  #coming: GapEvent | undefined;

  /** `gaps` ascend by their beginnings; only those after the event `after` take part. */
  constructor(gaps: Iterable<Gap>, after: StreamPosition | undefined) {
    this.#unread = eventsAfter(gaps, after);
    this.#coming = this.#unread.next().value;
    this.#fill();
  }

  /** The next one; undefined after the last. */
  get first(): GapEvent | undefined {
    return this.#begun.at(-1);
  }

  /** Goes on after the first one. */
  pass(): void {
    this.#begun.pop();
    this.#fill();
  }

  #fill(): void {
    for (;;) {
      const coming = this.#coming;
      const { first } = this;
      if (coming === undefined || (first !== undefined && coming.gap.fromMs > first.gap.toMs)) return;
      const index = this.#begun.findLastIndex(({ position }) => comparePositions(position, coming.position) > 0);
      this.#begun.splice(index + 1, 0, coming);
      this.#coming = this.#unread.next().value;
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
  // A snapshot comes after the gaps that end with it.
  if (after.kind === 'snapshot') return gap.timestampMs > after.timestampMs;
  return comparePositions(gap, after) > 0;
}
