import { comparePositions, type Position } from '../domain/page.ts';
import type { OpenSegment } from '../segment/segment-header.ts';
import { positionAt } from './series-walk.ts';

/** A segment that is the next one after every position from `from` (inclusive) to `before`, its last record (exclusive). */
interface Kept {
  from: Position;
  readonly before: Position;
  readonly segment: OpenSegment;
}

/** A record's time, id and arrival in a header that was read. */
const BYTES_OF_RECORD = 24;

/**
 * The segments of a file that were read last: most requests are about the same few markets, and bots read a market in small steps.
 * When they have `bytesMax`, the next one replaces them all.
 */
export class KeptSegments {
  readonly #bytesMax: number;
  readonly #stateOf: () => number | undefined;
  /** By series, ascending; no position is in two of them. */
  readonly #bySeries = new Map<number, Kept[]>();
  #bytes = 0;
  #state: number | undefined;

  /** `stateOf`: a number that is new whenever the file shows a change; undefined while nothing may be kept, as in a transaction that writes. */
  constructor(bytesMax: number, stateOf: () => number | undefined) {
    this.#bytesMax = bytesMax;
    this.#stateOf = stateOf;
  }

  /** The segment after `position`: a kept one, else the result of `read`, which is kept unless it is null. */
  following(seriesId: number, position: Position, read: () => OpenSegment | null): OpenSegment | null {
    const state = this.#stateOf();
    if (state !== this.#state) this.#clear();
    this.#state = state;
    if (state === undefined) return read();
    const kept = this.#bySeries.get(seriesId);
    const found = kept?.[indexAfter(kept, position)];
    if (found !== undefined && comparePositions(position, found.from) >= 0) return found.segment;
    const segment = read();
    if (segment !== null) this.#keep(seriesId, position, segment);
    return segment;
  }

  #keep(seriesId: number, from: Position, segment: OpenSegment): void {
    const { payload, head } = segment;
    const bytes = payload.length + BYTES_OF_RECORD * head.count;
    if (this.#bytes + bytes > this.#bytesMax) this.#clear();
    const kept = this.#bySeries.get(seriesId) ?? [];
    const index = indexAfter(kept, from);
    const before = positionAt(segment, head.count - 1);
    const known = kept[index];
    if (known !== undefined && comparePositions(known.before, before) === 0) {
      known.from = from;
      return;
    }
    this.#bytes += bytes;
    kept.splice(index, 0, { from, before, segment });
    this.#bySeries.set(seriesId, kept);
  }

  #clear(): void {
    this.#bySeries.clear();
    this.#bytes = 0;
  }
}

/** The index of the first of `kept` that ends after a position. */
function indexAfter(kept: readonly Kept[], position: Position): number {
  let [low, high] = [0, kept.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (comparePositions(kept[middle]!.before, position) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
