import { expect, test } from 'bun:test';
import { MIRROR_MODES, type MirrorMode } from '../../src/replay/market-state.ts';
import { Replay } from '../../src/replay/replay.ts';
import type { Archive } from '../../src/store/archive.ts';
import { EVERYTHING } from '../http/replay/replaying.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { START_MS } from '../support/sample-records.ts';
import { ASSETS, type Recorded, randomRecording } from './random-recording.ts';
import { RecordingConnection, venueSession } from './recording-connection.ts';
import { tardisServer } from './tardis-server.ts';

const BOTH = [ASSETS.up, ASSETS.down];
const END_MS = START_MS + 60_000;
const STYLE = { outcomes: ['up', 'down'], count: 120, priceScale: 3, trades: true, gaps: 3, stepMs: 100 } as const;
const DATA_TYPES = ['book_change', 'trade', 'quote', 'book_snapshot_3_1s', 'trade_bar_10ticks'];

/** One in how many records of an outcome is recorded; 0: none. `known` is the share of records that is known. */
const CASES = [
  { up: 1, down: 1, known: 0.4 },
  { up: 1, down: 13, known: 0.75 },
  { up: 13, down: 1, known: 0.6 },
  { up: 1, down: 0, known: 0.5 },
] as const;
type Density = Pick<(typeof CASES)[number], 'up' | 'down'>;

/** A market, and its records in order. */
function recordingOf(seed: number, density: Density) {
  const { recorded, lines } = randomRecording(seed, STYLE);
  const [market, ...records] = lines;
  const isKept = (record: Recorded, nth: number) => {
    if (record.kind === 'gap') return true;
    const every = density[record.outcome];
    return every > 0 && nth % every === 0;
  };
  const kept = recorded
    .map((record, nth) => ({ timestampMs: record.timestampMs, line: records[nth]!, isKept: isKept(record, nth) }))
    .filter((each) => each.isKept)
    .sort((a, b) => a.timestampMs - b.timestampMs);
  return { market: market!, kept };
}

/** Every message of a client of the market channel, from an instant on. */
async function framesOf(archive: Archive, mirror: MirrorMode, fromMs: number): Promise<string[]> {
  const options = { ...EVERYTHING, mirror, fromMs, toMs: END_MS, speed: 'max' } as const;
  const replay = new Replay(archive, options, { monotonicMs: () => performance.now(), wallMs: () => 0 });
  const connection = new RecordingConnection();
  const session = venueSession(replay, connection);
  session.received(JSON.stringify({ type: 'market', assets_ids: BOTH, custom_feature_enabled: true }));
  replay.clock.resume();
  while (replay.clock.state !== 'ended') await new Promise((resolve) => setImmediate(resolve));
  session.closed();
  return connection.frames;
}

/** All that clients get of an archive in both mirror modes, from each of the instants on: each is a list of messages in order. */
async function streamsOf(archive: Archive, ...starts: readonly number[]): Promise<readonly (readonly string[])[]> {
  let mirror: MirrorMode = 'fresh';
  await using tardis = tardisServer(archive, { mirror: () => mirror });
  const streams: (readonly string[])[] = [];
  for (mirror of MIRROR_MODES) {
    for (const fromMs of starts) {
      const window = {
        exchange: 'polymarket',
        from: new Date(fromMs).toISOString(),
        to: new Date(END_MS).toISOString(),
      };
      const normalized = { ...window, symbols: BOTH, dataTypes: DATA_TYPES, withDisconnectMessages: true };
      streams.push(await framesOf(archive, mirror, fromMs));
      streams.push(await tardis.lines('/replay', { ...window, withDisconnects: true }));
      streams.push(await tardis.lines('/replay-normalized', normalized));
    }
  }
  return streams;
}

/** The latest time in a message; 0 without any. */
function timeOf(text: string): number {
  const digits = [...text.matchAll(/"timestamp":"(\d+)"/g)].map(([, ms]) => Number(ms));
  const local = /"localTimestamp":"([^"]+)"/.exec(text)?.[1];
  return Math.max(0, ...digits, local === undefined ? 0 : Date.parse(local));
}

test('No byte of the market channel or of tardis-machine’s streams depends on later records, in both mirror modes.', async () => {
  let later = 0;
  for (const [nth, { known, ...density }] of CASES.entries()) {
    const { market, kept } = recordingOf(40 + nth, density);
    const knownMs = kept[Math.floor(kept.length * known)]!.timestampMs;
    const linesOf = (isWanted: (ms: number) => boolean) =>
      kept.filter(({ timestampMs }) => isWanted(timestampMs)).map(({ line }) => line);
    const streams = async (archive: Archive) => await streamsOf(archive, START_MS, knownMs);
    using atOnce = temporaryArchive();
    await importRecords(atOnce.archive, [market, ...linesOf(() => true)]);
    using inParts = temporaryArchive();
    await importRecords(inParts.archive, [market, ...linesOf((ms) => ms <= knownMs)]);
    const expected = await streams(inParts.archive);
    await importRecords(
      inParts.archive,
      linesOf((ms) => ms > knownMs),
    );
    for (const { archive } of [atOnce, inParts]) {
      for (const [i, stream] of (await streams(archive)).entries()) {
        const sent = expected[i]!;
        expect(sent.length).toBeGreaterThan(0);
        expect(stream.slice(0, sent.length)).toEqual([...sent]);
        // The next message with a time is later, so no message about a known record waited for a later one.
        const rest = stream.slice(sent.length);
        expect(rest.map(timeOf).find((ms) => ms > 0)).toBeGreaterThan(knownMs);
        later += rest.length;
      }
    }
  }
  expect(later).toBeGreaterThan(1000);
});
