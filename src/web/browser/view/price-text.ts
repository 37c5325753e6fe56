const PRICE = new Intl.NumberFormat('en-US', {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  minimumSignificantDigits: 6,
  maximumSignificantDigits: 6,
  roundingPriority: 'morePrecision',
});

/** The price of a coin as pages show it: `90,460.20`, `2.10000`. Cents, or six digits where these are more: prices of one size have as many decimals. */
export function priceText(price: number): string {
  return PRICE.format(price);
}
