import { expect, test } from 'bun:test';
import { dateText, shortMonthText, windowText } from '../../../src/web/browser/view/date-texts.ts';
import { priceText } from '../../../src/web/browser/view/price-text.ts';
import { countText } from '../../../src/web/browser/view/view-texts.ts';

test.each([
  ['2026-01-08T10:30:00.000Z', '2026-01-08T10:35:00.000Z', '2026-01-08', '10:30 – 10:35'],
  ['2026-01-08T23:55:00.000Z', '2026-01-09T00:00:00.000Z', '2026-01-08', '23:55 – 24:00'],
  ['2026-01-08T00:00:00.000Z', '2026-01-09T00:00:00.000Z', '2026-01-08', '00:00 – 24:00'],
  ['2026-01-31T17:00:00.000Z', '2026-02-01T17:00:00.000Z', '2026-01-31', '17:00 – 02-01 17:00'],
  ['2026-01-31T00:00:00.000Z', '2026-02-02T00:00:00.000Z', '2026-01-31', '00:00 – 02-02 00:00'],
])('the window from %s to %s', (from, to, day, times) => {
  expect(windowText(from, to)).toEqual({ day, times });
});

test('dates and counts in words', () => {
  expect([dateText('2026-01-08'), dateText('2026-01'), shortMonthText('2026-01')]).toEqual([
    '8 January 2026',
    'January 2026',
    'Jan 2026',
  ]);
  expect([countText(1, 'market'), countText(0, 'market'), countText(12_345, 'market')]).toEqual([
    '1 market',
    '0 markets',
    '12,345 markets',
  ]);
});

test('Prices of one size have as many decimals in a column, at least cents.', () => {
  expect([90_460.2, 77_643.36752, 150, 2.1, 0.5].map(priceText)).toEqual([
    '90,460.20',
    '77,643.37',
    '150.000',
    '2.10000',
    '0.500000',
  ]);
});
