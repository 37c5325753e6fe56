import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { formatInstant } from '../../../src/domain/instant.ts';
import { REPLAYS_MAX } from '../../../src/replay/replays.ts';
import { randomRecording } from '../../replay/random-recording.ts';
import { importRecords } from '../../support/archive.ts';
import {
  CONDITION_ID,
  START_MS,
  sampleMarket,
  samplePrice,
  sampleQuote,
  sampleSnapshot,
} from '../../support/sample-records.ts';
import { serviceOf } from '../../support/service.ts';
import { type Replaying, startReplaying } from './replaying.ts';

const REPLAYS = '/v1/replays';
const ETH_ID = `0x${'cd34'.repeat(16)}`;
const END_MS = START_MS + 300_000;
const STYLE = { outcomes: ['up', 'down'], count: 150, priceScale: 2, trades: true, gaps: 0, stepMs: 900 } as const;
const { lines, recorded } = randomRecording(7, STYLE);
const FIRST_BOOK_MS = Math.min(...recorded.flatMap(({ kind, timestampMs }) => (kind === 'book' ? timestampMs : [])));

/** A BTC market with books and trades of five minutes, and an ETH market without records. */
const fill: Parameters<typeof startReplaying>[0] = (archive) =>
  importRecords(archive, [
    ...lines,
    sampleMarket({ conditionId: ETH_ID, slug: 'eth-updown-5m-1776323400', symbol: 'eth', clobTokenIds: ['31', '32'] }),
  ]);

interface ReplayResource {
  readonly id: string;
  readonly [field: string]: unknown;
}

let replaying: Replaying;
beforeAll(async () => {
  replaying = await startReplaying(fill);
});
afterAll(() => replaying[Symbol.asyncDispose]());

async function created(body: unknown = {}): Promise<ReplayResource> {
  const response = await replaying.ask('POST', REPLAYS, body);
  expect(response.status).toBe(201);
  const { data } = (await response.json()) as { data: ReplayResource };
  expect(response.headers.get('location')).toBe(`${REPLAYS}/${data.id}`);
  return data;
}

test.each(['application/json', 'application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x'])(
  'a body is JSON, also where it calls itself %s',
  async (type) => {
    const headers = { 'content-type': type };
    const { status } = await replaying.ask('PATCH', `${REPLAYS}/${(await created()).id}`, { paused: true }, headers);
    const made = await replaying.ask('POST', REPLAYS, { paused: true }, headers);
    const { data } = (await made.json()) as { data: ReplayResource };
    expect({ status, made: made.status, state: data.state }).toEqual({ status: 200, made: 201, state: 'paused' });
    for (const replay of await listed()) await stopped(replay);
  },
);

async function changed(id: string, change: unknown): Promise<ReplayResource> {
  const response = await replaying.ask('PATCH', `${REPLAYS}/${id}`, change);
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: ReplayResource }).data;
}

async function stopped(...replays: readonly ReplayResource[]): Promise<void> {
  for (const { id } of replays) expect((await replaying.ask('DELETE', `${REPLAYS}/${id}`)).status).toBe(204);
}

async function listed(): Promise<ReplayResource[]> {
  return ((await (await replaying.get(REPLAYS)).json()) as { data: ReplayResource[] }).data;
}

