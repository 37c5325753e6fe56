import type { CoinPrice } from '../client/strategy.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { Lookahead } from '../replay/lookahead.ts';
import { type PriceRecord, pricesIn } from '../segment/price-segment.ts';
import type { Archive } from '../store/archive.ts';

/** The prices of a coin from all sources, from one instant on. */
export class CoinPrices {
  readonly #upcoming: { readonly source: string; readonly prices: Lookahead<PriceRecord> }[];
  readonly #last = new Map<string, number>();
  #lastOfAll: number | undefined;
  /** The time of the next price; Infinity after the last one. */
  nextMs: InstantMs = Infinity;

  constructor({ prices }: Archive, coin: string, fromMs: InstantMs) {
    const series = prices.slicesOfCoin(coin, fromMs + 1, INSTANT_MAX_MS);
    const before = series.flatMap(({ source }) => {
      const latest = prices.latestOfSource(coin, source, fromMs);
      return latest === undefined ? [] : [{ source, ...latest }];
    });
    for (const { source, price } of before.sort((a, b) => a.timestampMs - b.timestampMs)) this.#note(source, price);
    this.#upcoming = series.map(({ source, slices }) => ({ source, prices: new Lookahead(pricesIn(slices)) }));
    this.#findNext();
  }

  take(): CoinPrice {
    const { source, prices } = this.#upcoming.find((each) => each.prices.next?.timestampMs === this.nextMs)!;
    const { price } = prices.take();
    this.#note(source, price);
    this.#findNext();
    return { source, price };
  }

  last(source: string | undefined): number | undefined {
    return source === undefined ? this.#lastOfAll : this.#last.get(source);
  }

  #note(source: string, price: number): void {
    this.#last.set(source, price);
    this.#lastOfAll = price;
  }

  #findNext(): void {
    this.nextMs = Math.min(...this.#upcoming.map(({ prices }) => prices.next?.timestampMs ?? Infinity));
  }
}
