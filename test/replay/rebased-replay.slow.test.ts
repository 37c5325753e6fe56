import { expect, test } from 'bun:test';
import { TIMEFRAMES } from '../../src/domain/timeframe.ts';
import { Replay } from '../../src/replay/replay.ts';
import { isWindowStart, slugOf, WINDOW_MS } from '../../src/venue/slug.ts';
import { EVERYTHING } from '../http/replay/replaying.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { botSlug } from '../venue/bot-slug.ts';
import { RecordingConnection, venueSession } from './recording-connection.ts';
import { venueServer } from './venue-server.ts';

const DAY_MS = 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString();

/** Markets of btc of all timeframes, and of eth of 1h, whose windows start in the 26 hours from `fromMs` on, each with one book. */
function recording(fromMs: number): object[] {
  const records: object[] = [];
  for (let startMs = fromMs; startMs < fromMs + DAY_MS + 7_200_000; startMs += 300_000) {
    for (const timeframe of TIMEFRAMES) {
      if (!isWindowStart(timeframe, startMs)) continue;
      for (const symbol of timeframe === '1h' ? ['btc', 'eth'] : ['btc']) {
        const endMs = startMs + WINDOW_MS[timeframe];
        const id = records.length + 1;
        const conditionId = `0x${String(id).padStart(64, '0')}`;
        records.push(
          sampleMarket({
            ...{ conditionId, symbol, timeframe, clobTokenIds: [`7${id}1`, `7${id}2`] },
            ...{ slug: `recorded-${slugOf({ symbol, timeframe, startMs, endMs })}` },
            ...{ startTime: iso(startMs), endTime: iso(endMs), createdAt: iso(startMs - DAY_MS) },
          }),
          sampleSnapshot({ conditionId, timestamp: startMs }),
        );
      }
    }
  }
  return records;
}

/** What a bot does: it finds the market by the slug of its clock, and asks for the book of each outcome. */
async function bookOfBot(server: ReturnType<typeof venueServer>, path: string, slug: string) {
  const [event] = await server.json(`${path}/gamma/events?slug=${slug}`);
  const market = event.markets[0];
  const assets: string[] = JSON.parse(market.clobTokenIds);
  const books = await Promise.all(assets.map((assetId) => server.json(`${path}/clob/book?token_id=${assetId}`)));
  return {
    market,
    conditionIds: books.map((book) => book.market),
    timestamps: books.map((book) => Number(book.timestamp)),
  };
}

test.each([
  ['2026-04-15T16:00:00Z', ['2026-11-23T10:32:10Z', '2026-07-01T15:59:59Z', '2026-11-01T05:10:00Z']],
  ['2026-01-08T17:00:00Z', ['2026-11-23T23:59:59Z', '2026-07-01T16:00:00Z', '2026-03-08T07:00:00Z']],
])(
  'A rebased replay starts as far into a window as the present is, so a bot finds the open market by its clock. (recorded from %s on)',
  async (recorded, presents) => {
    const fromMs = Date.parse(recorded);
    using held = temporaryArchive();
    expect((await importRecords(held.archive, recording(fromMs))).total.rejected).toBe(0);
    let wallMs = 0;
    await using server = venueServer(held.archive, {}, () => wallMs);
    for (const present of presents) {
      wallMs = Date.parse(present);
      const replay = server.replays.create({ ...EVERYTHING, fromMs, rebase: true });
      const { nowMs } = replay.clock;
      expect([present, nowMs + replay.shiftMs]).toEqual([present, wallMs]);
      const path = `/replays/${replay.id}`;
      expect(Number((await server.ask(`${path}/time`)).text)).toBe(wallMs / 1000);
      for (const timeframe of TIMEFRAMES) {
        for (const coin of timeframe === '1h' ? ['btc', 'eth'] : ['btc']) {
          const slug = botSlug(coin, timeframe, wallMs);
          const { market, conditionIds, timestamps } = await bookOfBot(server, path, slug);
          const stored = held.archive.markets.findByConditionId(market.conditionId)!;
          // The recorded market of that coin and timeframe whose window is open at the clock.
          expect([stored.symbol, stored.timeframe, stored.startMs <= nowMs, nowMs < stored.endMs]).toEqual([
            coin,
            timeframe,
            true,
            true,
          ]);
          const startMs = stored.startMs + replay.shiftMs;
          expect(market).toMatchObject({
            slug,
            ...{ eventStartTime: iso(startMs).replace('.000', ''), acceptingOrders: true, closed: false },
          });
          expect([...conditionIds, ...timestamps]).toEqual([stored.conditionId, stored.conditionId, startMs, startMs]);
        }
      }
      server.replays.stop(replay.id);
    }
  },
);

