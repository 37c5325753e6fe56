/** Publishers of coin prices in USD: the sources of coin price records. */
export const CHAINLINK = 'chainlink';
export const BINANCE = 'binance';
export const COINBASE = 'coinbase';
export const PYTH = 'pyth';
/** The source of the simulated prices, and the beginning of every slug of the simulated markets. */
export const SIMULATED = 'simulated';

export function isSimulated({ slug }: { readonly slug: string }): boolean {
  return slug.startsWith(`${SIMULATED}-`);
}

/** The source name of Chainlink's average over the last `seconds`. */
export function chainlinkTwap(seconds: number): string {
  return `${CHAINLINK}-twap-${seconds}s`;
}