describe('a replay', () => {
  test('is created of everything unless the body says otherwise, and runs at once', async () => {
    const replay = await created();
    expect(replay).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{12}$/),
      isFirst: true,
      state: 'running',
      now: formatInstant(FIRST_BOOK_MS),
      from: formatInstant(FIRST_BOOK_MS),
      to: formatInstant(END_MS),
      speed: 1,
      gaps: 'disconnect',
      mirror: 'fresh',
      arrival: false,
      strict: false,
      simulated: [],
      loop: false,
      rebase: null,
      coins: ['btc', 'eth'],
      markets: 2,
      standIns: 0,
      clients: 0,
      paper: null,
      paths: {
        rest: `/replays/${replay.id}`,
        socket: `/replays/${replay.id}/ws/market`,
        rtds: `/replays/${replay.id}/rtds`,
        binance: `/replays/${replay.id}/stream`,
        api: `/replays/${replay.id}/v1`,
      },
    });
    await stopped(replay);
  });

  test('is created as the body says', async () => {
    const body = {
      markets: ['eth-updown-5m-1776323400'],
      coins: ['ETH'],
      timeframes: ['5m'],
      from: START_MS + 1000,
      to: formatInstant(START_MS + 2000),
      speed: 'max',
      gaps: 'ignore',
      mirror: 'recorded',
      arrival: true,
      strict: true,
      rebase: 'now',
      paused: true,
    };
    const replay = await created(body);
    expect(replay).toMatchObject({
      state: 'paused',
      from: formatInstant(START_MS + 1000),
      to: formatInstant(START_MS + 2000),
      speed: 'max',
      gaps: 'ignore',
      mirror: 'recorded',
      arrival: true,
      strict: true,
      rebase: 'now',
      coins: ['eth'],
      markets: 1,
    });
    await stopped(replay);
  });

  test('is created by one walk through the markets of a coin, even if its body repeats the coin', async () => {
    const walked = spyOn(replaying.archive.markets, 'after');
    try {
      const replay = await created({ coins: Array.from({ length: 1000 }, () => 'btc'), paused: true });
      expect(replay).toMatchObject({ coins: ['btc'], markets: 1 });
      expect(walked).toHaveBeenCalledTimes(2);
      await stopped(replay);
    } finally {
      walked.mockRestore();
    }
  });

  test('Paths without /replays/{replay} are those of the first replay, and a 404 if there is none.', async () => {
    const replays = [await created(), await created({ coins: ['eth'] }), await created()];
    expect((await listed()).map(({ id, isFirst }) => [id, isFirst])).toEqual([
      [replays[0]!.id, true],
      [replays[1]!.id, false],
      [replays[2]!.id, false],
    ]);
    const shown = await replaying.get(`${REPLAYS}/${replays[1]!.id}`);
    expect(((await shown.json()) as { data: ReplayResource }).data.coins).toEqual(['eth']);
    await stopped(replays[0]!);
    expect((await listed()).map(({ id, isFirst }) => [id, isFirst])).toEqual([
      [replays[1]!.id, true],
      [replays[2]!.id, false],
    ]);
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? { paused: true } : undefined;
      expect((await replaying.ask(method, `${REPLAYS}/${replays[0]!.id}`, body)).status).toBe(404);
    }
    await stopped(replays[1]!, replays[2]!);
    expect(await listed()).toEqual([]);
    expect((await replaying.get('/v1/btc/markets')).status).toBe(404);
  });

  test('is refused with 409 beyond the maximum', async () => {
    const replays: ReplayResource[] = [];
    for (let i = 0; i < REPLAYS_MAX; i += 1) replays.push(await created({ coins: ['eth'], paused: true }));
    const refused = await replaying.ask('POST', REPLAYS, {});
    expect(refused.status).toBe(409);
    expect(((await refused.json()) as { detail: string }).detail).toContain(`there are ${REPLAYS_MAX} replays already`);
    await stopped(...replays);
    expect(replaying.log).toEqual([]);
  });
});

describe('without from a replay begins', () => {
  const eth = sampleMarket({ conditionId: ETH_ID, slug: 'eth-updown', symbol: 'eth', clobTokenIds: ['31', '32'] });
  const at = (second: number) => ({ timestamp: formatInstant(START_MS + second * 1000) });
  const trade = samplePrice(at(1));
  const books = [
    sampleSnapshot({ ...at(9), outcome: 'up' }),
    sampleSnapshot({ ...at(5), outcome: 'down' }),
    sampleSnapshot({ ...at(3), conditionId: ETH_ID }),
  ];
  test.each([
    ['A replay starts at its first book, or its first record without one.', [trade, ...books], { coins: ['btc'] }, 5],
    ['at the first book of several markets', [trade, ...books], {}, 3],
    ['at the first record where there is no book', [trade, sampleQuote(at(2)), books[2]!], { coins: ['btc'] }, 1],
    ['at the first record where the first book comes after its end', [trade, ...books], { to: START_MS + 2000 }, 1],
    ['at the beginning of its window where nothing is recorded', [trade, ...books.slice(0, 2)], { coins: ['eth'] }, 0],
  ])('%s', async (_, records, body, second) => {
    await using replayed = await startReplaying((archive) => importRecords(archive, [sampleMarket(), eth, ...records]));
    const response = await replayed.ask('POST', REPLAYS, { ...body, paused: true });
    const { data } = (await response.json()) as { data: ReplayResource };
    expect(data).toMatchObject({ from: at(second).timestamp, now: at(second).timestamp });
  });
});

