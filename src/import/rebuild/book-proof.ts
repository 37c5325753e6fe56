import type { EditableBook } from '../../venue/editable-book.ts';
import { LevelBytes } from '../../venue/level-bytes.ts';
import type { LevelChange } from '../../venue/level-change.ts';
import { MIN_ORDER_SIZE } from '../../venue/market-status.ts';
import type { HashSearch, TriedPrices } from './hash-search.ts';

/** The venue applies changes in another order than that of their timestamps at most within this time: 25 ms in a real capture. */
const OTHER_ORDER_MS = 50;
/** Maximum number of changes that are kept for other orders. */
const RECENT_MAX = 128;

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
  proves(book: EditableBook, hashes: ReadonlySet<string>, timestampMs: number, prices: TriedPrices): boolean {
    const { market, assetId, minOrderSize, negRisk } = this.#asset;
    const { bids, asks, best } = this.#levels.of(book);
    const timestamp = String(timestampMs);
    const hashed = { market, assetId, timestamp, bids, asks, best, minOrderSize, negRisk };
    return this.#hashes.isOneOf(hashes, hashed, prices);
  }

  /**
   * The size of one level, as it was before the last changes or will be after the `later` ones, with which the book has one of the
   * hashes: the venue applied these changes in another order than that of its timestamps. The nearest changes are tried first.
   */
  otherOrder(
    book: EditableBook,
    hashes: ReadonlySet<string>,
    timestampMs: number,
    later: Iterable<LaterChange>,
  ): OtherOrder | undefined {
    for (const { isBid, price, size, isEarlier } of this.#orders(timestampMs, later)) {
      const now = book.sizeAt(isBid, price);
      if (now === size) continue;
      book.set(isBid, price, size);
      const isProved = this.proves(book, hashes, timestampMs, 'last');
      book.set(isBid, price, now);
      if (isProved) return { isBid, price, size, isEarlier };
    }
    return undefined;
  }

  *#orders(timestampMs: number, later: Iterable<LaterChange>): Generator<OtherOrder> {
    const applied = this.#applied;
    for (let at = applied.length - 1; at >= 0; at -= 1) {
      const change = applied[at]!;
      if (timestampMs - change.timestampMs > OTHER_ORDER_MS) break;
      for (const size of [change.before, change.size]) {
        const isStated = applied.some(
          (one) => one.timestampMs === change.timestampMs && isSameLevel(one, change) && one.size === size,
        );
        yield { isBid: change.isBid, price: change.price, size, isEarlier: !isStated };
      }
    }
    for (const change of later) {
      if (change.timestampMs - timestampMs > OTHER_ORDER_MS) return;
      yield { ...change, isEarlier: false };
    }
  }
}

export function isSameLevel(a: LevelChange, b: LevelChange): boolean {
  return a.isBid === b.isBid && a.price === b.price;
}
