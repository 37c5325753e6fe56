import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { Cors } from '../../../src/http/plugins/cors.ts';
import { importRecords, NOW_MS } from '../../support/archive.ts';
import { CONDITION_ID, START_MS, sampleMarket, sampleSnapshot, UP_ASSET } from '../../support/sample-records.ts';
import { RawSocket } from './raw-socket.ts';
import { EVERYTHING, type Replaying, startReplaying } from './replaying.ts';

const REPLAYS = '/v1/replays';
const BOOK_MS = Date.parse('2026-04-16T07:10:04.123Z');

const fill: Parameters<typeof startReplaying>[0] = (archive) =>
  importRecords(archive, [
    sampleMarket(),
    sampleSnapshot(),
    sampleMarket({
      conditionId: `0x${'cd34'.repeat(16)}`,
      slug: 'eth-updown-5m-1776323400',
      symbol: 'eth',
      clobTokenIds: ['31', '32'],
    }),
  ]);

/** A BTC replay, paused at its only book, and after it a replay of every coin. */
function replayed(replaying: Replaying) {
  const btc = replaying.replays.create({ ...EVERYTHING, selection: { ...EVERYTHING.selection, coins: ['btc'] } });
  btc.clock.seek(BOOK_MS);
  const all = replaying.replays.create(EVERYTHING);
  all.clock.seek(BOOK_MS);
  return { btc, all };
}

async function statusOf(replaying: Replaying, path: string, headers: Readonly<Record<string, string>>, method = 'GET') {
  return (await replaying.ask(method, path, undefined, headers)).status;
}

/** 'opens', or the status of the refusal. */
async function opens(replaying: Replaying, path: string, headers: readonly string[] = []): Promise<string> {
  try {
    const socket = await RawSocket.open(`${replaying.origin.replace('http', 'ws')}${path}`, headers);
    socket.leave();
    return 'opens';
  } catch (error) {
    return (error as Error).message.replace(/^HTTP\/1\.1 (\d+).*/, '$1');
  }
}

