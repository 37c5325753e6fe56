import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { openArchive } from '../../src/store/archive.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { importRecords, NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { listen } from './proxy-listener.ts';
import { RecorderProcess } from './recorder-process.ts';
import { SimulatedDirectory } from './simulated-directory.ts';
import { realClock } from './venue-clock.ts';
import { VenueProxy } from './venue-proxy.ts';
import { VenueStandIn } from './venue-stand-in.ts';

test('A recorder with --keep deletes older markets of any coin while it records, and says so in its log and in the audit.', async () => {
  using place = temporaryArchive();
  const old = 'sol-updown-15m-1776323400';
  const at = (ms: number) => new Date(ms).toISOString();
  const nowMs = Date.now();
  const current = { conditionId: '0x9', slug: 'current', startTime: at(nowMs), endTime: at(nowMs + 900_000) };
  await importRecords(place.archive, [
    ...[sampleMarket({ slug: old }), sampleSnapshot()],
    // By which the age counts.
    ...[sampleMarket(current), sampleSnapshot({ conditionId: '0x9', timestamp: at(nowMs) })],
  ]);
  place.archive.database.close();
  openRegistry(place.path, { create: true })[Symbol.dispose]();
  const clock = realClock();
  const simulated = new SimulatedDirectory(
    ['btc'],
    { eventsPerSecond: 20, beforeStartMs: 0, keepsLines: false },
    () => undefined,
  );
  const proxy = new VenueProxy({ venue: new VenueStandIn(clock, simulated), clock, seed: 'upkeep' });
  await using listener = listen(proxy);
  const options = ['--coin', 'btc', '--tf', '5m', '--keep', '1d', '--seal', '12h'];
  const recorder = new RecorderProcess(place.path, listener.url, options);
  await using child = recorder.child;
  while (!/deleted 1 market that ended before \d{4}-\d\d-\d\d, as --keep says"/.test(child.stderr())) {
    if (child.code !== undefined) throw new Error(child.stderr());
    await Bun.sleep(20);
  }
  const { keepMs } = await recorder.until(({ totals }) => totals.frames > 0);
  expect(keepMs).toBe(86_400_000);
  expect(await recorder.stop()).toBe(0);
  const archive = openArchive(place.path, NOW_MS, { create: false });
  expect(archive.markets.findBySlug(old)).toBeUndefined();
  archive.database.close();
  using registry = openRegistry(place.path, { create: false });
  const [entry] = registry.database.read(() => registry.audit.list(1, { action: 'recordings.delete' }));
  expect(entry?.detail).toMatchObject({ markets: 1, records: 1 });
});

test("A recorder keeps its engine's memory, but for what its user has set", async () => {
  using directory = temporaryDirectory();
  const options = ['--coin', 'btc', '--tf', '5m'];
  const recorder = new RecorderProcess(directory.path, 'http://127.0.0.1:9', options, { BUN_JSC_useFTLJIT: '1' });
  await using child = recorder.child;
  const { processId } = await recorder.until(() => true);
  expect(processId).toBe(child.pid);
  const variables = readFileSync(`/proc/${child.pid}/environ`, 'utf8').split('\0');
  expect(variables.filter((one) => /^(?:MIMALLOC|BUN_JSC)_/.test(one)).toSorted()).toEqual([
    'BUN_JSC_forceRAMSize=40000000',
    'BUN_JSC_useFTLJIT=1',
    'MIMALLOC_PURGE_DELAY=-1',
  ]);
  expect(await recorder.stop()).toBe(0);
});
