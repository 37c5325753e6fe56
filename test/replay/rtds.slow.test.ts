import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Connection } from '../../src/replay/connection.ts';
import { FairQueue } from '../../src/replay/fair-queue.ts';
import { Replay, type ReplayOptions } from '../../src/replay/replay.ts';
import { RtdsSession } from '../../src/replay/rtds/rtds-session.ts';
import type { Archive } from '../../src/store/archive.ts';
import { KNOWN, KNOWN_MS, later } from '../http/futures.ts';
import { EVERYTHING } from '../http/replay/replaying.ts';
import { importPaths, importRecords, temporaryArchive } from '../support/archive.ts';
import { realRecording } from '../support/real-recordings.ts';
import { START_MS, sampleCoinPrice, sampleMarket } from '../support/sample-records.ts';
import { RecordingConnection, rethrow } from './recording-connection.ts';

const SESSIONS = realRecording('sessions-15m');
/** A multiple of the window, so that the replay starts at its first instant. */
const SHIFT_MS = 1_200_000;

interface Update {
  readonly connection_id: string;
  readonly payload: { readonly symbol: string; readonly timestamp: number; readonly value: number };
  readonly timestamp: number;
  readonly topic: string;
  readonly type: 'update';
}
interface History {
  readonly payload: {
    readonly data: readonly { readonly timestamp: number; readonly value: number }[];
    readonly symbol: string;
  };
  readonly timestamp: number;
  readonly topic: string;
  readonly type: 'subscribe';
}

const OPTIONS: ReplayOptions = { ...EVERYTHING, fromMs: START_MS, toMs: START_MS + 600_000, speed: 'max' };

/** A replay whose time passes only when a test moves it. */
function replayOf(archive: Archive, options: Partial<ReplayOptions> = {}) {
  let passedMs = 0;
  const clocks = { monotonicMs: () => passedMs, wallMs: () => OPTIONS.fromMs! + SHIFT_MS };
  const replay = new Replay(archive, { ...OPTIONS, ...options }, clocks);
  return {
    replay,
    clock: replay.clock,
    passTime: (ms: number) => {
      passedMs += ms;
    },
    [Symbol.dispose]: () => replay.stop(),
  };
}

function sessionOn(replay: Replay, connection: Connection) {
  return new RtdsSession({
    ...{ replay, connection, queue: new FairQueue(), monotonicMs: () => performance.now() },
    failed: rethrow,
  });
}

function request(action: 'subscribe' | 'unsubscribe', topic: string, more: object = {}): string {
  return JSON.stringify({ action, subscriptions: [{ topic, type: '*', ...more }] });
}

