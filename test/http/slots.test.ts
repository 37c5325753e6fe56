import { describe, expect, spyOn, test } from 'bun:test';
import { OpenInMemory } from '../../src/http/plugins/request-counts.ts';
import { SHARED_BYTES, SharedCounts } from '../../src/http/plugins/shared-counts.ts';
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

const SEED = 7n;

describe.each([
  ['one process', () => new OpenInMemory()],
  ['several', () => new SharedCounts(new Uint8Array(SHARED_BYTES), SEED, 1, () => 0).openRequests('exports')],
])('open requests of %s', (_, open) => {
  test('a key gets as many slots as are free, and at most its own maximum', () => {
    const slots = new Slots('exports', { max: 64, perKeyMax: 16 }, open());
    const counts = Array.from({ length: 9 }, (_, key) => takeAll(slots, `key ${key}`).length);
    expect(counts).toEqual([16, 16, 16, 8, 4, 2, 1, 1, 0]);
  });

  test('A key that has as many open slots as are still free gets a 503, so a few keys together cannot keep all.', () => {
    const slots = new Slots('exports', { max: 64, perKeyMax: 16 }, open());
    const taken = new Map<string, (() => void)[]>();
    for (let round = 0; round < 100; round += 1) {
      const key = `key ${round % 5}`;
      for (const release of taken.get(key) ?? []) release();
      taken.set(key, takeAll(slots, key));
    }
    expect(takeAll(slots, 'other').length).toBeGreaterThanOrEqual(3);
  });

  test('a refusal says what is taken, and of which key', () => {
    const slots = new Slots('exports', { max: 5, perKeyMax: 2 }, open());
    const headers = {};
    takeAll(slots, 'a');
    expect(() => slots.take('a', headers)).toThrow('2 exports are open with this key: close one of them and try again');
    expect(headers).toEqual({ 'retry-after': '5' });
    takeAll(slots, 'b');
    slots.take('c', {});
    expect(() => slots.take('d', {})).toThrow('5 exports are open already: try again later');
  });

  test('without keys all slots can be taken', () => {
    const slots = new Slots('exports', { max: 5, perKeyMax: 2 }, open());
    const releases = takeAll(slots, undefined);
    expect(releases).toHaveLength(5);
    for (const release of releases) release();
    expect(takeAll(slots, undefined)).toHaveLength(5);
  });
});

describe('open requests of processes', () => {
  const LIMITS = { max: 64, perKeyMax: 16 };
  const processesOf = (memory = new Uint8Array(SHARED_BYTES)) => {
    const counts = [11, 12].map((id) => new SharedCounts(memory, SEED, id, () => 0));
    const slots = counts.map((each) => new Slots('exports', LIMITS, each.openRequests('exports')));
    return { counts, slots: slots as [Slots, Slots], memory };
  };

  test('Limits are those of all processes of a server, and each kind has its own.', () => {
    const { counts, slots } = processesOf();
    for (let taken = 0; taken < 8; taken += 1) for (const each of slots) each.take('key', {});
    for (const each of slots) expect(() => each.take('key', {})).toThrow('16 exports are open with this key');
    expect(takeAll(slots[1], 'other')).toHaveLength(16);
    const streams = new Slots('streams', LIMITS, counts[0]!.openRequests('streams'));
    expect(takeAll(streams, 'key')).toHaveLength(16);
  });

  test('The requests of a process that has ended are not open any more; those of others are.', () => {
    const { counts, slots } = processesOf();
    const own = Array.from({ length: 4 }, () => slots[0].take('key', {}));
    for (let taken = 0; taken < 12; taken += 1) slots[1].take('key', {});
    expect(takeAll(slots[0], 'key')).toHaveLength(0);
    counts[0]!.release(12);
    const again = takeAll(slots[0], 'key');
    expect(again).toHaveLength(12);
    // A request that ends frees one place, that of a killed process none.
    for (const release of own) release();
    expect(takeAll(slots[0], 'key')).toHaveLength(4);
  });

  test('A process that was killed while it counted does not keep the others from counting.', () => {
    const { counts, slots, memory } = processesOf();
    new Int32Array(memory.buffer, 0, 1)[0] = 12;
    counts[0]!.release(12);
    slots[0].take('key', {});
    new Int32Array(memory.buffer, 0, 1)[0] = 12;
    slots[0].take('key', {});
  });

  test('A lock that is held for too long is taken from its holder, not from a process that has taken it since.', () => {
    const { slots, memory } = processesOf();
    const lock = new Int32Array(memory.buffer, 0, 1);
    lock[0] = 12;
    let sleeps = 0;
    const later: number[] = [];
    using _ = spyOn(Bun, 'sleepSync').mockImplementation(() => {
      sleeps += 1;
      // The last look before the lock of the process 12 would be taken.
      if (sleeps === 100) lock[0] = 13;
      if (sleeps > 110) lock[0] = 0;
      if (sleeps >= 100 && sleeps <= 110) later.push(lock[0]!);
    });
    slots[0].take('key', {});
    expect(later).toEqual(Array.from({ length: 11 }, () => 13));
  });
});

test('A process that begins again, after a full disk, has the tables of before, and what was counted in them.', () => {
  const counts = new SharedCounts(new Uint8Array(SHARED_BYTES), SEED, 1, () => 0);
  const now = { monotonicMs: 1000, wallMs: 1000 };
  const tables = () => [65_536, 65_536, 65_536].map((subjects) => counts.windows(subjects));
  for (let app = 1; app <= 4; app += 1) {
    counts.rewind();
    for (const table of tables()) expect(table.charge('key', 10, now).remaining).toBe(10 - app);
  }
});
