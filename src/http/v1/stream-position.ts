import type { Gap } from '../../domain/gap.ts';
import type { Position } from '../../domain/page.ts';
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
export function positionOfGap({ fromMs, toMs, reason }: Gap): StreamPosition {
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
