import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  DECIMAL_PLACES_MAX,
  decimalPlaces,
  isExactDecimal,
  parseDecimal,
  powerOfTen,
  SIGNIFICANT_DIGITS_MAX,
  scaledInteger,
  toScaled,
} from '../../src/domain/decimal.ts';
import { exactOf } from '../support/exact.ts';

const RUNS = { seed: 20260416, numRuns: 5000 };
const DIGITS_MAX = 10n ** BigInt(SIGNIFICANT_DIGITS_MAX) - 1n;

/** digits · 10^-places, written with a point if `places` is above 0. */
function written(digits: bigint, places: number): string {
  if (places === 0) return String(digits);
  const text = String(digits).padStart(places + 1, '0');
  return `${text.slice(0, -places)}.${text.slice(-places)}`;
}

const exactDecimal = fc.record({
  digits: fc.oneof(fc.bigInt({ min: 0n, max: DIGITS_MAX }), fc.bigInt({ min: 0n, max: 99_999n })),
  places: fc.integer({ min: 0, max: DECIMAL_PLACES_MAX }),
});

test('a decimal as an integer of a scale has all its digits, or does not fit', () => {
  fc.assert(
    fc.property(exactDecimal, fc.integer({ min: 0, max: 18 }), ({ digits, places }, scale) => {
      const value = parseDecimal(written(digits, places))!;
      const [scaled, unit] = [digits * 10n ** BigInt(scale), 10n ** BigInt(places)];
      expect(scaledInteger(value, scale)).toBe(scaled % unit === 0n ? scaled / unit : undefined);
    }),
    RUNS,
  );
  expect(scaledInteger(0.30000000000000004, 13)).toBeUndefined();
  expect(scaledInteger(0.30000000000000004, 17)).toBe(30000000000000004n);
});

test('a decimal of up to 15 digits and 12 decimals is unchanged as a number', () => {
  fc.assert(
    fc.property(exactDecimal, fc.boolean(), fc.nat({ max: 6 }), ({ digits, places }, negative, zeros) => {
      const text = `${negative ? '-' : ''}${written(digits, places)}`;
      const value = parseDecimal(text);
      expect(value).toBeDefined();
      expect(exactOf(value!)).toEqual(exactOf(text));
      // Trailing zeros, or an exponent instead of a point, do not change the value.
      if (places > 0) expect(parseDecimal(`${text}${'0'.repeat(zeros)}`)).toBe(value!);
      expect(parseDecimal(`${negative ? '-' : ''}${digits}e-${places}`)).toBe(value!);
    }),
    RUNS,
  );
});

test('an exact decimal has a number of decimals, and is an integer at that scale and finer ones', () => {
  fc.assert(
    fc.property(exactDecimal, ({ digits, places }) => {
      const value = parseDecimal(written(digits, places))!;
      const { digits: significant, exponent } = exactOf(value);
      const decimals = Math.max(0, -exponent);
      expect(decimalPlaces(value)).toBe(decimals);
      expect(isExactDecimal(value)).toBe(true);
      for (let scale = decimals; scale <= DECIMAL_PLACES_MAX; scale += 1) {
        const scaled = significant * 10n ** BigInt(scale + exponent);
        if (scaled > DIGITS_MAX) break;
        expect(toScaled(value, scale)).toBe(Number(scaled));
        expect(toScaled(value, scale) / powerOfTen(scale)).toBe(value);
      }
    }),
    RUNS,
  );
});

test('a decimal of 16 or more significant digits is refused, not rounded', () => {
  const digits = fc.bigInt({ min: DIGITS_MAX + 1n, max: 10n ** 40n }).filter((value) => value % 10n !== 0n);
  fc.assert(
    fc.property(digits, fc.nat({ max: DECIMAL_PLACES_MAX }), (value, places) => {
      expect(parseDecimal(written(value, places))).toBeUndefined();
    }),
    RUNS,
  );
});

