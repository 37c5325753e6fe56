import type { RecordedWindow, RecorderSocket, RecorderStatus, WindowState } from '../../src/domain/recorder-status.ts';

const MINUTE_MS = 60_000;
const WINDOW_MS = 5 * MINUTE_MS;

/** The state of a recorder without problems, as this process would write it at `nowMs`: two sockets, and windows of each coin. */
export function recorderStatus(nowMs: number, change: Partial<RecorderStatus> = {}): RecorderStatus {
  return {
    version: 1,
    processId: process.pid,
    startedMs: nowMs - 3 * 3600_000,
    writtenMs: nowMs,
    url: 'https://clob.polymarket.com',
    gammaUrl: 'https://gamma-api.polymarket.com',
    coins: ['btc', 'eth'],
    timeframes: ['5m'],
    sockets: [recorderSocket(1, nowMs), recorderSocket(2, nowMs)],
    windows: [
      recordedWindow('btc', nowMs, 0, 'recording'),
      recordedWindow('eth', nowMs, 0, 'recording'),
      recordedWindow('btc', nowMs, 1, 'subscribed'),
      recordedWindow('eth', nowMs, 1, 'listed'),
      recordedWindow('btc', nowMs, 2, 'wanted'),
      recordedWindow('btc', nowMs, -1, 'ended'),
      recordedWindow('eth', nowMs, -1, 'resolved'),
    ],
    gaps: [],
    missed: [],
    totals: {
      frames: 2_000_000,
      events: 1_990_000,
      repeatedEvents: 995_000,
      hashesMatched: 400_000,
      hashesFailed: 0,
      windows: 72,
      windowsMissed: 0,
      gaps: 0,
      resubscriptions: 1,
    },
    firstBookDelayMs: { median: 120, max: 900 },
    journal: {
      file: '2026-11-26T04.frames.zst',
      queuedBytes: 0,
      writtenBytes: 150_000_000,
      storedMs: nowMs - 4000,
      writtenUntilMs: nowMs - 500,
    },
    clock: { offsetMs: 12, steps: 0 },
    keepMs: null,
    disk: { freeBytes: 40e9, floorBytes: 500e6 },
    problem: null,
    ...change,
  };
}

/** That of a bad day: a socket that waits, gaps of which one is open, missed windows, and a follower that is late. */
export function troubledStatus(nowMs: number): RecorderStatus {
  const good = recorderStatus(nowMs);
  const [current, ...others] = good.windows;
  return {
    ...good,
    sockets: [
      {
        ...good.sockets[0]!,
        state: 'waiting',
        openedMs: null,
        retryMs: nowMs + 8000,
        assets: 0,
        ends: 7,
        lastFrameMs: nowMs - 45_000,
        lastEnd: 'the venue answered with status 429',
      },
      good.sockets[1]!,
    ],
    windows: [{ ...current!, gaps: 2 }, ...others, recordedWindow('eth', nowMs, -2, 'missed')],
    gaps: [
      {
        slug: current!.slug,
        outcome: 'up',
        fromMs: nowMs - 30_000,
        toMs: null,
        reason: 'the sockets brought nothing while the venue had newer books',
      },
      {
        slug: current!.slug,
        outcome: null,
        fromMs: nowMs - 90_000,
        toMs: nowMs - 81_500,
        reason: 'no socket was open (the venue closed it (1006))',
      },
      {
        slug: good.windows[6]!.slug,
        outcome: 'down',
        fromMs: nowMs - 400_000,
        toMs: nowMs - 399_750,
        reason: 'the recorder was not running',
      },
    ],
    missed: [
      {
        slug: recordedWindow('eth', nowMs, -2, 'missed').slug,
        startMs: recordedWindow('eth', nowMs, -2, 'missed').startMs,
        reason: 'Gamma listed no market for it',
      },
    ],
    totals: { ...good.totals, gaps: 3, windowsMissed: 1, hashesFailed: 3, resubscriptions: 9 },
    journal: { ...good.journal, storedMs: nowMs - 95_000, queuedBytes: 1_200_000 },
    clock: { offsetMs: -31, steps: 2 },
    disk: { freeBytes: 400e6, floorBytes: 500e6 },
    problem:
      'the disk has less free space than --disk-floor, so the recorder stops: free some space, then start it again',
  };
}

function recorderSocket(number: number, nowMs: number): RecorderSocket {
  return {
    number,
    state: 'open',
    openedMs: nowMs - 20 * MINUTE_MS,
    retryMs: null,
    assets: 8,
    frames: 1_000_000,
    lastFrameMs: nowMs - 200,
    ends: 4,
    lastEnd: 'it was replaced after 45 minutes',
  };
}

/** The window of a coin that is `ahead` windows after the current one. */
function recordedWindow(symbol: string, nowMs: number, ahead: number, state: WindowState): RecordedWindow {
  const startMs = nowMs - (nowMs % WINDOW_MS) + ahead * WINDOW_MS;
  const isListed = state !== 'wanted' && state !== 'missed';
  const hasBooks = isListed && state !== 'listed';
  const lastMs = Math.min(nowMs - 1500, startMs + WINDOW_MS - 400);
  return {
    slug: `${symbol}-updown-5m-${startMs / 1000}`,
    symbol,
    timeframe: '5m',
    startMs,
    endMs: startMs + WINDOW_MS,
    conditionId: isListed ? `0x${`${startMs}${symbol.length}`.padStart(64, '0')}` : null,
    state,
    firstBookMs: hasBooks ? [startMs - 55_000, startMs - 54_000] : [null, null],
    lastEventMs: hasBooks ? [lastMs, lastMs - 300] : [null, null],
    gaps: 0,
  };
}
