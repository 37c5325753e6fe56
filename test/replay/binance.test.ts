import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BinanceSession } from '../../src/replay/binance/binance-session.ts';
import { FairQueue } from '../../src/replay/fair-queue.ts';
import { Replay, type ReplayOptions } from '../../src/replay/replay.ts';
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
const OPTIONS: ReplayOptions = { ...EVERYTHING, fromMs: START_MS, toMs: START_MS + 600_000, speed: 'max' };
const ETH = { symbol: 'eth', conditionId: `0x${'cd34'.repeat(16)}`, slug: 'eth-updown-5m-1776323400' };
const ETH_MARKET = sampleMarket({ ...ETH, clobTokenIds: ['31', '32'] });

const price = (offsetMs: number, value: number | string, more: object = {}) =>
  sampleCoinPrice({ timestamp: START_MS + offsetMs, price: value, source: 'binance', ...more });
const RECORDS = [
  sampleMarket(),
  ETH_MARKET,
  price(0, 76_000),
  price(1000, 76_177.85, { size: 0.01527, side: 'sell' }),
  price(1000, 76_177.85, { size: 0.084, side: 'buy' }),
  price(1500, '76211.80016560019', { size: 0.0000001 }),
  price(2000, 2285.17, { symbol: 'eth', side: 'buy' }),
  price(2000, 7, { source: 'chainlink' }),
];

function replayOf(archive: Archive, options: Partial<ReplayOptions> = {}) {
  const replay = new Replay(
    archive,
    { ...OPTIONS, ...options },
    { monotonicMs: () => 0, wallMs: () => START_MS + SHIFT_MS },
  );
  return { replay, clock: replay.clock, [Symbol.dispose]: () => replay.stop() };
}

function clientOf(replay: Replay, streams: readonly string[] = [], isCombined = false) {
  const connection = new RecordingConnection();
  const deps = { replay, connection, queue: new FairQueue(), monotonicMs: () => performance.now(), failed: rethrow };
  const session = new BinanceSession(deps, isCombined, streams);
  const ask = (request: unknown) => {
    session.received(typeof request === 'string' ? request : JSON.stringify(request));
    return JSON.parse(connection.frames.pop()!) as unknown;
  };
  return { connection, session, ask };
}

async function recorded(records: readonly object[] = RECORDS) {
  const place = temporaryArchive();
  const { total } = await importRecords(place.archive, records);
  expect(total.rejected).toBe(0);
  return place;
}

async function untilEnd({ clock }: Replay): Promise<void> {
  while (clock.state !== 'ended') await new Promise((resolve) => setImmediate(resolve));
}

