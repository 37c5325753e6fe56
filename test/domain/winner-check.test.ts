import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Market } from '../../src/domain/market.ts';
import { firstStated } from '../../src/domain/market-statement.ts';
import { judgeByTicks, tickContradiction, tickDoubt, winnerContradiction } from '../../src/domain/winner-check.ts';
import { NOW_MS } from '../support/archive.ts';
import { marketStatement } from '../support/markets.ts';
import { REAL_BOOKS } from '../support/real-recordings.ts';

const market = (fields: Parameters<typeof marketStatement>[1] = {}): Market =>
  firstStated(marketStatement(0, fields), NOW_MS);

describe('start and end price', () => {
  test.each([
    ['up', 100, 101, true],
    ['up', 100, 100, true],
    ['up', 100, 99.99, false],
    ['down', 100, 99.99, true],
    ['down', 100, 100, false],
    ['down', 100, 101, false],
    ['up', 76_211.80016560019, 76_211.8001656001, false],
  ] as const)(
    'of a market won by %s, from %d to %d, agree with the winner: %p',
    (winner, priceStart, priceEnd, agrees) => {
      const sentence = winnerContradiction(market({ winner, priceStart, priceEnd }));
      if (agrees) expect(sentence).toBeUndefined();
      else {
        for (const part of ['btc-updown-5m-1776323400', `won by ${winner}`, String(priceStart), String(priceEnd)])
          expect(sentence).toContain(part);
      }
    },
  );

  test.each([
    [{ priceStart: 2, priceEnd: 1 }],
    [{ winner: 'up', priceStart: 2 }],
    [{ winner: 'up', priceEnd: 1 }],
    [{ winner: 'up' }],
  ] as const)('contradict nothing when only %j is known', (fields) => {
    expect(winnerContradiction(market(fields))).toBeUndefined();
  });
});

describe('the settlement source’s ticks', () => {
  const { startMs, endMs } = market();
  const ticks = (startPrice: number, startAgeMs: number, endPrice: number, endAgeMs: number) => ({
    start: { timestampMs: startMs - startAgeMs, price: startPrice },
    end: { timestampMs: endMs - endAgeMs, price: endPrice },
  });

  test.each([
    ['agree', 'up', ticks(1, 0, 1, 0)],
    ['agree', 'down', ticks(2, 5000, 1, 5000)],
    ['contradict', 'down', ticks(1, 0, 1, 0)],
    ['contradict', 'up', ticks(2, 1000, 1, 1000)],
    ['doubt', 'up', ticks(2, 1001, 1, 0)],
    ['doubt', 'up', ticks(2, 0, 1, 5000)],
    ['contradict', 'up', { ...ticks(2, 0, 1, 1000), afterEnd: { timestampMs: endMs + 1000, price: 1.5 } }],
    ['doubt', 'up', { ...ticks(2, 0, 1, 1000), afterEnd: { timestampMs: endMs + 1000, price: 2 } }],
    ['doubt', 'up', { ...ticks(2, 1000, 1, 0), afterStart: { timestampMs: startMs + 1, price: 1 } }],
    ['contradict', 'up', { ...ticks(2, 0, 1, 0), afterEnd: { timestampMs: endMs + 1000, price: 3 } }],
    ['contradict', 'up', { ...ticks(2, 0, 1, 1000), afterEnd: { timestampMs: endMs + 5001, price: 2 } }],
    [
      'doubt',
      'up',
      {
        ...ticks(2, 500, 1, 500),
        ...{
          afterStart: { timestampMs: startMs + 500, price: 1.1 },
          afterEnd: { timestampMs: endMs + 500, price: 1.1 },
        },
      },
    ],
    ['uncovered', 'up', ticks(2, 5001, 1, 0)],
    ['uncovered', 'up', ticks(2, 0, 1, 5001)],
    ['uncovered', 'up', { ...ticks(2, 0, 1, 0), start: undefined }],
    ['uncovered', 'up', { ...ticks(2, 0, 1, 0), end: undefined }],
    ['uncovered', undefined, ticks(2, 0, 1, 0)],
  ] as const)('%s with a market won by %s: %j', (verdict, winner, windowTicks) => {
    expect(judgeByTicks(market({ winner }), windowTicks)).toBe(verdict);
  });

  test('that cannot judge a winner do not accuse it', () => {
    expect(tickDoubt(market({ winner: 'up' }), ticks(2, 0, 1, 1000))).toBe(
      'the winner of market btc-updown-5m-1776323400, up, cannot be judged: chainlink says 2 at 2026-04-16T07:10:00.000Z and 1 at 2026-04-16T07:14:59.000Z, and may have changed since',
    );
  });

  test('Winners are compared with single reference prices up to 2026-08-06, the day before the venue began to settle by averages.', () => {
    const wrong = (fields: Parameters<typeof marketStatement>[1]) => {
      const judged = market({ winner: 'up', ...fields });
      return judgeByTicks(judged, {
        start: { timestampMs: judged.startMs, price: 2 },
        end: { timestampMs: judged.endMs, price: 1 },
      });
    };
    for (const timeframe of ['5m', '15m', '4h'] as const) expect(wrong({ timeframe })).toBe('contradict');
    for (const timeframe of ['1h', '24h'] as const) expect(wrong({ timeframe })).toBe('uncovered');
    const averages = Date.UTC(2026, 7, 7);
    expect(wrong({ startMs: averages - 300_001, endMs: averages - 1 })).toBe('contradict');
    expect(wrong({ startMs: averages - 300_000, endMs: averages })).toBe('uncovered');
  });

  test('are named in the sentence', () => {
    expect(tickContradiction(market({ winner: 'up' }), ticks(2, 0, 1, 500))).toBe(
      'market btc-updown-5m-1776323400 is recorded as won by up, but chainlink says 2 at 2026-04-16T07:10:00.000Z and 1 at 2026-04-16T07:14:59.500Z',
    );
  });

  const day = REAL_BOOKS === undefined ? '' : join(REAL_BOOKS, '..');
  const resolved = join(day, 'gamma', 'resolved-btc-5m-2026-06-08.jsonl.gz');
  const spot = join(day, 'spot', 'btcusd-chainlink-2026-06-08.csv.gz');

  test.skipIf(!existsSync(resolved) || !existsSync(spot))(
    'of a real day agree with every winner that they judge (needs real recordings)',
    () => {
      const lines = (path: string) => gunzipSync(readFileSync(path)).toString().trim().split('\n');
      const prices = lines(spot)
        .slice(1)
        .map((line) => line.split(','))
        .map(([timestamp, price]) => ({ timestampMs: Number(timestamp), price: Number(price) }))
        .sort((a, b) => a.timestampMs - b.timestampMs);
      const asOf = (ms: number) => prices.findLast(({ timestampMs }) => timestampMs <= ms);
      const verdicts = lines(resolved).map((line) => {
        const { start_sec, end_sec, outcome_prices } = JSON.parse(line) as {
          start_sec: number;
          end_sec: number;
          outcome_prices: string[];
        };
        const judged = market({
          startMs: start_sec * 1000,
          endMs: end_sec * 1000,
          winner: outcome_prices[0] === '1' ? 'up' : 'down',
        });
        return judgeByTicks(judged, { start: asOf(judged.startMs), end: asOf(judged.endMs) });
      });
      expect(verdicts.filter((verdict) => verdict === 'agree').length).toBeGreaterThan(280);
      expect(verdicts.filter((verdict) => verdict === 'contradict' || verdict === 'doubt')).toEqual([]);
    },
  );
});
