import { expect, test } from 'bun:test';
import { Slots } from '../../src/http/v1/slots.ts';

/** Takes as many slots as the key gets. */
function takeAll(slots: Slots, keyId: string | undefined): (() => void)[] {
  const releases: (() => void)[] = [];
  try {
    for (;;) releases.push(slots.take(keyId, {}));
  } catch {
    return releases;
  }
}

test('a key gets as many slots as are free, and at most its own maximum', () => {
  const slots = new Slots('exports', { max: 64, perKeyMax: 16 });
  const counts = Array.from({ length: 9 }, (_, key) => takeAll(slots, `key ${key}`).length);
  expect(counts).toEqual([16, 16, 16, 8, 4, 2, 1, 1, 0]);
});

test('A key that has as many open slots as are still free gets a 503, so a few keys together cannot keep all.', () => {
  const slots = new Slots('exports', { max: 64, perKeyMax: 16 });
  const taken = new Map<string, (() => void)[]>();
  for (let round = 0; round < 100; round += 1) {
    const key = `key ${round % 5}`;
    for (const release of taken.get(key) ?? []) release();
    taken.set(key, takeAll(slots, key));
  }
  expect(takeAll(slots, 'other').length).toBeGreaterThanOrEqual(3);
});

test('a refusal says what is taken, and of which key', () => {
  const slots = new Slots('exports', { max: 5, perKeyMax: 2 });
  const headers = {};
  takeAll(slots, 'a');
  expect(() => slots.take('a', headers)).toThrow('2 exports are open with this key: close one of them and try again');
  expect(headers).toEqual({ 'retry-after': '5' });
  takeAll(slots, 'b');
  slots.take('c', {});
  expect(() => slots.take('d', {})).toThrow('5 exports are open already: try again later');
});

test('without keys all slots can be taken', () => {
  const slots = new Slots('exports', { max: 5, perKeyMax: 2 });
  const releases = takeAll(slots, undefined);
  expect(releases).toHaveLength(5);
  for (const release of releases) release();
  expect(takeAll(slots, undefined)).toHaveLength(5);
});
