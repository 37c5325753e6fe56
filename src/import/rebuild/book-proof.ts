import type { EditableBook } from '../../venue/editable-book.ts';
import { LevelBytes } from '../../venue/level-bytes.ts';
import type { LevelChange } from '../../venue/level-change.ts';
import { MIN_ORDER_SIZE } from '../../venue/market-status.ts';
import type { HashSearch, TriedPrices } from './hash-search.ts';

/** A level keeps a size that the order of its changes does not show at most for this time: 25 ms in a real capture. */
const OTHER_ORDER_MS = 50;
/** The venue applies a change at most this long before the time that it states: 9 ms in a real capture. */
const EARLY_MS = 20;
/** A level returns to a size that it had this shortly before. */
export const RETURN_MS = 200;
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
  /** The level had this size before a change of the recording, which does not state it again at the time of that change. */
  readonly isEarlier: boolean;
}

/** Proves the books of one asset by the hashes in their changes. */
export class BookProof {
  readonly #asset;
  readonly #hashes: HashSearch;
  readonly #levels = new LevelBytes();
  readonly #applied: AppliedChange[] = [];

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

  /** Call it when another recording begins. */
  clear(): void {
    this.#applied.length = 0;
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
   * The size of one level, as it was before its last change or will be after the next of the `later` ones, with which the book has one
   * of the hashes: the venue applied these changes in another order than that of its timestamps. The nearest changes are tried first.
   */
  otherOrder(
    book: EditableBook,
    hashes: readonly string[],
    timestampMs: number,
    later: Iterable<LaterChange>,
  ): OtherOrder | undefined {
    return this.#firstProved([...this.#orders(timestampMs, later)], book, hashes, timestampMs);
  }

  /** The first size of a level with which the book has one of the hashes. The price that matched last is tried for all of them first. */
  #firstProved<C extends LevelChange>(
    candidates: readonly C[],
    book: EditableBook,
    hashes: readonly string[],
    timestampMs: number,
  ): C | undefined {
    for (const prices of ['last', 'traded'] as const) {
      for (const candidate of candidates) {
        const { isBid, price, size } = candidate;
        const now = book.sizeAt(isBid, price);
        if (now === size) continue;
        book.set(isBid, price, size);
        const isProved = this.proves(book, hashes, timestampMs, prices);
        book.set(isBid, price, now);
        if (isProved) return candidate;
      }
    }
    return undefined;
  }

  /**
   * An earlier size of one level with which the book has one of the hashes: a change back to it is missing. The latest changes are tried
   * first.
   */
  missedReturn(book: EditableBook, hashes: readonly string[], timestampMs: number): LevelChange | undefined {
    const sizes: LevelChange[] = [];
    for (let at = this.#applied.length - 1; at >= 0; at -= 1) {
      const change = this.#applied[at]!;
      if (timestampMs - change.timestampMs > RETURN_MS) break;
      const { isBid, price } = change;
      for (const size of [change.before, change.size]) {
        if (!sizes.some((one) => isSameLevel(one, change) && one.size === size)) sizes.push({ isBid, price, size });
      }
    }
    return this.#firstProved(sizes, book, hashes, timestampMs);
  }

  /**
   * The difference between the rebuilt book and one that a hash proves at `timestampMs`, if it is nothing but the order of two changes of
   * a level in one millisecond; undefined otherwise. The rebuilt book has the order of the recordings.
   */
  swappedIn(differences: readonly LevelChange[], timestampMs: number): OtherOrder | undefined {
    const swapped = differences.length === 0 ? [] : [...this.#swaps(timestampMs)];
    const found = differences.map((change) =>
      swapped.find((order) => isSameLevel(order, change) && order.size === change.size),
    );
    return found.includes(undefined) ? undefined : found[0];
  }

  /** The sizes of levels that the venue may have applied last, of those in the milliseconds of their last changes. */
  *#swaps(timestampMs: number): Generator<OtherOrder> {
    const seen: LevelChange[] = [];
    for (let at = this.#applied.length - 1; at >= 0; at -= 1) {
      const last = this.#applied[at]!;
      if (timestampMs - last.timestampMs > OTHER_ORDER_MS) break;
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
      yield { ...change, isEarlier: false };
    }
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

export function isSameLevel(a: Omit<LevelChange, 'size'>, b: Omit<LevelChange, 'size'>): boolean {
  return a.isBid === b.isBid && a.price === b.price;
}