describe('on loopback', () => {
  let replaying: Replaying;
  beforeAll(async () => {
    replaying = await startReplaying(fill);
    replayed(replaying);
  });
  afterAll(() => replaying[Symbol.asyncDispose]());

  test('no key is needed, and no request is counted', async () => {
    for (const path of ['/v1/btc/markets', `/book?token_id=${UP_ASSET}`, '/time', REPLAYS, '/', '/nothing']) {
      const response = await replaying.get(path);
      expect({ path, status: response.status }).toEqual({ path, status: path === '/nothing' ? 404 : 200 });
      expect([...response.headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
    }
    // More than one address may ask in a minute of a service with keys.
    for (let i = 0; i < 700; i += 1) expect(await statusOf(replaying, '/v1/btc/markets', {})).toBe(200);
    expect(await opens(replaying, '/ws/market')).toBe('opens');
  });

  test('a key that is sent anyway makes no difference', async () => {
    for (const key of [`Bearer ${replaying.keyOf('free')}`, 'Bearer nonsense', 'nonsense']) {
      expect(await statusOf(replaying, '/v1/btc/markets', { authorization: key })).toBe(200);
      expect(await statusOf(replaying, '/time', { authorization: key })).toBe(200);
    }
  });

  test.each(['localhost', 'LOCALHOST:1234', '127.0.0.1', '[::1]:80'])('the Host %s is answered', async (host) => {
    expect(await statusOf(replaying, '/time', { host })).toBe(200);
    expect(await opens(replaying, '/ws/market', [`Host: ${host}`])).toBe('opens');
  });

  test.each(['rebound.example', 'rebound.example:8000', '127.0.0.1.nip.example', '192.168.1.1', 'localhost.example'])(
    'Without keys, a replay answers only Hosts of this machine or of --allowed-hosts. (%s)',
    async (host) => {
      for (const path of ['/time', '/v1/btc/markets', REPLAYS, '/', '/healthz']) {
        expect({ path, status: await statusOf(replaying, path, { host }) }).toEqual({ path, status: 400 });
      }
      expect(await statusOf(replaying, REPLAYS, { host }, 'POST')).toBe(400);
      expect(await opens(replaying, '/ws/market', [`Host: ${host}`])).toBe('400');
    },
  );

  test('Pages of other origins neither steer a replay, nor open its sockets, nor read its answers.', async () => {
    const { host } = new URL(replaying.origin);
    const [replay] = replaying.replays.list();
    for (const origin of [
      'https://page.example',
      'null',
      `https://${host}.example`,
      'http://127.0.0.1:1',
      'nonsense',
    ]) {
      const headers = { origin, 'content-type': 'text/plain' };
      for (const [method, path] of [
        ['POST', REPLAYS],
        ['PATCH', `${REPLAYS}/${replay!.id}`],
        ['DELETE', `${REPLAYS}/${replay!.id}`],
        ['POST', '/books'],
        ['PROPFIND', '/book'],
      ] as const) {
        const response = await replaying.ask(method, path, method === 'PATCH' ? { paused: false } : undefined, headers);
        expect({ origin, method, status: response.status }).toEqual({ origin, method, status: 403 });
      }
      expect(await opens(replaying, '/ws/market', [`Origin: ${origin}`])).toBe('403');
      // Reads are answered, and the browser keeps the answer from the page.
      const read = await replaying.ask('GET', REPLAYS, undefined, headers);
      expect([read.status, read.headers.get('access-control-allow-origin')]).toEqual([200, null]);
      const asked = { ...headers, 'access-control-request-method': 'PATCH' };
      const preflight = await replaying.ask('OPTIONS', `${REPLAYS}/${replay!.id}`, undefined, asked);
      expect(preflight.headers.get('access-control-allow-methods')).toBeNull();
    }
    expect(replaying.replays.list()).toHaveLength(2);
    expect(replay!.clock.isPaused).toBe(true);
  });

  test('its own pages do', async () => {
    const { host } = new URL(replaying.origin);
    const [replay] = replaying.replays.list();
    for (const origin of [replaying.origin, `http://${host}`]) {
      const response = await replaying.ask('PATCH', `${REPLAYS}/${replay!.id}`, { paused: true }, { origin });
      expect(response.status).toBe(200);
      expect(await opens(replaying, '/ws/market', [`Origin: ${origin}`])).toBe('opens');
    }
  });
});

test('the operator can allow further hosts, and origins whose pages may listen', async () => {
  const edge = { allowedHosts: new Set(['bots.example']), cors: new Cors(['https://page.example']) };
  await using replaying = await startReplaying(fill, { edge });
  replayed(replaying);
  const [replay] = replaying.replays.list();
  expect(await statusOf(replaying, '/time', { host: 'bots.example:8000' })).toBe(200);
  expect(await statusOf(replaying, '/time', { host: 'localhost' })).toBe(200);
  expect(await statusOf(replaying, '/time', { host: 'other.example' })).toBe(400);
  expect(await opens(replaying, '/ws/market', ['Origin: https://page.example'])).toBe('opens');
  expect(await opens(replaying, '/ws/market', ['Origin: https://other.example'])).toBe('403');
  for (const method of ['PATCH', 'DELETE']) {
    expect(await statusOf(replaying, `${REPLAYS}/${replay!.id}`, { origin: 'https://page.example' }, method)).toBe(403);
  }
});

describe('where others can connect', () => {
  let replaying: Replaying;
  let replays: ReturnType<typeof replayed>;
  const FREE = ['/', '/healthz', '/readyz', '/docs', '/openapi.json', '/llms.txt'];
  let paths: string[];

  beforeAll(async () => {
    replaying = await startReplaying(fill, { needsKeys: true });
    replays = replayed(replaying);
    const ofReplay = [
      '/time',
      `/book?token_id=${UP_ASSET}`,
      `/markets/${CONDITION_ID}`,
      '/markets',
      '/events',
      '/ws/market',
    ];
    const prefix = `/replays/${replays.btc.id}`;
    paths = [
      ...['/v1/btc/markets', '/v1/billing/tiers', '/v1/nothing', REPLAYS, `${REPLAYS}/${replays.btc.id}`],
      ...ofReplay,
      ...[...ofReplay, '/v1/btc/markets'].map((path) => `${prefix}${path}`),
    ];
  });
  afterAll(() => replaying[Symbol.asyncDispose]());

  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const opened = (path: string, key: string) =>
    RawSocket.open(`${replaying.origin.replace('http', 'ws')}${path}`, [`Authorization: Bearer ${key}`]);

  test('Elsewhere than on loopback every path of a replay needs a key, except those that show nothing of a recording.', async () => {
    for (const path of paths) {
      for (const headers of [{}, bearer(`br_live_${randomUUID()}`), { authorization: replaying.keyOf('pro') }]) {
        const response = await replaying.ask('GET', path, undefined, headers);
        expect({ path, status: response.status }).toEqual({ path, status: 401 });
        expect(response.headers.get('www-authenticate')).toBe('Bearer');
        expect(response.headers.get('content-type')).toBe('application/problem+json');
      }
    }
    for (const method of ['POST', 'PATCH', 'DELETE']) {
      const path = method === 'POST' ? REPLAYS : `${REPLAYS}/${replays.btc.id}`;
      expect(await statusOf(replaying, path, {}, method)).toBe(401);
    }
    expect(await statusOf(replaying, '/books', {}, 'POST')).toBe(401);
    for (const path of ['/ws/market', `/replays/${replays.btc.id}/ws/market`])
      expect(await opens(replaying, path)).toBe('401');
    for (const path of FREE)
      expect({ path, status: await statusOf(replaying, path, {}) }).toEqual({ path, status: 200 });
  });

  test('a key in the URL is refused', async () => {
    const key = replaying.keyOf('pro');
    for (const path of ['/v1/btc/markets', '/time', REPLAYS]) {
      expect(await statusOf(replaying, `${path}?access_token=${key}`, {})).toBe(401);
    }
  });

  test('a tier without replay is refused everywhere', async () => {
    for (const path of paths) {
      const response = await replaying.get(path, replaying.keyOf('starter'));
      expect({ path, status: response.status }).toEqual({ path, status: 403 });
      expect(((await response.json()) as { detail: string }).detail).toContain("tier 'starter' does not grant replay");
    }
    expect(await opens(replaying, '/ws/market', [`Authorization: Bearer ${replaying.keyOf('free')}`])).toBe('403');
  });

  test('every request counts once against the limit of its key', async () => {
    const key = replaying.keyOf('pro');
    const remaining: number[] = [];
    for (const path of ['/time', '/v1/btc/markets', REPLAYS, `/replays/${replays.btc.id}/time`]) {
      const response = await replaying.get(path, key);
      expect({ path, status: response.status }).toEqual({ path, status: 200 });
      remaining.push(Number(response.headers.get('x-ratelimit-remaining')));
    }
    expect(remaining).toEqual([299, 298, 297, 296]);
    for (let left = 296; left > 0; left -= 1) expect(await statusOf(replaying, '/time', bearer(key))).toBe(200);
    expect(await statusOf(replaying, '/time', bearer(key))).toBe(429);
    expect(await opens(replaying, '/ws/market', [`Authorization: Bearer ${key}`])).toBe('429');
  });

  test('A key may use a replay if it may see all of it: every coin, and up to its end.', async () => {
    const pro = replaying.registry.tiers.find('pro')!;
    replaying.registry.database.write(() => replaying.registry.tiers.update({ ...pro, coins: ['btc'] }));
    try {
      const key = replaying.keyOf('pro');
      const listed = (await (await replaying.get(REPLAYS, key)).json()) as { data: { id: string }[] };
      expect(listed.data.map(({ id }) => id)).toEqual([replays.btc.id]);
      expect(await statusOf(replaying, '/time', bearer(key))).toBe(200);
      for (const path of ['/time', '/ws/market', `/book?token_id=${UP_ASSET}`, '/nothing']) {
        const expected = path === '/nothing' ? 404 : 403;
        expect(await statusOf(replaying, `/replays/${replays.all.id}${path}`, bearer(key))).toBe(expected);
      }
      const authorization = `Authorization: Bearer ${key}`;
      expect(await opens(replaying, '/ws/market', [authorization])).toBe('opens');
      expect(await opens(replaying, `/replays/${replays.all.id}/ws/market`, [authorization])).toBe('403');
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        expect(await statusOf(replaying, `${REPLAYS}/${replays.all.id}`, bearer(key), method)).toBe(403);
      }
      const refused = await replaying.ask('POST', REPLAYS, {}, bearer(key));
      expect(refused.status).toBe(403);
      const own = await replaying.ask('POST', REPLAYS, { coins: ['btc'] }, bearer(key));
      expect(own.status).toBe(201);
      expect(replaying.replays.list()).toHaveLength(3);
      const { data } = (await own.json()) as { data: { id: string } };
      expect(await statusOf(replaying, `${REPLAYS}/${data.id}`, bearer(key), 'DELETE')).toBe(204);
      expect(await statusOf(replaying, '/v1/eth/markets', bearer(key))).toBe(403);
    } finally {
      replaying.registry.database.write(() => replaying.registry.tiers.update(pro));
    }
  });

  test('a key that is limited to an instant may only use replays that end by then', async () => {
    const [late, early] = [START_MS + 10_000_000, START_MS + 1000].map((asOfMs) => replaying.keyOf('pro', asOfMs));
    expect(await statusOf(replaying, '/time', bearer(late!))).toBe(200);
    expect(await statusOf(replaying, '/time', bearer(early!))).toBe(403);
    expect(await opens(replaying, '/ws/market', [`Authorization: Bearer ${early}`])).toBe('403');
    const page = `/v1/btc/markets/${CONDITION_ID}/snapshots`;
    expect(((await (await replaying.get(page, late)).json()) as { data: object[] }).data).toHaveLength(1);
    expect(((await (await replaying.get(page, early)).json()) as { data: object[] }).data).toHaveLength(0);
  });

  test('A socket is closed with 1008 within a second when its key is revoked or no longer grants the replay.', async () => {
    const pro = replaying.registry.tiers.find('pro')!;
    const setTier = (change: Partial<typeof pro>) =>
      replaying.registry.database.write(() => replaying.registry.tiers.update({ ...pro, ...change }));
    const revoke = (id: string) =>
      void replaying.registry.database.write(() => replaying.registry.apiKeys.revoke(id, NOW_MS));
    const kept = await opened('/ws/market', replaying.keyOf('enterprise'));
    try {
      for (const [path, take] of [
        ['/ws/market', revoke],
        [`/replays/${replays.btc.id}/ws/market`, () => setTier({ routes: ['markets'] })],
        ['/ws/market', () => setTier({ coins: ['eth'] })],
        ['/ws-replay?exchange=polymarket&from=2026-04-16&to=2026-04-17', () => setTier({ coins: ['btc'] })],
      ] as const) {
        const key = replaying.keyOf('pro');
        const { id } = replaying.registry.keyDirectory.find(key, NOW_MS)!.key;
        const client = await opened(path, key);
        take(id);
        while (client.messages.closeCode === undefined) await Bun.sleep(5);
        expect({ path, code: client.messages.closeCode }).toEqual({ path, code: 1008 });
        client.leave();
        setTier({});
      }
      kept.send('PING');
      while (kept.messages.texts.length === 0) await Bun.sleep(2);
      expect(kept.messages.texts).toEqual(['PONG']);
    } finally {
      setTier({});
      kept.leave();
    }
  });

  test('any Host is answered: a browser does not send a key by itself', async () => {
    expect(await statusOf(replaying, '/time', { ...bearer(replaying.keyOf('pro')), host: 'replay.example' })).toBe(200);
  });
});
