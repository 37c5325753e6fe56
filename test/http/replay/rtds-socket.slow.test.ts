import { describe, expect, test } from 'bun:test';
import { importRecords } from '../../support/archive.ts';
import { START_MS, sampleCoinPrice, sampleMarket } from '../../support/sample-records.ts';
import { RawSocket } from './raw-socket.ts';
import { EVERYTHING, type Replaying, startReplaying } from './replaying.ts';
import { HAS_RTDS_CLIENTS, type RtdsMessage, rtdsLibraries } from './rtds-clients.ts';

const prices = (source: string, value: number) =>
  Array.from({ length: 20 }, (_, i) =>
    sampleCoinPrice({ source, timestamp: START_MS + i * 1000, price: value + i / 4 }),
  );
const fill: Parameters<typeof startReplaying>[0] = (archive) =>
  importRecords(archive, [sampleMarket(), ...prices('chainlink', 76_000), ...prices('binance', 76_100)]);
const OPTIONS = { ...EVERYTHING, fromMs: START_MS + 4000, toMs: START_MS + 60_000, speed: 'max' as const };

const addressOf = ({ origin }: Replaying, path: string) => `${origin.replace('http', 'ws')}${path}`;
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(1);
}
const valuesOf = (messages: readonly RtdsMessage[], topic: string) =>
  messages
    .filter(({ type, ...message }) => type === 'update' && message.topic === topic)
    .map(({ payload }) => payload.value!);
const expectedOf = (value: number) => Array.from({ length: 15 }, (_, i) => value + (5 + i) / 4);

describe.skipIf(!HAS_RTDS_CLIENTS)('unmodified clients of RTDS', () => {
  test.each(['', '/replays/ID/rtds'])(
    'RTDS is at /rtds, and for a WebSocket also at the root, where its own client looks for it. (%p)',
    async (path) => {
      const { RealTimeDataClient } = await rtdsLibraries();
      await using replaying = await startReplaying(fill);
      const replay = replaying.replays.create(OPTIONS);
      const messages: RtdsMessage[] = [];
      const host = addressOf(replaying, path.replace('ID', replay.id));
      const client = new RealTimeDataClient({
        host,
        onConnect: (connected) =>
          connected.subscribe({
            subscriptions: [
              { topic: 'crypto_prices', type: '*', filters: '{"symbol":"btcusdt"}' },
              { topic: 'crypto_prices_chainlink', type: '*', filters: '{"symbol":"btc/usd"}' },
            ],
          }),
        onMessage: (_, message) => messages.push(message),
      }).connect();
      await until(() => messages.length === 2);
      expect(messages.map(({ type, payload }) => [type, payload.symbol, payload.data!.length])).toEqual([
        ['subscribe', 'btcusdt', 5],
        ['subscribe', 'btc/usd', 5],
      ]);
      replay.clock.resume();
      await until(() => messages.length === 32);
      expect(valuesOf(messages, 'crypto_prices')).toEqual(expectedOf(76_100));
      expect(valuesOf(messages, 'crypto_prices_chainlink')).toEqual(expectedOf(76_000));
      // It connects again by itself.
      replaying.sockets.closeAll(1012, 'again');
      await until(() => messages.length === 34);
      expect(messages.slice(32).map(({ type, payload }) => [type, payload.symbol])).toEqual([
        ['subscribe', 'btcusdt'],
        ['subscribe', 'btc/usd'],
      ]);
      client.disconnect();
    },
  );

  test('the venue’s client of all its interfaces accepts every update', async () => {
    const { forkEnvironmentConfig, createPublicClient } = await rtdsLibraries();
    await using replaying = await startReplaying(fill);
    const replay = replaying.replays.create(OPTIONS);
    const environment = forkEnvironmentConfig({ name: 'replay', rtds: { ws: addressOf(replaying, '/rtds') } });
    const topics = ['prices.crypto.binance', 'prices.crypto.chainlink'] as const;
    const handle = await createPublicClient({ environment }).subscribe(topics.map((topic) => ({ topic })));
    // At speed max the clock waits for its first client.
    replay.clock.resume();
    const messages: RtdsMessage[] = [];
    for await (const message of handle) if (messages.push(message) === 30) break;
    for (const [i, value] of [76_100, 76_000].entries()) {
      expect(valuesOf(messages, topics[i]!).map(Number)).toEqual(expectedOf(value));
    }
    await handle.close();
  });

  test('another client gets the updates that it has subscribed to', async () => {
    const { RtdsClient } = await rtdsLibraries();
    await using replaying = await startReplaying(fill);
    const replay = replaying.replays.create(OPTIONS);
    const messages: RtdsMessage[] = [];
    const client = new RtdsClient({ url: addressOf(replaying, '/') });
    client.onCryptoPrice((message) => messages.push(message));
    await client.connect();
    client.subscribeCryptoPrices(['btcusdt']);
    client.subscribeCryptoPricesChainlink('btc/usd');
    await until(() => messages.length === 2);
    replay.clock.resume();
    await until(() => messages.length === 32);
    expect(valuesOf(messages, 'crypto_prices')).toEqual(expectedOf(76_100));
    expect(valuesOf(messages, 'crypto_prices_chainlink')).toEqual(expectedOf(76_000));
    client.disconnect();
  });
});

/** 'opens', or the status of the refusal. */
async function opens(replaying: Replaying, path: string, key?: string): Promise<string> {
  try {
    const headers = key === undefined ? [] : [`Authorization: Bearer ${key}`];
    (await RawSocket.open(addressOf(replaying, path), headers)).leave();
    return 'opens';
  } catch (error) {
    return (error as Error).message.replace(/^HTTP\/1\.1 (\d+).*/, '$1');
  }
}

describe('a WebSocket', () => {
  const SOCKETS = ['/', '/rtds', '/ws/market', '/ws/market/'];

  test('where keys are needed, needs one whose tier grants the replay', async () => {
    await using replaying = await startReplaying(fill, { needsKeys: true });
    const { id } = replaying.replays.create(OPTIONS);
    const [free, pro] = [replaying.keyOf('free'), replaying.keyOf('pro')];
    for (const path of [...SOCKETS, `/replays/${id}`, `/replays/${id}/rtds`]) {
      const answers = [await opens(replaying, path), await opens(replaying, path, free)];
      expect([path, ...answers, await opens(replaying, path, pro)]).toEqual([path, '401', '403', 'opens']);
    }
  });

  test('A WebSocket at a path without one is a 404, and a plain request of its path too.', async () => {
    await using replaying = await startReplaying(fill);
    const { id } = replaying.replays.create(OPTIONS);
    for (const path of SOCKETS) expect([path, await opens(replaying, path)]).toEqual([path, 'opens']);
    for (const path of [
      '/docs',
      '/time',
      '/v1/coins',
      '/nothing',
      '/ws/market/more',
      '/rtds/more',
      `/replays/${id}/time`,
    ]) {
      expect([path, await opens(replaying, path)]).toEqual([path, '404']);
      const answer = await replaying.ask('GET', path, undefined, { connection: 'Upgrade', upgrade: 'WebSocket' });
      expect(((await answer.json()) as { detail: string }).detail).toStartWith('there is no WebSocket at this path: ');
    }
    for (const path of ['/rtds', '/ws/market']) expect((await replaying.get(path)).status).toBe(400);
    expect((await replaying.get('/')).status).toBe(200);
  });
});
