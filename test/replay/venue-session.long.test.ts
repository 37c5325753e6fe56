import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { formatInstant } from '../../src/domain/instant.ts';
import { OUTCOMES, type Outcome } from '../../src/domain/outcome.ts';
import type { VenueSession } from '../../src/replay/clob/venue-session.ts';
import { FairQueue } from '../../src/replay/fair-queue.ts';
import { Replay, type ReplayOptions } from '../../src/replay/replay.ts';
import type { Speed } from '../../src/replay/replay-clock.ts';
import type { Archive } from '../../src/store/archive.ts';
import { channelRequest, SUBSCRIBED_MAX } from '../../src/venue/channel-request-parser.ts';
import { EVERYTHING } from '../http/replay/replaying.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { randomsOf } from '../support/random-books.ts';
import { CONDITION_ID, START_MS, sampleGap, sampleMarket } from '../support/sample-records.ts';
import { DocumentedClient, levelsOf } from './documented-client.ts';
import { ASSETS, type RecordingStyle, randomRecording } from './random-recording.ts';
import { RecordingConnection, venueSession } from './recording-connection.ts';

const OPTIONS: ReplayOptions = {
  ...EVERYTHING,
  ...{ selection: { ...EVERYTHING.selection, names: [CONDITION_ID] }, fromMs: START_MS, speed: 'max' },
};
const STYLE: RecordingStyle = {
  outcomes: ['up', 'down'],
  count: 200,
  priceScale: 3,
  trades: true,
  gaps: 2,
  stepMs: 20,
};
const BOTH = [ASSETS.up, ASSETS.down];
const queue = new FairQueue();

function replayOf(
  archive: Archive,
  options: Partial<ReplayOptions> = {},
  clocks = { monotonicMs: () => performance.now(), wallMs: () => 0 },
) {
  return new Replay(archive, { ...OPTIONS, ...options }, clocks);
}

function sessionOn(replay: Replay, connection: RecordingConnection) {
  return venueSession(replay, connection, () => performance.now(), queue);
}

/** A new client of a replay that has subscribed. */
function clientOf(replay: Replay, assetIds: readonly string[] = BOTH, more: object = {}, blocks?: () => boolean) {
  const connection = new RecordingConnection(blocks);
  const session = sessionOn(replay, connection);
  session.received(subscribe(assetIds, more));
  return { connection, session };
}

const gapOf = (conditionId: string) =>
  sampleGap({ conditionId, from: formatInstant(START_MS + 1200), to: formatInstant(START_MS + 1500) });

const subscribe = (assetIds: readonly string[], more: object = {}) =>
  JSON.stringify({ assets_ids: assetIds, type: 'market', ...more });

