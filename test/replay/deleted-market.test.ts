import { expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import { Replay } from '../../src/replay/replay.ts';
import { NativeStream } from '../../src/replay/tardis/native-stream.ts';
import { TickSizes } from '../../src/replay/tick-sizes.ts';
import { openArchive } from '../../src/store/archive.ts';
import { Deletion } from '../../src/store/deletion.ts';
import { PriceTexts } from '../../src/venue/price-texts.ts';
import { EVERYTHING } from '../http/replay/replaying.ts';
import { importRecords, NOW_MS, temporaryArchive } from '../support/archive.ts';
import { DOWN_ASSET, START_MS, sampleMarket, sampleSnapshot, UP_ASSET } from '../support/sample-records.ts';
import { RecordingConnection, venueSession } from './recording-connection.ts';
import { anotherReplay, venueServer } from './venue-server.ts';

const OTHER = sampleMarket({
  conditionId: `0x${'ef'.repeat(32)}`,
  slug: 'eth-updown-5m-1776323400',
  symbol: 'eth',
  clobTokenIds: ['71', '72'],
});
const snapshots = (count: number, fields: object = {}) =>
  Array.from({ length: count }, (_, i) => sampleSnapshot({ timestamp: START_MS + 1000 * (i + 1), ...fields }));
/** The deleted market is the one with the highest key. */
const RECORDING = [OTHER, ...snapshots(3, { conditionId: OTHER.conditionId }), sampleMarket(), ...snapshots(300)];
/** What a market that is stored later must not lend to the deleted one. */
const LATER = sampleMarket({
  conditionId: `0x${'aa'.repeat(32)}`,
  slug: 'btc-updown-5m-1776323700',
  startTime: '2026-04-16T07:15:00.000Z',
  endTime: '2026-04-16T07:20:00.000Z',
  clobTokenIds: ['81', '82'],
});

/** Deletes btc in another connection, as the command does, and imports another market of it. */
async function deleteAndImport(path: string): Promise<void> {
  const archive = openArchive(path, NOW_MS, { create: false });
  using _database = archive.database;
  const filter = { marketKeys: undefined, coins: ['btc'], sources: undefined, beforeMs: undefined };
  expect([...new Deletion(archive, filter).run()].at(-1)?.markets).toBe(1);
  await importRecords(archive, [LATER, ...snapshots(400, { conditionId: LATER.conditionId, bids: [] })]);
}

async function filled() {
  const place = temporaryArchive();
  await importRecords(place.archive, RECORDING);
  return place;
}

test('A socket of a replay is closed with 1011 when its market is deleted, and sends nothing after the deletion.', async () => {
  using place = await filled();
  let nowMs = 0;
  const clocks = { monotonicMs: () => nowMs, wallMs: () => 0 };
  const options = { ...EVERYTHING, fromMs: START_MS, toMs: START_MS + 600_000 };
  const replay = new Replay(place.archive, options, clocks);
  const sessionOf = (assetId: string) => {
    const connection = new RecordingConnection();
    const session = venueSession(replay, connection, clocks.monotonicMs);
    session.received(JSON.stringify({ assets_ids: [assetId], type: 'market', custom_feature_enabled: true }));
    return { connection, session };
  };
  const [up, down, other] = [sessionOf(UP_ASSET), sessionOf(DOWN_ASSET), sessionOf('71')];
  replay.clock.resume();
  nowMs = 2500;
  for (const { session } of [up, down, other]) session.drained();
  await Bun.sleep(0);
  await deleteAndImport(place.path);
  const sent = up.connection.frames.length;
  const closings: [number, string][] = [[1011, `market ${sampleMarket().conditionId} was deleted`]];
  // One session goes on sending, the other one begins again.
  nowMs = 400_000;
  up.session.drained();
  while (up.connection.closings.length === 0) await setImmediate();
  expect(up.connection.closings).toEqual(closings);
  replay.clock.seek(START_MS + 2000);
  expect(down.connection.closings).toEqual(closings);
  expect([...up.connection.frames.slice(sent), ...down.connection.frames].join()).not.toContain(LATER.conditionId);
  expect(other.connection.closings).toEqual([]);
  other.session.closed();
});

test('REST and Gamma of a replay have no deleted market, and a step passes over it', async () => {
  using place = await filled();
  await using server = venueServer(place.archive, { fromMs: START_MS });
  const ids = async (path: string) => (await server.json(path)).map((one: { conditionId: string }) => one.conditionId);
  expect(await ids('/gamma/markets')).toHaveLength(2);
  const another = anotherReplay(server, {}, START_MS + 2500);
  await deleteAndImport(place.path);
  expect(await ids('/gamma/markets')).toEqual([OTHER.conditionId]);
  expect((await server.json('/simplified-markets')).data).toHaveLength(1);
  expect((await server.ask(`/book?token_id=${UP_ASSET}`)).status).toBe(404);
  expect((await server.ask(`/markets/${sampleMarket().conditionId}`)).status).toBe(404);
  expect(another.step()).toBe(START_MS + 3000);
  expect(another.listedAt(START_MS + 3000).map(({ symbol }) => symbol)).toEqual(['eth']);
});

test('a stream of tardis-machine with an open deleted market ends, and one that has not opened it leaves it out', async () => {
  using place = await filled();
  const { archive } = place;
  const source = {
    archive,
    ticks: new TickSizes(archive),
    prices: new PriceTexts(),
    mirror: EVERYTHING.mirror,
  };
  const open = (fromMs: number) =>
    archive.database.read(
      () =>
        new NativeStream(source, { fromMs, toMs: START_MS + 86_400_000 }, [{ channel: 'book', assetIds: undefined }]),
    );
  const take = (stream: NativeStream) =>
    archive.database.read(() => {
      stream.check();
      return stream.next();
    });
  const [opened, planned] = [open(START_MS + 1500), open(START_MS - 60_000)];
  while (take(opened)?.kind !== 'text');
  take(planned);
  await deleteAndImport(place.path);
  expect(() => take(opened)).toThrow(`market ${sampleMarket().conditionId} changed while it was replayed`);
  const texts: string[] = [];
  for (let item = take(planned); item !== undefined; item = take(planned)) texts.push(item.text);
  expect(texts.some((text) => text.includes(UP_ASSET))).toBe(false);
  expect(texts.some((text) => text.includes('"71"'))).toBe(true);
});