test('A rebased replay moves to the present when it starts and when it jumps; pauses, speeds and steps leave its slugs.', async () => {
  const fromMs = Date.parse('2026-04-15T16:00:00Z');
  using held = temporaryArchive();
  const markets = Array.from({ length: 8 }, (_, i) => fiveMinutes(fromMs + i * 300_000, i)).flat();
  await importRecords(held.archive, markets);
  const clocks = { monotonic: 0, wall: Date.parse('2026-11-23T10:32:10Z') };
  const pass = (ms: number) => {
    clocks.monotonic += ms;
    clocks.wall += ms;
  };
  const options = { ...EVERYTHING, rebase: true };
  const replay = new Replay(held.archive, options, { monotonicMs: () => clocks.monotonic, wallMs: () => clocks.wall });
  const presentMs = () => replay.clock.nowMs + replay.shiftMs;
  const first = replay.shiftMs;
  expect([replay.clock.nowMs, presentMs()]).toEqual([fromMs + 130_000, clocks.wall]);
  // It waits for its start, which follows the present.
  pass(60_000);
  replay.resume();
  expect([replay.clock.nowMs, presentMs(), replay.shiftMs]).toEqual([fromMs + 190_000, clocks.wall, first]);
  pass(100_000);
  expect([replay.clock.nowMs, presentMs()]).toEqual([fromMs + 290_000, clocks.wall]);
  replay.clock.pause();
  pass(20_000);
  replay.resume();
  expect([presentMs() - clocks.wall, replay.shiftMs]).toEqual([-20_000, first]);
  replay.clock.setSpeed(3);
  pass(20_000);
  expect([presentMs() - clocks.wall, replay.shiftMs]).toEqual([20_000, first]);
  replay.step();
  expect(replay.shiftMs).toBe(first);
  // A jump goes to the first instant from there on that has the present's place in its window.
  clocks.wall = Date.parse('2026-11-23T11:01:00Z');
  replay.seek(fromMs + 600_000);
  expect([replay.clock.nowMs, presentMs()]).toEqual([fromMs + 660_000, clocks.wall]);
  pass(30_000);
  replay.resume();
  expect([replay.clock.nowMs, presentMs()]).toEqual([fromMs + 690_000, clocks.wall]);
  // A running replay that has jumped has started; one that was stepped starts from there on.
  replay.seek(fromMs + 900_000);
  const running = replay.shiftMs;
  replay.clock.pause();
  const pausedMs = replay.clock.nowMs;
  pass(20_000);
  replay.resume();
  expect([replay.clock.nowMs, replay.shiftMs]).toEqual([pausedMs, running]);
  replay.clock.pause();
  replay.seek(fromMs + 600_000);
  const waiting = replay.clock.nowMs;
  expect(replay.step()).toBe(fromMs + 900_000);
  replay.resume();
  expect([waiting, replay.clock.nowMs]).toEqual([fromMs + 710_000, fromMs + 1_010_000]);
  replay.seek(fromMs + 600_000);
  expect(() => replay.seek(fromMs - 1)).toThrow('the instant is outside the replay');
  expect([replay.clock.nowMs, presentMs()]).toEqual([fromMs + 710_000, clocks.wall]);
});

test('starts when a market is open, at the earliest', async () => {
  const startMs = Date.parse('2026-04-15T16:00:00Z');
  using held = temporaryArchive();
  const [market, book] = fiveMinutes(startMs, 1);
  await importRecords(held.archive, [market!, { ...book, timestamp: startMs - 400_000 }]);
  const clocks = { monotonicMs: () => 0, wallMs: () => Date.parse('2026-11-23T10:31:00Z') };
  const started = (options: object) =>
    new Replay(held.archive, { ...EVERYTHING, rebase: true, ...options }, clocks).clock.nowMs - startMs;
  expect(started({})).toBe(60_000);
  expect(started({ fromMs: startMs - 400_000 })).toBe(60_000);
  expect(started({ fromMs: startMs + 90_000 })).toBe(90_000);
});

