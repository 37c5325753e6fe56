import { expect, test } from 'bun:test';
import { OUTCOMES, type Outcome } from '../../src/domain/outcome.ts';
import type { Archive } from '../../src/store/archive.ts';
import { busyDisk } from './busy-disk.ts';
import {
  expectJournalStored,
  gapsIn,
  isChangeOf,
  linesOutside,
  messageTime,
  recordedPlace,
  SLUG,
  START_MS,
  timeIn,
} from './recorded-place.ts';
import { gapsOf, linesOf } from './recorded-run.ts';
import { turn } from './simulated-clock.ts';
import type { SimulatedMarket } from './simulated-market.ts';

const END_MS = START_MS + 300_000;
/** Long enough for one gap. */
const SHORT_MS = START_MS + 130_000;
/** When frames first cannot be used. */
const DAMAGED_MS = START_MS + 15_000;
/** From one damage to the next: an asset is subscribed again at most every 30 s. */
const DAMAGE_MS = 34_000;
const MB = 2 ** 20;
const CUTS = 8;

/** From the last book before the loss of a change to the first right one that is stored since. */
function boundsOf(archive: Archive, market: SimulatedMarket, outcome: Outcome, lostMs: number) {
  const { lines } = market.expected[outcome];
  const right = new Set(lines);
  const stored = linesOf(archive, SLUG, outcome).filter((line) => right.has(line));
  const fromMs = lines.map(timeIn).findLast((timeMs) => timeMs < lostMs)!;
  return { fromMs, toMs: stored.map(timeIn).find((timeMs) => timeMs >= lostMs)! };
}

/** Outside the gaps exactly the books of the market are stored. */
async function expectNothingElseLost(place: ReturnType<typeof recordedPlace>) {
  const { archive, market } = place;
  for (const outcome of OUTCOMES) {
    const stored = linesOutside(archive, outcome);
    const opening = stored[0]!;
    expect(stored.length).toBeGreaterThan(250);
    expect(stored).toEqual(
      linesOutside(archive, outcome, market.expected[outcome].lines).filter((line) => timeIn(line) >= timeIn(opening)),
    );
  }
  await expectJournalStored(place);
}

const HASH = /"hash":"\w+"/g;

/** Each damage of a frame of changes: its name, how it comes about, and the text of the log. */
const DAMAGES: readonly (readonly [what: string, damaged: (text: string) => string, logged: string | undefined])[] = [
  ['broken JSON', (text) => text.slice(0, -2), 'a frame of socket 1 that begins with "'],
  ['no object', () => '"changed"', 'that begins with "\\"changed\\"" cannot be read: '],
  ['an unknown event', (text) => text.replace('"price_change"', '"level_change"'), 'event_type "level_change"'],
  ['a price above 1', (text) => text.replaceAll('"price":"', '"price":"1'), 'price'],
  ['a negative size', (text) => text.replaceAll('"size":"', '"size":"-1'), 'size'],
  ['a side that is none', (text) => text.replace(/"side":"\w+"/g, '"side":"HOLD"'), 'side'],
  ['an unknown asset', (text) => text.replaceAll('"asset_id":"', '"asset_id":"1'), 'asset'],
  ['a wrong hash', (text) => text.replace(HASH, `"hash":"${'0'.repeat(40)}"`), undefined],
];

test('A change that cannot be used, for whatever reason, is a gap from the last right book to the next one, and nothing else is lost.', async () => {
  using place = recordedPlace({ eventsPerSecond: 2 });
  const { venue, run, archive, record } = place;
  /** The times of the damaged changes, the same on all sockets. */
  const damagedMs: number[] = [];
  venue.change = (text) => {
    const timeMs = messageTime(text);
    if (!isChangeOf(text, place.market)) return text;
    const due = DAMAGES[damagedMs.length];
    if (due !== undefined && timeMs >= DAMAGED_MS + damagedMs.length * DAMAGE_MS) damagedMs.push(timeMs);
    return DAMAGES[damagedMs.indexOf(timeMs)]?.[1](text) ?? text;
  };
  run.recorder.start();
  await record(END_MS);
  expect(await run.recorder.stop()).toBe(true);
  const rejected = run.log.filter((line) => line.includes('of the journal cannot be stored'));
  for (const [index, logged] of DAMAGES.flatMap(([, , text]) => text ?? []).entries())
    expect(rejected[index]).toContain(logged);
  for (const outcome of OUTCOMES) {
    const gaps = gapsIn(archive, outcome);
    expect(gaps.map(({ fromMs, toMs }, index) => [DAMAGES[index]?.[0], { fromMs, toMs }])).toEqual(
      damagedMs.map((atMs, index) => [DAMAGES[index]![0], boundsOf(archive, place.market, outcome, atMs)]),
    );
    for (const { reason } of gaps) {
      expect([
        `the recorded book of ${outcome} differs from the changes before it in 1 level`,
        `the book of ${outcome} changed in 1 level, and no change was recorded`,
        `the hashes of the changes of ${outcome} do not match the rebuilt book`,
      ]).toContain(reason);
    }
  }
  await expectNothingElseLost(place);
});