/** Lets a session run until its clock is at the end or its connection is closed. */
async function untilEnd(replay: Replay, session: VenueSession, connection: RecordingConnection): Promise<void> {
  while (replay.clock.state !== 'ended' && connection.closings.length === 0) {
    if (connection.isBlocked) {
      connection.isBlocked = false;
      session.drained();
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function archiveOf(lines: readonly object[]) {
  const place = temporaryArchive();
  await importRecords(place.archive, lines);
  return place;
}

/** The archive's book at an instant, in the client's format. */
function archived(archive: Archive, replay: Replay, outcome: Outcome, atMs: number): string | undefined {
  const market = archive.markets.findByConditionId(CONDITION_ID)!;
  const { known } = replay.playback(market, atMs).state(outcome);
  if (known === undefined) return undefined;
  const { bidPrices, bidSizes, askPrices, askSizes } = known.book;
  const side = (prices: readonly number[], sizes: readonly number[]) =>
    new Map(prices.map((price, i) => [String(price), String(sizes[i])]));
  return levelsOf({ bids: side(bidPrices, bidSizes), asks: side(askPrices, askSizes) });
}

function timestampsIn(text: string): number[] {
  return [...text.matchAll(/"timestamp":"(\d+)"/g)].map(([, ms]) => Number(ms));
}

describe('a client of the market channel', () => {
  test('Each changed level is one price_change with both outcomes, hash and best prices, removed ones first, and rebuilt books are right.', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.constantFrom<readonly Outcome[]>(['up'], ['down'], ['up', 'down']),
        fc.constantFrom(0, 1, 30),
        fc.double({ min: 0, max: 0.9, noNaN: true }),
        async (seed, outcomes, stepMs, blockedShare) => {
          const { lines } = randomRecording(seed, { ...STYLE, outcomes, stepMs });
          using place = await archiveOf(lines);
          const replay = replayOf(place.archive);
          const random = randomsOf(seed);
          const { connection, session } = clientOf(replay, BOTH, {}, () => random() < blockedShare);
          replay.clock.resume();
          await untilEnd(replay, session, connection);
          session.closed();
          const client = new DocumentedClient([ASSETS.up, ASSETS.down]);
          let lastMs = START_MS;
          const compare = () => {
            client.checkHashes();
            for (const outcome of OUTCOMES) {
              const held = client.books.get(ASSETS[outcome]);
              expect(held === undefined ? undefined : levelsOf(held)).toBe(
                archived(place.archive, replay, outcome, lastMs) as string,
              );
            }
          };
          for (const frame of connection.frames) {
            const nextMs = Math.max(lastMs, ...timestampsIn(frame));
            if (nextMs > lastMs) compare();
            lastMs = nextMs;
            client.receive(frame);
          }
          lastMs = replay.clock.span.toMs;
          compare();
          expect(client.faults).toEqual([]);
          if (stepMs > 0) expect(client.hashesChecked.right).toBeGreaterThan(5);
        },
      ),
      { numRuns: 12 },
    );
  });

  test('gets the same frames every time, even with another client at the same time', async () => {
    using place = await archiveOf(randomRecording(7, STYLE).lines);
    const framesOf = async (others: number) => {
      const replay = replayOf(place.archive);
      const connections = Array.from({ length: 1 + others }, (_, i) => new RecordingConnection(() => i > 0));
      const sessions = connections.map((connection) => sessionOn(replay, connection));
      for (const session of sessions) session.received(subscribe(BOTH, { custom_feature_enabled: true }));
      replay.clock.resume();
      // The other clients never take a second frame. They hold the clock back, but not the first client.
      for (let turn = 0; turn < 2000; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      expect(replay.clock.state).toBe(others === 0 ? 'ended' : 'running');
      for (const session of sessions) session.closed();
      return connections[0]!.frames;
    };
    const frames = await framesOf(0);
    expect(frames.length).toBeGreaterThan(500);
    expect(await framesOf(0)).toEqual(frames);
    expect(await framesOf(2)).toEqual(frames);
  });

  test('has the archive’s books after any jumps, steps and reconnections', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.array(
          fc.record({
            act: fc.constantFrom('seek', 'step', 'run', 'reconnect', 'unsubscribe', 'operation', 'pause'),
            part: fc.double({ min: 0, max: 1, noNaN: true }),
            speed: fc.constantFrom<Speed>('max', 1000, 0.1),
          }),
          { minLength: 1, maxLength: 12 },
        ),
        async (seed, acts) => {
          using place = await archiveOf(randomRecording(seed, STYLE).lines);
          const real = { ms: 0 };
          const replay = replayOf(place.archive, {}, { monotonicMs: () => real.ms, wallMs: () => 0 });
          let connection = new RecordingConnection();
          let session = sessionOn(replay, connection);
          let client = new DocumentedClient([ASSETS.up, ASSETS.down]);
          let wanted: readonly Outcome[] = OUTCOMES;
          let missesTrades = false;
          session.received(subscribe(BOTH));
          for (const { act, part, speed } of acts) {
            const { fromMs, toMs } = replay.clock.span;
            if (act === 'seek') replay.clock.seek(Math.round(fromMs + part * (toMs - fromMs)));
            if (act === 'step') replay.step();
            if (act === 'pause') replay.clock.pause();
            if (act === 'run') {
              replay.clock.setSpeed(speed);
              replay.clock.resume();
              real.ms += part * 50;
            }
            if (act === 'reconnect') {
              session.closed();
              connection = new RecordingConnection();
              session = sessionOn(replay, connection);
              client = new DocumentedClient([ASSETS.up, ASSETS.down]);
              wanted = OUTCOMES;
              session.received(subscribe(BOTH));
            }
            if (act === 'unsubscribe') {
              session.received(JSON.stringify({ operation: 'unsubscribe', assets_ids: [ASSETS.down] }));
              wanted = ['up'];
            }
            if (act === 'operation') {
              session.received(JSON.stringify({ operation: 'subscribe', assets_ids: BOTH }));
              wanted = OUTCOMES;
            }
            // The clock is moved by the test, so timers do not fire by themselves.
            for (let turn = 0; turn < 20; turn += 1) {
              session.drained();
              await new Promise((resolve) => setImmediate(resolve));
            }
            const frames = connection.frames.splice(0);
            if (act === 'seek') client.reset();
            for (const frame of frames) client.receive(frame);
            client.checkHashes();
            for (const outcome of wanted) {
              const held = client.books.get(ASSETS[outcome]);
              expect(held === undefined ? undefined : levelsOf(held)).toBe(
                archived(place.archive, replay, outcome, replay.clock.nowMs) as string,
              );
            }
            for (const frame of frames)
              for (const ms of timestampsIn(frame)) expect(ms).toBeLessThanOrEqual(replay.clock.nowMs);
            // Trades of unsubscribed assets are not sent. The hashes of the other asset cover them, until all is sent again.
            missesTrades = wanted.length < 2 || (missesTrades && act !== 'seek' && act !== 'reconnect');
            // A book is sent again after a time without a subscription.
            const isExplained = (fault: string) =>
              fault.includes('a later book differs') ||
              (missesTrades && fault.includes('the hash')) ||
              wanted.length < 2;
            expect(client.faults.splice(0).filter((fault) => !isExplained(fault))).toEqual([]);
          }
          session.closed();
        },
      ),
      { numRuns: 15 },
    );
  });

  test('gets an answer to PING and books if it wants them; its unknown frames are ignored', async () => {
    using place = await archiveOf(randomRecording(3, { ...STYLE, stepMs: 400 }).lines);
    const replay = replayOf(place.archive, { speed: 1 });
    replay.clock.seek(replay.clock.span.toMs - 10_000);
    const connection = new RecordingConnection();
    const session = sessionOn(replay, connection);
    session.received('PING');
    for (const text of ['', '{', '[]', '1', 'PONG', '{"type":"user"}', '{"operation":"dance","assets_ids":["1"]}'])
      session.received(text);
    session.received(subscribe(['12345']));
    session.received(subscribe([ASSETS.up], { initial_dump: false }));
    expect(connection.frames).toEqual(['PONG']);
    session.received(subscribe([ASSETS.up, ASSETS.down], { initial_dump: true }));
    expect(connection.frames).toHaveLength(2);
    expect(JSON.parse(connection.frames[1]!)).toMatchObject([{ event_type: 'book', asset_id: ASSETS.down }]);
    session.closed();
    session.received('PING');
    expect(connection.frames).toHaveLength(2);
  });

  test('a frame subscribes up to the maximum of assets; one without valid asset ids is ignored', () => {
    for (const ids of [[1, 2], ['0x12'], [''], [null]]) {
      expect(channelRequest(JSON.stringify({ type: 'market', assets_ids: ids }))).toBeUndefined();
    }
    const many = Array.from({ length: SUBSCRIBED_MAX + 1 }, (_, i) => String(i));
    for (const [named, assetIds] of [
      [[7, '7'], ['7']],
      [[], []],
      [many, many.slice(0, -1)],
    ]) {
      for (const begins of [{ type: 'market' }, { operation: 'subscribe' }]) {
        const frame = JSON.stringify({ ...begins, assets_ids: named });
        expect(channelRequest(frame)).toMatchObject({ kind: 'subscribe', assetIds: assetIds! });
      }
    }
  });

  test('a gap closes the connection at its beginning, or is ignored if the replay says so', async () => {
    const { lines } = randomRecording(11, { ...STYLE, gaps: 0 });
    using place = await archiveOf([...lines, gapOf(CONDITION_ID)]);
    for (const gaps of ['disconnect', 'ignore'] as const) {
      const replay = replayOf(place.archive, { gaps });
      const { connection, session } = clientOf(replay);
      replay.clock.resume();
      await untilEnd(replay, session, connection);
      const latest = Math.max(...connection.frames.flatMap(timestampsIn));
      if (gaps === 'ignore') {
        expect(connection.closings).toEqual([]);
        expect(latest).toBeGreaterThan(START_MS + 1500);
        continue;
      }
      expect(connection.closings).toEqual([[1012, 'the recording has a gap here']]);
      expect(latest).toBeLessThanOrEqual(START_MS + 1200);
      const { connection: again, session: next } = clientOf(replay);
      await untilEnd(replay, next, again);
      expect(again.closings).toEqual([]);
      expect(replay.clock.state).toBe('ended');
    }
  });

  test('a gap of several markets at one time closes the connection once: a client that reconnects continues after it', async () => {
    const OTHER_ID = `0x${'cd'.repeat(32)}`;
    const other = sampleMarket({ conditionId: OTHER_ID, slug: 'btc-updown-5m-other', clobTokenIds: ['111', '222'] });
    const { lines } = randomRecording(11, { ...STYLE, gaps: 0 });
    using place = await archiveOf([...lines, other, gapOf(CONDITION_ID), gapOf(OTHER_ID)]);
    const replay = replayOf(place.archive, {
      selection: { names: [CONDITION_ID, OTHER_ID], coins: [], timeframes: [] },
      gaps: 'disconnect',
    });
    replay.clock.resume();
    const closings: [number, string][] = [];
    for (let connections = 0; connections < 3 && replay.clock.state !== 'ended'; connections += 1) {
      const { connection, session } = clientOf(replay, [...BOTH, '111', '222']);
      await untilEnd(replay, session, connection);
      closings.push(...connection.closings);
    }
    expect(closings).toHaveLength(1);
    expect(replay.clock.state).toBe('ended');
  });

  test('many clients at full speed are served in turns, and requests in between', async () => {
    using place = await archiveOf(randomRecording(9, { ...STYLE, count: 400 }).lines);
    const replay = replayOf(place.archive);
    let turn = 0;
    const inTurn = new Map<number, Set<number>>();
    const sessions = Array.from({ length: 10 }, (_, nth) => {
      const connection = new RecordingConnection(() => {
        inTurn.set(turn, (inTurn.get(turn) ?? new Set()).add(nth));
        return false;
      });
      const session = sessionOn(replay, connection);
      session.received(subscribe(BOTH));
      return session;
    });
    replay.clock.resume();
    while (replay.clock.state !== 'ended') {
      await new Promise((resolve) => setImmediate(resolve));
      turn += 1;
    }
    inTurn.delete(0);
    expect(Math.max(...[...inTurn.values()].map(({ size }) => size))).toBe(1);
    expect(new Set([...inTurn.values()].flatMap((heard) => [...heard])).size).toBe(10);
    for (const session of sessions) session.closed();
  });

  test('At speed max the clock waits for connected clients, REST is at the slowest one, and clients without subscriptions do not count.', async () => {
    using place = await archiveOf(randomRecording(9, STYLE).lines);
    const replay = replayOf(place.archive);
    replay.clock.resume();
    const allTasks = async () => {
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    const slow = new RecordingConnection(() => true);
    const session = sessionOn(replay, slow);
    for (const nothing of [subscribe([]), subscribe(['12345']), subscribe([], { custom_feature_enabled: false })]) {
      session.received(nothing);
      await allTasks();
      expect(replay.clock.nowMs).toBe(START_MS);
    }
    session.received(subscribe([ASSETS.up]));
    await allTasks();
    const leftMs = replay.clock.nowMs;
    session.received(JSON.stringify({ operation: 'unsubscribe', assets_ids: [ASSETS.up] }));
    session.drained();
    await allTasks();
    expect(replay.clock.nowMs).toBe(leftMs);
    expect(replay.clock.state).toBe('running');
    session.received(JSON.stringify({ operation: 'subscribe', assets_ids: BOTH }));
    await untilEnd(replay, session, slow);
    expect(replay.clock.state).toBe('ended');
    session.closed();
  });

  test('custom features announce all new and resolved markets, and the best prices of subscribed assets', async () => {
    const { lines } = randomRecording(5, { ...STYLE, gaps: 0 });
    const resolved = new Date(START_MS + 330_000).toISOString();
    const created = new Date(START_MS + 1000).toISOString();
    const other = sampleMarket({
      conditionId: `0x${'cd'.repeat(32)}`,
      slug: 'btc-updown-5m-1776323700',
      clobTokenIds: ['111', '222'],
      startTime: new Date(START_MS + 300_000).toISOString(),
      endTime: new Date(START_MS + 600_000).toISOString(),
      createdAt: created,
    });
    const won = sampleMarket({ winner: 'down', resolvedAt: resolved, closed: true });
    using place = await archiveOf([...lines, won, other]);
    const replay = replayOf(place.archive, {
      selection: { names: [], coins: ['btc'], timeframes: ['5m'] },
      toMs: START_MS + 600_000,
    });
    const heard = async (custom: boolean) => {
      const connection = new RecordingConnection();
      const session = sessionOn(replay, connection);
      replay.clock.seek(START_MS);
      session.received(subscribe(BOTH, { custom_feature_enabled: custom }));
      replay.clock.resume();
      await untilEnd(replay, session, connection);
      session.closed();
      return connection.frames.flatMap(
        (frame) => JSON.parse(frame) as { event_type: string }[] | { event_type: string },
      );
    };
    const messages = await heard(true);
    expect(messages.filter(({ event_type }) => event_type === 'new_market')).toMatchObject([
      { slug: other.slug, assets_ids: ['111', '222'], timestamp: String(START_MS + 1000), outcomes: ['Up', 'Down'] },
    ]);
    expect(messages.filter(({ event_type }) => event_type === 'market_resolved')).toMatchObject([
      {
        market: CONDITION_ID,
        winning_asset_id: ASSETS.down,
        winning_outcome: 'Down',
        timestamp: String(START_MS + 330_000),
      },
    ]);
    const tops = messages.filter(({ event_type }) => event_type === 'best_bid_ask');
    expect(tops.length).toBeGreaterThan(10);
    const plain = await heard(false);
    expect(plain).toEqual(
      messages.filter(({ event_type }) => !['new_market', 'market_resolved', 'best_bid_ask'].includes(event_type)),
    );
  });

  test('Announcements wait for a client that does not read, and so does a clock at speed max.', async () => {
    const MARKETS = 100;
    const listed = Array.from({ length: MARKETS }, (_, nth) =>
      sampleMarket({
        ...{ conditionId: `0x${String(nth + 1).padStart(64, '0')}`, slug: `btc-updown-5m-${nth}` },
        ...{ clobTokenIds: [`7${nth}1`, `7${nth}2`], createdAt: new Date(START_MS + 1000).toISOString() },
        ...{ startTime: formatInstant(START_MS + 300_000), endTime: formatInstant(START_MS + 600_000) },
      }),
    );
    using place = await archiveOf(listed);
    const replay = replayOf(place.archive, { selection: EVERYTHING.selection, toMs: START_MS + 600_000 });
    const { connection, session } = clientOf(replay, [], { custom_feature_enabled: true }, () => true);
    replay.clock.resume();
    for (let read = 1; read <= MARKETS; read += 1) {
      while (!connection.isBlocked) await new Promise((resolve) => setImmediate(resolve));
      expect(connection.frames).toHaveLength(read);
      if (read < MARKETS) expect(replay.clock.nowMs).toBeLessThan(START_MS + 1000);
      connection.isBlocked = false;
      session.drained();
    }
    await untilEnd(replay, session, connection);
    session.closed();
    const slugs = connection.frames.map((frame) => JSON.parse(frame).slug);
    expect(new Set(slugs)).toEqual(new Set(listed.map(({ slug }) => slug)));
    expect(slugs).toHaveLength(MARKETS);
  });

  test('a rebased replay is shifted to the present when it starts, also for earlier clients', async () => {
    using place = await archiveOf(randomRecording(9, STYLE).lines);
    const real = { ms: START_MS + 3_002_000 };
    const replay = replayOf(place.archive, { rebase: true }, { monotonicMs: () => 0, wallMs: () => real.ms });
    replay.seek(START_MS + 2000);
    const { connection, session } = clientOf(replay);
    const listened = connection.frames.splice(0);
    expect(listened).toHaveLength(1);
    const { shiftMs } = replay;
    real.ms += 300_000;
    replay.resume();
    expect([replay.clock.nowMs, replay.shiftMs - shiftMs]).toEqual([START_MS + 2000, 300_000]);
    await untilEnd(replay, session, connection);
    const client = new DocumentedClient([ASSETS.up, ASSETS.down]);
    for (const frame of connection.frames) client.receive(frame);
    client.checkHashes();
    expect(client.faults).toEqual([]);
    expect(client.hashesChecked.right).toBeGreaterThan(30);
    const shifted = connection.frames.flatMap(timestampsIn).map((ms) => ms - replay.shiftMs);
    const market = place.archive.markets.findByConditionId(CONDITION_ID)!;
    const recorded = new Set<number>();
    for (const playback = replay.playback(market, 0); playback.nextMs !== undefined; )
      recorded.add(playback.next().timestampMs);
    expect(shifted.filter((ms) => !recorded.has(ms))).toEqual([]);
    expect(Math.max(...shifted)).toBeLessThanOrEqual(replay.clock.nowMs);
    session.closed();
  });

  test('A session is served in any order of frames, unless the replay is strict: then it is refused as by the venue.', async () => {
    using place = await archiveOf(randomRecording(9, STYLE).lines);
    for (const strict of [false, true]) {
      const replay = replayOf(place.archive, { strict });
      const early = new RecordingConnection();
      const unsubscribed = sessionOn(replay, early);
      unsubscribed.received('PING');
      expect([early.frames, early.closings]).toEqual(
        strict ? [[], [[1008, 'invalid subscription payload']]] : [['PONG'], []],
      );
      replay.clock.seek(START_MS + 2000);
      const { connection, session } = clientOf(replay, [ASSETS.up]);
      session.received('PING');
      session.received(subscribe([ASSETS.down]));
      session.received(JSON.stringify({ operation: 'subscribe', assets_ids: [ASSETS.down] }));
      session.received('PING');
      const [up, down] = [ASSETS.up, ASSETS.down].map((assetId) => expect.stringContaining(`"asset_id":"${assetId}"`));
      const answers = strict ? ['INVALID OPERATION', down] : [down];
      expect(connection.frames).toEqual([up, 'PONG', ...answers, 'PONG']);
      expect(connection.closings).toEqual([]);
      session.closed();
      if (!strict) unsubscribed.closed();
      // After a subscription by operation alone, too.
      const other = clientOf(replay, [], { type: undefined, operation: 'subscribe', assets_ids: [ASSETS.up] });
      other.session.received('PING');
      other.session.received(subscribe([ASSETS.down]));
      expect(other.connection.frames).toEqual([up, 'PONG', down]);
      other.session.closed();
    }
  });

  test('is disconnected when the replay is stopped', async () => {
    using place = await archiveOf(randomRecording(9, STYLE).lines);
    const replay = replayOf(place.archive);
    const { connection } = clientOf(replay);
    replay.stop();
    expect(connection.closings).toEqual([[1001, 'the replay was stopped']]);
  });
});
