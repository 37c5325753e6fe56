import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isStandIn } from '../../src/domain/stand-in-id.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { marketOf } from '../support/imported.ts';
import { gapsOf, RecordedRun } from './recorded-run.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { SimulatedDirectory } from './simulated-directory.ts';
import { VenueProxy } from './venue-proxy.ts';
import { VenueStandIn } from './venue-stand-in.ts';

const START_MS = Date.UTC(2026, 5, 1);
const END_MS = START_MS + 300_000;
const WHOLE = { fromMs: START_MS, toMs: END_MS };
const SLUG = `btc-updown-5m-${START_MS / 1000}`;
const UNLISTED = 'Gamma did not list its market before it ended';

function simulatedPlace() {
  const clock = new SimulatedClock(START_MS - 16 * 60_000);
  const pace = { eventsPerSecond: 0.2, beforeStartMs: 50_000, keepsLines: true };
  const venue = new VenueStandIn(clock, new SimulatedDirectory(['btc'], pace));
  return { clock, venue, proxy: new VenueProxy({ venue, clock, seed: 'missed' }) };
}

test('A window without a market is a market with a gap of its whole length, which exports keep, until its real market is imported.', async () => {
  const { clock, venue, proxy } = simulatedPlace();
  proxy.gamma.never.add(SLUG);
  using run = new RecordedRun(proxy, clock);
  run.recorder.start();
  const gamma = await venue.answer(`/markets?slug=${SLUG}`);
  await run.run(END_MS + 70_000);
  using recorded = await run.contents();
  const { key, conditionId } = marketOf(recorded.archive, SLUG);
  expect(isStandIn(conditionId)).toBe(true);
  expect(gapsOf(recorded.archive, SLUG)).toEqual([{ ...WHOLE, reason: UNLISTED }]);
  expect(recorded.archive.recordedTimes.ofMarket(key)).toBe(0);

  const data = ['--data', recorded.path];
  const shown = JSON.parse(await outputOf(['show', SLUG, '--json', ...data]));
  expect(shown.coverage).toMatchObject({ gapCount: 1, gaps: [{ reason: UNLISTED }], recordedSeconds: 0 });
  expect(await outputOf(['markets', ...data])).toContain(SLUG);
  using files = temporaryDirectory();
  for (const format of ['ndjson', 'msgpack']) {
    const path = join(files.path, `all.${format}`);
    await outputOf(['export', '--format', format, '--output', path, ...data]);
    using copy = temporaryArchive();
    await importPaths(copy.archive, path);
    expect(marketOf(copy.archive, SLUG)).toMatchObject({ conditionId, startMs: START_MS, endMs: END_MS });
    expect(gapsOf(copy.archive, SLUG)).toEqual([{ ...WHOLE, reason: UNLISTED }]);
  }
  const listing = join(files.path, 'gamma.json');
  writeFileSync(listing, gamma.text);
  await importPaths(recorded.archive, listing);
  expect(isStandIn(marketOf(recorded.archive, SLUG).conditionId)).toBe(false);
  expect(gapsOf(recorded.archive, SLUG)).toEqual([{ ...WHOLE, reason: UNLISTED }]);
  // The market is known: the journal adds nothing.
  const { total } = await importPaths(recorded.archive, join(run.directory.path, 'journal'));
  expect(total.stored).toBe(0);
});

test('A market that is listed after its window has begun has a gap from the start to its first book, and is not missed.', async () => {
  const { clock, proxy } = simulatedPlace();
  proxy.gamma.never.add(SLUG);
  using run = new RecordedRun(proxy, clock);
  run.recorder.start();
  await run.run(START_MS + 60_000);
  expect(run.recorder.status().missed.map(({ slug }) => slug)).toEqual([SLUG]);
  proxy.gamma.never.clear();
  await run.run(END_MS + 70_000);
  using recorded = await run.contents();
  expect(isStandIn(marketOf(recorded.archive, SLUG).conditionId)).toBe(false);
  for (const outcome of ['up', 'down']) {
    const gaps = gapsOf(recorded.archive, SLUG).filter(({ reason }) => reason.includes(` of ${outcome} `));
    expect(gaps).toHaveLength(1);
    expect(gaps[0]).toMatchObject({ fromMs: START_MS });
    expect(gaps[0]!.toMs).toBeLessThan(START_MS + 90_000);
  }
});

test.each([false, true])(
  'A window that one recorder began to miss is stored by the next one (after its end: %p).',
  async (isOver) => {
    const { clock, proxy } = simulatedPlace();
    proxy.gamma.never.add(SLUG);
    using first = new RecordedRun(proxy, clock);
    first.recorder.start();
    await first.run(START_MS + 60_000);
    const before = first.recorder.status();
    await first.recorder.stop();
    await clock.run(isOver ? END_MS + 60_000 : START_MS + 120_000);
    const second = new RecordedRun(proxy, clock, { before }, first.directory);
    second.recorder.start();
    await second.run(END_MS + 130_000);
    using recorded = await second.contents();
    expect(gapsOf(recorded.archive, SLUG)).toEqual([{ ...WHOLE, reason: UNLISTED }]);
  },
);

test('A window whose market never gets a book is a gap of its whole length.', async () => {
  const { clock, venue } = simulatedPlace();
  const faultsOf = () => ({ unanswered: 1000 });
  using run = new RecordedRun(new VenueProxy({ venue, clock, seed: 'bookless', faultsOf }), clock);
  run.recorder.start();
  await run.run(END_MS + 130_000);
  using recorded = await run.contents();
  const gaps = gapsOf(recorded.archive, SLUG);
  expect(gaps.map(({ fromMs, toMs }) => ({ fromMs, toMs }))).toEqual([WHOLE, WHOLE]);
  expect(run.recorder.status().totals.windows).toBe(0);
});

test('A gap of a slug must be that of a window. A replay has no window that was missed, as the venue had none.', async () => {
  using files = temporaryDirectory();
  using place = temporaryArchive();
  const path = join(files.path, 'lines.jsonl');
  const times = { from: START_MS, to: END_MS, reason: UNLISTED };
  const gaps = [
    { slug: 'election-2028', ...times },
    { slug: SLUG, ...times, to: START_MS },
    times,
    { slug: SLUG, ...times },
  ];
  writeFileSync(path, gaps.map((gap) => JSON.stringify({ receivedAt: END_MS * 1000, gap })).join('\n'));
  const { rejections, total } = await importPaths(place.archive, path);
  expect(total).toMatchObject({ read: 4, rejected: 3, stored: 1, gaps: 1 });
  expect(rejections.map(({ reason }) => reason)).toEqual([
    'slug is not that of a window, like btc-updown-5m-1776323400',
    'from is not before to',
    'conditionId is missing or not 0x and up to 64 hex digits',
  ]);
  const { code, stderr } = await runCommand(['replay', '--coin', 'btc', '--data', place.path]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('no recorded market matches the selection')]);
});
