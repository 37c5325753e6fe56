import type { OrderBook } from '../domain/orderbook.ts';
import type { Position } from '../domain/page.ts';

/** A snapshot at its position in the series of one market and outcome. */
export interface BookRecord extends Position {
  readonly book: OrderBook;
}

/**
 * A segment of books. After the head (segment-header.ts):
 *
 *   price scale   unsigned: prices are integers, price · 10^scale
 *   size scale    unsigned: likewise, or DOUBLES (scale.ts)
 *   table         changes of size that the segment has often (size-change.ts)
 *   keyframe      the first book: bids, then asks; a side is its level count (unsigned), then the levels
 *   deltas        for each further book: a byte, the edits of its bids, the edits of its asks
 *
 * A level is written as size-change.ts says, and the step to its price leads away from the level before it, the best one
 * first: it is 1 where none follows. Before the first level comes a price one tick outside the range (bids:
 * 10^scale + 1; asks: -1).
 *
 * A delta's first byte has the number of the bids' edits in its lower four bits, that of the asks' in its upper four. Where
 * it is 15, an unsigned number before that side's edits is to be added. An edit begins with a byte:
 *
 *   bits 0-1      skip: so many levels, of the side as edited so far, stay as they are; 3: and as many more as an
 *                 unsigned number after this byte says
 *   bits 2-7      what becomes of the next level, see size-change.ts (not 59); 57 puts a level before it
 *
 * What follows belongs to the operation: the rest of a number, a level, a double. Levels after the last edit stay as they
 * were, and nothing follows the last book.
 */
/** Numbers of edits from here on do not fit their half of a byte. */
export const EDITS_IN_HALF_MAX = 15;
/** Levels passed over from here on do not fit their two bits. */
export const SKIP_IN_OP_MAX = 3;

const INITIAL_EDITS = 256;

/** The edits that led to a side's present state, for writers that copy what did not change. */
export class EditLog {
  /** Levels of the previous book passed over before the edit. */
  skips = new Int32Array(INITIAL_EDITS);
  /** 1 where the edit used up a level of the previous book (a new size, a level that goes away), else 0. */
  consumes = new Uint8Array(INITIAL_EDITS).fill(1);
  /** 1 where the edit leaves a level to be written (a new size, a new level), else 0. */
  produces = new Uint8Array(INITIAL_EDITS).fill(1);
  length = 0;
  /** Whether a level came or went: else every edit is a new size. */
  restructures = false;

  /** Makes it a log of `length` new sizes; `skips` is to be filled in. */
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

  /** Of the edit: it takes a level away. */
  removes(edit: number): void {
    this.produces[edit] = 0;
    this.restructures = true;
  }

  /** Of the edit: it puts a level in. */
  inserts(edit: number): void {
    this.consumes[edit] = 0;
    this.restructures = true;
  }
}
