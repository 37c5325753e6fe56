import type { InstantMs } from '../domain/instant.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import { comparePositions, type Position } from '../domain/page.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import type { OutcomePrice } from '../store/prices.ts';
import type { Replay } from './replay.ts';

/** A trade of one of a replay's markets. */
export interface RecordedTrade extends OutcomePrice {
  readonly marketKey: number;
}

/** The number of a market's trades that are read at once. */
const PAGE_TRADES = 100;

/**
 * The trades of `markets` from `fromMs` to `toMs`, both inclusive, as they were recorded; the newest first, by (timestamp, id). A replay by
 * arrival has those that had arrived by `nowMs`.
 * A market is read when its trades may be the next ones. Yields undefined after some work without a trade, so that the caller can
 * pause: each step is short. Call each step within Database.readShared.
 */
export function* recordedTrades(
  replay: Replay,
  markets: readonly Pick<StoredMarket, 'key'>[],
  fromMs: InstantMs,
  toMs: InstantMs,
  nowMs: InstantMs,
): Generator<RecordedTrade | undefined> {
  const receivedByMs = replay.options.arrival ? nowMs : undefined;
  const waiting: { readonly key: number; readonly untilMs: InstantMs }[] = [];
  for (const { key } of markets) {
    const { firstMs = Infinity, lastMs = -1 } = replay.archive.markets.sentSpan(key) ?? {};
    if (firstMs <= toMs && lastMs >= fromMs) waiting.push({ key, untilMs: Math.min(lastMs, toMs) });
    yield undefined;
  }
  waiting.sort((a, b) => a.untilMs - b.untilMs);
  const open: { next: RecordedTrade; readonly rest: Iterator<RecordedTrade> }[] = [];
  for (;;) {
    open.sort((a, b) => comparePositions(a.next, b.next));
    const newest = open.at(-1);
    const candidate = waiting.at(-1);
    if (candidate !== undefined && (newest === undefined || candidate.untilMs >= newest.next.timestampMs)) {
      waiting.pop();
      const market = replay.marketByKey(candidate.key);
      // It was deleted after the replay was created.
      if (market === undefined) continue;
      const rest = tradesOf(replay.archive, market, fromMs, candidate.untilMs, receivedByMs);
      const first = rest.next();
      if (first.done !== true) open.push({ next: first.value, rest });
      yield undefined;
      continue;
    }
    if (newest === undefined) return;
    yield newest.next;
    const following = newest.rest.next();
    if (following.done === true) open.pop();
    else newest.next = following.value;
  }
}

function* tradesOf(
  { prices }: Archive,
  market: StoredMarket,
  fromMs: InstantMs,
  toMs: InstantMs,
  receivedByMs: InstantMs | undefined,
): Generator<RecordedTrade, undefined> {
  const sources = prices.sources(market, OUTCOMES).filter(({ kind }) => kind === 'trade');
  let after: Position | undefined;
  do {
    const page = prices.page(sources, { fromMs, toMs, order: 'desc', after, limit: PAGE_TRADES, receivedByMs });
    for (const record of page.records) yield { ...record, marketKey: market.key };
    after = page.next;
  } while (after !== undefined);
  return undefined;
}
