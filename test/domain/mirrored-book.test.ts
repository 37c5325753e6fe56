import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { complement } from '../../src/domain/mirrored-book.ts';

test('the complement of a price is exact with any number of decimals', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.double({ min: 0, max: 1, noNaN: true }), (decimals, part) => {
      const one = 10n ** BigInt(decimals);
      const units = BigInt(Math.floor(part * Number(one)));
      const written = (scaled: bigint) => `${scaled / one}.${(scaled % one).toString().padStart(decimals, '0')}`;
      expect(complement(Number(written(units)))).toBe(Number(written(one - units)));
    }),
  );
  expect([0, 1, 0.5, 0.43, 0.001].map(complement)).toEqual([1, 0, 0.5, 0.57, 0.999]);
});
