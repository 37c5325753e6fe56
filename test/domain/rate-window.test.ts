import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type ClockReading, RateWindows, WINDOW_MS, type Windows } from '../../src/domain/rate-window.ts';
import { SharedWindows, windowWords } from '../../src/domain/shared-windows.ts';

const RUNS = { seed: 20260416, numRuns: 300 };
const HOUR_MS = 3_600_000;
const EPOCH_MS = 1_776_323_400_000;

/** Both clocks `ms` after the start; the wall clock was changed by `stepMs`. */
function at(ms: number, stepMs = 0): ClockReading {
  return { monotonicMs: 5_000 + ms, wallMs: EPOCH_MS + ms + stepMs };
}

const request = fc.record({
  waitMs: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 2 * WINDOW_MS })),
  subject: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
});

const SEED = 20260416n;
const shared = (subjectsMax: number, words = new BigInt64Array(windowWords(subjectsMax))) =>
  new SharedWindows(words, SEED, subjectsMax, ({ wallMs, monotonicMs }) => wallMs - monotonicMs);

describe.each<[string, (subjectsMax: number) => Windows]>([
  ['one process', (subjectsMax) => new RateWindows(subjectsMax)],
  ['several processes', (subjectsMax) => shared(subjectsMax)],
])('windows of %s', (_, windowsFor) => {
  test('a request is allowed exactly when fewer than the limit were allowed in its subject’s window', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.array(request, { maxLength: 120 }), (limit, requests) => {
        const windows = windowsFor(100);
        // The model keeps every allowed request; a window ends a minute after its first one.
        const allowedAt = new Map<string, number[]>();
        let ms = 0;
        for (const { waitMs, subject } of requests) {
          ms += waitMs;
          let times = allowedAt.get(subject) ?? [];
          if (times[0] === undefined || ms - times[0] >= 60_000) times = [];
          allowedAt.set(subject, times);
          const allowed = times.length < limit;
          if (allowed) times.push(ms);
          const endMs = times[0]! + 60_000;
          const expected = {
            allowed,
            limit,
            remaining: limit - times.length,
            resetEpochSeconds: Math.ceil((EPOCH_MS + endMs) / 1000),
            retryAfterSeconds: Math.ceil((endMs - ms) / 1000),
          };
          expect(windows.charge(subject, limit, at(ms))).toEqual(expected);
          // `peek` changes nothing.
          expect(windows.peek(subject, limit, at(ms))).toEqual({ ...expected, allowed: times.length < limit });
        }
      }),
      RUNS,
    );
  });

  test('the window ends a minute after its first request, to the millisecond', () => {
    const windows = windowsFor(10);
    expect(windows.charge('a', 1, at(0)).allowed).toBe(true);
    expect(windows.charge('a', 1, at(WINDOW_MS - 1))).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
    expect(windows.charge('a', 1, at(WINDOW_MS))).toMatchObject({ allowed: true, remaining: 0, retryAfterSeconds: 60 });
  });

  test('a refused request is not counted', () => {
    const windows = windowsFor(10);
    windows.charge('a', 1, at(0));
    for (let i = 0; i < 5; i += 1) expect(windows.charge('a', 1, at(i)).allowed).toBe(false);
    // With a higher limit, a request is left only if the refused ones did not count.
    expect(windows.charge('a', 2, at(10))).toMatchObject({ allowed: true, remaining: 0 });
  });

  test('a limit that is lowered below the used requests leaves 0, not less', () => {
    const windows = windowsFor(10);
    for (let i = 0; i < 5; i += 1) windows.charge('a', 10, at(i));
    expect(windows.charge('a', 3, at(6))).toMatchObject({ allowed: false, limit: 3, remaining: 0 });
  });

  test('`peek` opens no window for a new subject', () => {
    const windows = windowsFor(10);
    expect(windows.peek('a', 3, at(0))).toMatchObject({ allowed: true, remaining: 3, retryAfterSeconds: 60 });
    expect(windows.size).toBe(0);
  });

  describe('a change of the wall clock', () => {
    test.each([HOUR_MS, -HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS, 61_000, -61_000])(
      'by %p ms does not end a window',
      (stepMs) => {
        const windows = windowsFor(10);
        windows.charge('a', 1, at(0));
        expect(windows.charge('a', 1, at(1000, stepMs)).allowed).toBe(false);
        expect(windows.charge('a', 1, at(WINDOW_MS - 1, stepMs)).allowed).toBe(false);
      },
    );

    test.each([HOUR_MS, -HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS])('by %p ms does not prolong a window', (stepMs) => {
      const windows = windowsFor(10);
      windows.charge('a', 1, at(0));
      expect(windows.charge('a', 1, at(WINDOW_MS, stepMs)).allowed).toBe(true);
    });

    test.each([HOUR_MS, -24 * HOUR_MS])('by %p ms also changes the announced reset', (stepMs) => {
      const windows = windowsFor(10);
      windows.charge('a', 1, at(0));
      const expected = (EPOCH_MS + WINDOW_MS + stepMs) / 1000;
      expect(windows.charge('a', 1, at(1000, stepMs)).resetEpochSeconds).toBe(expected);
      expect(windows.peek('a', 1, at(2000, stepMs)).resetEpochSeconds).toBe(expected);
    });
  });

  test('the announced reset of a window does not change when the clocks drift a little', () => {
    const readings = fc.array(
      fc.record({ ms: fc.integer({ min: 0, max: WINDOW_MS - 1 }), driftMs: fc.integer({ min: -400, max: 400 }) }),
      { minLength: 1, maxLength: 50 },
    );
    fc.assert(
      fc.property(fc.nat({ max: 999 }), readings, (offsetMs, unsorted) => {
        const windows = windowsFor(10);
        const first = windows.charge('a', 3, at(0, offsetMs));
        for (const { ms, driftMs } of [...unsorted].sort((a, b) => a.ms - b.ms)) {
          const { resetEpochSeconds } = windows.charge('a', 3, at(ms, offsetMs + driftMs));
          expect(resetEpochSeconds).toBe(first.resetEpochSeconds);
        }
      }),
      RUNS,
    );
  });
});

