/** The orders of a list of markets: by the start of the window, or by another value; `-`: descending. `books`: see `walk` of the store. */
export const MARKET_SORTS = [
  ...(['-window', 'window', 'books', 'slug', '-slug', 'winner', '-winner'] as const),
  ...(['strike', '-strike', 'final', '-final'] as const),
  ...(['recorded', '-recorded', 'snapshots', '-snapshots', 'volume', '-volume'] as const),
] as const;
export type MarketSort = (typeof MARKET_SORTS)[number];
