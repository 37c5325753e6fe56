import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseDuration } from '../../src/domain/duration.ts';
import { durationPattern } from '../../src/http/parameters/duration.ts';
import { integersBetween } from '../../src/http/parameters/integer-pattern.ts';

const near = (centre: number) => fc.integer({ min: Math.max(0, centre - 12), max: centre + 12 });

test('the pattern of integers between two bounds matches exactly these', () => {
  const bound = fc.oneof(fc.nat(1200), fc.nat(10_000_000), fc.nat({ max: Number.MAX_SAFE_INTEGER - 100 }));
  fc.assert(
    fc.property(bound, bound, fc.nat(2000), (a, b, anywhere) => {
      const [min, max] = [Math.min(a, b), Math.max(a, b)];
      const pattern = new RegExp(`^(?:${integersBetween(min, max)})$`);
      fc.assert(
        fc.property(fc.oneof(near(min), near(max), fc.constant(min + anywhere)), (value) => {
          expect(pattern.test(String(value)), `${value} of ${min} to ${max}`).toBe(value >= min && value <= max);
          for (const text of [`0${value}`, `+${value}`, `${value}.0`, ` ${value}`])
            expect(pattern.test(text)).toBe(false);
        }),
        { numRuns: 30 },
      );
    }),
    { numRuns: 200 },
  );
  for (let max = 0; max < 130; max += 1) {
    const pattern = new RegExp(`^(?:${integersBetween(7, 7 + max)})$`);
    const matched = Array.from({ length: 300 }, (_, value) => value).filter((value) => pattern.test(String(value)));
    expect(matched).toEqual(Array.from({ length: max + 1 }, (_, index) => 7 + index));
  }
});

test('the pattern of durations between two bounds matches exactly the durations that are read', () => {
  const amounts = fc.oneof(fc.nat(200), near(1440), near(86_400), near(86_400_000), fc.nat(200_000_000));
  const bounds = fc.constantFrom([100, 86_400_000], [1, 60_000], [250, 250], [1000, 3_600_000]);
  fc.assert(
    fc.property(bounds, amounts, fc.constantFrom('ms', 's', 'm', 'h', 'd', '', 'S'), ([min, max], amount, unit) => {
      const text = `${amount}${unit}`;
      const ms = parseDuration(text);
      expect(new RegExp(durationPattern(min!, max!)).test(text), text).toBe(
        ms !== undefined && ms >= min! && ms <= max!,
      );
    }),
    { numRuns: 5000 },
  );
});
