import { expect, test } from 'bun:test';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import type { Archive } from '../../src/store/archive.ts';
import { exported } from '../export/exported.ts';
import { realRecording } from '../support/real-recordings.ts';
import { capturedVenue } from './captured-venue.ts';
import { difference } from './difference.ts';
import type { LinkFaults } from './link-faults.ts';
import { gapsOf, linesOf, RecordedRun } from './recorded-run.ts';

const CAPTURE = realRecording('ws-capture-5m');

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

test.skipIf(CAPTURE === undefined).each(CASES)(
  'the recording of a capture is the capture, with %s',
  async (_, faultsOf) => {
    using venue = await capturedVenue(CAPTURE!, { faultsOf });
    const { clock, proxy, capture, source } = venue;
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
    const expected = await recordsOf(source, capture.listing.conditionId);
    expect(difference(found, expected).missing).toEqual([]);
    // Books after subscriptions state the last trade, also at times at which the source has none.
    expect(difference(found, expected).extra.filter((line) => !line.includes('lastTradePrice'))).toEqual([]);
  },
);
