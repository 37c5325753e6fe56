import { expect, test } from 'bun:test';
import { importRecords } from '../../support/archive.ts';
import { START_MS, sampleCoinPrice, sampleMarket } from '../../support/sample-records.ts';
import { RawSocket } from './raw-socket.ts';
import { EVERYTHING, type Replaying, startReplaying } from './replaying.ts';

const ETH = { symbol: 'eth', conditionId: `0x${'cd34'.repeat(16)}`, slug: 'eth-updown-5m-1776323400' };
const price = (offsetMs: number, value: number, more: object = {}) =>
  sampleCoinPrice({ source: 'binance', timestamp: START_MS + offsetMs, price: value, ...more });
const fill: Parameters<typeof startReplaying>[0] = (archive) =>
  importRecords(archive, [
    sampleMarket(),
    sampleMarket({ ...ETH, clobTokenIds: ['31', '32'] }),
    price(1000, 76_000.5, { size: 0.5, side: 'sell' }),
    price(2000, 76_001),
    price(2000, 76_002),
    price(3000, 2268.32, { symbol: 'eth' }),
    price(1000, 7, { source: 'chainlink' }),
    price(1000, 8, { symbol: 'sol' }),
  ]);
const OPTIONS = { ...EVERYTHING, fromMs: START_MS, toMs: START_MS + 60_000 };
const TICKER = '/api/v3/ticker/price';

async function asked({ get }: Replaying, path: string) {
  const answer = await get(path);
  return [answer.status, await answer.json()] as const;
}
const refused = (code: number, msg: unknown) => [400, { code, msg }];
const INVALID_SYMBOL = refused(-1121, 'Invalid symbol.');

test('A symbol of Binance has no price before its first recorded one: -1121.', async () => {
  await using replaying = await startReplaying(fill);
  const { clock, id } = replaying.replays.create(OPTIONS);
  const btc = (text: string) => ({ symbol: 'BTCUSDT', price: text });
  const eth = { symbol: 'ETHUSDT', price: '2268.32000000' };
  const one = `${TICKER}?symbol=BTCUSDT`;
  const both = `${TICKER}?symbols=${encodeURIComponent('["ETHUSDT","BTCUSDT"]')}`;
  for (const [offsetMs, ofOne, ofBoth, ofAll] of [
    [999, INVALID_SYMBOL, INVALID_SYMBOL, []],
    [1000, [200, btc('76000.50000000')], INVALID_SYMBOL, [btc('76000.50000000')]],
    [2999, [200, btc('76002.00000000')], INVALID_SYMBOL, [btc('76002.00000000')]],
    [3000, [200, btc('76002.00000000')], [200, [eth, btc('76002.00000000')]], [btc('76002.00000000'), eth]],
  ] as const) {
    clock.seek(START_MS + offsetMs);
    expect<unknown>(await asked(replaying, one)).toEqual(ofOne);
    expect<unknown>(await asked(replaying, both)).toEqual(ofBoth);
    expect<unknown>(await asked(replaying, TICKER)).toEqual([200, ofAll]);
    expect<unknown>(await asked(replaying, `/replays/${id}${one}`)).toEqual(ofOne);
  }
  expect<unknown>(await asked(replaying, '/api/v3/ping')).toEqual([200, {}]);
  expect<unknown>(await asked(replaying, '/api/v3/time')).toEqual([200, { serverTime: START_MS + 3000 }]);
});

test.each([
  ['symbol=SOLUSDT', -1121, 'Invalid symbol.'],
  ['symbol=BTCUSDC', -1121, 'Invalid symbol.'],
  ['symbols=["BTCUSDT","SOLUSDT"]', -1121, 'Invalid symbol.'],
  ['symbol=btcusdt', -1100, "Illegal characters found in parameter 'symbol'; legal range is '^[A-Z0-9-_.]{1,20}$'."],
  ['symbols=BTCUSDT', -1100, expect.stringContaining("parameter 'symbols'; legal range")],
  ['symbols=["btcusdt"]', -1100, expect.stringContaining("parameter 'symbols'; legal range")],
  ['symbol=', -1105, "Parameter 'symbol' was empty."],
  ['symbols=["BTCUSDT"]&symbols=["ETHUSDT"]', -1101, "Duplicate values for parameter 'symbols'."],
  ['symbol=BTCUSDT&symbols=["ETHUSDT"]', -1128, 'Combination of optional parameters invalid.'],
  ['symbol=BTCUSDT&limit=5', -1104, "Not all sent parameters were read; read '1' parameter(s) but was sent '2'."],
])('the REST interface refuses %s with Binance’s code %d', async (query, code, msg) => {
  await using replaying = await startReplaying(fill);
  replaying.replays.create(OPTIONS).clock.seek(START_MS + 3000);
  expect<unknown>(await asked(replaying, `${TICKER}?${query}`)).toEqual(refused(code, msg));
});

