import type { EditableBook } from '../../venue/editable-book.ts';
import { LevelBytes } from '../../venue/level-bytes.ts';
import type { LevelChange } from '../../venue/level-change.ts';
import { MIN_ORDER_SIZE } from '../../venue/market-status.ts';
import type { HashSearch, TriedPrices } from './hash-search.ts';

/** The longest time for which a level keeps a size that contradicts the order of its changes: 25 ms in a real capture. */
const OTHER_ORDER_MS = 50;
/** The longest time by which the venue applies a change before the time that it states: 9 ms in a real capture. */
const EARLY_MS = 20;
/** A level may return to a size that it had at most this long ago. */
const RETURN_MS = 200;
/** Changes at most this long before a book may explain its hash. */
export const HISTORY_MS = Math.max(OTHER_ORDER_MS, RETURN_MS);
/** Maximum number of changes that are kept for other orders. */
const RECENT_MAX = 512;

/** A change, and the size that the level had before. */
interface AppliedChange extends LevelChange {
  readonly timestampMs: number;
  readonly before: number;
}

/** A change that is not applied yet. */
interface LaterChange extends LevelChange {
  readonly timestampMs: number;
}

/** The size of one level with which a hash matches the book. */
export interface OtherOrder extends LevelChange {
  /** True if the level had this size before a recorded change, and the recording does not state it again at the time of that change. */
  readonly isEarlier: boolean;
}

/** Returns true for the book that a search looks for. */
export type BookTest = (book: EditableBook, prices: TriedPrices) => boolean;

/** Proves the books of one asset by the hashes in their changes. */
export class BookProof {
  readonly #asset;
  readonly #hashes: HashSearch;
  readonly #levels = new LevelBytes();
  readonly #applied: AppliedChange[] = [];
  /** The last time at which the book was proved without another order. */
  #provedMs = -1;

  constructor(
    { conditionId, assetId }: { readonly conditionId: string; readonly assetId: string },
    hashes: HashSearch,
  ) {
    this.#asset = { market: conditionId, assetId, minOrderSize: MIN_ORDER_SIZE, negRisk: false };
    this.#hashes = hashes;
  }

  /** Call it for each change that is applied to the book, in order. */
  add(change: AppliedChange): void {
    this.#applied.push(change);
    if (this.#applied.length > RECENT_MAX) this.#applied.shift();
  }

  /** Call it when the book with all changes so far is the venue's: their order is right, apart from that within the last time. */
  confirm(timestampMs: number): void {
    this.#provedMs = timestampMs;
  }

  /** Returns true if the book at `timestampMs` has one of the hashes. */
  proves(book: EditableBook, hashes: readonly string[], timestampMs: number, prices: TriedPrices): boolean {
    const { market, assetId, minOrderSize, negRisk } = this.#asset;
    const { bids, asks, best } = this.#levels.of(book);
    const timestamp = String(timestampMs);
    const hashed = { market, assetId, timestamp, bids, asks, best, minOrderSize, negRisk };
    return this.#hashes.isOneOf(hashes, hashed, prices);
  }

  /**
   * The size of one level, as it was before its last change or will be after the next of the `later` ones, with which `isProof` returns
   * true: the venue applied these changes in another order than that of its timestamps. The nearest changes are tried first.
   */
  otherOrder(
    book: EditableBook,
    isProof: BookTest,
    timestampMs: number,
    later: Iterable<LaterChange>,
  ): OtherOrder | undefined {
    return firstProved([...this.#orders(timestampMs, later)], book, isProof);
  }

  /** An earlier size of one level that `isProof` accepts: a change back to it is missing. Tries the latest first. */
  missedReturn(book: EditableBook, isProof: BookTest, timestampMs: number): LevelChange | undefined {
    const sizes: LevelChange[] = [];
    for (const { isBid, price, before, size } of this.#since(timestampMs - RETURN_MS)) {
      for (const earlier of [before, size]) {
        const known = sizes.some((one) => one.size === earlier && one.isBid === isBid && one.price === price);
        if (!known) sizes.push({ isBid, price, size: earlier });
      }
    }
    return firstProved(sizes, book, isProof);
  }

  /** The changes at or after a time, the latest first. */
  *#since(fromMs: number): Generator<AppliedChange> {
    for (let at = this.#applied.length - 1; at >= 0; at -= 1) {
      const change = this.#applied[at]!;
      if (change.timestampMs < fromMs) return;
      yield change;
    }
  }

  /** For each level, the other sizes stated in the millisecond of its last change: the venue may have applied one of them last. */
  *#swaps(timestampMs: number): Generator<OtherOrder> {
    const seen: LevelChange[] = [];
    for (let at = this.#applied.length - 1; at >= 0; at -= 1) {
      const last = this.#applied[at]!;
      // An order that a later proof confirms is right.
      if (last.timestampMs < Math.max(timestampMs - OTHER_ORDER_MS, this.#provedMs)) break;
      if (seen.some((one) => isSameLevel(one, last))) continue;
      seen.push(last);
      yield* this.#swapped(last, at);
      if (last.timestampMs === timestampMs) yield { ...last, size: last.before, isEarlier: true };
    }
  }

  *#orders(timestampMs: number, later: Iterable<LaterChange>): Generator<OtherOrder> {
    yield* this.#swaps(timestampMs);
    const next: LevelChange[] = [];
    for (const change of later) {
      if (change.timestampMs - timestampMs > EARLY_MS) return;
      if (next.some((one) => isSameLevel(one, change))) continue;
      next.push(change);
      // A level that had this size shortly before may have returned to it, by a change that is missing.
      if (!this.#hadShortlyBefore(change, timestampMs)) yield { ...change, isEarlier: false };
    }
  }

  #hadShortlyBefore(change: LevelChange, timestampMs: number): boolean {
    for (const { before, size, isBid, price } of this.#since(timestampMs - RETURN_MS)) {
      if (isBid === change.isBid && price === change.price && (before === change.size || size === change.size))
        return true;
    }
    return false;
  }

  /** The sizes of the other changes of a level in the millisecond of its last one, which the venue may have applied after it. */
  *#swapped(last: AppliedChange, lastAt: number): Generator<OtherOrder> {
    for (let at = lastAt - 1; at >= 0; at -= 1) {
      const change = this.#applied[at]!;
      if (change.timestampMs < last.timestampMs) return;
      if (isSameLevel(change, last)) yield { ...change, isEarlier: false };
    }
  }
}

/** The first size of a level with which a book is proved. The price of the last trade that matched last is tried for all of them first. */
function firstProved<C extends LevelChange>(
  candidates: readonly C[],
  book: EditableBook,
  isProof: BookTest,
): C | undefined {
  for (const prices of ['last', 'traded'] as const) {
    for (const candidate of candidates) {
      const { isBid, price, size } = candidate;
      const now = book.sizeAt(isBid, price);
      if (now === size) continue;
      book.set(isBid, price, size);
      const isProved = isProof(book, prices);
      book.set(isBid, price, now);
      if (isProved) return candidate;
    }
  }
  return undefined;
}

export function isSameLevel(a: Omit<LevelChange, 'size'>, b: Omit<LevelChange, 'size'>): boolean {
  return a.isBid === b.isBid && a.price === b.price;
}
