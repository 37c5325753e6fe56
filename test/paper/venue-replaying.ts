import type { ReplayOptions } from '../../src/replay/replay.ts';
import { DEFAULT_RULES, type PaperRules } from '../../src/trading/paper-rules.ts';
import { EVERYTHING, startReplaying } from '../http/replay/replaying.ts';
import { importRecords } from '../support/archive.ts';
import { START_MS, sampleMarket, samplePrice, sampleSnapshot } from '../support/sample-records.ts';

export const END_MS = START_MS + 300_000;
export const RESOLVED_MS = END_MS + 20_000;
/** No latency and no delay, and the venue's fees. */
const AT_ONCE: PaperRules = { ...DEFAULT_RULES, latencyMs: 0, takerDelayMs: 0 };

/** Another market, which has no book yet. */
export const LATER = { conditionId: `0x${'cd34'.repeat(16)}`, up: '71', down: '72' };

const book = (afterMs: number, bids: [number, number][], asks: [number, number][]) =>
  sampleSnapshot({
    timestamp: START_MS + afterMs,
    bids: bids.map(([price, size]) => ({ price, size })),
    asks: asks.map(([price, size]) => ({ price, size })),
  });
const trade = (afterMs: number, fields: object) =>
  samplePrice({ timestamp: START_MS + afterMs, kind: 'trade', ...fields });

/** A window of 5 minutes: asks of 7.25 at 0.52 and 20 at 0.53, bids of 120.5 at 0.51 and 30 at 0.5. */
const RECORDS = [
  sampleMarket({ winner: 'up', resolvedAt: new Date(RESOLVED_MS).toISOString() }),
  book(
    0,
    [
      [0.51, 120.5],
      [0.5, 30],
    ],
    [
      [0.52, 7.25],
      [0.53, 20],
    ],
  ),
  // 40 hit the 30 that are ahead at 0.5.
  trade(10_000, { price: 0.5, size: 40, side: 'sell' }),
  // 12 of Down at 0.47 are asks of Up at 0.53.
  trade(20_000, { outcome: 'down', price: 0.47, size: 32, side: 'sell' }),
  book(
    30_000,
    [[0.51, 100]],
    [
      [0.52, 8],
      [0.53, 20],
    ],
  ),
  book(299_000, [[0.98, 100]], [[0.99, 100]]),
  sampleMarket({
    ...{ conditionId: LATER.conditionId, slug: 'btc-updown-5m-1776323700', clobTokenIds: [LATER.up, LATER.down] },
    ...{ startTime: new Date(END_MS).toISOString(), endTime: new Date(END_MS + 300_000).toISOString() },
  }),
];

/** A process with one replay that takes orders, paused at the start of the window. */
export async function startVenue(rules: Partial<PaperRules> = {}, options: Partial<ReplayOptions> = {}) {
  const replaying = await startReplaying((archive) => importRecords(archive, RECORDS));
  const replay = replaying.replays.create({ ...EVERYTHING, fromMs: START_MS, toMs: END_MS + 60_000, ...options });
  const desk = replaying.desks.open(replay, { ...AT_ONCE, ...rules });
  return Object.assign(replaying, {
    replay,
    desk,
    /** Plays up to so many milliseconds after the start. */
    play: async (afterMs: number) => {
      replay.clock.stepTo(START_MS + afterMs);
      await desk.catchUp();
    },
  });
}