describe('more subjects than windows', () => {
  test('never exceed the number of windows, and none is refused because of the others', () => {
    const many = fc.array(
      fc.record({ waitMs: fc.integer({ min: 0, max: 20_000 }), subject: fc.integer({ min: 0, max: 30 }).map(String) }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 9 }),
        fc.integer({ min: 1, max: 4 }),
        many,
        (subjectsMax, limit, requests) => {
          const windows = new RateWindows(subjectsMax);
          const allowedAt = new Map<string, number[]>();
          let ms = 0;
          for (const { waitMs, subject } of requests) {
            ms += waitMs;
            const times = (allowedAt.get(subject) ?? []).filter((time) => time > ms - WINDOW_MS);
            allowedAt.set(subject, times);
            if (windows.charge(subject, limit, at(ms)).allowed) times.push(ms);
            else expect(times.length).toBeGreaterThanOrEqual(limit);
            expect(windows.size).toBeLessThanOrEqual(subjectsMax);
          }
        },
      ),
      RUNS,
    );
  });

  test('never take the window of a subject that used more than they did', () => {
    const windows = new RateWindows(100);
    const remaining = (subject: string) => windows.peek(subject, 10, at(0)).remaining;
    for (let i = 0; i < 10; i += 1) windows.charge('used up', 10, at(i));
    for (let i = 0; i < 5; i += 1) windows.charge('half used', 10, at(i));
    for (let i = 0; i < 1000; i += 1) {
      for (let requests = 0; requests < 4; requests += 1) windows.charge(`other-${i}`, 10, at(i));
    }
    expect([remaining('used up'), remaining('half used'), remaining('other-0')]).toEqual([0, 5, 6]);
    expect(windows.charge('used up', 10, at(2000)).allowed).toBe(false);
  });

  test('take a quarter of the windows at once: the newest of the least used', () => {
    const windows = new RateWindows(8);
    const isFresh = (subject: string) => windows.peek(subject, 3, at(100)).remaining === 3;
    for (const [index, subject] of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].entries()) {
      windows.charge(subject, 3, at(index));
    }
    windows.charge('h', 3, at(10));
    expect(windows.charge('new', 3, at(11))).toMatchObject({ allowed: true, remaining: 2 });
    expect(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'new'].filter(isFresh)).toEqual(['f', 'g']);
    expect(windows.size).toBe(7);
  });

  test('get the windows of subjects that never come back', () => {
    const windows = new RateWindows(1000);
    for (let i = 0; i < 1000; i += 1) windows.charge(`old-${i}`, 1, at(i));
    windows.charge('new', 1, at(WINDOW_MS + 1000));
    expect(windows.size).toBe(1);
  });
});