describe('a client of Binance’s streams', () => {
  test('A trade of Binance has only recorded fields: q and m if known, never t, b, a or M, and E equals T.', async () => {
    using place = await recorded();
    using replayed = replayOf(place.archive);
    const { connection } = clientOf(replayed.replay, ['btcusdt@trade', 'ethusdt@trade']);
    replayed.clock.resume();
    await untilEnd(replayed.replay);
    const [at, second, third] = [START_MS + 1000, START_MS + 1500, START_MS + 2000];
    expect(connection.frames).toEqual([
      `{"e":"trade","E":${at},"s":"BTCUSDT","p":"76177.85000000","q":"0.01527000","T":${at},"m":true}`,
      `{"e":"trade","E":${at},"s":"BTCUSDT","p":"76177.85000000","q":"0.08400000","T":${at},"m":false}`,
      `{"e":"trade","E":${second},"s":"BTCUSDT","p":"76211.80016560019","q":"0.00000010","T":${second}}`,
      `{"e":"trade","E":${third},"s":"ETHUSDT","p":"2285.17000000","T":${third},"m":false}`,
    ]);
  });

  test('of a combined socket gets the name of the stream with each message, as its property says', async () => {
    using place = await recorded();
    using replayed = replayOf(place.archive, { rebase: true });
    const { connection, ask } = clientOf(replayed.replay, ['ethusdt@trade'], true);
    expect(ask({ method: 'GET_PROPERTY', params: ['combined'], id: 1 })).toEqual({ result: true, id: 1 });
    replayed.clock.resume();
    await untilEnd(replayed.replay);
    const at = START_MS + 2000 + replayed.replay.shiftMs;
    const data = `{"e":"trade","E":${at},"s":"ETHUSDT","p":"2285.17000000","T":${at},"m":false}`;
    expect([replayed.replay.shiftMs, connection.frames]).toEqual([
      SHIFT_MS,
      [`{"stream":"ethusdt@trade","data":${data}}`],
    ]);
    expect(ask({ method: 'SET_PROPERTY', params: ['combined', false], id: 2 })).toEqual({ result: null, id: 2 });
    expect(ask({ method: 'GET_PROPERTY', params: ['combined'], id: 'a-3' })).toEqual({ result: false, id: 'a-3' });
    connection.frames.length = 0;
    replayed.clock.seek(START_MS);
    await untilEnd(replayed.replay);
    expect(connection.frames.map((frame) => (JSON.parse(frame) as { s: string }).s)).toEqual(['ETHUSDT']);
  });

  test('subscribes, lists its streams and unsubscribes', async () => {
    using place = await recorded();
    using replayed = replayOf(place.archive);
    const { connection, ask } = clientOf(replayed.replay);
    const list = () => ask({ method: 'LIST_SUBSCRIPTIONS', id: 3 });
    expect(list()).toEqual({ result: [], id: 3 });
    const both = ['btcusdt@trade', 'ethusdt@trade'];
    expect(ask({ method: 'SUBSCRIBE', params: both, id: 1 })).toEqual({ result: null, id: 1 });
    expect(ask({ method: 'SUBSCRIBE', params: ['btcusdt@trade'], id: null })).toEqual({ result: null, id: null });
    expect(list()).toEqual({ result: both, id: 3 });
    expect(ask({ method: 'UNSUBSCRIBE', params: ['btcusdt@trade', 'solusdt@depth'], id: 312 })).toEqual({
      result: null,
      id: 312,
    });
    expect(list()).toEqual({ result: ['ethusdt@trade'], id: 3 });
    replayed.clock.resume();
    await untilEnd(replayed.replay);
    expect(connection.frames).toHaveLength(1);
  });

  test.each([
    ['nonsense', 3, 'Invalid JSON', undefined],
    ['[]', 2, 'expected a JSON object', undefined],
    [{ method: 'SUBSCRIBE', params: ['btcusdt@trade'] }, 2, 'request ID', undefined],
    [{ method: 'SUBSCRIBE', params: ['btcusdt@trade'], id: 1.5 }, 2, 'request ID', undefined],
    [{ id: 4 }, 2, 'missing field `method`', 4],
    [{ method: 'LISTEN', id: 4 }, 2, 'unknown variant `LISTEN`, expected one of `SUBSCRIBE`', 4],
    [{ method: 'L'.repeat(41), id: 4 }, 2, `unknown variant \`${'L'.repeat(40)}\`, `, 4],
    [{ method: 'SUBSCRIBE', params: 'btcusdt@trade', id: 4 }, 2, 'params', 4],
    [{ method: 'SUBSCRIBE', params: [7], id: 4 }, 2, 'invalid stream', 4],
    [{ method: 'SET_PROPERTY', params: [], id: 4 }, 2, 'property name must be a string', 4],
    [{ method: 'SET_PROPERTY', params: ['combined', 1], id: 4 }, 1, 'expected Boolean', 4],
    [{ method: 'SET_PROPERTY', params: ['combined', true, 1], id: 4 }, 2, 'too many parameters', 4],
    [{ method: 'GET_PROPERTY', params: ['combined', true], id: 4 }, 2, 'too many parameters', 4],
    [{ method: 'GET_PROPERTY', params: ['separate'], id: 4 }, 0, 'Unknown property', 4],
    [
      { method: 'SUBSCRIBE', params: Array.from({ length: 1025 }, (_, i) => `c${i}usdt@trade`), id: 4 },
      2,
      'invalid stream',
      4,
    ],
    // Nothing of these was recorded.
    ...[
      'btcusdt@bookTicker',
      'btcusdt@kline_1M',
      'btcusdt@kline',
      'btcusdt@aggTrade@100ms',
      'btcusdt@depth',
      'btcusdt@trade@100ms',
      'BTCUSDT@trade',
      'btcusdc@trade',
      'solusdt@trade',
      '!ticker@arr',
      '',
    ].map(
      (stream) =>
        [
          { method: 'SUBSCRIBE', params: ['btcusdt@trade', stream], id: 4 },
          2,
          'Invalid request: invalid stream',
          4,
        ] as const,
    ),
  ])('is refused with %j in Binance’s words, and keeps its subscriptions', async (request, code, message, id) => {
    using place = await recorded();
    using replayed = replayOf(place.archive);
    const { ask } = clientOf(replayed.replay, ['ethusdt@trade']);
    expect(ask(request)).toEqual({
      error: { code, msg: expect.stringContaining(message) as string },
      ...(id === undefined ? {} : { id }),
    });
    expect(ask({ method: 'LIST_SUBSCRIPTIONS', id: 1 })).toMatchObject({ result: ['ethusdt@trade'] });
  });

  test('gets no byte that depends on later trades', async () => {
    const latest = (seed: number) => [
      ...later(seed),
      price(KNOWN_MS - START_MS + seed, seed, { size: seed }),
      price(KNOWN_MS - START_MS + 1, seed, { symbol: 'eth', size: seed }),
    ];
    const known = [...KNOWN, ETH_MARKET, ...RECORDS.slice(2, 6)];
    const sent: (readonly string[])[] = [];
    for (const batches of [[[...latest(1), ...known]], [known, latest(2)], [known]]) {
      using place = temporaryArchive();
      for (const records of batches) await importRecords(place.archive, records);
      using replayed = replayOf(place.archive, {
        selection: { ...OPTIONS.selection, coins: ['btc', 'eth'] },
        toMs: KNOWN_MS,
      });
      const { connection, ask } = clientOf(replayed.replay, ['btcusdt@trade']);
      replayed.clock.resume();
      await untilEnd(replayed.replay);
      ask({ method: 'SUBSCRIBE', params: ['ethusdt@trade'], id: 1 });
      sent.push(connection.frames);
    }
    expect(sent[0]).toHaveLength(3);
    expect(sent.slice(1)).toEqual([sent[0]!, sent[0]!]);
  });
});