/** A client of a replay that has sent these frames. */
function clientOf(replay: Replay, ...frames: readonly string[]) {
  const connection = new RecordingConnection();
  const session = sessionOn(replay, connection);
  for (const frame of frames) session.received(frame);
  return { connection, session };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
/** Lets a session send everything that is due. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await turn();
}
async function untilEnd({ clock }: Replay): Promise<void> {
  while (clock.state !== 'ended') await turn();
}

const price = (offsetMs: number, value: number, more: object = {}) =>
  sampleCoinPrice({ timestamp: START_MS + offsetMs, price: value, source: 'chainlink', symbol: 'btc', ...more });
const ETH = { symbol: 'eth', conditionId: `0x${'cd34'.repeat(16)}`, slug: 'eth-updown-5m-1776323400' };
const RECORDS = [
  sampleMarket(),
  sampleMarket({ ...ETH, clobTokenIds: ['31', '32'] }),
  price(-60_000, 10),
  price(-59_999, 11),
  price(0, 12),
  price(1000, 13),
  price(1000, 14),
  price(2500, 15),
  price(1000, 2000.5, { symbol: 'eth' }),
  price(1000, 16, { source: 'binance' }),
  price(2000, 17, { source: 'chainlink-twap-60s' }),
  price(2000, 18, { source: 'chainlink-twap-30s' }),
  price(2000, 19, { source: 'coinbase' }),
  price(1500, 20, { symbol: 'xrp' }),
];

async function recorded(records: readonly object[] = RECORDS) {
  const place = temporaryArchive();
  const { total } = await importRecords(place.archive, records);
  expect(total.rejected).toBe(0);
  return place;
}

const parsed = (frames: readonly string[]) => frames.map((frame) => JSON.parse(frame) as Update | History);
/** Symbol, offset and value of each update. */
function updatesIn(frames: readonly string[], topic?: string) {
  return parsed(frames)
    .filter((frame): frame is Update => frame.type === 'update' && (topic === undefined || frame.topic === topic))
    .map(({ payload }) => [payload.symbol, payload.timestamp - START_MS, payload.value] as const);
}

describe('a client of RTDS', () => {
  test('RTDS sends the bytes of the venue, without full_accuracy_value and with one connection_id.', async () => {
    using place = await recorded();
    using replayed = replayOf(place.archive);
    const { replay, clock } = replayed;
    const { connection } = clientOf(
      replay,
      request('subscribe', 'crypto_prices_chainlink', { filters: '{"symbol":"btc/usd"}' }),
    );
    expect(connection.frames).toEqual([
      `{"payload":{"data":[{"timestamp":${START_MS - 59_999},"value":11},{"timestamp":${START_MS},"value":12}],` +
        `"symbol":"btc/usd"},"timestamp":${START_MS},"topic":"crypto_prices","type":"subscribe"}`,
    ]);
    clock.resume();
    await untilEnd(replay);
    expect(connection.frames[1]).toBe(
      `{"connection_id":"replay","payload":{"symbol":"btc/usd","timestamp":${START_MS + 1000},"value":13},` +
        `"timestamp":${START_MS + 1000},"topic":"crypto_prices_chainlink","type":"update"}`,
    );
    expect(updatesIn(connection.frames)).toEqual([
      ['btc/usd', 1000, 13],
      ['btc/usd', 1000, 14],
      ['btc/usd', 2500, 15],
    ]);
  });

  test('Coin prices are sent for the coins of the replay’s markets, at the publisher’s time.', async () => {
    using place = await recorded();
    using replayed = replayOf(place.archive);
    const { replay, clock } = replayed;
    const topics = [
      'crypto_prices',
      'crypto_prices_chainlink',
      'crypto_prices_twap_thirty',
      'crypto_prices_twap_sixty',
    ];
    const { connection } = clientOf(
      replay,
      JSON.stringify({ action: 'subscribe', subscriptions: topics.map((topic) => ({ topic, type: 'update' })) }),
    );
    clock.resume();
    await untilEnd(replay);
    expect(updatesIn(connection.frames, topics[0])).toEqual([['btcusdt', 1000, 16]]);
    expect(updatesIn(connection.frames, topics[1]).map(([, , value]) => value)).toEqual([13, 14, 2000.5, 15]);
    const windows = parsed(connection.frames).flatMap(({ topic, payload }) =>
      'window_s' in payload ? [[topic, payload.window_s]] : [],
    );
    expect(windows).toEqual([
      [topics[2], 30],
      [topics[3], 60],
    ]);
    // Without a filter there is no history. The coin without a market is not part of the replay.
    expect(connection.frames).toHaveLength(7);
  });

  test('a subscription begins at the clock, however long the client has been connected or has got other prices', async () => {
    using place = await recorded();
    using replayed = replayOf(place.archive, { speed: 1 });
    const { replay, clock, passTime } = replayed;
    clock.resume();
    const { connection, session } = clientOf(replay);
    const subscribe = (symbol: string) =>
      session.received(request('subscribe', 'crypto_prices_chainlink', { filters: JSON.stringify({ symbol }) }));
    const historyIn = (frame: string | undefined) => {
      const { timestamp, payload } = JSON.parse(frame!) as History;
      return [payload.symbol, timestamp - START_MS, ...payload.data.map(({ value }) => value)];
    };
    passTime(1200);
    subscribe('btc/usd');
    expect(connection.frames.map(historyIn)).toEqual([['btc/usd', 1200, 12, 13, 14]]);
    passTime(1800);
    subscribe('eth/usd');
    expect(updatesIn(connection.frames)).toEqual([['btc/usd', 2500, 15]]);
    expect(connection.frames.slice(2).map(historyIn)).toEqual([['eth/usd', 3000, 2000.5]]);
  });

  test('a history has the latest 10,000 prices of the last minute', async () => {
    const many = Array.from({ length: 10_002 }, (_, i) => price(i, 1 + i, { source: 'binance' }));
    using place = await recorded([sampleMarket(), ...many]);
    using replayed = replayOf(place.archive);
    replayed.clock.seek(START_MS + 10_000);
    const { connection } = clientOf(
      replayed.replay,
      request('subscribe', 'crypto_prices', { filters: '{"symbol":"btcusdt"}' }),
    );
    const [{ payload }] = parsed(connection.frames) as [History];
    expect([payload.data.length, payload.data[0]!.value, payload.data.at(-1)!.value]).toEqual([10_000, 2, 10_001]);
  });

  test.each([
    ['{"symbol":"btc/usd"}', ['btc/usd']],
    ['{"symbol":"BTC/USD"}', ['btc/usd']],
    ['eth/usd, btc/usd', ['btc/usd', 'eth/usd']],
    ['["eth/usd","xrp/usd"]', ['eth/usd']],
    ['[{"symbol":"eth/usd"}]', ['eth/usd']],
    ['btcusdt', []],
    ['', ['btc/usd', 'eth/usd']],
    [null, ['btc/usd', 'eth/usd']],
    [undefined, ['btc/usd', 'eth/usd']],
  ])('with the filter %p gets %p', async (filters, symbols) => {
    using place = await recorded();
    using replayed = replayOf(place.archive);
    const { replay, clock } = replayed;
    const chainlink = request('subscribe', 'crypto_prices_chainlink', { filters });
    // Another topic moves the clock if the filter has no symbol of the replay.
    const { connection } = clientOf(replay, chainlink, request('subscribe', 'crypto_prices'));
    clock.resume();
    await untilEnd(replay);
    const sent = updatesIn(connection.frames, 'crypto_prices_chainlink').map(([symbol]) => symbol);
    expect([...new Set(sent)].sort()).toEqual(symbols);
  });

  test.each([
    'nonsense',
    '{}',
    '[]',
    '{"action":"subscribe"}',
    '{"action":"subscribe","subscriptions":[]}',
    '{"action":"subscribe","subscriptions":[{"type":"*"}]}',
    '{"action":"listen","subscriptions":[{"topic":"crypto_prices","type":"*"}]}',
    request('subscribe', 'crypto_prices', { filters: { symbol: 'btcusdt' } }),
    request('subscribe', 'crypto_prices', { filters: ['btcusdt'] }),
    request('subscribe', 'crypto_prices', { filters: '{"symbol":7}' }),
    request('subscribe', 'crypto_prices', { filters: '{"symbol":' }),
    request('subscribe', 'crypto_prices', { filters: Array.from({ length: 101 }, (_, i) => `c${i}usdt`).join(',') }),
    JSON.stringify({ action: 'subscribe', subscriptions: Array(101).fill({ topic: 'crypto_prices', type: '*' }) }),
  ])('is refused as by the venue with %s', async (frame) => {
    using place = await recorded();
    using replayed = replayOf(place.archive);
    const { replay } = replayed;
    const { connection } = clientOf(replay, frame);
    expect(connection.frames).toEqual(['{"message":"Invalid request body"}']);
  });

  test.each([
    ['comments', '*'],
    ['activity', 'trades'],
    ['crypto_prices', 'trades'],
  ])('If no recording has a topic of RTDS, only that topic is refused. (%s, %s)', async (topic, type) => {
    using place = await recorded();
    using replayed = replayOf(place.archive);
    const { replay, clock } = replayed;
    const subscriptions = [
      { topic, type },
      { topic, type },
      { topic: 'crypto_prices', type: 'update' },
    ];
    const { connection } = clientOf(replay, JSON.stringify({ action: 'subscribe', subscriptions }));
    clock.resume();
    await untilEnd(replay);
    expect(JSON.parse(connection.frames[0]!).message).toContain('crypto_prices_chainlink');
    expect(updatesIn(connection.frames.slice(1))).toEqual([['btcusdt', 1000, 16]]);
  });

  test('RTDS answers PING, but not the pings of clients that do not wait for an answer.', async () => {
    using place = await recorded();
    using replayed = replayOf(place.archive);
    const { connection } = clientOf(replayed.replay, 'PING', 'ping', '{"type":"PING"}');
    expect(connection.frames).toEqual(['PONG']);
  });

  test('gets nothing of what it has unsubscribed from, and nothing twice', async () => {
    using place = await recorded();
    using replayed = replayOf(place.archive);
    const { replay, clock } = replayed;
    const btc = request('subscribe', 'crypto_prices_chainlink', { filters: 'btc/usd' });
    const { connection, session } = clientOf(replay, btc, request('subscribe', 'crypto_prices_chainlink'), btc);
    expect(connection.frames).toHaveLength(1);
    session.received(request('unsubscribe', 'crypto_prices_chainlink', { filters: 'btc/usd' }));
    clock.resume();
    await untilEnd(replay);
    expect(updatesIn(connection.frames)).toEqual([['eth/usd', 1000, 2000.5]]);
    session.received(request('unsubscribe', 'crypto_prices_chainlink'));
    clock.seek(START_MS);
    await settle();
    expect(connection.frames).toHaveLength(2);
  });

  test('gets all subscriptions of one frame from the same instant on, also while the clock runs at speed max', async () => {
    using place = await recorded();
    using replayed = replayOf(place.archive);
    replayed.clock.resume();
    const topics = ['crypto_prices_chainlink', 'crypto_prices'];
    const frame = { action: 'subscribe', subscriptions: topics.map((topic) => ({ topic, type: '*' })) };
    const { connection } = clientOf(replayed.replay, JSON.stringify(frame));
    await untilEnd(replayed.replay);
    expect(updatesIn(connection.frames).map(([, , value]) => value)).toEqual([13, 14, 2000.5, 16, 15]);
  });

  test('follows the clock: pauses, speeds, steps and jumps, after which it gets the history again', async () => {
    using place = await recorded();
    using replayed = replayOf(place.archive, { speed: 2 });
    const { replay, clock, passTime } = replayed;
    const { connection } = clientOf(replay, request('subscribe', 'crypto_prices_chainlink', { filters: 'btc/usd' }));
    await settle();
    expect(connection.frames).toHaveLength(1);
    clock.resume();
    passTime(499);
    clock.setSpeed(2);
    await settle();
    expect(updatesIn(connection.frames)).toEqual([]);
    passTime(1);
    clock.pause();
    await settle();
    expect(updatesIn(connection.frames).map(([, , value]) => value)).toEqual([13, 14]);
    clock.stepTo(START_MS + 2500);
    await settle();
    expect(updatesIn(connection.frames).map(([, , value]) => value)).toEqual([13, 14, 15]);
    connection.frames.length = 0;
    clock.seek(START_MS + 1000);
    await settle();
    const [history, ...others] = parsed(connection.frames) as [History, ...unknown[]];
    expect(history.payload.data.map(({ value }) => value)).toEqual([12, 13, 14]);
    expect(others).toEqual([]);
  });

  test('of a rebased replay has all times shifted, from the start of the replay on', async () => {
    using place = await recorded();
    using plain = replayOf(place.archive);
    using rebased = replayOf(place.archive, { rebase: true });
    const sent: string[][] = [];
    for (const { replay, clock } of [plain, rebased]) {
      const { connection } = clientOf(replay, request('subscribe', 'crypto_prices_chainlink', { filters: 'btc/usd' }));
      clock.resume();
      await untilEnd(replay);
      sent.push(connection.frames);
    }
    const shifted = sent[0]!.map((frame) =>
      frame.replace(/"timestamp":(\d+)/g, (_, ms: string) => `"timestamp":${Number(ms) + SHIFT_MS}`),
    );
    expect(sent[1]!).toEqual(shifted);
    expect(rebased.replay.shiftMs).toBe(SHIFT_MS);
  });

  test('that does not read gets all prices later, and delays no other client', async () => {
    using place = await recorded([sampleMarket(), ...Array.from({ length: 500 }, (_, i) => price(1 + i, 100 + i))]);
    using replayed = replayOf(place.archive, { speed: 1 });
    const { replay, clock, passTime } = replayed;
    const slow = new RecordingConnection(() => true);
    const session = sessionOn(replay, slow);
    session.received(request('subscribe', 'crypto_prices_chainlink'));
    const { connection } = clientOf(replay, request('subscribe', 'crypto_prices_chainlink'));
    clock.resume();
    passTime(1000);
    clock.setSpeed(1);
    while (connection.frames.length < 500) await turn();
    expect(slow.frames).toHaveLength(1);
    for (let i = 1; i < 500; i += 1) {
      slow.isBlocked = false;
      session.drained();
      while (slow.frames.length === i) await turn();
      expect(slow.frames).toHaveLength(i + 1);
    }
    expect(slow.frames).toEqual(connection.frames);
  });

  test('No byte of RTDS depends on later prices: a symbol without a recorded one gets nothing.', async () => {
    const latest = (seed: number) => [
      ...later(seed),
      price(KNOWN_MS - START_MS + seed, seed),
      price(KNOWN_MS - START_MS + 1, seed, { source: 'binance' }),
      price(KNOWN_MS - START_MS + 1, seed, { symbol: 'doge' }),
    ];
    const known = [...KNOWN, ...RECORDS.slice(2, 12)];
    const sent: (readonly string[])[] = [];
    for (const batches of [[[...latest(1), ...known]], [known, latest(2)], [known]]) {
      using place = temporaryArchive();
      for (const records of batches) await importRecords(place.archive, records);
      const options = { selection: { ...OPTIONS.selection, coins: ['btc'] }, toMs: KNOWN_MS };
      using replayed = replayOf(place.archive, options);
      const { replay, clock } = replayed;
      const topics = ['crypto_prices', 'crypto_prices_chainlink', 'crypto_prices_twap_sixty'];
      const filters = ['btcusdt,dogeusdt', 'btc/usd,doge/usd', 'btc/usd'];
      const frames = topics.map((topic, i) => request('subscribe', topic, { filters: filters[i] }));
      const { connection, session } = clientOf(replay, ...frames);
      clock.resume();
      await untilEnd(replay);
      clock.seek(KNOWN_MS);
      session.closed();
      sent.push(connection.frames);
    }
    expect(sent[0]!.length).toBeGreaterThan(6);
    expect(sent[1]!).toEqual([...sent[0]!]);
    expect(sent[2]!).toEqual([...sent[0]!]);
  });
});

describe.skipIf(SESSIONS === undefined)('recorded frames of RTDS', () => {
  const framesIn = (run: string) =>
    readFileSync(join(SESSIONS!, run, 'raw_messages.jsonl'), 'utf8')
      .split('\n')
      .filter((line) => line.includes('"polymarket_rtds_chainlink"'))
      .map((line) => JSON.parse((JSON.parse(line) as { payload: string }).payload) as Update | History);
  const runs = SESSIONS === undefined ? [] : readdirSync(SESSIONS).filter((run) => run.includes('rtds'));

  test.each(runs)('A filtered RTDS subscription begins with the last minute. (%s)', async (run) => {
    using place = temporaryArchive();
    await importPaths(place.archive, join(SESSIONS!, run));
    const frames = framesIn(run);
    const updates = frames.filter((frame): frame is Update => frame.type === 'update');
    const histories = frames.filter((frame): frame is History => frame.type === 'subscribe');
    expect([updates.length > 10, histories.length > 2]).toEqual([true, true]);
    const firstMs = Math.min(...histories.map(({ payload }) => payload.data[0]!.timestamp));
    const toMs = Math.max(...frames.map(({ timestamp }) => timestamp));
    using replayed = replayOf(place.archive, { fromMs: firstMs - 1, toMs });
    const { replay, clock } = replayed;
    const { connection } = clientOf(replay, request('subscribe', 'crypto_prices_chainlink'));
    clock.resume();
    await untilEnd(replay);
    const sent = parsed(connection.frames) as Update[];
    const expected = new Map<string, readonly [string, number, number]>();
    for (const { payload } of frames) {
      const prices = 'data' in payload ? payload.data : [payload];
      for (const { timestamp, value } of prices)
        expected.set(`${payload.symbol} ${timestamp}`, [payload.symbol, timestamp, value]);
    }
    const ordered = (items: readonly (readonly [string, number, number])[]) =>
      items.toSorted((a, b) => a[1] - b[1] || (a[0] < b[0] ? -1 : 1));
    const got = sent.map(({ payload }) => [payload.symbol, payload.timestamp, payload.value] as const);
    expect(got).toEqual(ordered([...expected.values()]));
    for (const { topic, type, payload } of updates) {
      const found = sent.find(
        (each) => each.payload.symbol === payload.symbol && each.payload.timestamp === payload.timestamp,
      );
      expect(found).toMatchObject({ topic, type });
      expect(Object.keys(payload)).toEqual(['full_accuracy_value', ...Object.keys(found!.payload)]);
    }
    // At the time of a history, prices of its last second or two were published but had not reached the venue's socket.
    for (const { payload, timestamp, topic } of histories) {
      clock.seek(timestamp);
      const client = clientOf(
        replay,
        request('subscribe', 'crypto_prices_chainlink', { filters: JSON.stringify({ symbol: payload.symbol }) }),
      );
      const [history] = parsed(client.connection.frames) as [History];
      client.session.closed();
      expect([history.topic, history.timestamp]).toEqual([topic, timestamp]);
      expect(history.payload.data.slice(0, payload.data.length)).toEqual([...payload.data]);
      for (const late of history.payload.data.slice(payload.data.length)) {
        expect(late.timestamp).toBeGreaterThan(payload.data.at(-1)!.timestamp);
        expect(late.timestamp).toBeLessThanOrEqual(timestamp);
      }
    }
  });
});
