import { createHash } from 'node:crypto';
import { SimulatedMarket, type SimulatedPace } from './simulated-market.ts';
import type { MarketDirectory, MarketListing } from './venue-market.ts';

const SLUG = /^([a-z]+)-updown-(5m|15m)-(\d{10})$/;
const WINDOW_MS: Readonly<Record<string, number>> = { '5m': 300_000, '15m': 900_000 };
/** Real 5m and 15m markets are created 23.9 hours ahead. */
const LISTED_AHEAD_MS = 86_000_000;

/** Simulated 5m and 15m markets of some coins, of all times. */
export class SimulatedDirectory implements MarketDirectory {
  readonly #coins: ReadonlySet<string>;
  readonly #pace: SimulatedPace;
  readonly #opened: (market: SimulatedMarket) => void;

  /** `opened` is called with each market that clients asked for. */
  constructor(coins: readonly string[], pace: SimulatedPace, opened: (market: SimulatedMarket) => void = () => {}) {
    this.#coins = new Set(coins);
    this.#pace = pace;
    this.#opened = opened;
  }

  find(slug: string): MarketListing | undefined {
    const [, coin = '', timeframe = '', startSec] = SLUG.exec(slug) ?? [];
    const lengthMs = WINDOW_MS[timeframe];
    const startMs = Number(startSec) * 1000;
    if (!this.#coins.has(coin) || lengthMs === undefined || startMs % lengthMs !== 0) return undefined;
    const endMs = startMs + lengthMs;
    const draw = Number.parseInt(digest(slug).slice(0, 8), 16);
    const startPrice = 50_000 + (draw % 10_000) / 100;
    const isUp = draw % 2 === 0;
    return {
      slug,
      conditionId: `0x${digest(`${slug} condition`)}`,
      assetIds: [assetOf(`${slug} up`), assetOf(`${slug} down`)],
      startMs,
      endMs,
      listedMs: startMs - LISTED_AHEAD_MS,
      resolution: {
        winner: isUp ? 'up' : 'down',
        closedMs: endMs + 15_000 + (draw % 60_000),
        pricesMs: endMs + 120_000 + (draw % 180_000),
        startPrice,
        endPrice: startPrice + (isUp ? 1 : -1),
      },
    };
  }

  open(listing: MarketListing, nowMs: number): SimulatedMarket {
    const market = new SimulatedMarket(listing, this.#pace);
    // It was there before anybody asked for it.
    while (market.nextMs !== undefined && market.nextMs <= nowMs) market.next();
    this.#opened(market);
    return market;
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function assetOf(text: string): string {
  return BigInt(`0x${digest(text)}`).toString();
}
