import { expect, test } from 'bun:test';
import { DAY_MS, weekly } from '../../src/web/usage/chart-data.ts';

test('Days of usage are summed by weeks up to the last day, and a measure without usage stays without.', () => {
  const days = Array.from({ length: 10 }, (_, at) => at + 1);
  const values = { requests: days, forbidden: [], limited: [], failed: [], bytes: days.map((day) => 10 * day) };
  const data = { startMs: 0, intervalMs: DAY_MS, count: 10, isLastOpen: true, toMs: 10 * DAY_MS };
  expect(weekly({ ...data, splits: [{ name: 'Key', series: [{ name: 'a', values }] }] })).toEqual({
    ...{ startMs: -4 * DAY_MS, intervalMs: 7 * DAY_MS, count: 2, isLastOpen: true, toMs: 10 * DAY_MS },
    splits: [
      {
        name: 'Key',
        series: [{ name: 'a', values: { ...values, requests: [6, 49], bytes: [60, 490] } }],
      },
    ],
  });
});
