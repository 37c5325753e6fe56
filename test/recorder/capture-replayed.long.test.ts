import { afterAll, beforeAll, expect, test } from 'bun:test';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { Replay } from '../../src/replay/replay.ts';
import type { Archive } from '../../src/store/archive.ts';
import { EVERYTHING } from '../http/replay/replaying.ts';
import { RecordingConnection, venueSession } from '../replay/recording-connection.ts';
import { realRecording } from '../support/real-recordings.ts';
import { type CapturedSource, capturedSource, capturedVenue } from './captured-venue.ts';
import { difference } from './difference.ts';
import { gapsOf, linesOf, RecordedRun } from './recorded-run.ts';
import { turn } from './simulated-clock.ts';

const CAPTURE = realRecording('ws-capture-5m');

let source: CapturedSource;
beforeAll(async () => {
  if (CAPTURE !== undefined) source = await capturedSource(CAPTURE);
});
afterAll(() => source?.[Symbol.dispose]());

/** Everything that a bot of the market channel gets that connects before the first book of a market. */
async function framesTo(
  archive: Archive,
  slug: string,
  assetIds: readonly string[],
  fromMs: number,
): Promise<string[]> {
  const selection = { ...EVERYTHING.selection, names: [slug] };
  const options = { ...EVERYTHING, selection, fromMs, speed: 'max' } as const;
  const replay = new Replay(archive, options, { monotonicMs: () => performance.now(), wallMs: () => 0 });
  const connection = new RecordingConnection();
  const session = venueSession(replay, connection);
  // Without custom features: when a market was listed is not in the capture.
  session.received(JSON.stringify({ type: 'market', assets_ids: assetIds }));
  replay.resume();
  while (replay.clock.state !== 'ended') await turn();
  session.closed();
  return connection.frames;
}

test.skipIf(CAPTURE === undefined).each([
  ['the messages of a capture', false],
  ['what our replay makes of a capture', true],
] as const)(
  'a bot on a replay of what was recorded sees what one on the source sees, byte for byte: %s',
  async (_, isReplayed) => {
    const { capture, archive } = source;
    const { clock, proxy } = capturedVenue(source, {}, isReplayed);
    using run = new RecordedRun(proxy, clock);
    run.recorder.start();
    await run.run(capture.lastMs + 5000);
    using recorded = await run.contents();
    const { slug, assetIds } = capture.listing;
    for (const [index, outcome] of OUTCOMES.entries()) {
      expect(difference(linesOf(recorded.archive, slug, outcome), capture.lines(index))).toEqual({
        extra: [],
        missing: [],
      });
    }
    expect(gapsOf(recorded.archive, slug)).toEqual([]);
    const seen = (archive: Archive) => framesTo(archive, slug, assetIds, capture.firstMs - 1000);
    // A replay sends the whole book of a trade a little later than the venue, which dates the price of the trade in hashes anew.
    const compared = (frame: string) => (isReplayed ? frame.replaceAll(/"hash":"\w+"/g, '"hash":""') : frame);
    const expected = (await seen(archive)).map(compared);
    const found = (await seen(recorded.archive)).map(compared);
    expect(expected.length).toBeGreaterThan(5000);
    expect(difference(found, expected)).toEqual({ extra: [], missing: [] });
    expect(found.join('\n') === expected.join('\n')).toBe(true);
  },
);
