import { OUTCOMES } from '../../src/domain/outcome.ts';
import { MarketFrames } from '../../src/replay/clob/market-frames.ts';
import type { Replay } from '../../src/replay/replay.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import type { MarketDirectory, MarketListing, VenueFrame, VenueMarket } from './venue-market.ts';

const EVERYTHING = { up: true, down: true };
const ASSET = /"asset_id":"(\d+)"/g;
const LISTED_AHEAD_MS = 86_000_000;

/** The markets of a replay: a recording in the messages that `bookreel replay` makes of it, `shiftMs` later. */
export class RecordedDirectory implements MarketDirectory {
  readonly #replay: Replay;
  readonly #shiftMs: number;
  readonly #markets = new Map<string, StoredMarket>();

  /** `shiftMs`: whole windows. Slugs that end with the start are moved, too. */
  constructor(replay: Replay, shiftMs = 0) {
    this.#replay = replay;
    this.#shiftMs = shiftMs;
    for (const market of replay.listedAt(Number.MAX_SAFE_INTEGER)) this.#markets.set(this.#slugOf(market), market);
  }

  get slugs(): string[] {
    return [...this.#markets.keys()];
  }

  find(slug: string): MarketListing | undefined {
    const market = this.#markets.get(slug);
    if (market === undefined) return undefined;
    const { conditionId, clobTokenIds, startMs, endMs } = market;
    return {
      ...{ slug, conditionId, assetIds: clobTokenIds, resolution: undefined },
      startMs: startMs + this.#shiftMs,
      endMs: endMs + this.#shiftMs,
      listedMs: startMs + this.#shiftMs - LISTED_AHEAD_MS,
    };
  }

  open(listing: MarketListing, nowMs: number): VenueMarket {
    const market = this.#markets.get(listing.slug)!;
    const playback = this.#replay.playback(market, nowMs - this.#shiftMs);
    const frames = new MarketFrames(playback, this.#shiftMs, this.#replay.prices);
    const shiftMs = this.#shiftMs;
    return {
      listing,
      get nextMs() {
        return playback.nextMs === undefined ? undefined : playback.nextMs + shiftMs;
      },
      next: () => frames.framesOf(playback.next(), EVERYTHING, true).map(frameOf),
      opening: (assetId) => {
        const outcome = OUTCOMES[listing.assetIds.indexOf(assetId)]!;
        // A book of an earlier instant than that of the next event: all up to it are taken.
        return frames.opening(outcome, (playback.nextMs ?? Number.MAX_SAFE_INTEGER) - 1);
      },
    };
  }

  #slugOf({ slug, startMs }: StoredMarket): string {
    const [from, to] = [startMs / 1000, (startMs + this.#shiftMs) / 1000];
    return slug.endsWith(`-${from}`) ? `${slug.slice(0, -String(from).length)}${to}` : slug;
  }
}

function frameOf(text: string): VenueFrame {
  return { assetIds: [...text.matchAll(ASSET)].map(([, assetId]) => assetId!), text };
}
