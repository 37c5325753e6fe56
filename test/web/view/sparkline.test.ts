import { expect, test } from 'bun:test';
import { shownMidpoints, sparklinePath, sparklineText } from '../../../src/web/browser/view/sparkline.tsx';

test.each([
  [[], ''],
  [[null, null], ''],
  [[0, 0.5, 1], 'M0 20L50 10L100 0'],
  [[null, 0.25, 0.5], 'M50 15L100 10'],
  [[0, 1, null, null, 0.5, 0.5, null], 'M0 20L16.7 0M66.7 10L83.3 10'],
  [[null, 0.5, null], 'M25 10H75'],
  [[1, null, 0], 'M0 0H25M75 20H100'],
  [[0.3], 'M0 14H50'],
])('the path of %j', (values, expected) => {
  expect(sparklinePath(values, 100, 20)).toBe(expected);
});

test('a sparkline in words', () => {
  expect(sparklineText([null, 0.5, 0.125, null, 0.995, 0.99])).toBe(
    'Midpoint of up from 0.5 to 0.99, between 0.125 and 0.995',
  );
  expect(sparklineText([null, null])).toBeUndefined();
});

test('A line ends at the instant of the page, and a market that was not recorded in its window has none.', () => {
  const market = { startTime: '2026-01-08T10:30:00.000Z', endTime: '2026-01-08T10:34:00.000Z', recordedSeconds: 90 };
  const startMs = Date.parse(market.startTime);
  const values = [null, 0.25, 0.5, 0.75];
  const shownAt = (seconds: number) => shownMidpoints(values, market, startMs + seconds * 1000);
  expect(shownAt(-1)).toEqual([null, null, null, null]);
  expect(shownAt(119)).toEqual([null, 0.25, null, null]);
  expect(shownAt(120)).toEqual([null, 0.25, 0.5, null]);
  expect(shownAt(9000)).toEqual(values);
  expect(shownAt(Number.NaN)).toEqual(values);
  expect(shownMidpoints(values, { ...market, recordedSeconds: 0 }, Infinity)).toEqual([null, null, null, null]);
});
