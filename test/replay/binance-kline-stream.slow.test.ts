import { describe, expect, test } from 'bun:test';
import { BinanceSession } from '../../src/replay/binance/binance-session.ts';
import { FairQueue } from '../../src/replay/fair-queue.ts';
import { Replay, type ReplayOptions } from '../../src/replay/replay.ts';
import type { Archive } from '../../src/store/archive.ts';
import { EVERYTHING } from '../http/replay/replaying.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { CONDITION_ID, START_MS, sampleMarket } from '../support/sample-records.ts';
import { INTERVAL_MS, klineRows, randomTicks, seeded, type Tick, tickRecord } from './kline-oracle.ts';
import { RecordingConnection, rethrow } from './recording-connection.ts';

/** A multiple of 5m, but not of an hour. */
const WALL_MS = START_MS + 1_500_000;

async function recorded(...parts: (readonly Tick[])[]) {
  const place = temporaryArchive();
  await importRecords(place.archive, [sampleMarket()]);
  for (const part of parts)
    await importRecords(
      place.archive,
      part.map((tick) => tickRecord(tick)),
    );
  return place;
}

/** The frames of a client that subscribes to streams at an instant, up to the end of the replay. */
async function framesOf(archive: Archive, streams: readonly string[], fromMs: number, options: Partial<ReplayOptions>) {
  const selection = { names: [CONDITION_ID], coins: [], timeframes: [] };
  const all = { ...EVERYTHING, selection, fromMs: START_MS - 101_000_000, speed: 'max' as const, ...options };
  const replay = new Replay(archive, all, { monotonicMs: () => 0, wallMs: () => WALL_MS });
  replay.clock.seek(fromMs);
  const connection = new RecordingConnection();
  const deps = { replay, connection, queue: new FairQueue(), monotonicMs: () => performance.now(), failed: rethrow };
  const session = new BinanceSession(deps, false, streams);
  // Without `resume`, which would move a rebased replay again.
  replay.clock.resume();
  while (replay.clock.state !== 'ended') await new Promise((resolve) => setImmediate(resolve));
  session.closed();
  replay.stop();
  return { frames: connection.frames, shiftMs: replay.shiftMs };
}

/** By definition: the candle of every update's time with a new price since the last update, and of every end. */
function expectedFrames(ticks: readonly Tick[], interval: string, fromMs: number, toMs: number, shiftMs: number) {
  const intervalMs = INTERVAL_MS[interval]!;
  const everyMs = Math.min(2000, intervalMs);
  const sent = ticks.map((tick) => ({ ...tick, ms: tick.ms + shiftMs }));
  const times = new Set(
    sent.flatMap(({ ms }) => [
      (Math.floor(ms / everyMs) + 1) * everyMs,
      (Math.floor(ms / intervalMs) + 1) * intervalMs,
    ]),
  );
  const due = [...times].filter((E) => E > fromMs + shiftMs && E <= toMs + shiftMs).sort((a, b) => a - b);
  return due.map((E) => {
    const openMs = Math.floor((E - 1) / intervalMs) * intervalMs;
    const members = sent.filter(({ ms }) => ms >= openMs && ms < E);
    const [t, o, h, l, c, v, T, q, n, V, Q, B] = klineRows(members, intervalMs, 0)[0]!;
    const x = E === openMs + intervalMs;
    const k = { t, T, s: 'BTCUSDT', i: interval, f: -1, L: -1, o, c, h, l, v, n, x, q, V, Q, B };
    return JSON.stringify({ e: 'kline', E, s: 'BTCUSDT', k });
  });
}