describe('its clock', () => {
  test('One PATCH changes fields of a replay in this order: now, speed, paused, step; a refused one changes nothing.', async () => {
    const replay = await created({ markets: [CONDITION_ID], from: START_MS });
    replaying.passTime(1500);
    expect(await changed(replay.id, { paused: true })).toMatchObject({
      state: 'paused',
      now: formatInstant(START_MS + 1500),
    });
    replaying.passTime(1000);
    expect(await changed(replay.id, { speed: 10 })).toMatchObject({
      state: 'paused',
      now: formatInstant(START_MS + 1500),
    });
    expect(await changed(replay.id, { paused: false })).toMatchObject({ state: 'running', speed: 10 });
    replaying.passTime(100);
    expect(await changed(replay.id, { speed: 1 })).toMatchObject({ now: formatInstant(START_MS + 2500) });
    expect(await changed(replay.id, { now: formatInstant(START_MS + 700), paused: true })).toMatchObject({
      state: 'paused',
      now: formatInstant(START_MS + 700),
    });
    const next = Math.min(...recorded.map(({ timestampMs }) => timestampMs).filter((time) => time > START_MS + 700));
    expect(await changed(replay.id, { step: true })).toMatchObject({ state: 'paused', now: formatInstant(next) });
    expect(await changed(replay.id, { now: END_MS })).toMatchObject({ state: 'ended' });
    expect(await changed(replay.id, { now: START_MS, paused: false })).toMatchObject({ state: 'running' });
    await stopped(replay);
  });

  test('is its own: steering one replay changes no other', async () => {
    const [one, other] = [await created({ paused: true }), await created({ paused: true })];
    const instants = [START_MS + 5000, START_MS + 90_000];
    await changed(one.id, { now: instants[0] });
    await changed(other.id, { now: instants[1] });
    for (const [index, replay] of [one, other].entries()) {
      const time = await replaying.get(`/replays/${replay.id}/time`);
      expect(await time.text()).toBe(String(Math.floor(instants[index]! / 1000)));
      const page = await replaying.get(
        `/replays/${replay.id}/v1/btc/markets/${CONDITION_ID}/snapshots?limit=1000&order=asc`,
      );
      expect(timesIn(await page.text())).toEqual(booksUntil(instants[index]!));
    }
    expect(await (await replaying.get('/time')).text()).toBe(String(Math.floor(instants[0]! / 1000)));
    await stopped(one, other);
  });
});

function timesIn(page: string): string[] {
  return (JSON.parse(page) as { data: { timestamp: string }[] }).data.map(({ timestamp }) => timestamp);
}

function booksUntil(instantMs: number): string[] {
  return recorded
    .filter(({ kind, timestampMs }) => kind === 'book' && timestampMs <= instantMs)
    .map(({ timestampMs }) => formatInstant(timestampMs))
    .sort();
}

