import fc from 'fast-check';
import { ascendingPositions } from '../support/positions.ts';

export type Outcome = 'up' | 'down';

/** A snapshot reduced to its position, for the oracles. */
export interface Placed {
  readonly timestampMs: number;
  readonly id: number;
  readonly outcome: Outcome;
}

/** A market with known snapshots, ascending by (timestamp, id). */
export interface GeneratedMarket {
  readonly conditionId: string;
  readonly slug: string;
  readonly placed: readonly Placed[];
}

const RECORDS_MAX = 260;
const START_MS = 1_776_323_400_000;

/** Markets with zero records up to several segments; ties within and between outcomes. Ids are unique. */
export function generatedMarkets(count: number, seed: number): GeneratedMarket[] {
  const sizes = fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(0, 1, 2) },
    { weight: 4, arbitrary: fc.integer({ min: 3, max: RECORDS_MAX }) },
  );
  const ids = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
  const placed = sizes
    .chain((size) =>
      fc.tuple(ascendingPositions(size, ids), fc.array(fc.boolean(), { minLength: size, maxLength: size })),
    )
    .map(([places, ups]) =>
      places.map((place, index): Placed => ({ ...place, outcome: ups[index] === true ? 'up' : 'down' })),
    );
  const taken = new Set<number>();
  return fc.sample(placed, { seed, numRuns: count }).map((records, index) => ({
    conditionId: `0x${(index + 1).toString(16).padStart(4, '0')}${'c'.repeat(60)}`,
    slug: `generated-${index}`,
    // An id is unique in an archive.
    placed: records.filter(({ id }) => !taken.has(id) && taken.add(id)),
  }));
}

/** The markets as records of bookreel's own format, their snapshots in descending order. */
export function recordsOf(markets: readonly GeneratedMarket[]): object[] {
  return markets.flatMap(({ conditionId, slug, placed }, index) => [
    {
      type: 'market',
      conditionId,
      slug,
      symbol: 'btc',
      timeframe: '5m',
      outcomes: ['up', 'down'],
      clobTokenIds: [`1${index}1`, `1${index}2`],
      startTime: START_MS + index * 300_000,
      endTime: START_MS + (index + 1) * 300_000,
      // Every second one is resolved: its answers are cached and have entity tags.
      ...(index % 2 === 0 ? {} : { active: false, closed: true, winner: 'up', resolvedAt: START_MS }),
    },
    ...placed
      .map(({ timestampMs, id, outcome }, place) => ({
        type: 'snapshot',
        conditionId,
        outcome,
        timestamp: new Date(timestampMs).toISOString(),
        id,
        // Neighbours differ, because equal ones would be one record.
        bids: [{ price: '0.4', size: `${1 + place}.5` }],
        asks: [{ price: '0.6', size: '7' }],
      }))
      .reverse(),
  ]);
}
