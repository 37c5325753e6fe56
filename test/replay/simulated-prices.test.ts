import { expect, test } from 'bun:test';
import { BinanceSession } from '../../src/replay/binance/binance-session.ts';
import { FairQueue } from '../../src/replay/fair-queue.ts';
import { Replay } from '../../src/replay/replay.ts';
import { RtdsSession } from '../../src/replay/rtds/rtds-session.ts';
import { EVERYTHING, startReplaying } from '../http/replay/replaying.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { START_MS, sampleCoinPrice, sampleMarket } from '../support/sample-records.ts';
import { RecordingConnection, rethrow } from './recording-connection.ts';

const SIMULATED = sampleMarket({
  ...{ conditionId: `0x${'51'.repeat(32)}`, slug: `simulated-btc-updown-5m-${START_MS / 1000}` },
  clobTokenIds: ['71', '72'],
});
const price = (source: string, value: number) => sampleCoinPrice({ source, timestamp: START_MS + 1000, price: value });
const PRICES = [price('simulated', 90_000), price('binance', 76_000), price('chainlink-twap-60s', 75_000)];
const OPTIONS = { ...EVERYTHING, fromMs: START_MS, toMs: START_MS + 60_000, speed: 'max' as const };
const TOPICS = ['crypto_prices', 'crypto_prices_chainlink', 'crypto_prices_twap_thirty'];

/** What clients of RTDS and of Binance's streams get in a replay of these markets. */
async function framesOf(markets: readonly object[]) {
  using place = temporaryArchive();
  await importRecords(place.archive, [...markets, ...PRICES]);
  const replay = new Replay(place.archive, OPTIONS, { monotonicMs: () => 0, wallMs: () => 0 });
  const [rtds, binance] = [new RecordingConnection(), new RecordingConnection()];
  const deps = { replay, queue: new FairQueue(), monotonicMs: () => performance.now(), failed: rethrow };
  const subscriptions = TOPICS.map((topic) => ({ topic, type: '*', filters: '{"symbol":"btc/usd"}' }));
  const ofBinance = subscriptions.map((each, i) => (i === 0 ? { ...each, filters: '{"symbol":"btcusdt"}' } : each));
  new RtdsSession({ ...deps, connection: rtds }).received(
    JSON.stringify({ action: 'subscribe', subscriptions: ofBinance }),
  );
  const session = new BinanceSession({ ...deps, connection: binance }, false, ['btcusdt@trade', 'btcusdt@kline_1m']);
  replay.clock.resume();
  while (replay.clock.state !== 'ended') await new Promise((resolve) => setImmediate(resolve));
  session.closed();
  replay.stop();
  return {
    simulated: replay.simulatedCoins,
    rtds: rtds.frames.map((frame) => {
      const { topic, connection_id, payload } = JSON.parse(frame) as Record<string, unknown>;
      return [topic, connection_id, (payload as { value: number }).value];
    }),
    binance: binance.frames.map((frame) => {
      const { p, k } = JSON.parse(frame) as { p?: string; k?: { c: string; v: string; n: number } };
      return p ?? [k!.c, k!.v, k!.n];
    }),
  };
}

test('Simulated markets have simulated prices, marked on RTDS by their connection, and no averages; real ones never have them.', async () => {
  const kline = ['90000.00000000', '0.00000000', 0];
  expect(await framesOf([SIMULATED])).toEqual({
    simulated: ['btc'],
    rtds: [
      ['crypto_prices', 'simulated', 90_000],
      ['crypto_prices_chainlink', 'simulated', 90_000],
    ],
    binance: ['90000.00000000', kline, kline],
  });
  const real = ['76000.00000000', '0.00000000', 0];
  for (const markets of [[sampleMarket()], [sampleMarket(), SIMULATED]]) {
    expect(await framesOf(markets)).toEqual({
      simulated: [],
      rtds: [['crypto_prices', 'replay', 76_000]],
      binance: ['76000.00000000', real, real],
    });
  }
});

test('the REST interface and the list of replays have them too', async () => {
  await using replaying = await startReplaying((archive) => importRecords(archive, [SIMULATED, ...PRICES]));
  const { clock } = replaying.replays.create({ ...OPTIONS, speed: 1 });
  clock.seek(START_MS + 2000);
  const bodyOf = async (path: string) => (await (await replaying.get(path)).json()) as unknown;
  expect(await bodyOf('/api/v3/ticker/price?symbol=BTCUSDT')).toEqual({ symbol: 'BTCUSDT', price: '90000.00000000' });
  expect(await bodyOf('/api/v3/ticker/24hr')).toMatchObject([{ lastPrice: '90000.00000000', volume: '0.00000000' }]);
  expect(await bodyOf('/api/v3/aggTrades?symbol=BTCUSDT')).toEqual([{ p: '90000.00000000', T: START_MS + 1000 }]);
  const [row] = (await bodyOf('/api/v3/klines?symbol=BTCUSDT&interval=5m')) as unknown[][];
  expect(row!.slice(0, 2)).toEqual([START_MS, '90000.00000000']);
  expect(await bodyOf('/v1/replays')).toMatchObject({ data: [{ simulated: ['btc'] }] });
});