test('a decimal of 13 or more decimals is refused, not rounded', () => {
  const digits = fc.bigInt({ min: 1n, max: DIGITS_MAX }).filter((value) => value % 10n !== 0n);
  fc.assert(
    fc.property(digits, fc.integer({ min: DECIMAL_PLACES_MAX + 1, max: 40 }), (value, places) => {
      expect(parseDecimal(written(value, places))).toBeUndefined();
      expect(parseDecimal(`${value}e-${places}`)).toBeUndefined();
    }),
    RUNS,
  );
});

test('a number is an exact decimal when its shortest text is one', () => {
  const numbers = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.maxSafeInteger(),
    exactDecimal.map(({ digits, places }) => Number(`${digits}e-${places}`)),
    // The double next to a decimal.
    exactDecimal.map(({ digits, places }) => Number(`${digits}e-${places}`) * (1 + Number.EPSILON)),
  );
  fc.assert(
    fc.property(numbers, (value) => {
      const { digits, exponent } = exactOf(value);
      const magnitude = digits < 0n ? -digits : digits;
      const whole = exponent > 0 ? magnitude * 10n ** BigInt(exponent) : magnitude;
      const decimals = Math.max(0, -exponent);
      const keeps = whole <= DIGITS_MAX && decimals <= DECIMAL_PLACES_MAX;
      expect(decimalPlaces(value)).toBe(keeps ? decimals : undefined);
      expect(isExactDecimal(value)).toBe(keeps);
    }),
    RUNS,
  );
});

describe('accepted spellings', () => {
  test.each<[string, number]>([
    ['0', 0],
    ['-0', 0],
    ['0.0', 0],
    ['0e5', 0],
    ['0.000000000000000000000000000', 0],
    ['0e-9999', 0],
    ['7', 7],
    ['-3', -3],
    ['0.48', 0.48],
    ['.48', 0.48],
    ['-.5', -0.5],
    ['0.4800', 0.48],
    ['0.48000000000000000000000000000000', 0.48],
    ['1.0', 1],
    ['1e3', 1000],
    ['1E3', 1000],
    ['1e+3', 1000],
    ['1e-3', 0.001],
    ['1.5e2', 150],
    ['150e-2', 1.5],
    ['.5e1', 5],
    ['1e14', 1e14],
    ['1e-12', 1e-12],
    ['999999999999999', 999_999_999_999_999],
    ['100000000000000', 1e14],
    ['0.999999999999', 0.999_999_999_999],
    ['123.456789012345', 123.456789012345],
    ['0.0000000000010', 1e-12],
    ['100000000000000000000e-6', 1e14],
  ])('%s', (text, expected) => {
    expect(parseDecimal(text)).toBe(expected);
  });
});

describe('refused spellings', () => {
  const spellings = [
    '. - +1 1. -1. .e1 e1 1e 1e+ 1e1.5 01 00 00.5 -01 1,5 1_0 0x1 1n --1 1..2 1.2.3 NaN Infinity -Infinity null ٣',
    '1e15 1e22 1e99999 1e-13 1e9999 0.0000000000001 1000000000000000 1234567890123456 0.1234567890123',
    '123.4567890123456 9007199254740993 0.30000000000000004',
  ].flatMap((line) => line.split(' '));

  test.each(['', '1 ', ' 1', '1\n', ...spellings])('%j', (text) => {
    expect(parseDecimal(text)).toBeUndefined();
  });

  test('the parser returns an exact number or undefined for any text', () => {
    const nearly = fc.stringMatching(/^[-+.0-9eE]{0,24}$/);
    fc.assert(
      fc.property(fc.oneof(fc.string(), nearly), (text) => {
        const value = parseDecimal(text);
        if (value === undefined) return;
        expect(isExactDecimal(value)).toBe(true);
        expect(exactOf(value)).toEqual(exactOf(text));
      }),
      RUNS,
    );
  });
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e15, 0.1 + 0.2, 1e-13, 2 ** 53, Math.PI])(
  '%p is no number that is exactDecimal',
  (value) => {
    expect(decimalPlaces(value)).toBeUndefined();
    expect(isExactDecimal(value)).toBe(false);
  },
);
