import type { InstantMs } from '../../domain/instant.ts';
import { pricesIn } from '../../segment/price-segment.ts';
import type { Archive } from '../../store/archive.ts';
import { VersionedCache } from '../../store/versioned-cache.ts';
import type { CoinSource } from '../coin-price-streams.ts';
import { Candle } from './candle.ts';

/** Prices of one source of a coin, in intervals that begin at multiples of `intervalMs` less `phaseMs`. */
export interface CandleSeries extends CoinSource {
  /** Less than a minute, or whole minutes. */
  readonly intervalMs: number;
  readonly phaseMs: number;
}

type Steps = Generator<void, Candle[]>;

const MINUTE_MS = 60_000;
/** Those of a month for one coin. */
const MINUTES_MAX = 50_000;

/**
 * Candles of recorded prices; an interval without one has no candle. Readers make a step for each minute of prices: call them within
 * Database.readShared. Whole minutes are cached until the archive changes, so that a client that polls reads each of them once.
 */
export class Candles {
  readonly #archive: Archive;
  readonly #minutes: VersionedCache<Candle>;

  constructor(archive: Archive) {
    this.#archive = archive;
    this.#minutes = new VersionedCache(archive.database, MINUTES_MAX);
  }

  /** The candles of the prices between two instants, both inclusive: the first ones, at most `limit`. */
  *first(series: CandleSeries, fromMs: InstantMs, toMs: InstantMs, limit = Infinity): Steps {
    const found: Candle[] = [];
    const minutes = { ...series, intervalMs: Math.min(MINUTE_MS, series.intervalMs) };
    let atMs: InstantMs | undefined = fromMs;
    for (;;) {
      atMs = this.#firstMs(series, atMs, toMs);
      if (atMs === undefined) return found;
      const startMs = intervalStart(minutes, atMs);
      const endMs = startMs + minutes.intervalMs - 1;
      const read = () => this.#read(series, startMs, Math.max(startMs, fromMs), Math.min(endMs, toMs));
      const isWhole = startMs >= fromMs && endMs <= toMs;
      const key = `${series.coin} ${series.source} ${minutes.intervalMs} ${startMs}`;
      const minute = isWhole ? this.#minutes.find(key, read)! : read();
      const openMs = intervalStart(series, startMs);
      if (found.at(-1)?.openMs !== openMs) {
        if (found.length === limit) return found;
        found.push(new Candle(openMs));
      }
      found.at(-1)!.include(minute);
      atMs = endMs + 1;
      yield;
    }
  }

  /** The candles of the prices up to an instant, inclusive: the last ones, at most `limit`. */
  *last(series: CandleSeries, toMs: InstantMs, limit: number): Steps {
    let found: Candle[] = [];
    for (let untilMs = toMs; found.length < limit; ) {
      const price = this.#archive.prices.latestOfSource(series.coin, series.source, untilMs);
      if (price === undefined) break;
      const fromMs = intervalStart(series, price.timestampMs) - (limit - found.length - 1) * series.intervalMs;
      found = [...(yield* this.first(series, fromMs, untilMs)), ...found];
      untilMs = fromMs - 1;
    }
    return found;
  }

  #read({ coin, source }: CandleSeries, openMs: InstantMs, fromMs: InstantMs, toMs: InstantMs): Candle {
    const candle = new Candle(openMs);
    for (const price of pricesIn(this.#archive.prices.slicesOfSource(coin, source, fromMs, toMs))) candle.add(price);
    return candle;
  }

  /** The time of the first price between two instants. */
  #firstMs({ coin, source }: CandleSeries, fromMs: InstantMs, toMs: InstantMs): InstantMs | undefined {
    const slices = this.#archive.prices.slicesOfSource(coin, source, fromMs, toMs);
    for (const { head, from } of slices) return head.timestamps[from];
    return undefined;
  }
}

/** The beginning of the interval of an instant. */
export function intervalStart({ intervalMs, phaseMs }: CandleSeries, atMs: InstantMs): InstantMs {
  const intoMs = (atMs + phaseMs) % intervalMs;
  return atMs - (intoMs < 0 ? intoMs + intervalMs : intoMs);
}
