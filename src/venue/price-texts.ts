import { decimalText } from '../domain/decimal.ts';
import { complement } from '../domain/mirrored-book.ts';

/** Ticks from 0 to 1, at the venue's finest tick size. */
const TICKS = 10_000;

/** Prices in decimal digits, and their complements. Each tick is computed once. */
export class PriceTexts {
  readonly #texts = new Array<string | undefined>(TICKS + 1);
  readonly #complements = new Array<number | undefined>(TICKS + 1);

  text(price: number): string {
    const tick = Math.round(price * TICKS);
    if (tick / TICKS !== price) return decimalText(price);
    this.#texts[tick] ??= decimalText(price);
    return this.#texts[tick];
  }

  /** 1 - price, exact. */
  complement(price: number): number {
    const tick = Math.round(price * TICKS);
    if (tick / TICKS !== price) return complement(price);
    this.#complements[tick] ??= complement(price);
    return this.#complements[tick];
  }
}
