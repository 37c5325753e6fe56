import { expect, test } from 'bun:test';
import { timeText } from '../../src/domain/instant.ts';
import { bytesText, cutDecimal, numberText } from '../../src/web/texts.ts';

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1 kB'],
  [1234, '1.23 kB'],
  [12_345, '12.3 kB'],
  [999_499, '999 kB'],
  [999_500, '1 MB'],
  [123_456_789, '123 MB'],
  [4_096_000_000, '4.1 GB'],
  [2e15, '2 PB'],
])('%d bytes are %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});

test('In a column, bytes have three digits from 1 kB on, also zeros.', () => {
  expect([999, 1000, 4_096_000_000].map((bytes) => bytesText(bytes, true))).toEqual(['999 B', '1.00 kB', '4.10 GB']);
});

test.each([
  ['9999.999848322348', '9,999.9998'],
  ['0.000001234567', '0.000001'],
  ['0.0123', '0.0123'],
  ['0.00008', '0.00008'],
  ['10000', '10,000'],
])('The balance %s is shown as %s, cut and not rounded.', (balance, text) => {
  expect(cutDecimal(balance)).toBe(text);
});

test('Numbers have separators of thousands, and times are of UTC, to the minute', () => {
  expect([0, 999, 1000, 1_234_567].map(numberText)).toEqual(['0', '999', '1,000', '1,234,567']);
  expect(timeText(Date.parse('2026-11-22T18:40:59.999Z'))).toBe('2026-11-22 18:40 UTC');
});
