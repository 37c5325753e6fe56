import { heapStats } from 'bun:jsc';
import { expect, test } from 'bun:test';
import { figure } from './results.ts';
import { SEVEN_COINS, simulatedHours } from './simulated-hours.ts';

const HOURS = Number(process.env.RECORDER_HOURS ?? 1);
const DAYS = Number(process.env.RECORDER_DAYS ?? 0.25);
const TEN_SECONDS_OF_AN_HOUR = 360;
const MEGABYTE = 2 ** 20;

test(`${HOURS} simulated hours of seven coins are recorded whole, though a socket is killed every ten minutes`, async () => {
  const startMs = performance.now();
  const { proxy, status, late, overdue, windows, books, wrong } = await simulatedHours({
    ...{ hours: HOURS, coins: SEVEN_COINS, timeframes: ['5m', '15m'], eventsPerSecond: 0.3 },
    prepare: (venue, clock) => {
      const killLater = (turn: number) =>
        clock.after(600_000, () => {
          const open = venue.links.filter(({ hasBooks }) => hasBooks);
          if (open.length > 1) open[turn % open.length]!.kill();
          killLater(turn + 1);
        });
      killLater(0);
    },
  });
  const seconds = (performance.now() - startMs) / 1000;
  expect({ late, overdue, wrong: wrong.slice(0, 10) }).toEqual({ late: [], overdue: [], wrong: [] });
  expect(windows).toBe(7 * 16 * HOURS);
  const { assetsMax, slugsMax, refusedOpenings, refusedDuplicates, silentlyDropped } = proxy.counts;
  expect(assetsMax).toBeLessThanOrEqual(200);
  expect(slugsMax).toBeLessThanOrEqual(100);
  expect([refusedOpenings, refusedDuplicates, silentlyDropped]).toEqual([0, 0, 0]);
  expect(status.totals.windowsMissed).toBe(0);
  figure(
    'simulated hours',
    `${HOURS} hours of 5m and 15m windows, 7 coins, a socket killed every 10 minutes`,
    `${windows} windows and ${books} books whole, 0 gaps, 0 missed, every first book before its window, ` +
      `at most ${assetsMax} assets a socket, speed ${Math.round((HOURS * 3600) / seconds)}`,
  );
}, 3_600_000);

test(`a recorder of ${DAYS} simulated days needs no more memory at the end than after the first eighth`, async () => {
  const heaps: number[] = [];
  let looks = 0;
  await simulatedHours({
    ...{ hours: DAYS * 24, coins: SEVEN_COINS, timeframes: ['5m', '15m'], eventsPerSecond: 0.02, imports: false },
    each: () => {
      looks += 1;
      if (looks % TEN_SECONDS_OF_AN_HOUR !== 0) return;
      Bun.gc(true);
      heaps.push(heapStats().heapSize / MEGABYTE);
    },
  });
  const early = heaps[Math.floor(heaps.length / 8) + 1]!;
  const last = Math.max(...heaps.slice(-3));
  expect(last).toBeLessThan(early * 1.3 + 5);
  figure(
    'memory of days',
    `${DAYS} simulated days, 7 coins`,
    `heap ${early.toFixed(1)} MB after an eighth, ${last.toFixed(1)} MB at the end (recorder, venue and proxy together)`,
  );
}, 3_600_000);