describe('the API of a process that replays', () => {
  const PATHS = [
    '/btc/markets',
    `/btc/markets/${CONDITION_ID}`,
    `/btc/markets/${CONDITION_ID}/snapshots?limit=1000`,
    `/btc/markets/${CONDITION_ID}/snapshots?limit=1000&to=2026-05-01`,
    `/btc/markets/${CONDITION_ID}/snapshots/at/2026-04-16T07:14:00Z`,
    `/btc/markets/${CONDITION_ID}/snapshots/at/2026-04-16T07:14:00Z?mode=after`,
    `/btc/markets/${CONDITION_ID}/prices?limit=1000`,
    `/btc/markets/${CONDITION_ID}/quotes?limit=1000`,
    `/btc/markets/${CONDITION_ID}/coverage`,
    `/btc/markets/${CONDITION_ID}/heatmap`,
    `/btc/markets/${CONDITION_ID}/export?format=ndjson`,
  ];

  test('The /v1 of a replay answers as with asOf at the clock’s instant, also after the clock went back.', async () => {
    const replay = await created({ from: START_MS, paused: true });
    const service = serviceOf(replaying.archive);
    for (const offsetMs of [0, 60_000, 299_000, 30_000, 3000, 120_000, 0]) {
      const instant = formatInstant(START_MS + offsetMs);
      await changed(replay.id, { now: instant });
      for (const path of PATHS) {
        const known = await service.get(`${path}${path.includes('?') ? '&' : '?'}asOf=${instant}`);
        for (const prefix of ['', `/replays/${replay.id}`]) {
          const replayed = await replaying.get(`${prefix}/v1${path}`);
          expect({ path, offsetMs, prefix, status: replayed.status }).toEqual({
            path,
            offsetMs,
            prefix,
            status: known.status,
          });
          if (known.status === 200) expect(await replayed.text()).toBe(await known.clone().text());
        }
      }
    }
    await stopped(replay);
  });

  test('follows the clock', async () => {
    const replay = await created({ markets: [CONDITION_ID], from: START_MS, speed: 100 });
    const path = `/v1/btc/markets/${CONDITION_ID}/snapshots?limit=1000&order=asc`;
    for (let i = 1; i <= 20; i += 1) {
      replaying.passTime(100);
      expect(timesIn(await (await replaying.get(path)).text())).toEqual(booksUntil(START_MS + i * 10_000));
    }
    await stopped(replay);
  });

  test('counts coins and markets up to its instant', async () => {
    const replay = await created({ from: START_MS, paused: true });
    for (const [seconds, path] of [0, 10, 30, 299].flatMap(
      (s) =>
        [
          [s, '/v1'],
          [s, `/replays/${replay.id}/v1`],
        ] as const,
    )) {
      const nowMs = START_MS + seconds * 1000;
      await changed(replay.id, { now: nowMs });
      const known = booksUntil(nowMs);
      const coins = (await (await replaying.get(`${path}/coins`)).json()) as { data: { symbol: string }[] };
      const counts = { recordedMarkets: known.length > 0 ? 1 : 0, snapshots: known.length };
      const ends = { firstAt: known[0] ?? null, lastAt: known.at(-1) ?? null };
      const btc = coins.data.find(({ symbol }) => symbol === 'btc');
      if (btc === undefined) expect(known).toEqual([]);
      else expect(btc).toMatchObject({ markets: 1, ...counts, ...ends });
      const list = await replaying.get(`${path}/btc/markets?recorded=true&include=counts`);
      const { data = [] } = (await list.json()) as { data?: { snapshotCount: number }[] };
      expect(data.map(({ snapshotCount }) => snapshotCount)).toEqual(known.length > 0 ? [known.length] : []);
    }
    await stopped(replay);
  });

  test('shows nothing later than the clock with a later asOf of the client', async () => {
    const replay = await created({ paused: true });
    await changed(replay.id, { now: START_MS + 30_000 });
    const path = `/v1/btc/markets/${CONDITION_ID}/snapshots?limit=1000&order=asc`;
    const later = await replaying.get(`${path}&asOf=${START_MS + 200_000}`);
    expect(timesIn(await later.text())).toEqual(booksUntil(START_MS + 30_000));
    const earlier = await replaying.get(`${path}&asOf=${START_MS + 10_000}`);
    expect(timesIn(await earlier.text())).toEqual(booksUntil(START_MS + 10_000));
    await stopped(replay);
  });
});

test('a replay that is stopped ends its streams, and logs no fault', async () => {
  const replay = await created({ markets: [CONDITION_ID], paused: true });
  await changed(replay.id, { now: START_MS + 60_000 });
  const answer = await replaying.get(`/replays/${replay.id}/v1/btc/markets/${CONDITION_ID}/stream?speed=0.1`);
  const body = answer.body!.getReader();
  await body.read();
  await stopped(replay);
  const rest: Uint8Array[] = [];
  for (let next = await body.read(); !next.done; next = await body.read()) rest.push(next.value);
  expect(Buffer.concat(rest).toString()).not.toContain('event: end');
  expect(replaying.log).toEqual([]);
});