/** 'opens', or the status of the refusal. */
async function opens({ origin }: Replaying, path: string, key?: string): Promise<string> {
  try {
    const headers = key === undefined ? [] : [`Authorization: Bearer ${key}`];
    (await RawSocket.open(`${origin.replace('http', 'ws')}${path}`, headers)).leave();
    return 'opens';
  } catch (error) {
    return (error as Error).message.replace(/^HTTP\/1\.1 (\d+).*/, '$1');
  }
}

test('raw and combined sockets get the trades of the streams in their address', async () => {
  await using replaying = await startReplaying(fill);
  const { clock, id } = replaying.replays.create({ ...OPTIONS, speed: 'max' });
  const paths = [
    '/ws/btcusdt@trade',
    '/ws/btcusdt%40trade',
    `/replays/${id}/ws/btcusdt@trade`,
    '/stream?streams=btcusdt@trade/ethusdt@trade',
    `/replays/${id}/stream?streams=btcusdt@trade`,
  ];
  const sockets = paths.map((path) => new WebSocket(`${replaying.origin.replace('http', 'ws')}${path}`));
  const frames: { stream?: string; s?: string }[][] = sockets.map(() => []);
  for (const [i, socket] of sockets.entries()) {
    socket.addEventListener('message', ({ data }) => frames[i]!.push(JSON.parse(String(data)) as { stream?: string }));
  }
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.addEventListener('open', resolve))));
  clock.resume();
  const counts = [3, 3, 3, 4, 3];
  while (frames.some(({ length }, i) => length < counts[i]!)) await Bun.sleep(1);
  expect(frames.map((each) => [...new Set(each.map(({ stream, s }) => stream ?? s))])).toEqual([
    ['BTCUSDT'],
    ['BTCUSDT'],
    ['BTCUSDT'],
    ['btcusdt@trade', 'ethusdt@trade'],
    ['btcusdt@trade'],
  ]);
  for (const socket of sockets) socket.close();
});

test('A stream of Binance that no recording has is refused: in an address with 400, in a frame as by Binance.', async () => {
  await using replaying = await startReplaying(fill, { needsKeys: true });
  replaying.replays.create({ ...OPTIONS, selection: { ...OPTIONS.selection, coins: ['btc', 'eth'] } });
  const [free, pro] = [replaying.keyOf('free'), replaying.keyOf('pro')];
  for (const path of [
    '/ws',
    '/stream',
    '/ws/btcusdt@trade',
    '/stream?streams=btcusdt@trade/ethusdt@trade',
    '/stream?streams=',
  ]) {
    const answers = [await opens(replaying, path), await opens(replaying, path, free)];
    expect([path, ...answers, await opens(replaying, path, pro)]).toEqual([path, '401', '403', 'opens']);
    expect((await replaying.get(path, pro)).status).toBe(400);
  }
  const many = Array.from({ length: 1025 }, () => 'btcusdt@trade').join('/');
  for (const path of [
    '/ws/btcusdt@bookTicker',
    '/ws/solusdt@trade',
    '/ws/trades',
    '/stream?streams=btcusdt@trade/btcusdt@depth',
    `/stream?streams=${many}`,
  ]) {
    expect([path.slice(0, 80), await opens(replaying, path, pro)]).toEqual([path.slice(0, 80), '400']);
  }
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    authorization: `Bearer ${pro}`,
  };
  const answer = await replaying.ask('GET', '/ws/btcusdt@bookTicker', undefined, headers);
  expect(((await answer.json()) as { detail: string }).detail).toBe(
    'recordings do not have this stream: use @trade, @aggTrade or @kline_1m after one of btcusdt, ethusdt',
  );
});