test('A replay that loops begins again at its end, with the next window of the present at the beginning of a recorded one.', async () => {
  const startMs = Date.parse('2026-04-15T16:00:00Z');
  using held = temporaryArchive();
  const records = [0, 1].flatMap((i) => fiveMinutes(startMs + i * 300_000, i));
  // The first book comes after the beginning of its window.
  await importRecords(held.archive, [records[0]!, { ...records[1], timestamp: startMs + 500 }, ...records.slice(2)]);
  const at = (time: string) => Date.parse(`2026-11-23T${time}Z`);
  const clocks = { wall: at('10:31:00'), monotonicMs: () => performance.now(), wallMs: () => clocks.wall };
  const options = { ...EVERYTHING, rebase: true, loop: true, speed: 1000 };
  const replay = new Replay(held.archive, options, clocks);
  expect([replay.clock.span.fromMs, replay.clock.nowMs]).toEqual([startMs, startMs + 60_000]);
  const jumps: unknown[] = [];
  replay.clock.onChange((change) => {
    if (change === 'jump') jumps.push([replay.shiftMs + startMs, replay.waitMs]);
    // The next end comes in time for a window, and the one after it a second too late, which is made up for.
    clocks.wall = jumps.length === 1 ? at('10:39:59.900') : at('10:45:01');
  });
  replay.resume();
  while (jumps.length < 4) await Bun.sleep(5);
  replay.stop();
  expect(jumps.slice(1, 3)).toEqual([
    [at('10:40:00'), 100],
    [at('10:45:00'), 0],
  ]);
  const shown = replay.asSent(replay.marketByKey(replay.windowsStarting(0, startMs)[0]!.key)!);
  expect(shown.slug).toBe(`btc-updown-5m-${at('10:45:00') / 1000}`);
  const stopped = jumps.length;
  await Bun.sleep(300);
  expect(jumps.length).toBe(stopped);
});

test('new_market has the slug and the time of the present', async () => {
  const startMs = Date.parse('2026-04-15T16:00:00Z');
  using held = temporaryArchive();
  await importRecords(
    held.archive,
    [0, 1].flatMap((i) => fiveMinutes(startMs + i * 300_000, i, startMs + 200_000 + i)),
  );
  const clocks = { monotonicMs: () => 0, wallMs: () => Date.parse('2026-11-23T10:31:00Z') };
  const replay = new Replay(held.archive, { ...EVERYTHING, rebase: true }, clocks);
  const connection = new RecordingConnection();
  const session = venueSession(replay, connection, () => 0);
  session.received(JSON.stringify({ type: 'market', assets_ids: ['701'], custom_feature_enabled: true }));
  connection.frames.length = 0;
  replay.clock.stepTo(startMs + 250_000);
  while (connection.frames.length === 0) await new Promise((resolve) => setImmediate(resolve));
  session.closed();
  const slug = `btc-updown-5m-${Date.parse('2026-11-23T10:35:00Z') / 1000}`;
  expect(connection.frames.map((frame) => JSON.parse(frame))).toMatchObject([
    {
      ...{ event_type: 'new_market', slug, event_message: { slug, ticker: slug } },
      timestamp: String(Date.parse('2026-11-23T10:33:20.001Z')),
    },
  ]);
});

/** A market of btc with one book at its start. */
function fiveMinutes(startMs: number, nth: number, createdMs = startMs - DAY_MS): object[] {
  const conditionId = `0x${String(nth).padStart(64, '0')}`;
  const window = { startTime: iso(startMs), endTime: iso(startMs + 300_000), createdAt: iso(createdMs) };
  return [
    sampleMarket({ conditionId, slug: `recorded-${nth}`, clobTokenIds: [`7${nth}1`, `7${nth}2`], ...window }),
    sampleSnapshot({ conditionId, timestamp: startMs }),
  ];
}
