import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SeededRandom } from '../../fixtures/random.ts';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { marketOf } from '../support/imported.ts';
import { gapsOf, linesOf, RecordedRun } from './recorded-run.ts';
import { SimulatedClock, turn } from './simulated-clock.ts';
import { SimulatedDirectory } from './simulated-directory.ts';
import type { SimulatedMarket } from './simulated-market.ts';
import { VenueProxy } from './venue-proxy.ts';
import type { Venue } from './venue-socket.ts';
import { VenueStandIn } from './venue-stand-in.ts';

const START_MS = Date.UTC(2026, 5, 1);
const WINDOW_MS = 300_000;
const PACE = { eventsPerSecond: 2, beforeStartMs: 50_000, keepsLines: true };

/** A network between the recorder and the venue that can be cut: nothing passes, and nobody notices at once. */
class Network implements Venue {
  readonly #venue: Venue;
  isCut = false;

  constructor(venue: Venue) {
    this.#venue = venue;
  }

  connect(events: Parameters<Venue['connect']>[0]) {
    const isOpenable = !this.isCut;
    const socket = this.#venue.connect({
      onOpen: () => isOpenable && events.onOpen(),
      onText: (text) => !this.isCut && events.onText(text),
      onEnd: (reason) => events.onEnd(reason),
    });
    return { send: (text: string) => void (this.isCut || socket.send(text)), close: () => socket.close() };
  }

  async answer(path: string, body?: string) {
    if (this.isCut) throw new Error('the network is down');
    return await this.#venue.answer(path, body);
  }
}

function simulatedPlace() {
  const clock = new SimulatedClock(START_MS - 16 * 60_000);
  const markets = new Map<string, SimulatedMarket>();
  const directory = new SimulatedDirectory(['btc'], PACE, (market) => void markets.set(market.listing.slug, market));
  const network = new Network(new VenueProxy({ venue: new VenueStandIn(clock, directory), clock, seed: 'losses' }));
  return { clock, network, markets, slug: `btc-updown-5m-${START_MS / 1000}` };
}

const timeIn = (line: string) => Number(line.slice(0, line.indexOf(' ')));

/** Every book is stored, or lies in a gap; `mostMs`: gaps are no longer than this in total. */
async function expectWhole(run: RecordedRun, market: SimulatedMarket, mostMs: number, reasons: readonly string[]) {
  const { slug } = market.listing;
  using recorded = await run.contents();
  const gaps = gapsOf(recorded.archive, slug);
  for (const outcome of OUTCOMES) {
    const own = gaps.filter(({ reason }) => reason.includes(` of ${outcome} `));
    const stored = new Set(linesOf(recorded.archive, slug, outcome));
    const missing = market.expected[outcome].lines.filter(
      (line) => !stored.has(line) && timeIn(line) >= START_MS - 40_000,
    );
    const isInGap = (line: string) => own.some(({ fromMs, toMs }) => timeIn(line) >= fromMs && timeIn(line) <= toMs);
    expect(missing.length).toBeGreaterThan(0);
    expect(missing.filter((line) => !isInGap(line))).toEqual([]);
    const longest = Math.max(...own.map(({ fromMs, toMs }) => toMs - fromMs));
    expect(longest).toBeLessThanOrEqual(mostMs);
    for (const reason of reasons) expect(own.map((gap) => gap.reason).join('; ')).toContain(reason);
  }
}

/** A journal gives the same gaps, one for each outage, at once, in parts as a recorder stores it, and again. */
async function expectSameInParts(journal: string, slug: string) {
  const lines = readdirSync(journal)
    .filter((name) => name.endsWith('.zst'))
    .toSorted()
    .flatMap((name) =>
      Bun.zstdDecompressSync(readFileSync(join(journal, name)))
        .toString()
        .trimEnd()
        .split('\n'),
    );
  const random = new SeededRandom(slug);
  using files = temporaryDirectory();
  const [whole, parts] = [temporaryArchive(), temporaryArchive()];
  using stack = new DisposableStack();
  for (const place of [whole, parts]) stack.use(place);
  await importPaths(whole.archive, journal);
  for (let from = 0; from < lines.length; ) {
    const to = from + 1 + random.below(1500);
    const path = join(files.path, `${from}.jsonl`);
    writeFileSync(path, lines.slice(from, to).join('\n'));
    await importPaths(parts.archive, path);
    from = to;
  }
  const gaps = gapsOf(whole.archive, slug);
  expect(gaps.length).toBeGreaterThan(0);
  for (const outcome of OUTCOMES) {
    const own = gaps.filter(({ reason }) => reason.includes(` of ${outcome} `));
    for (const [index, { fromMs }] of own.entries()) expect(fromMs).toBeGreaterThanOrEqual(own[index - 1]?.toMs ?? 0);
  }
  expect(gapsOf(parts.archive, slug)).toEqual(gaps);
  expect((await importPaths(parts.archive, journal)).total).toMatchObject({ stored: 0, gaps: 0 });
  expect(gapsOf(parts.archive, slug)).toEqual(gaps);
}

