import { describe, expect, test } from 'bun:test';
import { INTERVAL_MS, klineRows, randomTicks, seeded, type Tick, tickRecord } from '../../replay/kline-oracle.ts';
import { importRecords } from '../../support/archive.ts';
import { START_MS, sampleMarket } from '../../support/sample-records.ts';
import { EVERYTHING, type Replaying, startReplaying } from './replaying.ts';

const KLINES_MAX = { '/api/v3': 1000, '/fapi/v1': 1500 } as const;
const OPTIONS = { ...EVERYTHING, fromMs: START_MS - 101_000_000, toMs: START_MS + 1_000_000_000 };

const filled =
  (...parts: (readonly Tick[])[]): Parameters<typeof startReplaying>[0] =>
  async (archive) => {
    await importRecords(archive, [
      sampleMarket(),
      // Prices of others, which no candle has.
      ...parts.flat().flatMap(({ ms }) => [tickRecord({ ms, price: 1 }, { source: 'chainlink' })]),
      tickRecord({ ms: START_MS, price: 2 }, { symbol: 'eth' }),
    ]);
    for (const part of parts) {
      const { total } = await importRecords(
        archive,
        part.map((tick) => tickRecord(tick)),
      );
      expect(total.stored).toBe(part.length);
    }
  };

async function bodyOf({ get }: Replaying, path: string): Promise<string> {
  const answer = await get(path);
  expect([path, answer.status]).toEqual([path, 200]);
  return await answer.text();
}

describe('klines', () => {
  const SECOND = [
    { ms: START_MS + 1000, price: 76_000.5, size: 0.5, side: 'sell' },
    { ms: START_MS + 1000, price: 76_001, size: 0.00001, side: 'buy' },
    { ms: START_MS + 59_999, price: 75_999.99 },
    { ms: START_MS + 120_000, price: 76_010, size: 1, side: 'buy' },
  ] as const;

  test('Candles have the recorded prices up to the clock, and no volume that was not recorded.', async () => {
    await using replaying = await startReplaying(filled(SECOND));
    const { clock } = replaying.replays.create(OPTIONS);
    const rows = async (path: string) => JSON.parse(await bodyOf(replaying, path)) as unknown;
    const t = START_MS;
    const first = [t, '76000.50000000', '76001.00000000', '75999.99000000', '75999.99000000', '0.50001000'];
    const closed = [...first, t + 59_999, '38001.01001000', 2, '0.00001000', '0.76001000', '0'];
    const growing = [t, '76000.50000000', '76001.00000000', '76000.50000000', '76001.00000000', '0.50001000'];
    const third = [t + 120_000, ...Array<string>(4).fill('76010.00000000'), '1.00000000', t + 179_999];
    const latest = [...third, '76010.00000000', 1, '1.00000000', '76010.00000000', '0'];
    const path = '/api/v3/klines?symbol=BTCUSDT&interval=1m';
    for (const [offsetMs, expected] of [
      [999, []],
      [1000, [[...growing, t + 59_999, '38001.01001000', 2, '0.00001000', '0.76001000', '0']]],
      [59_999, [closed]],
      // The minute without a price has no candle.
      [119_999, [closed]],
      [120_000, [closed, latest]],
    ] as const) {
      clock.seek(t + offsetMs);
      expect([offsetMs, await rows(path)]).toEqual([offsetMs, expected]);
      expect(await rows(path.replace('/api/v3', '/fapi/v1'))).toEqual(expected);
    }
    expect(await rows(`${path}&limit=1`)).toEqual([latest]);
    expect(await rows(`${path}&startTime=0&limit=1`)).toEqual([closed]);
    expect(await rows(`${path}&startTime=1&endTime=${t}`)).toEqual([closed]);
    for (const none of [`startTime=${t + 1}&endTime=${t + 119_999}`, 'endTime=0', `startTime=${'9'.repeat(20)}`]) {
      expect(await rows(`${path}&${none}`)).toEqual([]);
    }
  });

  test.each([
    [1, false],
    [2, true],
    [3, true],
  ])('are those that a sort and a scan find, at any instant (seed %d, rebased: %p)', async (seed, rebase) => {
    const random = seeded(seed);
    const ticks = randomTicks(random, 800);
    await using replaying = await startReplaying(filled(ticks));
    const replay = replaying.replays.create({ ...OPTIONS, rebase });
    const { shiftMs, clock } = replay;
    const pick = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)]!;
    for (let i = 0; i < 60; i += 1) {
      const near = () => pick(ticks).ms + pick([-1, 0, 1, Math.floor(random() * 900_000)]);
      const nowMs = near();
      clock.seek(nowMs);
      const interval = pick(Object.keys(INTERVAL_MS));
      const prefix = pick(['/api/v3', '/fapi/v1'] as const);
      const asked = new URLSearchParams({ symbol: 'BTCUSDT', interval });
      const [start, end] = [random(), random()].map((chance) => (chance < 0.5 ? undefined : near() + shiftMs));
      if (start !== undefined) asked.set('startTime', String(start));
      if (end !== undefined) asked.set('endTime', String(end));
      const limit = pick([undefined, 1, 2, 7, 60, 1000, 1500, 5000]);
      if (limit !== undefined) asked.set('limit', String(limit));
      const all = klineRows(
        ticks.filter(({ ms }) => ms <= nowMs),
        INTERVAL_MS[interval]!,
        shiftMs,
      ).filter(([t]) => Number(t) >= (start ?? 0) && Number(t) <= (end ?? Infinity));
      const count = Math.min(limit ?? 500, KLINES_MAX[prefix]);
      const expected = start === undefined ? all.slice(-count) : all.slice(0, count);
      const question = `${prefix}/klines?${asked}`;
      expect([question, nowMs, JSON.parse(await bodyOf(replaying, question))]).toEqual([question, nowMs, expected]);
    }
  });

  test('change with the archive: a later import of earlier prices is in the next answer', async () => {
    await using replaying = await startReplaying(filled(SECOND.slice(0, 2)));
    replaying.replays.create(OPTIONS).clock.seek(START_MS + 600_000);
    const path = '/api/v3/klines?symbol=BTCUSDT&interval=1m';
    for (const known of [2, 3, 4]) {
      if (known > 2) await importRecords(replaying.archive, [tickRecord(SECOND[known - 1]!)]);
      expect(JSON.parse(await bodyOf(replaying, path))).toEqual(klineRows(SECOND.slice(0, known), 60_000, 0));
      expect(JSON.parse(await bodyOf(replaying, path))).toEqual(klineRows(SECOND.slice(0, known), 60_000, 0));
    }
  });
});

