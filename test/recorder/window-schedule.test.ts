import { expect, test } from 'bun:test';
import { TIMEFRAMES } from '../../src/domain/timeframe.ts';
import { windowsUntil } from '../../src/recorder/window-schedule.ts';
import { windowOfSlug } from '../../src/venue/slug.ts';

const COINS = ['btc', 'doge'];
const HOUR_MS = 3_600_000;

/** Days on which the clocks of New York change, and one on which they do not. */
test.each(['2026-03-08', '2026-11-01', '2026-11-26'])(
  'on %s the windows of each timeframe follow each other without a break, and their slugs say which they are',
  (day) => {
    const startMs = Date.parse(day);
    for (const timeframe of TIMEFRAMES) {
      const windows = windowsUntil(['btc'], [timeframe], startMs, startMs + 48 * HOUR_MS);
      expect(windows[0]!.startMs).toBeLessThanOrEqual(startMs);
      expect(windows.at(-1)!.endMs).toBeGreaterThan(startMs + 48 * HOUR_MS);
      for (const [index, window] of windows.entries()) {
        if (index > 0) expect(window.startMs).toBe(windows[index - 1]!.endMs);
        // Two hours have one slug when the clocks go back.
        const { slug, ...times } = window;
        if (timeframe !== '4h') expect(windowOfSlug(slug, window.startMs)).toEqual(times);
      }
    }
  },
);

test('windows are listed from those in progress to those that start at the last instant, for each coin', () => {
  const nowMs = Date.parse('2026-11-26T10:00:00Z');
  const windows = windowsUntil(COINS, ['5m', '15m'], nowMs, nowMs + 10 * 60_000);
  expect(windows.map(({ slug }) => slug)).toEqual([
    ...['btc-updown-5m-1795687200', 'doge-updown-5m-1795687200'],
    ...['btc-updown-15m-1795687200', 'doge-updown-15m-1795687200'],
    ...['btc-updown-5m-1795687500', 'doge-updown-5m-1795687500'],
    ...['btc-updown-5m-1795687800', 'doge-updown-5m-1795687800'],
  ]);
});
