import { type ReadonlySignal, signal } from '@preact/signals';
import { firstIndex } from '../../../domain/first-index.ts';
import type { CoinPriceResource } from '../../../domain/price.ts';
import type { CoinTick } from '../../../domain/settlement.ts';
import type { Connection } from './connection.ts';
import { pause } from './pause.ts';
import type { Span } from './span.ts';

/** Reference prices of one publisher, ascending. */
export interface ReferencePrices {
  readonly source: string;
  readonly times: readonly number[];
  readonly prices: readonly number[];
}

const POINTS_MAX = 1000;
const [INTERVAL_MIN_MS, INTERVAL_MAX_MS] = [100, 86_400_000];
const PAGES_MAX = 4;
/** Prices are loaded from this long before the window: its first instant has a price too. */
const LEAD_MS = 60_000;
/** While a person zooms or drags, prices are requested only for windows that stay for this long. */
const SETTLED_MS = 250;

/** The reference prices of the shown window, of all publishers by name. Earlier ones stay until they are loaded. */
export class ReferenceFeed {
  readonly #connection: Connection;
  readonly #coin: string;
  readonly #prices = signal<readonly ReferencePrices[] | undefined>(undefined);
  /** Undefined until they are loaded for the first time. */
  readonly prices: ReadonlySignal<readonly ReferencePrices[] | undefined> = this.#prices;

  constructor(connection: Connection, coin: string) {
    this.#connection = connection;
    this.#coin = coin;
  }

  /** Loads the prices of a window. Returns a function that aborts the load. */
  load(window: Span, onError: (error: unknown) => void): () => void {
    const work = new AbortController();
    const load = async () => {
      await pause(this.#prices.peek() === undefined ? 0 : SETTLED_MS, work.signal);
      this.#prices.value = await referencePrices(this.#connection, this.#coin, window, work.signal);
    };
    void load().catch(onError);
    return () => work.abort();
  }
}

/** The coin's reference prices in a window and shortly before it: at most about 1,000 of each publisher are read. */
async function referencePrices(
  connection: Connection,
  coin: string,
  { from, to }: Span,
  signal: AbortSignal,
): Promise<readonly ReferencePrices[]> {
  const intervalMs = Math.min(INTERVAL_MAX_MS, Math.max(INTERVAL_MIN_MS, Math.ceil((to - from) / POINTS_MAX)));
  const iso = (ms: number) => new Date(ms).toISOString();
  const query = `from=${iso(Math.max(0, from - LEAD_MS))}&to=${iso(to)}&interval=${intervalMs}ms&limit=1000&order=asc`;
  const bySource = new Map<string, { source: string; times: number[]; prices: number[] }>();
  let cursor = '';
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const path = `/v1/${coin}/prices?${query}${cursor}`;
    const answer = await connection.get<{ data: CoinPriceResource[]; nextCursor: string | null }>(path, { signal });
    for (const { source, timestamp, price } of answer.data) {
      const found = bySource.get(source) ?? { source, times: [], prices: [] };
      bySource.set(source, found);
      found.times.push(Date.parse(timestamp));
      found.prices.push(price);
    }
    if (answer.nextCursor === null) break;
    cursor = `&cursor=${answer.nextCursor}`;
  }
  return [...bySource.values()].sort((a, b) => (a.source < b.source ? -1 : 1));
}

/**
 * The prices of the chosen publisher. Without a choice those of the publisher that decides the market; without them those with the most
 * points, ties by name. Undefined without any.
 */
export function shownReference(
  all: readonly ReferencePrices[],
  chosen: string | undefined,
  settlement: string,
): ReferencePrices | undefined {
  const one = all.find(({ source }) => source === (chosen ?? settlement));
  if (one !== undefined || chosen !== undefined) return one;
  return all.toSorted((a, b) => b.times.length - a.times.length || (a.source < b.source ? -1 : 1))[0];
}

/** The last price at or before an instant. */
export function priceAt({ times, prices }: ReferencePrices, ms: number): CoinTick | undefined {
  const nth = firstIndex(times.length, (index) => times[index]! > ms) - 1;
  return nth < 0 ? undefined : { timestampMs: times[nth]!, price: prices[nth]! };
}
