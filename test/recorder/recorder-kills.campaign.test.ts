import { expect, test } from 'bun:test';
import { SeededRandom } from '../../fixtures/random.ts';
import type { Gap } from '../../src/domain/gap.ts';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { REORDERED_MS } from '../../src/recorder/watched-asset.ts';
import { openArchive } from '../../src/store/archive.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { difference } from './difference.ts';
import { listen } from './proxy-listener.ts';
import { gapsOf, linesOf } from './recorded-run.ts';
import { RecorderProcess } from './recorder-process.ts';
import { figure } from './results.ts';
import { SimulatedDirectory } from './simulated-directory.ts';
import type { SimulatedMarket } from './simulated-market.ts';
import { nowMsOf, realClock } from './venue-clock.ts';
import { VenueProxy } from './venue-proxy.ts';
import { VenueStandIn } from './venue-stand-in.ts';

const KILLS = Number(process.env.RECORDER_KILLS ?? 5);
const EVENTS_PER_SECOND = 100;
const timeIn = (line: string) => Number(line.slice(0, line.indexOf(' ')));

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

interface Loss {
  /** The latest arrival that the recorder stated to be on the disk. */
  readonly fromMs: number;
  readonly killedMs: number;
  /** The time of the first book after the start, by asset. */
  readonly wholeMs: Map<string, number>;
}

test(`a recorder that is killed ${KILLS} times loses at most the last second before each, and says so`, async () => {
  using directory = temporaryDirectory();
  const clock = realClock();
  const random = new SeededRandom(`kills ${KILLS}`);
  const markets: SimulatedMarket[] = [];
  const pace = { eventsPerSecond: EVENTS_PER_SECOND, beforeStartMs: 0, keepsLines: true };
  const simulated = new SimulatedDirectory(['btc'], pace, (market) => markets.push(market));
  const losses: Loss[] = [{ fromMs: 0, killedMs: 0, wholeMs: new Map() }];
  const delivered = (_: object, text: string) => {
    if (!text.includes('"tick_size"')) return;
    for (const { asset_id, timestamp, tick_size } of [JSON.parse(text)].flat()) {
      const { wholeMs } = losses.at(-1)!;
      if (tick_size !== undefined && !wholeMs.has(asset_id)) wholeMs.set(asset_id, Number(timestamp));
    }
  };
  const proxy = new VenueProxy({ venue: new VenueStandIn(clock, simulated), clock, seed: 'kills', delivered });
  await using listener = listen(proxy);
  const options = ['--coin', 'btc', '--tf', '5m'];
  let recorder = new RecorderProcess(directory.path, listener.url, options);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const running = recorder;
    await running.until(({ totals }) => totals.frames > 0);
    await Bun.sleep(random.below(2500));
    // The process takes a moment to end.
    const killedMs = nowMsOf(clock);
    await running.stop('SIGKILL');
    const fromMs = running.status()?.journal.writtenUntilMs ?? losses.at(-1)!.fromMs;
    losses.push({ fromMs, killedMs, wholeMs: new Map() });
    await running.child[Symbol.asyncDispose]();
    recorder = new RecorderProcess(directory.path, listener.url, options);
  }
  await recorder.until(({ totals }) => totals.frames > 0);
  await Bun.sleep(2000);
  const endMs = nowMsOf(clock) - 500;
  expect(await recorder.stop()).toBe(0);
  await recorder.child[Symbol.asyncDispose]();

  const archive = openArchive(directory.path, nowMsOf(clock), { create: false });
  using _ = { [Symbol.dispose]: () => archive.database.close() };
  let [compared, lost] = [0, 0];
  const lostMs: number[] = [];
  for (const { listing, expected } of markets.filter(
    (market) => archive.markets.findBySlug(market.listing.slug) !== undefined,
  )) {
    const gaps: readonly Gap[] = gapsOf(archive, listing.slug);
    for (const [index, outcome] of OUTCOMES.entries()) {
      const assetId = listing.assetIds[index]!;
      const firstMs = Math.min(...losses.map(({ wholeMs }) => wholeMs.get(assetId) ?? Number.POSITIVE_INFINITY));
      // A frame may arrive so long after others that were sent later. A window may end before the recorder is there again.
      const struck = losses
        .slice(1)
        .map(({ fromMs, wholeMs }) => [fromMs - REORDERED_MS, wholeMs.get(assetId) ?? listing.endMs] as const);
      const isOutside = (line: string) =>
        timeIn(line) >= firstMs &&
        timeIn(line) <= endMs &&
        !struck.some(([fromMs, toMs]) => timeIn(line) > fromMs && timeIn(line) < toMs);
      const stored = linesOf(archive, listing.slug, outcome);
      const all = expected[outcome].lines;
      if (firstMs === Number.POSITIVE_INFINITY) continue;
      expect(difference(stored.filter(isOutside), all.filter(isOutside))).toEqual({ extra: [], missing: [] });
      compared += all.filter(isOutside).length;
      // What is missing within them is in a gap, but for what was before the first start.
      const has = new Set(stored);
      const missing = all.filter((line) => !has.has(line) && timeIn(line) >= firstMs && timeIn(line) <= endMs);
      const isInGap = (line: string) => gaps.some(({ fromMs, toMs }) => timeIn(line) >= fromMs && timeIn(line) <= toMs);
      expect(missing.filter((line) => !isInGap(line)).slice(0, 3)).toEqual([]);
      lost += missing.length;
      for (const [place, { killedMs }] of losses.entries()) {
        const againMs = losses[place - 1]?.wholeMs.get(assetId) ?? killedMs;
        const firstLost = missing.find((line) => timeIn(line) >= againMs && timeIn(line) < killedMs);
        if (firstLost !== undefined) lostMs.push(killedMs - timeIn(firstLost));
      }
    }
  }
  expect(compared).toBeGreaterThan(KILLS * 50);
  figure(
    'kill -9',
    `${KILLS} kills at ${EVENTS_PER_SECOND} changes/s`,
    `${compared} books of the times in between compared, 0 lost; ${lost} of the last seconds and the restarts, all in gaps; ` +
      `the first lost book was at most ${(Math.max(...lostMs) / 1000).toFixed(2)} s before its kill, ${(medianOf(lostMs) / 1000).toFixed(2)} s in the median`,
  );
}, 3_600_000);
