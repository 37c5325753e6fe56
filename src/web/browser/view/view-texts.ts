import { nounText } from '../../../domain/count-text.ts';

/** Cents, or six digits where these are more. Prices of a coin have equal places. */
const SHORT = new Intl.NumberFormat('en-US', {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  minimumSignificantDigits: 6,
  maximumSignificantDigits: 6,
  roundingPriority: 'morePrecision',
});

/** `1 market`, `2,000 markets`. */
export function countText(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${nounText(count, noun)}`;
}

/** The price of a coin as pages show it, rounded to cents, or to six digits where these are more: `90,460.20`, `2.12346`. */
export function axisText(price: number): string {
  return SHORT.format(price);
}
