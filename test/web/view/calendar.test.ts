import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { DayResource } from '../../../src/domain/recorded-day.ts';
import {
  dayByKey,
  dayIn,
  isIn,
  LEVELS,
  levelOf,
  monthByKey,
  monthsOf,
  movedByMonths,
  totalsOf,
  weeksOf,
} from '../../../src/web/browser/view/calendar.ts';

const DAY_MS = 86_400_000;
const FIRST_MS = Date.UTC(2025, 10, 20);
const dateOf = (index: number) => new Date(FIRST_MS + index * DAY_MS).toISOString().slice(0, 10);
/** Dates of markets, as days since the first one. */
const MARKETS = fc.array(fc.integer({ min: 0, max: 80 }), { maxLength: 200 });
const DATE = fc.oneof(
  fc.constantFrom('', '2025', '2025-11', '2025-12', '2026-01', '2026', '2024-01', '2027'),
  fc.integer({ min: 0, max: 80 }).map(dateOf),
);

function daysOf(markets: readonly number[]): DayResource[] {
  return [...new Set(markets)].map((index) => {
    const count = markets.filter((other) => other === index).length;
    return {
      ...{ day: dateOf(index), markets: count, recordedMarkets: Math.floor(count / 2) },
      ...{ marketsWithGaps: Math.floor(count / 3), snapshots: count * 10 },
    };
  });
}

/** The sum over the days of the part `1 / divisor` of each day's markets, rounded down. */
function partOf(markets: readonly string[], divisor: number): number {
  const counts = [...new Set(markets)].map((day) => markets.filter((other) => other === day).length);
  return counts.reduce((sum, count) => sum + Math.floor(count / divisor), 0);
}

test('the sums of a date are those of its days', () => {
  fc.assert(
    fc.property(MARKETS, DATE, (markets, date) => {
      const expected = markets.map(dateOf).filter((day) => day.startsWith(date));
      expect(totalsOf(daysOf(markets), date)).toEqual({
        markets: expected.length,
        recordedMarkets: partOf(expected, 2),
        marketsWithGaps: partOf(expected, 3),
        snapshots: expected.length * 10,
      });
    }),
  );
});

test.each([
  ['2026-01-08', '2026-01', true],
  ['2026-01-08', '2026-01-08', true],
  ['2026-01-08', '2026-01-09', false],
  ['2026-11-08', '2026-1', false],
  ['2026-01', '2026-01', true],
  ['2026-01-08', '', true],
])('%s is in %s: %p', (day, date, expected) => {
  expect(isIn(day, date)).toBe(expected);
});

test('a month has all its days, in weeks from Monday', () => {
  for (const month of [...monthsOf('2024'), ...monthsOf('2026'), '2027-02']) {
    const weeks = weeksOf(month);
    const days = weeks.flat().filter((day) => day !== undefined);
    const count = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).getUTCDate();
    expect(days).toEqual(Array.from({ length: count }, (_, i) => `${month}-${String(i + 1).padStart(2, '0')}`));
    for (const week of weeks) {
      expect(week.some((day) => day !== undefined)).toBe(true);
      for (const [place, day] of week.entries()) {
        if (day !== undefined) expect(new Date(day).getUTCDay()).toBe((place + 1) % 7);
      }
    }
  }
});

test.each([
  ['2026-01-08', 'ArrowLeft', '2026-01-07'],
  ['2026-01-31', 'ArrowRight', '2026-02-01'],
  ['2026-01-03', 'ArrowUp', '2025-12-27'],
  ['2026-02-28', 'ArrowDown', '2026-03-07'],
  ['2026-01-08', 'Home', '2026-01-05'],
  ['2026-01-08', 'End', '2026-01-11'],
  ['2026-01-05', 'Home', '2026-01-05'],
  ['2026-01-11', 'End', '2026-01-11'],
  ['2026-03-31', 'PageUp', '2026-02-28'],
  ['2026-01-31', 'PageDown', '2026-02-28'],
  ['2026-12-31', 'PageDown', '2027-01-31'],
  ['2026-01-08', 'Enter', undefined],
])('from %s the key %s moves to %p', (day, key, expected) => {
  expect(dayByKey(day, key, false)).toBe(expected);
});

test('with shift, page keys move by years', () => {
  expect([dayByKey('2024-02-29', 'PageDown', true), dayByKey('2024-02-29', 'PageUp', true)]).toEqual([
    '2025-02-28',
    '2023-02-28',
  ]);
  expect(movedByMonths('2026-01-15', 0)).toBe('2026-01-15');
});

test.each([
  ['2026-01-31', 'ArrowLeft', '2025-12-31'],
  ['2026-01-31', 'ArrowRight', '2026-02-28'],
  ['2026-02-10', 'ArrowUp', '2025-08-10'],
  ['2026-02-10', 'ArrowDown', '2026-08-10'],
  ['2026-08-10', 'Home', '2026-07-10'],
  ['2026-08-10', 'End', '2026-12-10'],
  ['2026-07-10', 'PageUp', '2025-07-10'],
  ['2026-07-10', 'PageDown', '2027-07-10'],
  ['2026-07-10', 'a', undefined],
])('from the month of %s the key %s moves to %p', (day, key, expected) => {
  expect(monthByKey(day, key)).toBe(expected);
});

test('the day of a date is the last one that is recorded', () => {
  const counts = { markets: 1, marketsWithGaps: 0, snapshots: 0 };
  const days = ['2025-12-30', '2026-01-02', '2026-01-03', '2026-02-01'].map((day, i) => {
    return { day, recordedMarkets: i < 2 ? 1 : 0, ...counts };
  });
  expect(['', '2026-01', '2026-02', '2025', '2024'].map((date) => dayIn(days, date))).toEqual([
    ...['2026-01-02', '2026-01-02', '2026-02-01', '2025-12-30', '2026-02-01'],
  ]);
  expect(dayIn(days, '2026-01-20', 'none')).toBe('none');
});

test('levels ascend with the part of the most that is recorded, and only nothing has none', () => {
  expect([0, 1, 25, 26, 50, 51, 75, 76, 100].map((recorded) => levelOf(recorded, 100))).toEqual([
    0, 1, 1, 2, 2, 3, 3, 4, 4,
  ]);
  expect(levelOf(0, 0)).toBe(0);
  expect(levelOf(1, 1)).toBe(LEVELS);
});
