import type { InstantMs } from '../domain/instant.ts';
import type { MarketReel, ReelEvent } from './market-reel.ts';

/** An event, and whose it is. */
export interface TimelineEvent {
  readonly reel: MarketReel;
  readonly event: ReelEvent;
}

/** Several markets in one order: by time, of one time in the order in which the markets were added. */
export class Timeline {
  readonly #reels: MarketReel[] = [];

  get reels(): readonly MarketReel[] {
    return this.#reels;
  }

  add(reel: MarketReel): void {
    this.#reels.push(reel);
  }

  remove(reel: MarketReel): void {
    const index = this.#reels.indexOf(reel);
    if (index >= 0) this.#reels.splice(index, 1);
  }

  /** When the next event is; undefined behind the last one. */
  get nextMs(): InstantMs | undefined {
    return this.#first()?.nextMs;
  }

  /** The next event, undefined behind the last one. */
  next(): TimelineEvent | undefined {
    const reel = this.#first();
    return reel === undefined ? undefined : { reel, event: reel.next() };
  }

  /** A scan: of the markets that somebody listens to at a time there are few, and most have nothing to come. */
  #first(): MarketReel | undefined {
    let first: MarketReel | undefined;
    let firstMs = Infinity;
    for (const reel of this.#reels) {
      const nextMs = reel.nextMs ?? Infinity;
      if (nextMs >= firstMs) continue;
      first = reel;
      firstMs = nextMs;
    }
    return first;
  }
}
