import { beforeAll, describe, expect, test } from 'bun:test';
import {
  CAPTURE,
  type Command,
  type Contents,
  capturedMarket,
  cut,
  faultsOf,
  imported,
  interleaved,
  interrupted,
  missing,
  type Recording,
  shuffled,
} from './capture.ts';

/** The beginning of the capture: the campaign has all of it. */
const LENGTH_MS = 1000;
/** The frames that recorders with another beginning or end have. */
const [FROM, UNTIL] = [100, 350];
const NO_FAULTS = { wrong: [], absent: [], extra: [] };

describe.skipIf(CAPTURE === undefined)('recordings of the same time (skipped where the capture is absent)', () => {
  let frames: Recording;
  let perfect: Contents;

  beforeAll(async () => {
    ({ frames } = capturedMarket(LENGTH_MS));
    perfect = await imported([frames]);
  });

  test('a perfect one has one book for each instant, and no gap', () => {
    expect(perfect.snapshots).toBe(perfect.books.size);
    expect(perfect.gaps).toEqual([]);
  });

  test.each([
    [0.01, 7],
    [0.2, 1234],
  ])(
    'A recording that lacks changes does not alter a complete one, whichever is imported first. (%d, seed %d)',
    async (part, seed) => {
      const poor = missing(frames, part, seed);
      const orders: readonly Command[][] = [[[frames], [poor]], [[poor], [frames]], [[poor, frames]]];
      for (const commands of orders) {
        const found = await imported(...commands);
        expect(found.exported).toEqual(perfect.exported);
        expect(found.report.total.gaps).toBe(0);
      }
    },
  );

  test.each([
    [0.01, 11],
    [0.05, 22],
  ])(
    'If recordings lack different changes, every book that one of them has is right, and gaps cover the others. (%d, seed %d)',
    async (part, seed) => {
      const [one, other] = [missing(frames, part, seed), missing(frames, part, seed + 1000)];
      const found = await imported([one], [other]);
      expect(faultsOf(found, perfect, frames, [one, other])).toEqual(NO_FAULTS);
      expect(found.snapshots).toBe(found.books.size);
      for (const commands of [[[other], [one]], [[one, other]], [[one], [other], [one]]]) {
        expect((await imported(...commands)).exported).toEqual(found.exported);
      }
    },
  );

  test('of two that were interrupted, each at other times, a gap covers only what both missed', async () => {
    const [one, other] = [interrupted(frames, 3, 200, 5), interrupted(frames, 3, 200, 6)];
    const found = await imported([one], [other]);
    expect(faultsOf(found, perfect, frames, [one, other])).toEqual(NO_FAULTS);
    expect((await imported([other], [one])).exported).toEqual(found.exported);
    expect((await imported([one])).books.size).toBeLessThan(found.books.size);
  });

  test('of three the books are those of all, in any order', async () => {
    const recordings = [1, 2, 3].map((seed) => missing(frames, 0.2, seed));
    const found = await imported(...recordings.map((recording) => [recording]));
    expect(faultsOf(found, perfect, frames, recordings)).toEqual(NO_FAULTS);
    expect((await imported(recordings.toReversed())).exported).toEqual(found.exported);
  });

  test('a poor one that is imported again changes nothing', async () => {
    const poor = missing(frames, 0.05, 7);
    const [once, twice] = [await imported([poor]), await imported([poor], [poor])];
    expect(twice.exported).toEqual(once.exported);
    expect(twice.report.records).toEqual({});
  });

  test.each([1])(
    'A recording that is cut anywhere, with its parts imported by separate commands in any order, gives the same archive as the whole. (seed %d)',
    async (seed) => {
      const parts = shuffled(cut(frames, 6, seed), seed);
      expect((await imported(...parts.map((part) => [part]))).exported).toEqual(perfect.exported);
      expect((await imported(parts)).exported).toEqual(perfect.exported);
    },
  );

  test.each([4])('poor ones that are cut and doubled, in any order, are one export (seed %d)', async (seed) => {
    const [one, other] = [missing(frames, 0.02, seed), missing(frames, 0.02, seed + 50)];
    const found = await imported([one, other]);
    const parts = [...cut(one, 4, seed), ...cut(other, 4, seed + 1), ...cut(one, 3, seed + 2)];
    const commands = shuffled(parts, seed).map((part) => [part]);
    expect((await imported(...commands)).exported).toEqual(found.exported);
  });

  test.each([6])('recorders that write into one file, with any delay, are one (seed %d)', async (seed) => {
    const recorders = [frames, frames, frames.slice(FROM), frames.slice(0, UNTIL)];
    expect((await imported([interleaved(recorders, seed)])).exported).toEqual(perfect.exported);
    const poor = missing(frames, 0.05, seed);
    expect(faultsOf(await imported([interleaved([frames, poor], seed)]), perfect, frames, [poor])).toEqual(NO_FAULTS);
  });
});