describe('an invalid body is refused in one sentence', () => {
  test.each([
    ['not JSON', '{', 'send a JSON object with any of markets, coins'],
    ['a list', [], 'send a JSON object with any of markets, coins'],
    ['a name that does not exist', { market: ['x'] }, 'send a JSON object with any of markets, coins'],
    ['no list', { markets: 'btc' }, "'markets' is invalid"],
    ['a timeframe that does not exist', { timeframes: ['2h'] }, "'timeframes' is invalid"],
    ['a time after the year 9999', { to: 253_402_300_800_000 }, "'to'"],
    ['a speed that is too low', { speed: 0.05 }, "'speed' is invalid"],
    ['a speed that is too high', { speed: 1001 }, "'speed' is invalid"],
    ['another speed', { speed: 'fast' }, "'speed' is invalid"],
    ['another mode', { gaps: 'skip' }, "'gaps' is invalid"],
    ['a word for strict', { strict: 'yes' }, "'strict' is invalid"],
    ['another mode of books', { mirror: 'both' }, "'mirror' is invalid"],
    ['a day that does not exist', { from: '2026-02-30' }, "'from' must be a day and a time that exist"],
    ['another instant', { rebase: 'yesterday' }, "'rebase' is invalid"],
    ['a loop of recorded times', { loop: true }, 'use loop with rebase now'],
    ['an end before the beginning', { from: START_MS + 2, to: START_MS + 1 }, 'a replay must end after its beginning'],
  ])('%s', async (_, body, sentence) => {
    const response = await replaying.ask('POST', REPLAYS, body);
    expect(response.status).toBe(400);
    const { detail } = (await response.json()) as { detail: string };
    expect(detail).toContain(sentence);
    expect(await listed()).toEqual([]);
  });

  test.each([
    ['nothing', {}, 'the body changes nothing'],
    ['an unknown name', { state: 'paused' }, 'send a JSON object with any of now, speed, paused, step'],
    ['no boolean', { paused: 'yes' }, "'paused' is invalid"],
    ['a step that is false', { step: false }, "'step' is invalid"],
    ['a day that does not exist', { now: '2026-02-30' }, "'now' must be a day and a time that exist"],
    ['an instant outside', { now: START_MS - 1 }, 'the instant is outside the replay'],
    ['an instant outside, and more', { speed: 10, paused: false, now: START_MS - 1 }, 'the instant is outside'],
  ])('steering with %s', async (_, body, sentence) => {
    const replay = await created({ paused: true });
    const response = await replaying.ask('PATCH', `${REPLAYS}/${replay.id}`, body);
    expect(response.status).toBe(400);
    expect(((await response.json()) as { detail: string }).detail).toContain(sentence);
    expect((await listed())[0]).toEqual(replay);
    await stopped(replay);
  });

  test('of markets that are not recorded', async () => {
    for (const body of [{ markets: ['nothing-of-that-name'] }, { coins: ['doge'] }, { timeframes: ['4h'] }]) {
      const response = await replaying.ask('POST', REPLAYS, body);
      expect(response.status).toBe(404);
      expect(((await response.json()) as { detail: string }).detail).toMatch(/recorded market/);
    }
  });
});

describe('methods', () => {
  test.each([
    [REPLAYS, ['PUT', 'PATCH', 'DELETE'], 'GET, HEAD, POST, OPTIONS'],
    [`${REPLAYS}/0a1b2c3d4e5f`, ['PUT', 'POST'], 'GET, HEAD, PATCH, DELETE, OPTIONS'],
    ['/book', ['POST', 'PUT', 'DELETE'], 'GET, HEAD, OPTIONS'],
    ['/books', ['PUT', 'DELETE'], 'GET, HEAD, POST, OPTIONS'],
    ['/replays/0a1b2c3d4e5f/ws/market', ['POST'], 'GET, HEAD, OPTIONS'],
    ['/v1/btc/markets', ['POST', 'PUT', 'PATCH', 'DELETE'], 'GET, HEAD, OPTIONS'],
  ])('of %s: %p are refused, and Allow names the others', async (path, refused, allowed) => {
    const replay = await created({ paused: true });
    for (const method of refused) {
      const response = await replaying.ask(method, path);
      expect({ method, status: response.status, allow: response.headers.get('allow') }).toEqual({
        method,
        status: 405,
        allow: allowed,
      });
    }
    const options = await replaying.ask('OPTIONS', path);
    expect([options.status, options.headers.get('allow')]).toEqual([204, allowed]);
    await stopped(replay);
  });

  test('of a path that does not exist: 404', async () => {
    const replay = await created({ paused: true });
    for (const path of [
      '/v1/replay',
      '/v1/replays/1/2',
      '/nothing',
      `/replays/${replay.id}`,
      `/replays/${replay.id}/v1/nothing`,
    ]) {
      for (const method of ['GET', 'POST', 'DELETE']) expect((await replaying.ask(method, path)).status).toBe(404);
    }
    await stopped(replay);
  });
});

test('The interface of tardis-machine has the mirror mode of the first replay.', async () => {
  const options = {
    ...{ exchange: 'polymarket', from: formatInstant(START_MS), to: formatInstant(START_MS + 30_000) },
    filters: [{ channel: 'price_change' }],
  };
  /** The share of messages with the entries of both outcomes. */
  const share = async () => {
    const answer = await replaying.get(`/replay?options=${encodeURIComponent(JSON.stringify(options))}`);
    const lines = (await answer.text()).trim().split('\n');
    const entries = lines.map((line) => JSON.parse(line).message.price_changes.length);
    expect(entries.length).toBeGreaterThan(50);
    return entries.filter((count) => count === 2).length / entries.length;
  };
  expect(await share()).toBe(1);
  const recorded = await created({ mirror: 'recorded' });
  const fresh = await created({ mirror: 'fresh' });
  expect(await share()).toBeLessThan(0.5);
  await stopped(recorded);
  expect(await share()).toBe(1);
  await stopped(fresh);
});