test('Nothing of Binance’s REST interface depends on later prices: archives that differ only later answer with the same bytes.', async () => {
  const ticks = randomTicks(seeded(7), 600);
  const nowMs = ticks[450]!.ms;
  const known = ticks.filter(({ ms }) => ms <= nowMs);
  const later = (seed: number) =>
    Array.from({ length: 50 }, (_, i) => ({ ms: nowMs + 1 + i * seed * 300, price: seed + i, size: seed }));
  const answers: string[][] = [];
  for (const parts of [[[...known, ...later(1)]], [later(2), known], [known]]) {
    await using replaying = await startReplaying(filled(...parts));
    replaying.replays.create(OPTIONS).clock.seek(nowMs);
    const bodies: string[] = [];
    for (const interval of Object.keys(INTERVAL_MS)) {
      for (const span of ['', '&startTime=0&limit=1000', `&endTime=${nowMs + 9_000_000}`]) {
        bodies.push(await bodyOf(replaying, `/api/v3/klines?symbol=BTCUSDT&interval=${interval}${span}`));
      }
    }
    for (const prefix of ['/api/v3', '/fapi/v1']) {
      bodies.push(await bodyOf(replaying, `${prefix}/klines?symbol=BTCUSDT&interval=1m&limit=1000`));
      for (const path of ['aggTrades?symbol=BTCUSDT', `aggTrades?symbol=BTCUSDT&startTime=${nowMs - 900_000}`]) {
        bodies.push(await bodyOf(replaying, `${prefix}/${path}`));
      }
      for (const path of ['ticker/24hr', 'ticker/price']) bodies.push(await bodyOf(replaying, `${prefix}/${path}`));
    }
    answers.push(bodies);
  }
  expect(answers[0]!.every((body) => body.length > 40)).toBe(true);
  expect(answers[1]).toEqual(answers[0]!);
  expect(answers[2]).toEqual(answers[0]!);
});

