import { decimalText } from '../domain/decimal.ts';
import { complement } from '../domain/mirrored-book.ts';

/** Ticks from 0 to 1, at the venue's finest tick size. */
const TICKS = 10_000;

/** Prices in decimal digits, and their complements. Each tick is computed once. */
export class PriceTexts {
  readonly #texts = new Array<string | undefined>(TICKS + 1);
  readonly #complements = new Float64Array(TICKS + 1).fill(Number.NaN);

  text(price: number): string {
    const tick = Math.round(price * TICKS);
    if (tick / TICKS !== price) return decimalText(price);
    const known = this.#texts[tick];
    if (known !== undefined) return known;
    const text = decimalText(price);
    this.#texts[tick] = text;
    return text;
  }

  /** 1 - price, exact. */
  complement(price: number): number {
    const tick = Math.round(price * TICKS);
    if (tick / TICKS !== price) return complement(price);
    const known = this.#complements[tick]!;
    if (!Number.isNaN(known)) return known;
    const other = complement(price);
    this.#complements[tick] = other;
    return other;
  }
}
