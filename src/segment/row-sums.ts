import { powerOfTen, sumOfDecimals } from '../domain/decimal.ts';
import { FINE_ROW_OF } from '../domain/fine-rows.ts';
import type { Ladder } from './ladder.ts';
import { DOUBLES, divisorOf } from './scale.ts';

interface RowSums {
  readonly rows: number[];
  readonly sizes: number[];
}

interface Scales {
  readonly priceScale: number;
  readonly sizeScale: number;
}

const THOUSANDTHS_SCALE = 3;
const CENTS_SCALE = 2;

/** Sums the sizes of a side by row (FINE_ROW_PRICES), best row first, as exactly as `sumOfDecimals` does. */
export function rowSums({ values, length }: Ladder, { priceScale, sizeScale }: Scales): RowSums {
  const rowAt = rowsBy(priceScale);
  const divisor = divisorOf(sizeScale);
  const rows: number[] = [];
  const sizes: number[] = [];
  for (let i = 0; i < length; ) {
    const row = rowAt(values[2 * i]!);
    const first = i;
    let units = 0;
    for (; i < length && rowAt(values[2 * i]!) === row; i += 1) units += values[2 * i + 1]!;
    const isExact = i - first === 1 || (sizeScale !== DOUBLES && Number.isSafeInteger(units));
    rows.push(row);
    sizes.push(isExact ? units / divisor : sumOfDecimals(sizesOf(values, first, i, divisor)));
  }
  return { rows, sizes };
}

/** Returns true if a side has a price with more than two decimals. */
export function hasFinePrice({ values, length }: Ladder, { priceScale }: Scales): boolean {
  if (priceScale <= CENTS_SCALE) return false;
  const cent = powerOfTen(priceScale - CENTS_SCALE);
  for (let i = 0; i < length; i += 1) if (values[2 * i]! % cent !== 0) return true;
  return false;
}

function rowsBy(priceScale: number): (price: number) => number {
  if (priceScale <= THOUSANDTHS_SCALE) {
    const thousandths = powerOfTen(THOUSANDTHS_SCALE - priceScale);
    return (price) => FINE_ROW_OF[price * thousandths]!;
  }
  const perThousandth = powerOfTen(priceScale - THOUSANDTHS_SCALE);
  return (price) => FINE_ROW_OF[Math.floor(price / perThousandth)]!;
}

function sizesOf(values: Float64Array, from: number, to: number, divisor: number): number[] {
  return Array.from({ length: to - from }, (_, i) => values[2 * (from + i) + 1]! / divisor);
}