describe('windows that processes share', () => {
  /** Two processes: each sees what the other one has counted. */
  const two = (subjectsMax = 64) => {
    const words = new BigInt64Array(windowWords(subjectsMax));
    return [shared(subjectsMax, words), shared(subjectsMax, words)] as const;
  };

  test('count the requests of all of them, with one reset', () => {
    const [a, b] = two();
    const first = a.charge('key', 3, at(0));
    expect(b.charge('key', 3, at(10))).toMatchObject({ remaining: 1, resetEpochSeconds: first.resetEpochSeconds });
    expect(a.charge('key', 3, at(20))).toMatchObject({ allowed: true, remaining: 0 });
    for (const each of [a, b]) expect(each.charge('key', 3, at(30)).allowed).toBe(false);
    expect(b.charge('key', 3, at(WINDOW_MS))).toMatchObject({ allowed: true, remaining: 2 });
    expect(a.peek('key', 3, at(WINDOW_MS))).toMatchObject({ remaining: 2 });
  });

  test('A reading that came late does not move the reset of a window.', () => {
    const words = new BigInt64Array(windowWords(8));
    const { monotonicMs, wallMs } = at(0);
    const windows = new SharedWindows(words, SEED, 8, () => wallMs - monotonicMs);
    for (const lateMs of [450, 700, 5000]) {
      const late = windows.charge('key', 3, { monotonicMs, wallMs: wallMs + lateMs });
      expect(late.resetEpochSeconds).toBe(Math.ceil((EPOCH_MS + WINDOW_MS) / 1000));
    }
  });

  test('A window that another process began a moment later than now ends in 60 s, not more.', () => {
    const [a, b] = two();
    a.charge('key', 1, at(300));
    expect(b.charge('key', 1, at(0))).toMatchObject({ allowed: false, retryAfterSeconds: 60 });
  });

  test('A slot whose window is over is taken by another subject, which gets nothing of the earlier count.', () => {
    const [a, b] = two(1);
    for (let i = 0; i < 3; i += 1) a.charge('old', 3, at(i));
    expect(b.charge('new', 3, at(WINDOW_MS))).toMatchObject({ remaining: 2 });
    expect([a.overflows, b.overflows]).toEqual([0, 0]);
    // The old one has no slot any more, and is counted by each process.
    expect(a.charge('old', 3, at(WINDOW_MS + 1))).toMatchObject({ remaining: 2 });
    expect(b.charge('old', 3, at(WINDOW_MS + 1))).toMatchObject({ remaining: 2 });
    expect([a.overflows, b.overflows]).toEqual([1, 1]);
  });

  test('A process that was killed after it took a slot leaves a window that the next one opens.', () => {
    const words = new BigInt64Array(windowWords(1));
    const before = shared(1, words);
    before.charge('key', 3, at(0));
    const hash = words[2]!;
    // Taken again, for the same subject, and not opened.
    words[1] = -hash;
    expect(shared(1, words).charge('key', 3, at(WINDOW_MS))).toMatchObject({ allowed: true, remaining: 2 });
    words[1] = -(hash ^ 2n);
    expect(shared(1, words).charge('key', 3, at(3 * WINDOW_MS)).remaining).toBe(2);
    expect(words[2]).toBe(hash ^ 2n);
  });

  test('Each of many subjects has its own window, also when half of the slots are used.', () => {
    const [a, b] = two(4096);
    for (let round = 1; round <= 3; round += 1) {
      for (let i = 0; i < 2048; i += 1) {
        const windows = (i + round) % 2 === 0 ? a : b;
        expect(windows.charge(`key-${i}`, 3, at(round)).remaining).toBe(3 - round);
      }
    }
    expect([a.overflows, b.overflows, a.size]).toEqual([0, 0, 2048]);
  });
});
