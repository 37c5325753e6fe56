import { decimalText } from '../domain/decimal.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { bestPricesOf } from './best-prices.ts';
import { type HashedText, levelText } from './book-hash.ts';

interface LevelText {
  readonly size: number;
  readonly text: string;
}

/**
 * Writes the levels of one asset's books as their hash has them, like `hashedLevels`. Consecutive books share most levels, whose
 * texts are kept: by price, so at most one for each price of a tick.
 */
export class LevelTexts {
  readonly #bids = new Map<number, LevelText>();
  readonly #asks = new Map<number, LevelText>();

  of(book: OrderBook): Pick<HashedText, 'bids' | 'asks' | 'best'> {
    return {
      bids: sideText(this.#bids, book.bidPrices, book.bidSizes),
      asks: sideText(this.#asks, book.askPrices, book.askSizes),
      best: bestPricesOf(book),
    };
  }
}

function sideText(known: Map<number, LevelText>, prices: readonly number[], sizes: readonly number[]): string {
  let side = '';
  for (let i = prices.length - 1; i >= 0; i -= 1) {
    const price = prices[i]!;
    const size = sizes[i]!;
    let level = known.get(price);
    if (level?.size !== size) {
      level = { size, text: levelText(decimalText(price), decimalText(size)) };
      known.set(price, level);
    }
    side += i > 0 ? `${level.text},` : level.text;
  }
  return side;
}
