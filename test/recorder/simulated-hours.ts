import { OUTCOMES } from '../../src/domain/outcome.ts';
import type { Timeframe } from '../../src/domain/timeframe.ts';
import { BookLedger } from './book-ledger.ts';
import { gapsOf, linesOf, RecordedRun } from './recorded-run.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { SimulatedDirectory } from './simulated-directory.ts';
import type { SimulatedMarket } from './simulated-market.ts';
import { type ProxyOptions, VenueProxy } from './venue-proxy.ts';
import { VenueStandIn } from './venue-stand-in.ts';

export const SEVEN_COINS = ['btc', 'eth', 'sol', 'xrp', 'doge', 'bnb', 'hype'] as const;
/** 2026-06-01T00:00:00Z. */
export const FIRST_MS = Date.UTC(2026, 5, 1);
/** No window starts then. */
const BEFORE_MS = 19 * 60_000;
/** The last windows are followed until they are unsubscribed and resolved. */
const AFTER_MS = 6 * 60_000;
const HOUR_MS = 3_600_000;
const LOOK_BACK_MS = 60_000;
/** Assets are unsubscribed a minute after their window, at the next look of the recorder. */
const UNSUBSCRIBED_MS = 70_000;

export interface SimulatedHours {
  readonly hours: number;
  readonly coins: readonly string[];
  readonly timeframes: readonly Timeframe[];
  readonly eventsPerSecond: number;
  readonly proxy?: Partial<ProxyOptions>;
  /** Changes the proxy before the recorder starts. */
  readonly prepare?: (proxy: VenueProxy, clock: SimulatedClock) => void;
  /** Called every ten simulated seconds. */
  readonly each?: () => void;
  /** False to leave the journal as it is: the counts of the proxy are enough. */
  readonly imports?: boolean;
}

/** Records hours of simulated windows at speed, and compares what was stored of each with the books that its market had. */
export async function simulatedHours({ hours, coins, timeframes, eventsPerSecond, ...options }: SimulatedHours) {
  const clock = new SimulatedClock(FIRST_MS - BEFORE_MS);
  const endMs = FIRST_MS + hours * HOUR_MS;
  const markets: SimulatedMarket[] = [];
  const imports = options.imports ?? true;
  const pace = { eventsPerSecond, beforeStartMs: 50_000, keepsLines: false };
  const directory = new SimulatedDirectory(coins, pace, (market) => {
    const { startMs } = market.listing;
    if (imports && startMs >= FIRST_MS && startMs < endMs) markets.push(market);
  });
  const venue = new VenueStandIn(clock, directory);
  const proxy = new VenueProxy({ venue, clock, seed: 'hours', ...options.proxy });
  using run = new RecordedRun(proxy, clock, { coins, timeframes });
  const overdue = new Set<string>();
  const late = new Set<string>();
  options.prepare?.(proxy, clock);
  run.recorder.start();
  await run.run(endMs + AFTER_MS, () => {
    const nowMs = clock.nowUs() / 1000;
    for (const slug of proxy.counts.overdue(nowMs, UNSUBSCRIBED_MS)) overdue.add(slug);
    for (const slug of proxy.counts.lateWindows(Math.max(FIRST_MS, nowMs - LOOK_BACK_MS), nowMs)) late.add(slug);
    options.each?.();
  });
  const status = run.recorder.status();
  const result = { proxy, status, late: [...late], overdue: [...overdue], log: run.log };
  if (!imports) {
    await run.recorder.stop();
    return { ...result, windows: 0, books: 0, wrong: [] };
  }
  using recorded = await run.contents();
  const wrong: string[] = [];
  let books = 0;
  for (const { listing, expected } of markets) {
    if (recorded.archive.markets.findBySlug(listing.slug) === undefined) {
      wrong.push(`${listing.slug}: not stored`);
      continue;
    }
    for (const outcome of OUTCOMES) {
      const ledger = new BookLedger(false);
      for (const line of linesOf(recorded.archive, listing.slug, outcome)) ledger.add(line);
      books += ledger.count;
      if (ledger.count === expected[outcome].count && ledger.digest() === expected[outcome].digest()) continue;
      wrong.push(`${listing.slug} ${outcome}: ${ledger.count} of ${expected[outcome].count} books`);
    }
    const gaps = gapsOf(recorded.archive, listing.slug);
    if (gaps.length > 0) wrong.push(`${listing.slug}: ${gaps.length} gaps, ${gaps[0]!.reason}`);
  }
  return { ...result, windows: markets.length, books, wrong };
}