describe.skipIf(SESSIONS === undefined)('recorded frames of Binance', () => {
  interface Trade {
    readonly E: number;
    readonly T: number;
    readonly p: string;
    readonly [field: string]: unknown;
  }
  const runs = SESSIONS === undefined ? [] : readdirSync(SESSIONS);

  test.each(runs)(
    'Trades with the same time and price are different if their sizes or sides differ. (%s)',
    async (run) => {
      using place = temporaryArchive();
      await importPaths(place.archive, join(SESSIONS!, run));
      const frames = readFileSync(join(SESSIONS!, run, 'raw_messages.jsonl'), 'utf8')
        .split('\n')
        .filter((line) => line.includes('"source":"binance"'))
        .map(
          (line) => JSON.parse((JSON.parse(line) as { payload: string }).payload) as { stream: string; data: Trade },
        );
      expect(frames.length).toBeGreaterThan(4);
      const times = frames.map(({ data }) => data.T);
      using replayed = replayOf(place.archive, { fromMs: Math.min(...times) - 1, toMs: Math.max(...times) });
      const streams = [...new Set(frames.map(({ stream }) => stream))];
      const { connection } = clientOf(replayed.replay, streams, true);
      replayed.clock.resume();
      await untilEnd(replayed.replay);
      // The number of a trade and the constant M are not kept, nor two trades of one time with the same price, size and side.
      const kept = frames.map(({ stream, data: { t: _, M: _constant, ...data } }) =>
        JSON.stringify({ stream, data: { ...data, E: data.T } }),
      );
      expect(connection.frames.toSorted()).toEqual([...new Set(kept)].sort());
      for (const { data } of frames) expect(data.E - data.T).toBeLessThanOrEqual(1);
    },
  );
});
