import { powerOfTen } from '../domain/decimal.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import { BookReader } from '../segment/book-decoder.ts';
import type { Ladder } from '../segment/ladder.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';

/** From this instant on a market has a finer tick. */
export interface TickChange {
  readonly timestampMs: InstantMs;
  readonly oldTickSize: string;
  readonly newTickSize: string;
}

const FIRST_TICK_DECIMALS = 2;
const FINEST_TICK_DECIMALS = 4;
const CACHED_MAX = 4096;

/**
 * The ticks of markets, derived from their books, since not every format states them: the tick is 0.001 from the first price
 * with three decimals on. A finer tick stays, so that later records never change the past. The venue announces a change shortly
 * before the first such price.
 */
export class TickSizes {
  readonly #snapshots: Archive['snapshots'];
  /** By market key; `finerSince` has the time of the first price with a third decimal, then with a fourth. */
  readonly #histories = new Map<number, { readonly revision: number; readonly finerSince: readonly InstantMs[] }>();

  constructor({ snapshots }: Pick<Archive, 'snapshots'>) {
    this.#snapshots = snapshots;
  }

  /** As the venue writes it: '0.01'. */
  at(market: StoredMarket, instantMs: InstantMs): string {
    const finerSince = this.#finerSince(market);
    return tickSize(FIRST_TICK_DECIMALS + finerSince.filter((sinceMs) => sinceMs <= instantMs).length);
  }

  /** The first change after `instantMs`, undefined without any. */
  changeAfter(market: StoredMarket, instantMs: InstantMs): TickChange | undefined {
    const finerSince = this.#finerSince(market);
    const timestampMs = finerSince.find((sinceMs) => sinceMs > instantMs);
    if (timestampMs === undefined) return undefined;
    return { timestampMs, oldTickSize: this.at(market, timestampMs - 1), newTickSize: this.at(market, timestampMs) };
  }

  #finerSince(market: StoredMarket): readonly InstantMs[] {
    const { key, revision } = market;
    const cached = this.#histories.get(key);
    if (cached?.revision === revision) return cached.finerSince;
    if (this.#histories.size >= CACHED_MAX) this.#histories.clear();
    const finerSince = this.#scan(market);
    this.#histories.set(key, { revision, finerSince });
    return finerSince;
  }

  /** Skips segments whose price scale excludes finer prices. */
  #scan(market: StoredMarket): InstantMs[] {
    const since = new Array<InstantMs>(FINEST_TICK_DECIMALS - FIRST_TICK_DECIMALS).fill(Infinity);
    const reader = new BookReader();
    for (const outcome of OUTCOMES) {
      for (const { payload, head, from, to } of this.#snapshots.slices(market, outcome, 0, INSTANT_MAX_MS)) {
        reader.open(payload, head);
        const wanted = since.findIndex(
          (sinceMs, nth) => reader.priceScale > FIRST_TICK_DECIMALS + nth && sinceMs > head.timestamps[from]!,
        );
        if (wanted < 0) continue;
        while (reader.index + 1 < to) {
          reader.advance();
          const timestampMs = head.timestamps[reader.index]!;
          const decimals = Math.max(...[reader.bids, reader.asks].map((side) => decimalsOf(side, reader.priceScale)));
          for (let nth = 0; nth < Math.min(decimals - FIRST_TICK_DECIMALS, since.length); nth += 1)
            since[nth] = Math.min(since[nth]!, timestampMs);
        }
      }
    }
    return since.filter((sinceMs) => sinceMs !== Infinity);
  }
}

/** The most decimals that a price of a side needs. */
function decimalsOf({ values, length }: Ladder, scale: number): number {
  let decimals = 0;
  for (let i = 0; i < length; i += 1) {
    while (decimals < scale && values[2 * i]! % powerOfTen(scale - decimals) !== 0) decimals += 1;
  }
  return decimals;
}

function tickSize(decimals: number): string {
  return `0.${'1'.padStart(decimals, '0')}`;
}
