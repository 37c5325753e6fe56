import { nounText } from '../../../domain/count-text.ts';

/** Cents, or six digits where these are more. */
const SHORT = new Intl.NumberFormat('en-US', {
  maximumFractionDigits: 2,
  maximumSignificantDigits: 6,
  roundingPriority: 'morePrecision',
});

/** `1 market`, `2,000 markets`. */
export function countText(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${nounText(count, noun)}`;
}

/** The price of a coin on an axis, rounded to cents, or to six digits where these are more: `90,460.21`, `2.12346`. */
export function axisText(price: number): string {
  return SHORT.format(price);
}
