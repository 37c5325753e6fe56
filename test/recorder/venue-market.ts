import type { Outcome } from '../../src/domain/outcome.ts';

/** What the venue's directory knows of a market. */
export interface MarketListing {
  readonly slug: string;
  readonly conditionId: string;
  /** Up, down. */
  readonly assetIds: readonly [string, string];
  readonly startMs: number;
  readonly endMs: number;
  readonly listedMs: number;
  /** Undefined: it is never resolved. */
  readonly resolution: Resolution | undefined;
}

interface Resolution {
  readonly winner: Outcome;
  /** When Gamma states the winner. */
  readonly closedMs: number;
  /** When Gamma states the prices. */
  readonly pricesMs: number;
  readonly startPrice: number;
  readonly endPrice: number;
}

/** A message of the market channel, and the assets whose subscribers get it. */
export interface VenueFrame {
  readonly assetIds: readonly string[];
  readonly text: string;
}

/** A market's messages in the order in which the venue sends them, and its present books. */
export interface VenueMarket {
  readonly listing: MarketListing;
  /** When the next messages are sent; undefined after the last ones. */
  readonly nextMs: number | undefined;
  /** Takes the next messages, which must exist. */
  next(): readonly VenueFrame[];
  /** The present book as the message after a subscription; undefined before the first book. */
  opening(assetId: string): string | undefined;
}

/** The markets of a venue. */
export interface MarketDirectory {
  /** A market by its slug, whether it is listed yet or not. */
  find(slug: string): MarketListing | undefined;
  /** Its messages after `nowMs`. */
  open(listing: MarketListing, nowMs: number): VenueMarket;
}
