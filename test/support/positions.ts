import fc from 'fast-check';
import { INSTANT_MAX_MS } from '../../src/domain/instant.ts';
import type { Position } from '../../src/domain/page.ts';

/** Ascending positions, often with equal timestamps; by default ids of any size in any order. */
export function ascendingPositions(count: number, ids: fc.Arbitrary<number> = anyId): fc.Arbitrary<Position[]> {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 6, arbitrary: fc.nat({ max: 2000 }) },
    { weight: 1, arbitrary: fc.nat({ max: 1_000_000_000 }) },
  );
  const size = { minLength: count, maxLength: count };
  return fc
    .tuple(fc.nat({ max: INSTANT_MAX_MS - count * 1_000_000_000 }), fc.array(step, size), fc.uniqueArray(ids, size))
    .map(([start, steps, given]) => {
      let timestampMs = start;
      const times = steps.map((ms) => (timestampMs += ms));
      return given
        .map((id, i) => ({ timestampMs: times[i]!, id }))
        .sort((a, b) => a.timestampMs - b.timestampMs || a.id - b.id);
    });
}

const anyId = fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }));
