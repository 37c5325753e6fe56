import type { CoverageResource } from '../../../domain/coverage.ts';
import type { MarketResource, MarketWithCounts } from '../../../domain/market.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import type { Connection } from './connection.ts';
import { pause } from './pause.ts';
import { type Span, wholeSpan } from './span.ts';

/** A market, and what is recorded of it. */
export interface ReadMarket {
  readonly market: MarketWithCounts;
  /** Undefined: the tier lacks snapshots. */
  readonly coverage: CoverageResource | undefined;
}

/** The markets before and after a market. */
export interface Neighbours {
  readonly previous: MarketResource | undefined;
  readonly next: MarketResource | undefined;
  /** True for a market with books, or with quotes or prices that this key may read. */
  readonly hasRecords: boolean;
}

const LOOK_MS = 20_000;

/** Reads a market, and notices when it changes. */
export class MarketReader {
  readonly #connection: Connection;
  readonly #path: string;
  /** The version that was read last. */
  #version: string | undefined;

  /** `path`: the path of the market, by its slug or its conditionId. */
  constructor(connection: Connection, path: string) {
    this.#connection = connection;
    this.#path = path;
  }

  async read(signal: AbortSignal): Promise<ReadMarket> {
    const { text, version } = await this.#look(signal);
    this.#version = version;
    const { data: market } = JSON.parse(text) as { data: MarketWithCounts };
    const isSample = this.#connection.sample?.conditionId === market.conditionId;
    if (!isSample && !this.#connection.grants('snapshots')) return { market, coverage: undefined };
    // A sample is granted by its id.
    const path = `/v1/${market.symbol}/markets/${market.conditionId}/coverage`;
    const coverage = await this.#connection.get<{ data: CoverageResource }>(path, { signal });
    return { market, coverage: coverage.data };
  }

  /** The recorded markets of the timeframe before and after a market; undefined at the ends. */
  async neighbours(
    { symbol, timeframe, startTime, endTime, conditionId, snapshotCount }: MarketWithCounts,
    signal: AbortSignal,
  ): Promise<Neighbours> {
    const first = async (query: string) => {
      const path = `/v1/${symbol}/markets${query}limit=1`;
      return (await this.#connection.get<{ data: readonly MarketResource[] }>(path, { signal })).data[0];
    };
    const [previous, next] = await Promise.all([
      first(`?tf=${timeframe}&recorded=true&to=${Date.parse(startTime) - 1}&`),
      first(`?tf=${timeframe}&recorded=true&from=${Date.parse(endTime) + 1}&sort=window&`),
    ]);
    let hasRecords = snapshotCount > 0;
    for (const route of ['quotes', 'prices']) {
      hasRecords ||= this.#connection.grants(route) && (await first(`/${conditionId}/${route}?`)) !== undefined;
    }
    return { previous, next, hasRecords };
  }

  /** Settles when the market, or its records, are not as they were read. While requests fail, `onError` gets the reasons. */
  async waitForChange(onError: (error: unknown) => void, signal: AbortSignal): Promise<void> {
    for (;;) {
      await nextLook(signal);
      try {
        if ((await this.#look(signal)).version !== this.#version) return;
      } catch (error) {
        onError(error);
      }
    }
  }

  async #look(signal: AbortSignal): Promise<{ readonly text: string; readonly version: string }> {
    const answer = await this.#connection.response(`${this.#path}?include=counts`, { signal });
    const text = await answer.text();
    // Unresolved markets have no entity tag.
    return { text, version: answer.headers.get('etag') ?? text };
  }
}

/** Waits for some time while the page is visible, or until it becomes visible again. */
async function nextLook(signal: AbortSignal): Promise<void> {
  const waiting = new AbortController();
  const returned = new Promise<void>((resolve) => {
    const look = () => document.visibilityState === 'visible' && resolve();
    document.addEventListener('visibilitychange', look, { signal: AbortSignal.any([signal, waiting.signal]) });
  });
  do await Promise.race([returned, pause(LOOK_MS, signal)]);
  while (document.visibilityState !== 'visible');
  waiting.abort();
}

/** The parts of the time axis that a market has. */
export interface RecordedSpans {
  /** From the start to the end of the market; where all books are before or after it, from the first to the last of them. */
  readonly window: Span;
  /** The window, and what is recorded before and after it. */
  readonly limits: Span;
  /** The times that are shown at first: the window, or if less than half of it is recorded, that part with some time around it. */
  readonly first: Span;
  /** The start of the market: the day whose date its times do not need. */
  readonly startMs: number;
  /**
   * The instant that is shown at first: the middle of the books of `outcome`, which are full there, after a gap that it is in, or their
   * first one if that gap does not end; the last book while more of the market is awaited.
   */
  readonly firstMs: number;
  /** The outcome that was recorded for longer; up where both are equal. */
  readonly outcome: Outcome;
}

/** `isComplete`: no more of the market is awaited, so its first view fits what is there. */
export function recordedSpans(
  { market: { startTime, endTime }, coverage }: ReadMarket,
  isComplete: boolean,
): RecordedSpans {
  const window = { from: Date.parse(startTime), to: Date.parse(endTime) + 1 };
  const known = coverage?.outcomes.filter(({ first }) => first !== null) ?? [];
  const firsts = known.map(({ first }) => Date.parse(first!));
  const lasts = known.map(({ last }) => Date.parse(last!));
  const books = known.length === 0 ? window : { from: Math.min(...firsts), to: Math.max(...lasts) + 1 };
  // A market that was recorded only before its window, or after it, shows that.
  const shown = books.to <= window.from || books.from >= window.to ? books : window;
  const inside = { from: Math.max(shown.from, books.from), to: Math.min(shown.to, books.to) };
  const length = inside.to - inside.from;
  const isShort = isComplete && 2 * length < shown.to - shown.from;
  const longest = known.toSorted((a, b) => b.recordedSeconds - a.recordedSeconds || b.count - a.count)[0];
  let firstMs = Math.max(shown.from, ...lasts);
  if (isComplete) {
    const from = Math.max(shown.from, Date.parse(longest?.first ?? startTime));
    const to = Math.min(shown.to - 1, Date.parse(longest?.last ?? endTime));
    firstMs = Math.round((from + to) / 2);
    for (const gap of coverage?.gaps ?? []) {
      if (Date.parse(gap.from) <= firstMs) firstMs = Math.max(firstMs, Date.parse(gap.to));
    }
    if (firstMs > to) firstMs = from;
  }
  return {
    limits: { from: Math.min(window.from, books.from), to: Math.max(window.to, books.to) },
    window: shown,
    first: isShort ? wholeSpan({ from: inside.from - length / 20, to: inside.to + length / 20 }) : shown,
    startMs: window.from,
    firstMs: Math.min(firstMs, shown.to - 1),
    outcome: longest?.outcome ?? 'up',
  };
}
