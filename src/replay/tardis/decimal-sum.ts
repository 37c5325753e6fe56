import { DECIMAL_PLACES_MAX, decimalPlaces, toScaled } from '../../domain/decimal.ts';

/** A sum of decimals in which no digit appears that none of them has. */
export class DecimalSum {
  /** In units of 10^-DECIMAL_PLACES_MAX. */
  #units = 0n;

  add(value: number): void {
    const scale = decimalPlaces(value) ?? 0;
    this.#units += BigInt(toScaled(value, scale)) * 10n ** BigInt(DECIMAL_PLACES_MAX - scale);
  }

  get value(): number {
    const digits = this.#units.toString().padStart(DECIMAL_PLACES_MAX + 1, '0');
    const point = digits.length - DECIMAL_PLACES_MAX;
    return Number(`${digits.slice(0, point)}.${digits.slice(point)}`);
  }
}