test.each([1, 2])(
  'A network that is cut for a minute without a sign is a gap from its first second on (%d sockets).',
  async (sockets) => {
    const { clock, network, markets, slug } = simulatedPlace();
    using run = new RecordedRun(network, clock, { sockets });
    run.recorder.start();
    await run.run(START_MS + 100_000);
    network.isCut = true;
    await run.run(START_MS + 160_000);
    network.isCut = false;
    await run.run(START_MS + WINDOW_MS + 70_000);
    await expectWhole(run, markets.get(slug)!, 90_000, ['no socket was open']);
    if (sockets === 1) await expectSameInParts(join(run.directory.path, 'journal'), slug);
  },
);

test('A window that begins without a connection is a gap from its start to its first book.', async () => {
  const { clock, network, markets, slug } = simulatedPlace();
  using run = new RecordedRun(network, clock);
  run.recorder.start();
  await run.run(START_MS - 150_000);
  network.isCut = true;
  await run.run(START_MS + 60_000);
  network.isCut = false;
  await run.run(START_MS + WINDOW_MS + 70_000);
  const market = markets.get(slug)!;
  using recorded = await run.contents();
  for (const outcome of OUTCOMES) {
    const own = gapsOf(recorded.archive, slug).filter(({ reason }) => reason.includes(` of ${outcome} `));
    const [first] = own;
    expect(first).toMatchObject({ fromMs: START_MS });
    expect(first!.reason).toContain('no book had come when the window began');
    const stored = new Set(linesOf(recorded.archive, slug, outcome));
    const isStored = (line: string) => stored.has(line) || timeIn(line) <= first!.toMs;
    expect(market.expected[outcome].lines.filter((line) => !isStored(line))).toEqual([]);
  }
});

test('What two restarts interrupt is one gap, also if the recorder between them heard nothing from the venue.', async () => {
  const { clock, network, markets, slug } = simulatedPlace();
  using first = new RecordedRun(network, clock);
  first.recorder.start();
  await first.run(START_MS + 100_000);
  const before = first.recorder.status();
  await first.recorder.stop();
  network.isCut = true;
  const second = new RecordedRun(network, clock, { before }, first.directory);
  second.recorder.start();
  await second.run(START_MS + 130_000);
  const between = second.recorder.status();
  await second.recorder.stop();
  network.isCut = false;
  const third = new RecordedRun(network, clock, { before: between }, first.directory);
  third.recorder.start();
  await third.run(START_MS + WINDOW_MS + 70_000);
  await expectWhole(third, markets.get(slug)!, 60_000, ['the recorder was not running']);
});

test('A gap that is open when a recorder ends in the minute after its window is written by the next one.', async () => {
  const { clock, network, markets, slug } = simulatedPlace();
  using first = new RecordedRun(network, clock);
  first.recorder.start();
  await first.run(START_MS + 100_000);
  network.isCut = true;
  await first.run(START_MS + WINDOW_MS + 30_000);
  const before = first.recorder.status();
  await first.recorder.stop();
  network.isCut = false;
  const second = new RecordedRun(network, clock, { before }, first.directory);
  second.recorder.start();
  await second.run(START_MS + WINDOW_MS + 90_000);
  await expectWhole(second, markets.get(slug)!, WINDOW_MS, ['no socket was open']);
});

test('The winner of a window that ended shortly before or after its recorder is asked for by the next one.', async () => {
  const { clock, network, slug } = simulatedPlace();
  using first = new RecordedRun(network, clock);
  first.recorder.start();
  await first.run(START_MS + WINDOW_MS + 30_000);
  const before = first.recorder.status();
  await first.recorder.stop();
  await clock.run(START_MS + 2 * WINDOW_MS + 30_000, turn);
  using second = new RecordedRun(network, clock, { before }, first.directory);
  second.recorder.start();
  await second.run(START_MS + 5 * WINDOW_MS);
  using recorded = await second.contents();
  for (const startMs of [START_MS, START_MS + WINDOW_MS]) {
    const market = marketOf(recorded.archive, slug.replace(String(START_MS / 1000), String(startMs / 1000)));
    expect(market).toMatchObject({ winner: expect.any(String), priceStart: expect.any(Number) });
  }
});

test('The offset of the clock is that of changes: a first book has the time of its last change, which may be long ago.', async () => {
  const { clock, network, slug } = simulatedPlace();
  using run = new RecordedRun(network, clock, { once: slug });
  run.recorder.start();
  await run.run(START_MS - 60_000);
  const { windows, clock: early } = run.recorder.status();
  expect([windows[0]!.firstBookMs.includes(null), early.offsetMs]).toEqual([false, null]);
  await run.run(START_MS);
  expect(run.recorder.status().clock.offsetMs).toBe(0);
  await run.recorder.stop();
});
