import { afterAll, beforeAll, expect, test } from 'bun:test';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import type { Archive } from '../../src/store/archive.ts';
import { exported } from '../export/exported.ts';
import { realRecording } from '../support/real-recordings.ts';
import { type CapturedSource, capturedSource, capturedVenue } from './captured-venue.ts';
import { difference } from './difference.ts';
import type { LinkFaults } from './link-faults.ts';
import { gapsOf, linesOf, RecordedRun } from './recorded-run.ts';
import { figureOfAll } from './results.ts';

const CAPTURE = realRecording('ws-capture-5m');

let source: CapturedSource;
let records: readonly string[];
beforeAll(async () => {
  if (CAPTURE === undefined) return;
  source = await capturedSource(CAPTURE);
  records = await recordsOf(source.archive, source.capture.listing.conditionId);
});
afterAll(() => source?.[Symbol.dispose]());

/** The records of an archive without their ids and what states when they were stored, sorted. */
async function recordsOf(archive: Archive, conditionId = ''): Promise<string[]> {
  const lines = (await exported(archive, 'ndjson')).bytes.toString().trimEnd().split('\n');
  return lines
    .flatMap((line) => {
      const { id, receivedAt, ...record } = JSON.parse(line);
      return record.type === 'market' || !line.includes(conditionId) ? [] : [JSON.stringify(record)];
    })
    .sort();
}

const CASES: readonly (readonly [string, (number: number) => Partial<LinkFaults>])[] = [
  ['no fault', () => ({})],
  ['reordered frames', () => ({ reorderMsMax: 90 })],
  ['frames lost on one socket', (number) => (number % 2 === 0 ? { drop: 0.05 } : {})],
  ['a subscription that is not answered', (number) => (number === 1 ? { unanswered: 1 } : {})],
  ['doubled, late and recut frames', () => ({ double: 0.1, delayMsMax: 200, recuts: true })],
];

const whole: string[] = [];
const faultsText = `a real capture: ${CASES.map(([name]) => name).join(', ')}`;
figureOfAll('faults of the venue', faultsText, whole, CASES.length);

test.skipIf(CAPTURE === undefined).each(CASES)(
  'the recording of a capture is the capture, with %s',
  async (_, faultsOf) => {
    const { capture } = source;
    const { clock, proxy } = capturedVenue(source, { faultsOf });
    using run = new RecordedRun(proxy, clock);
    run.recorder.start();
    await run.run(capture.lastMs + 5000);
    using recorded = await run.contents();
    for (const [index, outcome] of OUTCOMES.entries()) {
      const expected = capture.lines(index);
      expect(expected).toHaveLength(4562);
      const found = linesOf(recorded.archive, capture.listing.slug, outcome);
      expect(difference(found, expected)).toEqual({ extra: [], missing: [] });
      expect(found).toHaveLength(expected.length);
    }
    expect(gapsOf(recorded.archive, capture.listing.slug)).toEqual([]);
    const found = await recordsOf(recorded.archive);
    const { missing, extra } = difference(found, records);
    expect(missing).toEqual([]);
    // Books after subscriptions state the last trade, also at times at which the source has none.
    expect(extra.filter((line) => !line.includes('lastTradePrice'))).toEqual([]);
    whole.push('the same records each time, 4562 + 4562 snapshots, 0 gaps');
  },
);