test('Trades that no recording aggregates are listed one by one, without ids: fromId is refused with -1130.', async () => {
  const ticks: Tick[] = Array.from({ length: 1200 }, (_, i) => ({
    ms: START_MS + Math.floor(i / 3) * 1000,
    price: 76_000 + i / 100,
    ...(i % 4 !== 0 && { size: 0.5 }),
    ...(i % 5 !== 0 && { side: i % 2 === 0 ? ('buy' as const) : ('sell' as const) }),
  }));
  await using replaying = await startReplaying(filled(ticks));
  const nowMs = START_MS + 390_000;
  replaying.replays.create(OPTIONS).clock.seek(nowMs);
  const expected = ticks
    .filter(({ ms }) => ms <= nowMs)
    .map(({ ms, price, size, side }) => ({
      p: price.toFixed(8),
      ...(size !== undefined && { q: '0.50000000' }),
      T: ms,
      ...(side !== undefined && { m: side === 'sell' }),
    }));
  const path = '/api/v3/aggTrades?symbol=BTCUSDT';
  const listed = async (more: string) => JSON.parse(await bodyOf(replaying, `${path}${more}`)) as unknown;
  const since = (ms: number) => expected.filter(({ T }) => T >= ms);
  expect(await listed('')).toEqual(expected.slice(-500));
  expect(await listed('&limit=5000')).toEqual(expected.slice(-1000));
  expect(await listed(`&startTime=${START_MS + 1000}&limit=4`)).toEqual(since(START_MS + 1000).slice(0, 4));
  expect(await listed(`&endTime=${START_MS + 1000}`)).toEqual(expected.slice(0, 6));
  expect(await listed(`&startTime=${START_MS + 389_000}&endTime=${nowMs + 60_000}`)).toEqual(since(START_MS + 389_000));
  expect(await listed(`&startTime=${nowMs + 1}`)).toEqual([]);
  const refused = await replaying.get(`${path}&fromId=1`);
  expect([refused.status, await refused.json()]).toEqual([
    400,
    { code: -1130, msg: "Data sent for parameter 'fromId' is not valid." },
  ]);
});

describe('the ticker of 24 hours', () => {
  const DAY_MS = 86_400_000;
  const path = '/api/v3/ticker/24hr';

  test('Ticker/24hr has the recorded prices of the last 24 hours; its times are those of the first and the last one.', async () => {
    const ticks: Tick[] = [
      { ms: START_MS, price: 80_000, size: 3 },
      { ms: START_MS + 1, price: 90_000.5, size: 0.5, side: 'buy' },
      { ms: START_MS + 5000, price: 60_000, size: 1.5 },
      { ms: START_MS + DAY_MS, price: 75_000 },
    ];
    await using replaying = await startReplaying(filled(ticks));
    const { clock } = replaying.replays.create({ ...OPTIONS, toMs: START_MS + 3 * DAY_MS });
    clock.seek(START_MS + DAY_MS);
    const ticker = {
      symbol: 'BTCUSDT',
      priceChange: '-15000.50000000',
      // 15000.5 of 90000.5 are 16.66712… %, and 135000.25 USDT for 2 coins are 67500.125 each.
      priceChangePercent: '-16.667',
      weightedAvgPrice: '67500.12500000',
      lastPrice: '75000.00000000',
      openPrice: '90000.50000000',
      highPrice: '90000.50000000',
      lowPrice: '60000.00000000',
      volume: '2.00000000',
      quoteVolume: '135000.25000000',
      openTime: START_MS + 1,
      closeTime: START_MS + DAY_MS,
      firstId: -1,
      lastId: -1,
      count: 2,
    };
    expect(JSON.parse(await bodyOf(replaying, `${path}?symbol=BTCUSDT`))).toEqual(ticker);
    expect(JSON.parse(await bodyOf(replaying, path))).toEqual([ticker]);
    const several = encodeURIComponent('["BTCUSDT"]');
    expect(JSON.parse(await bodyOf(replaying, `/fapi/v1/ticker/24hr?symbols=${several}`))).toEqual([ticker]);
    clock.seek(START_MS + 5000);
    expect(JSON.parse(await bodyOf(replaying, `${path}?symbol=BTCUSDT`))).toMatchObject({
      ...{ priceChange: '-20000.00000000', priceChangePercent: '-25.000', lastQty: '1.50000000', count: 3 },
      weightedAvgPrice: '75000.05000000',
    });
    // There is no price in the last 24 hours.
    clock.seek(START_MS + 2 * DAY_MS);
    expect(JSON.parse(await bodyOf(replaying, path))).toEqual([]);
    const refused = await replaying.get(`${path}?symbol=BTCUSDT`);
    expect([refused.status, await refused.json()]).toEqual([400, { code: -1121, msg: 'Invalid symbol.' }]);
  });

  test('is what a scan of the day finds, at any instant', async () => {
    const ticks = randomTicks(seeded(11), 800);
    await using replaying = await startReplaying(filled(ticks));
    const { clock } = replaying.replays.create(OPTIONS);
    for (let i = 20; i < ticks.length; i += 97) {
      const nowMs = ticks[i]!.ms;
      clock.seek(nowMs);
      const day = ticks.filter(({ ms }) => ms <= nowMs && ms > nowMs - DAY_MS);
      // One interval that has all of them.
      const [row] = klineRows(day, 1e15, 0);
      const [, open, high, low, last, volume, , quote, count] = row!;
      const found = JSON.parse(await bodyOf(replaying, `${path}?symbol=BTCUSDT`)) as Record<string, unknown>;
      expect(found).toMatchObject({ openPrice: open, highPrice: high, lowPrice: low, lastPrice: last, volume, count });
      expect(found).toMatchObject({ quoteVolume: quote, openTime: day[0]!.ms, closeTime: nowMs });
    }
  });
});

