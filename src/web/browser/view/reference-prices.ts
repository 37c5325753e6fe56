import { type ReadonlySignal, signal } from '@preact/signals';
import type { CoinPriceResource } from '../../../domain/price.ts';
import { SETTLEMENT_SOURCE } from '../../../domain/winner-check.ts';
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
/** While a person zooms or drags, prices are requested only for windows that stay for this long. */
const SETTLED_MS = 250;

/** The reference prices of the shown window. Earlier ones stay until they are loaded. */
export class ReferenceFeed {
  readonly #connection: Connection;
  readonly #coin: string;
  readonly #prices = signal<ReferencePrices | undefined>(undefined);
  readonly prices: ReadonlySignal<ReferencePrices | undefined> = this.#prices;

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

/** The coin's reference prices in a window, of one publisher: at most about 1,000 of each are read. */
async function referencePrices(
  connection: Connection,
  coin: string,
  { from, to }: Span,
  signal: AbortSignal,
): Promise<ReferencePrices | undefined> {
  const intervalMs = Math.min(INTERVAL_MAX_MS, Math.max(INTERVAL_MIN_MS, Math.ceil((to - from) / POINTS_MAX)));
  const iso = (ms: number) => new Date(ms).toISOString();
  const query = `from=${iso(from)}&to=${iso(to)}&interval=${intervalMs}ms&limit=1000&order=asc`;
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
  return preferredReference([...bySource.values()]);
}

/** The prices of the publisher that decides markets; without them those with the most points, ties by name. Undefined without any. */
export function preferredReference(all: readonly ReferencePrices[]): ReferencePrices | undefined {
  const isSettlement = ({ source }: ReferencePrices) => Number(source === SETTLEMENT_SOURCE);
  return all.toSorted(
    (a, b) => isSettlement(b) - isSettlement(a) || b.times.length - a.times.length || (a.source < b.source ? -1 : 1),
  )[0];
}
