import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { recordedText } from '../../src/domain/recorded-time.ts';
import { marketWithCounts } from '../../src/http/v1/market-resource.ts';
import { Coverages } from '../../src/store/coverage.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { CONDITION_ID, START_MS, sampleGap, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';

const WINDOW_S = 300;
const SILENCE_S = 60;

interface Book {
  /** From the start of the window. */
  readonly s: number;
  readonly outcome: 'up' | 'down';
}
type Missed = readonly [from: number, to: number];

const iso = (s: number) => new Date(START_MS + s * 1000).toISOString();
const snapshotOf = ({ s, outcome }: Book, index = s) =>
  sampleSnapshot({ timestamp: iso(s), outcome, bids: [{ price: 0.5, size: 1 + (Math.abs(index) % 7) }] });
const gapOf = ([from, to]: Missed) => sampleGap({ from: iso(from), to: iso(to), reason: 'recorder restarted' });

/** Looks at each second of the window by itself: the books next to it, and every gap. */
function expectedSeconds(books: readonly Book[], gaps: readonly Missed[], asOf = Infinity): number {
  const times = books.map(({ s }) => s).filter((s) => s <= asOf);
  const known = gaps.filter(([, to]) => to <= asOf);
  let sum = 0;
  for (let s = 0; s < WINDOW_S; s += 1) {
    const [before, after] = [Math.max(...times.filter((at) => at <= s)), Math.min(...times.filter((at) => at > s))];
    const isMissed = known.some(([from, to]) => from <= s && s + 1 <= to);
    if (after - before <= SILENCE_S && !isMissed) sum += 1;
  }
  return sum;
}

const book = fc.record({
  s: fc.integer({ min: -200, max: 500 }),
  outcome: fc.constantFrom('up' as const, 'down' as const),
});
/** Books of a second, one after another, of which a recorder makes many. */
const stretch = fc
  .record({
    first: fc.integer({ min: -100, max: 320 }),
    count: fc.integer({ min: 1, max: 90 }),
    step: fc.integer({ min: 1, max: 5 }),
  })
  .map(({ first, count, step }): Book[] =>
    Array.from({ length: count }, (_, i) => ({ s: first + i * step, outcome: 'up' })),
  );
const missed = fc
  .tuple(fc.integer({ min: -50, max: 350 }), fc.integer({ min: 0, max: 80 }))
  .map(([from, length]): Missed => [from, from + length]);

test('The recorded part of a window is the time between books at most a minute apart, of either outcome, without gaps.', async () => {
  const recordings = fc.record({
    books: fc
      .tuple(fc.array(book, { maxLength: 8 }), fc.array(stretch, { maxLength: 2 }))
      .map(([single, many]) => [...single, ...many.flat()]),
    gaps: fc.array(missed, { maxLength: 3 }),
    parts: fc.integer({ min: 1, max: 3 }),
    asOf: fc.integer({ min: -250, max: 600 }),
  });
  await fc.assert(
    fc.asyncProperty(recordings, async ({ books, gaps, parts, asOf }) => {
      using place = temporaryArchive();
      const { archive } = place;
      // In several imports, in any order of time.
      const records = [...books.map(snapshotOf), ...gaps.map(gapOf)];
      for (let part = 0; part < parts; part += 1) {
        await importRecords(archive, [sampleMarket(), ...records.filter((_, at) => at % parts === part)]);
      }
      const market = archive.markets.findByConditionId(CONDITION_ID)!;
      const expected = expectedSeconds(books, gaps);
      expect(archive.recordedTimes.ofMarket(market.key)).toBe(expected * 1000);
      const asOfMs = START_MS + asOf * 1000;
      expect(archive.recordedTimes.ofMarket(market.key, asOfMs)).toBe(expectedSeconds(books, gaps, asOf) * 1000);
      const { recordedSeconds, windowSeconds } = marketWithCounts(archive, market, undefined);
      expect({ recordedSeconds, windowSeconds }).toEqual({ recordedSeconds: expected, windowSeconds: WINDOW_S });
      const coverage = await new Coverages(archive.database.path, async () => {}).of(market);
      expect(coverage.recordedMs).toBe(expected * 1000);
    }),
    { numRuns: 40 },
  );
});

test.each<[string, readonly number[], number]>([
  ['ten seconds of five minutes', [100, 101, 105, 110], 10],
  ['both ends, and nothing between', [0, 5, 295, 300], 10],
  ['books a minute apart', [0, 60, 120, 180, 240, 300], 300],
  ['books more than a minute apart', [0, 61, 122], 0],
  ['a book on each side of the window, a minute apart', [-30, 30], 30],
  ['the day before', [-86_400, -86_399], 0],
  ['nothing', [], 0],
])('%s', async (_, seconds, expected) => {
  using place = temporaryArchive();
  const { archive } = place;
  await importRecords(archive, [
    sampleMarket(),
    ...seconds.map((s, at) => snapshotOf({ s, outcome: at % 2 === 0 ? 'up' : 'down' })),
  ]);
  const { recordedSeconds, windowSeconds } = marketWithCounts(
    archive,
    archive.markets.findByConditionId(CONDITION_ID)!,
    undefined,
  );
  expect(recordedSeconds).toBe(expected);
  expect(recordedText({ recordedSeconds, windowSeconds })).toBe(`${expected} s of 300 s`);
});

test('a window that is not recorded to the end does not say so: seconds are rounded down', () => {
  expect(recordedText({ recordedSeconds: 299.999, windowSeconds: 300 })).toBe('299 s of 300 s');
  expect(recordedText({ recordedSeconds: 86_400, windowSeconds: 86_400 })).toBe('86,400 s of 86,400 s');
});

test('A volume or a liquidity that no recording states is null with include=counts, and the contract’s 0 without.', async () => {
  using place = temporaryArchive();
  const { archive } = place;
  await importRecords(archive, [sampleMarket()]);
  const read = () => marketWithCounts(archive, archive.markets.findByConditionId(CONDITION_ID)!, undefined);
  expect(read()).toMatchObject({ volume: null, liquidity: null });
  await importRecords(archive, [sampleMarket({ volume: 0, liquidity: 12.5 })]);
  expect(read()).toMatchObject({ volume: 0, liquidity: 12.5 });
});
