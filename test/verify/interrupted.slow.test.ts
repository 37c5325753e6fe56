import { expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startVerifyProcess } from '../../src/cli/verify-process.ts';
import { BOOKS } from '../../src/store/sealed-files.ts';
import { VerifyProgress } from '../../src/verify/progress.ts';
import type { MarketObservations, Verification } from '../../src/verify/report.ts';
import { type VerifyOptions, verifyDirectory } from '../../src/verify/verify.ts';
import { generatedRecording } from '../export/generated-recording.ts';
import { importRecords, NOW_MS, temporaryArchive } from '../support/archive.ts';
import { sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { sealAll, sealedMarkets } from '../support/sealed.ts';

const DAY_MS = 86_400_000;

interface Reported extends Verification {
  readonly markets: readonly MarketObservations[];
  readonly progress: readonly string[];
}

async function report(path: string, options: Partial<VerifyOptions> = {}): Promise<Reported> {
  const markets: MarketObservations[] = [];
  const progress: string[] = [];
  const verification = await verifyDirectory(path, {
    clock: () => NOW_MS,
    onMarket: (market) => void markets.push(market),
    onProgress: (done, all) => void progress.push(`${done} of ${all}`),
    ...options,
  });
  return { ...verification, totals: { ...verification.totals, elapsedMs: 0 }, markets, progress };
}

const NAMES = ['m-1', 'm-2', 'm-3', 'm-4', 'm-5', 'm-6'];

/** Six markets, of which the last is not sealed. */
async function sixMarkets() {
  const place = temporaryArchive();
  const lines = NAMES.map((slug, i) => [
    sampleMarket({ conditionId: `0x${i + 1}`, slug, clobTokenIds: [`${i + 1}1`, `${i + 1}2`] }),
    sampleSnapshot({ conditionId: `0x${i + 1}` }),
  ]);
  await importRecords(place.archive, lines.slice(0, -1).flat());
  sealAll(place.archive);
  await importRecords(place.archive, lines.at(-1)!);
  const flip = (nth: number) => {
    const file = join(place.path, BOOKS, sealedMarkets(place.archive)[nth]!.path);
    const bytes = readFileSync(file);
    bytes[bytes.length - 1] = bytes.at(-1)! ^ 1;
    rmSync(file);
    writeFileSync(file, bytes);
  };
  const left = () => readdirSync(place.path).filter((name) => name.startsWith('verify-progress'));
  return { ...place, flip, left };
}

/** Ends a run after some markets, as a signal would: what it has kept stays. */
async function interrupt(path: string, after: number): Promise<void> {
  using progress = new VerifyProgress(path, NOW_MS, false);
  let seen = 0;
  const onProgress = () => {
    seen += 1;
    if (seen === after) throw new Error('interrupted');
  };
  await expect(report(path, { progress, onProgress })).rejects.toThrow('interrupted');
}

async function withProgress(
  path: string,
  isAnew = false,
  nowMs = NOW_MS,
): Promise<Reported & { readonly earlier: number }> {
  using progress = new VerifyProgress(path, nowMs, isAnew);
  return { ...(await report(path, { progress })), earlier: progress.earlier.markets };
}

test('Several processes report what one reports: problems, observations and totals, in the same order.', async () => {
  for (const [seed, isSealed] of [
    [1, true],
    [2, false],
  ] as const) {
    using place = temporaryArchive();
    await importRecords(place.archive, generatedRecording(seed));
    if (isSealed) sealAll(place.archive);
    const one = await report(place.path);
    expect(one.markets.length).toBeGreaterThan(1);
    expect(await report(place.path, { startWorker: startVerifyProcess, jobs: 3 })).toEqual(one);
    expect(one.progress.at(-1)).toBe(`${one.totals.markets} of ${one.totals.markets}`);
  }
});

test('A run that was interrupted is continued: files without a problem are not read again, and the report is the same.', async () => {
  using place = await sixMarkets();
  const { path, flip, left } = place;
  const whole = await report(path);
  await interrupt(path, 3);
  expect(left().length).toBeGreaterThan(0);
  const { earlier, progress, ...rest } = await withProgress(path);
  expect([earlier, progress]).toEqual([3, ['1 of 3', '2 of 3', '3 of 3']]);
  expect({ ...rest, progress: whole.progress }).toEqual(whole);
  expect(left()).toEqual([]);
  await interrupt(path, 3);
  // Nobody notices that the bytes of the first file change now; of the others it is found.
  flip(0);
  flip(4);
  const problems = async (isAnew: boolean) => (await withProgress(path, isAnew)).problems.map(({ slug }) => slug);
  expect(await problems(false)).toEqual(['m-5']);
  expect(await problems(false)).toEqual(['m-1', 'm-5']);
  await interrupt(path, 3);
  expect(await problems(true)).toEqual(['m-1', 'm-5']);
});

test('Several processes, which get markets many at a time, continue an interrupted run as one does.', async () => {
  using place = await sixMarkets();
  const { path } = place;
  const whole = await report(path);
  await interrupt(path, 3);
  using progress = new VerifyProgress(path, NOW_MS, false);
  const continued = await report(path, { progress, startWorker: startVerifyProcess, jobs: 2 });
  expect(continued).toEqual({ ...whole, progress: ['1 of 3', '2 of 3', '3 of 3'] });
});

test('A market that was changed or sealed again since, whose file is missing, or that was verified long ago is read again.', async () => {
  using place = await sixMarkets();
  const { path, archive } = place;
  await interrupt(path, 4);
  await importRecords(archive, [sampleSnapshot({ conditionId: '0x1', timestamp: '2026-04-16T07:12:00.000Z' })]);
  await importRecords(archive, [sampleSnapshot({ conditionId: '0x2', timestamp: '2026-04-16T07:12:00.000Z' })]);
  sealAll(archive);
  await importRecords(archive, [sampleSnapshot({ conditionId: '0x2', timestamp: '2026-04-16T07:13:00.000Z' })]);
  rmSync(join(path, BOOKS, sealedMarkets(archive)[1]!.path));
  const { problems, totals, earlier } = await withProgress(path);
  expect(earlier).toBe(4);
  expect(problems.map(({ slug, what }) => [slug, what.includes('is missing')])).toEqual([['m-3', true]]);
  expect(totals).toMatchObject({ markets: 6, snapshots: 9 - 1 });
  await interrupt(path, 2);
  expect((await withProgress(path, false, NOW_MS + 8 * DAY_MS)).earlier).toBe(0);
});

test('Where nothing can be kept, all is verified.', async () => {
  using place = await sixMarkets();
  const { path, left } = place;
  const whole = await report(path);
  writeFileSync(join(path, 'verify-progress.db'), 'not a database');
  const { earlier, ...rest } = await withProgress(path);
  expect([earlier, rest]).toEqual([0, whole]);
  expect(left()).toEqual([]);
  expect(existsSync(join(path, 'bookreel.db'))).toBe(true);
});
