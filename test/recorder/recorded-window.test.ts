import { expect, test } from 'bun:test';
import type { MarketStatement } from '../../src/domain/market-statement.ts';
import { WindowRecord } from '../../src/recorder/recorded-window.ts';
import type { ScheduledWindow } from '../../src/recorder/window-schedule.ts';

const START_MS = Date.UTC(2026, 5, 1);
const END_MS = START_MS + 300_000;
const WINDOW: ScheduledWindow = {
  slug: 'btc-updown-5m-1780272000',
  symbol: 'BTC',
  timeframe: '5m',
  startMs: START_MS,
  endMs: END_MS,
};
const MARKET: MarketStatement = { ...WINDOW, conditionId: '0x1', clobTokenIds: ['1', '2'] };

/** The minutes after the window's end at which a record asks Gamma, if every question is answered with `market`. */
function minutesAsked(record: WindowRecord, market: MarketStatement): number[] {
  const minutes: number[] = [];
  for (let minute = 0; minute <= 120; minute += 1) {
    if (!record.isAskedFor(END_MS + minute * 60_000)) continue;
    minutes.push(minute);
    record.list(market);
    record.asked += 1;
  }
  return minutes;
}

test('Winner, strike and final price are asked for 2, 5, 10 and 30 minutes after the end, then given up by name.', () => {
  const record = new WindowRecord(WINDOW);
  expect(record.isAskedFor(END_MS - 1)).toBe(true);
  record.list(MARKET);
  expect(record.isAskedFor(END_MS - 1)).toBe(false);
  expect(minutesAsked(record, { ...MARKET, winner: 'up' })).toEqual([2, 5, 10, 30]);
  expect(record.state(END_MS + 1_800_000)).toBe('unresolved');
  expect(record.missingFacts()).toEqual(['strike price', 'final price']);
});

test('What Gamma has stated is not asked for again.', () => {
  const record = new WindowRecord(WINDOW);
  record.list(MARKET);
  expect(minutesAsked(record, { ...MARKET, winner: 'down', priceStart: 2, priceEnd: 1 })).toEqual([2]);
  expect(record.state(END_MS + 180_000)).toBe('resolved');
  expect(record.missingFacts()).toEqual([]);
});

test('A market is subscribed two minutes before its window, until a minute after it.', () => {
  const record = new WindowRecord(WINDOW);
  expect(record.isWanted(START_MS)).toBe(false);
  record.list(MARKET);
  const times = [START_MS - 120_001, START_MS - 120_000, END_MS + 59_999, END_MS + 60_000];
  expect(times.map((ms) => record.isWanted(ms))).toEqual([false, true, true, false]);
});
