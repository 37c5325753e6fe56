const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;
const DIGITS = 3;

/** `12,345.6`. */
export function numberText(value: number): string {
  return value.toLocaleString('en-US');
}

/** `$49`, `$49.50`. */
export function usdText(usd: number): string {
  return `$${usd.toLocaleString('en-US', { minimumFractionDigits: Number.isInteger(usd) ? 0 : 2 })}`;
}

/** `12.3 MB`: units of 1,000; three digits from 1 kB on. `isOfColumn`: also those that are zeros, `1.00 GB`. */
export function bytesText(bytes: number, isOfColumn = false): string {
  // Rounded first: 999,999 bytes are 1 MB.
  const rounded = bytes < 1000 ? bytes : Number(bytes.toPrecision(DIGITS));
  const power = Math.max(0, Math.min(Math.floor(Math.log10(rounded) / 3), UNITS.length - 1));
  const digits = (rounded / 1000 ** power).toPrecision(DIGITS);
  return `${isOfColumn && power > 0 ? digits : Number(digits)} ${UNITS[power]}`;
}

/** `9,999.9998` for `9999.999848322348`: four decimals, cut and not rounded; more only if all of the four would be zeros. */
export function cutDecimal(decimal: string): string {
  return decimal
    .replace(/(\.(?:0{4}0*[1-9]|(?!0{4})\d{4}))\d+$/, '$1')
    .replace(/^\d+/, (whole) => BigInt(whole).toLocaleString('en-US'));
}

/** `9 min 59 s`. */
export function leftText(seconds: number): string {
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
