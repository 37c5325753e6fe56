import { powerOfTen } from '../domain/decimal.ts';
import { INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import { BookReader } from '../segment/book-segment.ts';
import type { Ladder } from '../segment/ladder.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';

/** From an instant on a market's prices have so many decimals. */
export interface TickChange {
  readonly timestampMs: InstantMs;
  readonly oldTickSize: string;
  readonly newTickSize: string;
}

/** What a market's ticks begin with. */
const DECIMALS_AT_FIRST = 2;
/** The venue's finest tick. */
const DECIMALS_MAX = 4;
const REMEMBERED_MAX = 4096;

/** A market's ticks as recorded books show them. */
interface TickHistory {
  readonly revision: number;
  /** By number of decimals, from the third on: since when a book has had a price that needs them. */
  readonly finerSince: readonly InstantMs[];
}

/**
 * The ticks of markets. No recording states them through all formats, but books do: from the first price with three decimals
 * on the tick is 0.001. Finer ticks stay: what is known of the past never changes with what comes later. The venue announces a
 * change a little before the first such price.
 */
export class TickSizes {
  readonly #snapshots: Archive['snapshots'];
  readonly #histories = new Map<number, TickHistory>();

  constructor({ snapshots }: Pick<Archive, 'snapshots'>) {
    this.#snapshots = snapshots;
  }

  /** As the venue writes it: '0.01'. */
  at(market: StoredMarket, instantMs: InstantMs): string {
    const { finerSince } = this.#historyOf(market);
    return tickSize(DECIMALS_AT_FIRST + finerSince.filter((sinceMs) => sinceMs <= instantMs).length);
  }

  /** The first change behind `instantMs`, undefined without any. */
  changeAfter(market: StoredMarket, instantMs: InstantMs): TickChange | undefined {
    const { finerSince } = this.#historyOf(market);
    const timestampMs = finerSince.find((sinceMs) => sinceMs > instantMs);
    if (timestampMs === undefined) return undefined;
    return { timestampMs, oldTickSize: this.at(market, timestampMs - 1), newTickSize: this.at(market, timestampMs) };
  }

  #historyOf(market: StoredMarket): TickHistory {
    const held = this.#histories.get(market.key);
    if (held?.revision === market.revision) return held;
    if (this.#histories.size >= REMEMBERED_MAX) this.#histories.clear();
    const history = { revision: market.revision, finerSince: this.#read(market) };
    this.#histories.set(market.key, history);
    return history;
  }

  /** Reads where segments say that they have finer prices; the others cost their heads. */
  #read(market: StoredMarket): InstantMs[] {
    const since = new Array<InstantMs>(DECIMALS_MAX - DECIMALS_AT_FIRST).fill(Infinity);
    const reader = new BookReader();
    for (const outcome of OUTCOMES) {
      for (const { payload, head, from, to } of this.#snapshots.slices(market, outcome, 0, INSTANT_MAX_MS)) {
        reader.open(payload, head);
        const wanted = since.findIndex(
          (sinceMs, nth) => reader.priceScale > DECIMALS_AT_FIRST + nth && sinceMs > head.timestamps[from]!,
        );
        if (wanted < 0) continue;
        while (reader.index + 1 < to) {
          reader.advance();
          note(
            since,
            Math.max(decimalsOf(reader.bids, reader.priceScale), decimalsOf(reader.asks, reader.priceScale)),
            head.timestamps[reader.index]!,
          );
        }
      }
    }
    return since.filter((sinceMs) => sinceMs !== Infinity);
  }
}

function note(since: InstantMs[], decimals: number, timestampMs: InstantMs): void {
  for (let nth = 0; nth < since.length && nth < decimals - DECIMALS_AT_FIRST; nth += 1) {
    since[nth] = Math.min(since[nth]!, timestampMs);
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