test('Changes that cannot be used of one socket cost nothing while another one brings them whole.', async () => {
  using place = recordedPlace({ eventsPerSecond: 2 });
  const { venue, run, archive, record } = place;
  let frames = 0;
  venue.change = (text, socket) => {
    if (socket !== 1 || !isChangeOf(text, place.market) || messageTime(text) < DAMAGED_MS) return text;
    frames += 1;
    return DAMAGES[frames % (2 * DAMAGES.length)]?.[1](text) ?? text;
  };
  run.recorder.start();
  await record(SHORT_MS);
  expect(await run.recorder.stop()).toBe(true);
  expect(frames).toBeGreaterThan(100);
  expect(gapsOf(archive, SLUG)).toEqual([]);
  await expectNothingElseLost(place);
});

test('Frames that the disk does not take are a gap with this reason, from the first one to the next book, and nothing else is lost.', async () => {
  using place = recordedPlace({ eventsPerSecond: 2 });
  const { venue, run, archive, record, clock } = place;
  let firstMs = Infinity;
  run.recorder.start();
  await record(DAMAGED_MS);
  {
    using disk = await busyDisk(run.directory.path);
    // Frames without content fill the queue.
    for (let part = 0; part < 17; part += 1) venue.sockets[0]!.onText(`[]${' '.repeat(4 * MB)}`);
    venue.change = (text) => {
      firstMs = Math.min(firstMs, messageTime(text) || Infinity);
      return text;
    };
    await clock.run(DAMAGED_MS + 10_000, turn);
    venue.change = (text) => text;
    disk.wake();
    // The last lines wait for the clock, which stands.
    while (run.recorder.status().journal.queuedBytes > MB) await Bun.sleep(5);
  }
  await record(SHORT_MS);
  expect(await run.recorder.stop()).toBe(true);
  expect(run.log.filter((line) => line === 'the disk does not keep up: frames are lost')).toHaveLength(1);
  for (const outcome of OUTCOMES) {
    const gaps = gapsIn(archive, outcome);
    expect(gaps).toMatchObject([boundsOf(archive, place.market, outcome, firstMs)]);
    expect(gaps[0]!.reason).toEndWith(': the disk of the recorder did not keep up');
  }
  await expectNothingElseLost(place);
});

test.each([0, 3000])(
  'Changes that undo each other while no socket is open are in a gap, although the book after it is that before it, also by a clock that is %d ms ahead.',
  async (aheadMs) => {
    using place = recordedPlace({ eventsPerSecond: 1, sockets: 1, undoes: true, aheadMs });
    const { proxy, run, archive, record } = place;
    run.recorder.start();
    for (let cut = 0; cut < CUTS; cut += 1) {
      await record(START_MS + cut * 30_000);
      proxy.refuse(/^\/ws\/market$/, 503, 8000 + 700 * cut);
      for (const link of proxy.links) link.kill();
    }
    await record(START_MS + CUTS * 30_000);
    expect(await run.recorder.stop()).toBe(true);
    for (const outcome of OUTCOMES) {
      const stored = linesOutside(archive, outcome);
      const isRecorded = (line: string) => timeIn(line) >= timeIn(stored[0]!) && timeIn(line) <= timeIn(stored.at(-1)!);
      expect(stored).toEqual(linesOutside(archive, outcome, place.market.expected[outcome].lines.filter(isRecorded)));
      const gaps = gapsIn(archive, outcome);
      expect(gaps).toHaveLength(CUTS);
      // Otherwise no book came back as it was.
      expect(gaps.some(({ reason }) => reason.startsWith('no socket was open'))).toBe(true);
    }
    await expectJournalStored(place);
  },
);
