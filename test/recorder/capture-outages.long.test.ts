import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SeededRandom } from '../../fixtures/random.ts';
import type { Gap } from '../../src/domain/gap.ts';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { realRecording } from '../support/real-recordings.ts';
import { type CapturedSource, capturedSource, capturedVenue } from './captured-venue.ts';
import { difference } from './difference.ts';
import { outagesOf } from './outages.ts';
import { gapsOf, linesOf, RecordedRun } from './recorded-run.ts';
import { figureOfAll, SEEDS } from './results.ts';

const CAPTURE = realRecording('ws-capture-5m');

let source: CapturedSource;
beforeAll(async () => {
  if (CAPTURE !== undefined) source = await capturedSource(CAPTURE);
});
afterAll(() => source?.[Symbol.dispose]());

/** The tolerance of a gap's ends. */
const ENDS_MS = 50;

/** Gaps as ranges: hashes may show a second one shortly before an outage. */
function joined(gaps: readonly Gap[]): { fromMs: number; toMs: number }[] {
  const ranges: { fromMs: number; toMs: number }[] = [];
  for (const { fromMs, toMs } of gaps.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = ranges.at(-1);
    // What the recorder states and hashes show is one gap.
    expect(fromMs).toBeGreaterThanOrEqual(last?.toMs ?? 0);
    if (last !== undefined && fromMs <= last.toMs + ENDS_MS) last.toMs = Math.max(last.toMs, toMs);
    else ranges.push({ fromMs, toMs });
  }
  return ranges;
}

const timeIn = (line: string) => Number(line.slice(0, line.indexOf(' ')));

const kept: string[] = [];
figureOfAll('a socket killed 20 times', `a real capture, ${SEEDS.length} seeds`, kept, SEEDS.length);

test.skipIf(CAPTURE === undefined).each(SEEDS)(
  'a socket that is killed 20 times costs nothing while the other one is open (seed %d)',
  async (seed) => {
    const { capture } = source;
    const { clock, proxy } = capturedVenue(source);
    using run = new RecordedRun(proxy, clock);
    const random = new SeededRandom(`kills ${seed}`);
    let kills = 0;
    const kill = () => {
      // The links whose client has its books: at least one of them stays.
      const open = proxy.links.filter(({ hasBooks }) => hasBooks);
      if (open.length > 1) {
        open[random.below(open.length)]!.kill(random.chance(0.5) ? 'reset' : 'restart');
        kills += 1;
      }
      if (kills < 20) clock.after(200 + random.below(300), kill);
    };
    clock.after(capture.firstMs + 500 - clock.nowUs() / 1000, kill);
    run.recorder.start();
    await run.run(capture.lastMs + 5000);
    using recorded = await run.contents();
    expect(kills).toBeGreaterThanOrEqual(15);
    for (const [index, outcome] of OUTCOMES.entries()) {
      const found = linesOf(recorded.archive, capture.listing.slug, outcome);
      expect(difference(found, capture.lines(index))).toEqual({ extra: [], missing: [] });
      expect(found).toHaveLength(4562);
    }
    expect(gapsOf(recorded.archive, capture.listing.slug)).toEqual([]);
    kept.push('4562 + 4562 snapshots of 4562 + 4562, 0 extra, 0 gaps');
  },
);

const found: string[] = [];
const outagesText = `a real capture, 4 outages, ${SEEDS.length} seeds`;
figureOfAll('one socket', outagesText, found, SEEDS.length);

test.skipIf(CAPTURE === undefined).each(SEEDS)(
  'with one socket every outage is a gap with exact ends, and nothing else is (seed %d)',
  async (seed) => {
    const delivered: string[] = [];
    const { capture } = source;
    const { clock, proxy } = capturedVenue(source, { delivered: (_, text) => void delivered.push(text) });
    using run = new RecordedRun(proxy, clock, { sockets: 1 });
    const random = new SeededRandom(`outages ${seed}`);
    for (let index = 0; index < 4; index += 1) {
      const atMs = capture.firstMs + 1500 + index * 3000 + random.below(1500);
      clock.after(atMs - clock.nowUs() / 1000, () => proxy.links[0]?.kill());
    }
    run.recorder.start();
    await run.run(capture.lastMs + 5000);
    using recorded = await run.contents();
    const gaps = gapsOf(recorded.archive, capture.listing.slug);
    for (const [index, outcome] of OUTCOMES.entries()) {
      const outages = outagesOf(capture, index, delivered);
      expect(outages.length).toBeGreaterThan(0);
      const found = gaps.filter(({ reason }) => reason.includes(` of ${outcome} `) || reason.includes('up and down'));
      const ranges = joined(found);
      expect(ranges).toHaveLength(outages.length);
      expect(found.filter(({ reason }) => reason.includes('no socket was open (killed)'))).toHaveLength(outages.length);
      for (const [place, { lastRightMs, firstLostMs, wholeMs }] of outages.entries()) {
        const { fromMs, toMs } = ranges[place]!;
        expect(fromMs).toBeGreaterThanOrEqual(lastRightMs - ENDS_MS);
        expect(fromMs).toBeLessThanOrEqual(firstLostMs + ENDS_MS);
        expect(Math.abs(toMs - wholeMs)).toBeLessThanOrEqual(ENDS_MS);
      }
      const isOutside = (line: string) =>
        !found.some(({ fromMs, toMs }) => timeIn(line) >= fromMs && timeIn(line) <= toMs);
      const [stored, expected] = [linesOf(recorded.archive, capture.listing.slug, outcome), capture.lines(index)];
      expect(difference(stored.filter(isOutside), expected.filter(isOutside))).toEqual({ extra: [], missing: [] });
    }
    found.push(`every outage is a gap, its ends within ${ENDS_MS} ms, 0 others; every book outside is right`);
  },
);
