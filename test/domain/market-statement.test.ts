import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  afterStatement,
  firstStated,
  type MarketStatement,
  type StatedMarket,
} from '../../src/domain/market-statement.ts';
import { NOW_MS } from '../support/archive.ts';
import { marketStatement } from '../support/markets.ts';

/** Statements about one market; any fields may be missing, and all winners are the same. */
const statement: fc.Arbitrary<MarketStatement> = fc
  .record(
    {
      active: fc.boolean(),
      closed: fc.boolean(),
      winner: fc.constant('up' as const),
      volume: fc.integer({ min: 0, max: 5 }),
      liquidity: fc.integer({ min: 0, max: 5 }),
      priceStart: fc.integer({ min: 1, max: 3 }),
      marketId: fc.constantFrom('0', '7'),
      createdMs: fc.integer({ min: 1, max: 5 }),
      updatedMs: fc.integer({ min: 1, max: 4 }),
      clobTokenIds: fc.constantFrom<MarketStatement['clobTokenIds']>(['11', '22'], ['11', '0'], ['0', '22']),
    },
    { requiredKeys: ['clobTokenIds'] },
  )
  .map((fields) => marketStatement(1, fields));

function afterAll(statements: readonly MarketStatement[], stored?: StatedMarket): StatedMarket {
  return statements.reduce<StatedMarket | undefined>(
    (market, next) => (market === undefined ? firstStated(next, NOW_MS) : afterStatement(market, next, NOW_MS)),
    stored,
  )!;
}

describe('statements about one market', () => {
  test('Of two statements about a market the resolved one wins, then the later updatedAt, and a repetition changes nothing.', () => {
    fc.assert(
      fc.property(fc.array(statement, { minLength: 1, maxLength: 8 }), (statements) => {
        const once = afterAll(statements);
        expect(afterAll(statements, once)).toBe(once);
      }),
      { seed: 20261120, numRuns: 500 },
    );
  });

  test('never remove a winner, a volume of the same rank, or an asset', () => {
    fc.assert(
      fc.property(fc.array(statement, { minLength: 1, maxLength: 6 }), statement, (statements, last) => {
        const before = afterAll(statements);
        const after = afterStatement(before, last, NOW_MS);
        if (before.winner !== undefined) expect(after.winner).toBe(before.winner);
        if (last.updatedMs === before.statedUpdatedMs && last.winner === before.winner) {
          expect(after.volume).toBeGreaterThanOrEqual(before.volume);
        }
        for (const index of [0, 1] as const) {
          if (before.clobTokenIds[index] !== '0') expect(after.clobTokenIds[index]).toBe(before.clobTokenIds[index]);
        }
      }),
      { seed: 20261121, numRuns: 500 },
    );
  });
});
