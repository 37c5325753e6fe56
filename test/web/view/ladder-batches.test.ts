import { expect, test } from 'bun:test';
import type { Snapshot } from '../../../src/client/segment-reader.ts';
import { LadderBatches } from '../../../src/web/browser/view/ladder-batches.ts';
import type { LadderQuery } from '../../../src/web/browser/view/market-source.ts';

/** The ladders of an instant are its number: the tests compare numbers. */
/** Ladders of which only the time is read. */
const laddersOf = (atMs: number) => [{ timestamp: String(atMs) }] as unknown as readonly Snapshot[];
const QUERY = { choice: 'up', depth: 10 } as const;

/** A market that answers at once, `atMost` instants at a time; `failing` requests reject first. */
function played({ atMost = Infinity, failing = 0 } = {}) {
  const sent: { readonly query: LadderQuery; readonly instants: readonly number[] }[] = [];
  const batches = new LadderBatches(async (query, instants) => {
    sent.push({ query, instants });
    if (sent.length <= failing) throw new Error('refused');
    return instants.slice(0, atMost).map(laddersOf);
  });
  const at = async (atMs: number, stepMs: number, query: Partial<LadderQuery> = {}) => {
    const [snapshot] = await batches.at({ ...QUERY, ...query, atMs }, stepMs);
    return Number(snapshot!.timestamp);
  };
  return { sent, at, batches };
}

test('A minute of play takes 7 requests, at each speed: 100 ladders at a time, the next ones when half of them are played.', async () => {
  for (const speed of [1, 5, 300]) {
    const { sent, at } = played();
    const stepMs = 100 * speed;
    // A frame every 16 ms.
    for (let passedMs = 0; passedMs <= 60_000; passedMs += 16) {
      const atMs = 1_000_007 + passedMs * speed;
      const shown = await at(atMs, stepMs);
      expect(shown <= atMs && atMs - shown < stepMs).toBe(true);
    }
    expect(sent).toHaveLength(7);
    expect(sent[1]!.instants[0]).toBe(1_000_007 + 100 * stepMs);
  }
});

test('The first ladders are those of the very instant, also after a jump and with another step, depth or outcome.', async () => {
  const { sent, at } = played();
  expect(await at(1003, 100)).toBe(1003);
  expect(await at(1102, 100)).toBe(1003);
  expect(await at(1103, 100)).toBe(1103);
  expect(await at(900, 100)).toBe(900);
  expect(await at(950, 500)).toBe(950);
  expect(await at(951, 500, { depth: 25 })).toBe(951);
  expect(await at(952, 500, { depth: 25, choice: 'both' })).toBe(952);
  expect(sent.map(({ query }) => [query.depth, query.choice])).toEqual([
    [10, 'up'],
    [10, 'up'],
    [10, 'up'],
    [25, 'up'],
    [25, 'both'],
  ]);
});

test('Lists that end early go on from there, and a market that has changed is loaded again.', async () => {
  const { sent, at, batches } = played({ atMost: 3 });
  for (let atMs = 0; atMs < 1000; atMs += 50) expect(await at(atMs, 100)).toBe(atMs - (atMs % 100));
  expect(sent.map(({ instants }) => instants[0])).toEqual([0, 300, 600, 900]);
  batches.forget();
  expect(await at(950, 100)).toBe(950);
});

test('A request that fails is sent again by the next call, not in between.', async () => {
  const { sent, at } = played({ failing: 1 });
  const both = await Promise.allSettled([at(0, 100), at(50, 100)]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(sent).toHaveLength(1);
  expect(await at(0, 100)).toBe(0);
  expect(sent).toHaveLength(2);
});
