import type { Outcome } from '../../src/domain/outcome.ts';
import { randomsOf } from '../support/random-books.ts';
import { START_MS, sampleGap, sampleMarket, samplePrice, sampleSnapshot } from '../support/sample-records.ts';

/** `alternating`: each book is of one outcome, so the other outcome's own book is older. */
export type Recorded = 'up' | 'both' | 'alternating';

const STEPS_MS = [0, 1, 1, 2, 5, 20, 21, 30, 31, 40, 250, 1000, 3000];
const DELAYS_MS = [0, 15, 21, 21, 21, 28, 35];
const SIZES = [5, 5, 10, 12.5, 40, 100.25, 0.000001, 7.142856, 1234.567891];

/** A market from a seed, as records of bookreel's own format: books, trades dated after the book that they changed, and gaps. */
export function randomMarket(seed: number, recorded: Recorded, steps: number): object[] {
  const random = randomsOf(seed);
  const whole = (count: number) => Math.floor(random() * count);
  const oneOf = <T>(values: readonly T[]): T => values[whole(values.length)]!;
  const iso = (ms: number) => new Date(ms).toISOString();
  // Sizes by price in cents: bids are below `middle`, asks above it.
  const levels = new Map<number, number>();
  const width = 1 + whole(6);
  let middle = 40 + whole(20);
  let nowMs = START_MS + 1000;
  const records: { readonly ms: number; readonly line: object }[] = [];
  const sideOf = (isBid: boolean) =>
    [...levels]
      .filter(([cents]) => (isBid ? cents < middle : cents > middle))
      .sort((a, b) => (isBid ? b[0] - a[0] : a[0] - b[0]));
  const trade = (isBid: boolean, cents: number, size: number) => {
    const outcome: Outcome = oneOf(['up', 'down']);
    const price = (outcome === 'up' ? cents : 100 - cents) / 100;
    const side = isBid === (outcome === 'up') ? 'sell' : 'buy';
    const ms = nowMs + oneOf(DELAYS_MS);
    const line = samplePrice({
      outcome,
      timestamp: iso(ms),
      price,
      side,
      size,
      transactionHash: hashOf(records.length),
    });
    // Some recordings have prices alone.
    if (random() < 0.05) Object.assign(line, { side: undefined, size: undefined });
    records.push({ ms, line });
  };
  const snapshot = (outcome: Outcome) => {
    const list = (isBid: boolean) =>
      sideOf(isBid === (outcome === 'up')).map(([cents, size]) => ({
        price: (outcome === 'up' ? cents : 100 - cents) / 100,
        size,
      }));
    const [bids, asks] = [list(true), list(false)];
    // One pair in a hundred is not equal.
    if (recorded === 'both' && outcome === 'down' && random() < 0.01) bids.pop();
    records.push({ ms: nowMs, line: sampleSnapshot({ outcome, timestamp: iso(nowMs), bids, asks }) });
  };
  for (let step = 0; step < steps; step += 1) {
    nowMs += oneOf(STEPS_MS);
    if (random() < 0.2) middle = Math.min(90, Math.max(10, middle + whole(5) - 2));
    levels.delete(middle);
    for (let change = whole(4); change > 0; change -= 1) {
      const cents = middle + (random() < 0.5 ? -1 : 1) * (1 + whole(width));
      if (random() < 0.25) levels.delete(cents);
      else levels.set(cents, oneOf(SIZES));
    }
    if (random() < 0.3) {
      const isBid = random() < 0.5;
      let rest = oneOf(SIZES);
      for (const [cents, size] of sideOf(isBid)) {
        // A sweep is one trade at its last price in some recordings, and a trade a level in others.
        const taken = Math.min(rest, size);
        trade(isBid, cents, random() < 0.5 ? taken : rest);
        const left = Math.round((size - taken) * 1e6) / 1e6;
        if (left === 0) levels.delete(cents);
        else levels.set(cents, left);
        rest = Math.round((rest - taken) * 1e6) / 1e6;
        if (rest === 0 || random() < 0.2) break;
      }
    }
    const outcomes = { up: ['up'], both: ['up', 'down'], alternating: [oneOf(['up', 'down'] as const)] } as const;
    if (random() < 0.05) {
      // Something else for less than a millisecond.
      const [cents, before] = [middle - 1, levels.get(middle - 1)];
      levels.set(cents, 77);
      for (const outcome of outcomes[recorded]) snapshot(outcome);
      if (before === undefined) levels.delete(cents);
      else levels.set(cents, before);
    }
    for (const outcome of outcomes[recorded]) snapshot(outcome);
  }
  const lengthMs = nowMs - START_MS;
  let fromMs = START_MS;
  const gaps = Array.from({ length: whole(4) }, () => {
    // Two may begin together.
    if (random() < 0.8) fromMs = START_MS + whole(lengthMs);
    return sampleGap({ from: iso(fromMs), to: iso(fromMs + 1 + whole(lengthMs / 10)), reason: `gap ${whole(1e6)}` });
  });
  const endMs = START_MS + Math.floor(lengthMs * 0.95);
  const winner = oneOf(['up', 'down', undefined] as const);
  const resolvedMs = winner !== undefined && random() < 0.5 ? endMs + whole(5000) : undefined;
  const market = sampleMarket({
    endTime: iso(endMs),
    ...(winner && { winner, closed: true, active: false }),
    ...(resolvedMs && { resolvedAt: iso(resolvedMs) }),
  });
  return [market, ...records.sort((a, b) => a.ms - b.ms).map(({ line }) => line), ...gaps];
}

const hashOf = (nth: number) => `0x${nth.toString(16).padStart(64, '0')}`;
