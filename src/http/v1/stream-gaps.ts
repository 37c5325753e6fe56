import type { Gap } from '../../domain/gap.ts';
import { comparePositions } from '../../domain/page.ts';
import { placeOfGap, type StreamPosition } from './stream-position.ts';

/** A gap, and where it is told. */
export interface SentGap {
  readonly gap: Gap;
  readonly place: StreamPosition;
}

/**
 * Gaps in the order in which they end. They are read in the order in which they begin, and only as far as it takes: those in
 * memory are the ones that began before the next one to end does, one where they do not overlap.
 */
export class GapsByEnd {
  readonly #gaps: Iterator<Gap>;
  /** Read and not told; the one to end first is the last. */
  readonly #begun: SentGap[] = [];
  #coming: Gap | undefined;

  /** `gaps` ascend by their beginnings; of those, the ones behind `after` are told. */
  constructor(gaps: Iterable<Gap>, after: StreamPosition | undefined) {
    this.#gaps = behind(gaps, after);
    this.#coming = this.#read();
    this.#fill();
  }

  /** The next one; undefined behind the last. */
  get first(): SentGap | undefined {
    return this.#begun.at(-1);
  }

  /** Goes on behind the first one. */
  pass(): void {
    this.#begun.pop();
    this.#fill();
  }

  #fill(): void {
    for (;;) {
      const coming = this.#coming;
      const first = this.first;
      if (coming === undefined || (first !== undefined && coming.fromMs > first.gap.toMs)) return;
      const told = { gap: coming, place: placeOfGap(coming) };
      const index = this.#begun.findLastIndex(({ place }) => comparePositions(place, told.place) > 0);
      this.#begun.splice(index + 1, 0, told);
      this.#coming = this.#read();
    }
  }

  #read(): Gap | undefined {
    const { done, value } = this.#gaps.next();
    return done === true ? undefined : value;
  }
}

function* behind(gaps: Iterable<Gap>, after: StreamPosition | undefined): Generator<Gap> {
  for (const gap of gaps) if (after === undefined || isBehind(placeOfGap(gap), after)) yield gap;
}

function isBehind(gap: StreamPosition, after: StreamPosition): boolean {
  // A snapshot stands behind the gaps that end with it.
  if (after.kind === 'snapshot') return gap.timestampMs > after.timestampMs;
  return comparePositions(gap, after) > 0;
}
