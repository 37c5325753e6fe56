import type { OrderBook } from '../domain/orderbook.ts';
import type { Received } from './segment-header.ts';

/** A snapshot at its position in the series of one market and outcome. */
export interface BookRecord extends Received {
  readonly book: OrderBook;
}

/**
 * A segment of books. After the header (segment-header.ts):
 *
 *   price scale   unsigned: prices are integers, price · 10^scale
 *   size scale    unsigned: likewise, or DOUBLES (scale.ts)
 *   table         frequent changes of size in this segment (size-change.ts)
 *   keyframe      the first book: bids, then asks; a side is its level count (unsigned), then the levels, best first
 *   deltas        for each further book: a byte, the edits of its bids, the edits of its asks
 *
 * size-change.ts describes a level. The step to its price leads away from the level before it, and is 1 when it is not
 * written. The first level's step starts one tick outside the range (bids: 10^scale + 1; asks: -1).
 *
 * A delta's first byte has the number of bid edits in its lower four bits, the number of ask edits in its upper four. When a
 * number is 15, an unsigned number before that side's edits is added to it. An edit begins with a byte:
 *
 *   bits 0-1      skip: number of levels that do not change, of the side as edited so far; when it is 3, an unsigned number
 *                 after this byte is added to it
 *   bits 2-7      the operation on the next level, see size-change.ts (not 59); 57 inserts a level before it
 *
 * Then come the operation's own bytes: the rest of a number, a level, a double. Levels after the last edit do not change. The
 * last book ends the segment.
 */
/** The largest value of the half byte that counts a side's edits. */
export const EDITS_IN_HALF_MAX = 15;
/** The largest value of the two bits that count skipped levels. */
export const SKIP_IN_OP_MAX = 3;

const INITIAL_EDITS = 256;

/** The edits from the previous to the current state of a side, for writers that copy unchanged levels. */
export class EditLog {
  /** Levels of the previous book skipped before the edit. */
  skips = new Int32Array(INITIAL_EDITS);
  /** 1 when the edit changes or removes a level of the previous book, else 0. */
  consumes = new Uint8Array(INITIAL_EDITS).fill(1);
  /** 1 when the edit changes or adds a level of the current book, else 0. */
  produces = new Uint8Array(INITIAL_EDITS).fill(1);
  length = 0;
  /** True if a level was added or removed; otherwise every edit is a new size. */
  restructures = false;

  /** Starts a log of `length` new sizes; the caller fills in `skips`. */
  begin(length: number): void {
    if (this.restructures) {
      this.consumes.fill(1, 0, this.length);
      this.produces.fill(1, 0, this.length);
      this.restructures = false;
    }
    this.length = length;
    if (length <= this.skips.length) return;
    this.skips = new Int32Array(2 * length);
    this.consumes = new Uint8Array(2 * length).fill(1);
    this.produces = new Uint8Array(2 * length).fill(1);
  }

  removes(edit: number): void {
    this.produces[edit] = 0;
    this.restructures = true;
  }

  inserts(edit: number): void {
    this.consumes[edit] = 0;
    this.restructures = true;
  }
}