describe('a stream of klines', () => {
  test('A stream of klines sends the growing candle every 2 s (1s: every second) after new prices, and the closed one at its end.', async () => {
    using place = await recorded([
      { ms: START_MS + 500, price: 76_000, size: 0.5, side: 'buy' },
      { ms: START_MS + 2000, price: 76_001 },
      { ms: START_MS + 60_000, price: 76_002, size: 0.25, side: 'sell' },
    ]);
    const { frames } = await framesOf(place.archive, ['btcusdt@kline_1m'], START_MS, { toMs: START_MS + 90_000 });
    const k = (E: number, t: number, prices: string, v: string, n: number, x: boolean, rest: string) =>
      `{"e":"kline","E":${START_MS + E},"s":"BTCUSDT","k":{"t":${START_MS + t},"T":${START_MS + t + 59_999},"s":"BTCUSDT",` +
      `"i":"1m","f":-1,"L":-1,${prices},"v":"${v}","n":${n},"x":${x},${rest},"B":"0"}}`;
    const bought = '"q":"38000.00000000","V":"0.50000000","Q":"38000.00000000"';
    const only = '"o":"76000.00000000","c":"76000.00000000","h":"76000.00000000","l":"76000.00000000"';
    const both = '"o":"76000.00000000","c":"76001.00000000","h":"76001.00000000","l":"76000.00000000"';
    const next = '"o":"76002.00000000","c":"76002.00000000","h":"76002.00000000","l":"76002.00000000"';
    const sold = '"q":"19000.50000000","V":"0.00000000","Q":"0.00000000"';
    const later = await framesOf(place.archive, ['btcusdt@kline_1m'], START_MS + 2000, { toMs: START_MS + 90_000 });
    expect(later.frames).toEqual(frames.slice(1));
    expect(frames).toEqual([
      k(2000, 0, only, '0.50000000', 1, false, bought),
      k(4000, 0, both, '0.50000000', 1, false, bought),
      k(60_000, 0, both, '0.50000000', 1, true, bought),
      k(62_000, 60_000, next, '0.25000000', 1, false, sold),
    ]);
  });

  test.each([
    [1, false],
    [2, true],
  ])('is what a sort and a scan find, from any instant on (seed %d, rebased: %p)', async (seed, rebase) => {
    const random = seeded(seed);
    const ticks = randomTicks(random, 1500);
    using place = await recorded(ticks);
    for (const interval of Object.keys(INTERVAL_MS)) {
      const fromMs = ticks[Math.floor(random() * 1400)]!.ms + Math.floor(random() * 3) - 1;
      const toMs = fromMs + 4_000_000 + Math.floor(random() * 90_000_000);
      const name = `btcusdt@kline_${interval}`;
      const { frames, shiftMs } = await framesOf(place.archive, [name], fromMs, { toMs, rebase });
      expect(shiftMs === 0).toBe(!rebase);
      expect([interval, fromMs, frames]).toEqual([
        interval,
        fromMs,
        expectedFrames(ticks, interval, fromMs, toMs, shiftMs),
      ]);
    }
  });

  test('gets no byte that depends on later prices', async () => {
    const ticks = randomTicks(seeded(5), 600);
    const toMs = ticks[450]!.ms;
    const known = ticks.filter(({ ms }) => ms <= toMs);
    const later = (seed: number) =>
      Array.from({ length: 40 }, (_, i) => ({ ms: toMs + 1 + i * seed, price: seed + i }));
    const streams = [...Object.keys(INTERVAL_MS).map((name) => `btcusdt@kline_${name}`), 'btcusdt@aggTrade'];
    const sent: (readonly string[])[] = [];
    for (const parts of [[[...known, ...later(1)]], [later(70), known], [known]]) {
      using place = await recorded(...parts);
      const { frames } = await framesOf(place.archive, streams, ticks[300]!.ms, { toMs });
      sent.push(frames);
    }
    expect(sent[0]!.length).toBeGreaterThan(200);
    expect(sent.slice(1)).toEqual([sent[0]!, sent[0]!]);
  });

  test('of trades that no recording aggregates is that of single trades, under its name', async () => {
    using place = await recorded([
      { ms: START_MS + 500, price: 76_000, size: 0.5, side: 'buy' },
      { ms: START_MS + 500, price: 76_000.5 },
    ]);
    const { frames } = await framesOf(place.archive, ['btcusdt@aggTrade'], START_MS, { toMs: START_MS + 90_000 });
    const [at, E] = [START_MS + 500, `"E":${START_MS + 500},"s":"BTCUSDT"`];
    expect(frames).toEqual([
      `{"e":"aggTrade",${E},"p":"76000.00000000","q":"0.50000000","T":${at},"m":false}`,
      `{"e":"aggTrade",${E},"p":"76000.50000000","T":${at}}`,
    ]);
  });
});
