import { expect, test } from 'bun:test';
import { SETTLED_MS, ShownValues } from '../../../src/web/browser/view/shown-values.ts';
import { ManualTimers } from './manual-timers.ts';

const BATCH_MAX = 3;
const VALUES_MAX = 8;

/** Loads that a test answers. */
function started() {
  const timers = new ManualTimers();
  const loads: { keys: readonly string[]; signal: AbortSignal; answer(): Promise<void>; fail(): Promise<void> }[] = [];
  let changes = 0;
  const values = new ShownValues<string, string>({
    ...{ valuesMax: VALUES_MAX, batchMax: BATCH_MAX, loadsMax: 2, later: timers.later },
    onChange: () => {
      changes += 1;
    },
    load: (keys, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<string, string>>();
      signal.addEventListener('abort', () => reject(signal.reason));
      loads.push({
        keys,
        signal,
        // A key with a question mark has no value.
        answer: async () => {
          resolve(new Map(keys.filter((key) => !key.includes('?')).map((key) => [key, key.toUpperCase()])));
          await Bun.sleep(0);
        },
        fail: async () => {
          reject(new Error('no server'));
          await Bun.sleep(0);
        },
      });
      return promise;
    },
  });
  return { values, timers, loads, changes: () => changes };
}

const keysOf = (from: number, count: number) => Array.from({ length: count }, (_, i) => `k${from + i}`);

test('loads what is shown first at once, in batches, a few at a time', async () => {
  const { values, loads, changes } = started();
  values.show(keysOf(0, 7));
  expect(loads.map(({ keys }) => keys)).toEqual([
    ['k0', 'k1', 'k2'],
    ['k3', 'k4', 'k5'],
  ]);
  await loads[1]!.answer();
  expect(loads[2]!.keys).toEqual(['k6']);
  expect([values.value('k0'), values.value('k3')]).toEqual([undefined, 'K3']);
  await loads[0]!.answer();
  await loads[2]!.answer();
  expect(keysOf(0, 7).map((key) => values.value(key))).toEqual(['K0', 'K1', 'K2', 'K3', 'K4', 'K5', 'K6']);
  expect(changes()).toBe(3);
});

test('What is scrolled past is not requested, since requests of a key are limited.', async () => {
  const { values, timers, loads } = started();
  values.show(['a']);
  await loads[0]!.answer();
  for (let from = 0; from < 100; from += 10) {
    values.show(keysOf(from, 2));
    timers.pass(SETTLED_MS - 1);
  }
  expect(loads.length).toBe(1);
  timers.pass(1);
  expect(loads[1]!.keys).toEqual(['k90', 'k91']);
  values.show(['k91', 'k92']);
  expect(loads[1]!.signal.aborted).toBe(false);
  values.show(['k93']);
  expect(loads[1]!.signal.aborted).toBe(true);
  timers.pass(SETTLED_MS);
  expect(loads[2]!.keys).toEqual(['k93']);
  await loads[2]!.answer();
  expect([values.value('k91'), values.value('k93'), values.failure]).toEqual([undefined, 'K93', undefined]);
});

test('a key without a value is loaded once', async () => {
  const { values, timers, loads } = started();
  values.show(['a?']);
  await loads[0]!.answer();
  values.show([]);
  values.show(['a?']);
  timers.pass(SETTLED_MS);
  expect([loads.length, values.value('a?')]).toEqual([1, undefined]);
});

test('forgets what was shown least recently', async () => {
  const { values, timers, loads } = started();
  const load = async (keys: readonly string[]) => {
    values.show(keys);
    timers.pass(SETTLED_MS);
    await loads.at(-1)!.answer();
  };
  for (let from = 0; from < VALUES_MAX; from += 2) await load(keysOf(from, 2));
  values.show(keysOf(0, 2));
  await load(['x', 'y']);
  expect(['k0', 'k1', 'k2', 'k3', 'k4', 'x'].map((key) => values.value(key) !== undefined)).toEqual([
    ...[true, true, false, false, true, true],
  ]);
});

test('after a failure nothing is loaded until it is tried again', async () => {
  const { values, timers, loads } = started();
  values.show(['a', 'b']);
  await loads[0]!.fail();
  expect(values.failure).toEqual(new Error('no server'));
  values.show(['c']);
  timers.pass(10 * SETTLED_MS);
  expect(loads.length).toBe(1);
  values.retry();
  expect(loads[1]!.keys).toEqual(['c']);
  await loads[1]!.answer();
  expect([values.value('c'), values.failure]).toEqual(['C', undefined]);
});

test('clearing forgets all values and aborts all loads, those that wait too', async () => {
  const { values, timers, loads } = started();
  values.show(keysOf(0, 4));
  values.show([...keysOf(0, 4), 'later']);
  values.clear();
  timers.pass(SETTLED_MS);
  expect(loads.map(({ signal }) => signal.aborted)).toEqual([true, true]);
  values.show(['a']);
  await loads[2]!.answer();
  values.clear();
  expect(values.value('a')).toBeUndefined();
});