test('Futures show the same prices, with the time of the latest.', async () => {
  await using replaying = await startReplaying(filled([{ ms: START_MS, price: 76_000 }]));
  replaying.replays.create(OPTIONS).clock.seek(START_MS + 1000);
  const found = await bodyOf(replaying, '/fapi/v1/ticker/price?symbol=BTCUSDT');
  expect(JSON.parse(found)).toEqual({ symbol: 'BTCUSDT', price: '76000.00000000', time: START_MS });
  expect(JSON.parse(await bodyOf(replaying, '/fapi/v1/time'))).toEqual({ serverTime: START_MS + 1000 });
  expect(JSON.parse(await bodyOf(replaying, '/fapi/v1/ping'))).toEqual({});
});

const LEGAL = (name: string) => `Illegal characters found in parameter '${name}'; legal range is '^[0-9]{1,20}$'.`;
const MISSING = (name: string) => `Mandatory parameter '${name}' was not sent, was empty/null, or malformed.`;

const REFUSED = [
  ['klines?symbol=BTCUSDT', -1102, MISSING('interval')],
  ['klines?interval=1m', -1102, MISSING('symbol')],
  ['klines?symbol=BTCUSDT&interval=', -1105, "Parameter 'interval' was empty."],
  ['klines?symbol=BTCUSDT&interval=1M', -1120, 'Invalid interval.'],
  ['klines?symbol=BTCUSDT&interval=60', -1120, 'Invalid interval.'],
  ['klines?symbol=BTCUSDC&interval=1m', -1121, 'Invalid symbol.'],
  ['klines?symbol=btcusdt&interval=1m', -1100, expect.stringContaining("parameter 'symbol'; legal range")],
  ['klines?symbol=BTCUSDT&interval=1m&startTime=None', -1100, LEGAL('startTime')],
  ['klines?symbol=BTCUSDT&interval=1m&endTime=-1', -1100, LEGAL('endTime')],
  ['klines?symbol=BTCUSDT&interval=1m&limit=1.5', -1100, LEGAL('limit')],
  ['klines?symbol=BTCUSDT&interval=1m&limit=0', -1130, "Data sent for parameter 'limit' is not valid."],
  ['klines?symbol=BTCUSDT&interval=1m&interval=5m', -1101, "Duplicate values for parameter 'interval'."],
  [
    'klines?symbol=BTCUSDT&interval=1m&start_time=1&end_time=2',
    -1104,
    "Not all sent parameters were read; read '2' parameter(s) but was sent '4'.",
  ],
  ['aggTrades', -1102, MISSING('symbol')],
  ['aggTrades?symbol=SOLUSDT', -1121, 'Invalid symbol.'],
  ['ticker/24hr?symbol=SOLUSDT', -1121, 'Invalid symbol.'],
  ['ticker/24hr?symbol=BTCUSDT&windowSize=1d', -1104, expect.stringContaining("read '1' parameter(s)")],
] as const;

test('Wrong parameters are refused with the codes of Binance.', async () => {
  await using replaying = await startReplaying(filled([{ ms: START_MS, price: 76_000 }]));
  replaying.replays.create(OPTIONS).clock.seek(START_MS);
  for (const [path, code, msg] of REFUSED) {
    for (const prefix of ['/api/v3', '/fapi/v1']) {
      const answer = await replaying.get(`${prefix}/${path}`);
      expect<unknown>([path, answer.status, await answer.json()]).toEqual([path, 400, { code, msg }]);
    }
  }
});
