/**
 * The venue's tick is 0.01; it becomes 0.001 in markets whose price went below 0.04 or above 0.96. In thousandths: rows are
 * finer below the first price and from the second price on.
 */
const FINE = { below: 40, from: 960 };
const CENT = 10;
const ONE = 1000;

const FINE_ROW_STARTS = Array.from({ length: ONE + 1 }, (_, thousandth) => thousandth).filter(
  (thousandth) => thousandth % CENT === 0 || thousandth < FINE.below || thousandth >= FINE.from,
);

/** The lowest price of each row for books with finer prices: 0.001 apart at both ends, 0.01 apart between 0.04 and 0.96. */
export const FINE_ROW_PRICES: readonly number[] = FINE_ROW_STARTS.map((thousandth) => thousandth / ONE);

/** The row of FINE_ROW_PRICES for each thousandth, 0 … 1000. */
export const FINE_ROW_OF: readonly number[] = Array.from({ length: ONE + 1 }, (_, thousandth) =>
  FINE_ROW_STARTS.findLastIndex((start) => start <= thousandth),
);

/** The row of CENT_ROW_PRICES for a row of fine prices that begins with a whole cent. */
export function centRowOf(fineRow: number): number {
  return FINE_ROW_STARTS[fineRow]! / CENT;
}
