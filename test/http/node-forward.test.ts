import { afterAll, beforeAll, expect, test } from 'bun:test';
import { revokeKey } from '../../src/account/account-keys.ts';
import { ADMISSION, type Admission, Admissions, signedAdmission } from '../../src/http/plugins/admission.ts';
import { KeySecret } from '../../src/store/key-secret.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { becomes, type Home, type NodeSide, SECRET, startHome, startNode } from './nodes.ts';

const ADDRESS = '203.0.113.77';
const data = temporaryDirectory();
let home: Home;
let node: NodeSide;

beforeAll(async () => {
  home = startHome(data.path);
  node = startNode(home.origin);
  await node.link.ready;
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
  data[Symbol.dispose]();
});

interface Echo {
  readonly method: string;
  readonly target: string;
  readonly body: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly address: string;
  readonly isOfThisMachine: boolean;
}

async function forward(path: string, init: RequestInit = {}, admission: Partial<Admission> = {}): Promise<Response> {
  const request = new Request(`http://data.example.com${path}`, init);
  // On a machine with much to do it may be late.
  await becomes(() => node.link.isReached, true);
  return await node.link.forward(request, { keyId: undefined, address: ADDRESS, ...admission });
}

async function echoed(path: string, init?: RequestInit, admission?: Partial<Admission>): Promise<Echo> {
  return (await (await forward(path, init, admission)).json()) as Echo;
}

test.each(['/echo', '/echo?a=1&b=%20%2f', '/echo?q=\'()*!~|^`{}"<>\\', '/echo?%E2%82%AC=€', '/echo?a=/../b', '/echo?'])(
  'home gets a request for %s as it is, from the address of the client',
  async (path) => {
    const headers = { host: 'data.example.com', cookie: 'a=b; c=d', 'x-own': 'kept', 'x-forwarded-for': '10.9.9.9' };
    const direct = (await (await fetch(`${home.origin}${path}`)).json()) as Echo;
    const { headers: sent, ...echo } = await echoed(path, { headers });
    expect(echo).toEqual({ method: 'GET', target: direct.target, body: '', address: ADDRESS, isOfThisMachine: false });
    expect(Object.fromEntries(sent)).toMatchObject({ host: 'data.example.com', cookie: 'a=b; c=d', 'x-own': 'kept' });
  },
);

test('a request that a node on the same machine forwards is not of this machine', async () => {
  const { host } = new URL(home.origin);
  const direct = (await (await fetch(`${home.origin}/echo`)).json()) as Echo;
  const forwarded = await echoed('/echo', { headers: { host } }, { address: '127.0.0.1' });
  expect(
    [direct, forwarded].map(({ isOfThisMachine, headers }) => [isOfThisMachine, new Map(headers).get('host')]),
  ).toEqual([
    [true, host],
    [false, host],
  ]);
});

test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('%s is forwarded with its body', async (method) => {
  const headers = { 'content-type': 'application/json', origin: 'https://data.example.com' };
  const echo = await echoed('/echo', { method, headers, body: '{"ü":1}' });
  expect(echo).toMatchObject({ method, body: '{"ü":1}', address: ADDRESS });
  expect(echo.headers).toContainEqual(['origin', 'https://data.example.com']);
});

test('answers of home come back as they are: status, cookies, redirects, compressed and streamed bodies', async () => {
  const answer = await forward('/echo');
  expect([answer.status, answer.headers.getSetCookie()]).toEqual([202, ['a=1; Path=/', 'b=2; Path=/']]);
  const elsewhere = await forward('/elsewhere');
  expect([elsewhere.status, elsewhere.headers.get('location')]).toEqual([303, '/echo']);
  const packed = await forward('/packed', { headers: { 'accept-encoding': 'gzip' } });
  expect(packed.headers.get('content-encoding')).toBe('gzip');
  expect(Buffer.from(Bun.gunzipSync(await packed.bytes())).toString()).toBe('packed');
  expect(await (await forward('/parts')).text()).toBe('one two three');
  const head = await forward('/healthz', { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

test('Streams of clients leave connections to other requests and to the storage, and many requests at once wait for one another.', async () => {
  const streams = await Promise.all(Array.from({ length: 96 }, () => forward('/endless')));
  await expect(forward('/endless')).rejects.toThrow('too many streams come from the service behind this one');
  const answers = await Promise.all(Array.from({ length: 400 }, () => forward('/packed')));
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  for (const answer of answers) await answer.bytes();
  const [first, ...others] = streams;
  await first!.body!.cancel();
  const next = await forward('/endless');
  const reader = next.body!.getReader();
  expect(Buffer.from((await reader.read()).value!).toString()).toBe('begun');
  await reader.cancel();
  for (const other of others) await other.body!.cancel();
});

test('Home neither charges nor counts a key that a node has charged, also for refusals.', async () => {
  const { key, apiKey } = home.key('charged@example.com', { requestsPerMinute: 3 });
  const own = () => home.activity.usage.list([apiKey.id], 0, NOW_MS + 3_600_000, 3_600_000);
  for (let i = 0; i < 5; i += 1) {
    const found = await forward('/v1/coins', {}, { keyId: apiKey.id, address: '203.0.113.1' });
    const missing = await forward('/v1/nosuch', {}, { keyId: apiKey.id, address: '203.0.113.1' });
    expect([found.status, missing.status]).toEqual([200, 404]);
    expect([...found.headers, ...missing.headers].filter(([name]) => name.startsWith('x-ratelimit'))).toEqual([]);
  }
  expect(own()).toEqual([]);
  // The key itself, at home.
  const direct = await fetch(`${home.origin}/v1/coins`, { headers: { authorization: `Bearer ${key}` } });
  expect(direct.headers.get('x-ratelimit-remaining')).toBe('2');
  expect(own().map(({ requests }) => requests)).toEqual([1]);
  // The address of the client has its whole budget, and so has the node's.
  const { headers } = await forward('/nosuch', {}, { address: '203.0.113.1' });
  expect(headers.get('x-ratelimit-remaining')).toBe('599');
});

test('home looks the key of an admission up: a revoked one gets 401, and one of another tier its 403', async () => {
  const { apiKey } = home.key('revoked@example.com');
  const status = async (path: string) => (await forward(path, {}, { keyId: apiKey.id })).status;
  expect([await status('/v1/btc/markets'), await status('/v1/sol/markets')]).toEqual([404, 403]);
  revokeKey({ registry: home.registry, nowMs: NOW_MS }, apiKey.id);
  expect(await status('/v1/btc/markets')).toBe(401);
  expect((await forward('/v1/btc/markets', {}, { keyId: 'key_0000000000000000' })).status).toBe(401);
});

test('A forwarded request without a charged key counts once at home: for its key, or for the address of the client.', async () => {
  const { key, apiKey } = home.key('home@example.com');
  const answer = await forward('/v1/coins', { headers: { authorization: `Bearer ${key}` } });
  expect([answer.status, answer.headers.get('x-ratelimit-remaining')]).toEqual([200, '99999']);
  expect(home.activity.usage.list([apiKey.id], 0, NOW_MS + 3_600_000, 3_600_000)).toMatchObject([{ requests: 1 }]);
  const remaining = async (address: string) =>
    (await forward('/nosuch', {}, { address })).headers.get('x-ratelimit-remaining');
  expect([await remaining('198.51.100.1'), await remaining('198.51.100.1')]).toEqual(['599', '598']);
  expect(await remaining('2001:db8::1')).toBe('599');
});

/** The status of a request with an admission, and whether home calls that refused. */
async function admitted(admission: string, path = '/echo', init: RequestInit = {}, origin = home.origin) {
  const answer = await fetch(`${origin}${path}`, { ...init, headers: { [ADMISSION]: admission } });
  await answer.body?.cancel();
  return [answer.status, answer.headers.get(ADMISSION)];
}

const REFUSED = [403, 'refused'];

test('a forged or altered admission is refused', async () => {
  const { apiKey } = home.key();
  const session = home.admissions.newSession();
  let counter = 0;
  const signed = (own = session) => {
    counter += 1;
    return signedAdmission(own, { keyId: apiKey.id, address: ADDRESS }, counter, 'GET', '/v1/coins');
  };
  expect(await admitted(signed(), '/v1/coins')).toEqual([200, null]);
  const good = signed();
  for (let at = 0; at < good.length; at += 1) {
    const other = good[at] === 'a' ? 'b' : 'a';
    const altered = `${good.slice(0, at)}${other}${good.slice(at + 1)}`;
    // The last letter of a signature has bits that say nothing.
    if (Buffer.from(altered.slice(-43), 'base64url').equals(Buffer.from(good.slice(-43), 'base64url')) && at > 100)
      continue;
    expect(await admitted(altered, '/v1/coins')).toEqual(REFUSED);
  }
  for (const malformed of [
    '',
    'a',
    `${good}a`,
    good.slice(1),
    `${good}, ${good}`,
    good.replace(ADDRESS, 'x'),
    ` . . .1.`,
  ]) {
    expect(await admitted(malformed, '/v1/coins')).toEqual(REFUSED);
  }
  expect(await admitted(signed(), '/v1/coins?a=1')).toEqual(REFUSED);
  expect(await admitted(signed(), '/v1/tiers')).toEqual(REFUSED);
  expect(await admitted(signed(), '/v1/coins', { method: 'HEAD' })).toEqual(REFUSED);
  // A session that home has not begun, and its own secret with the id of another one.
  expect(await admitted(signed(new Admissions(KeySecret.random()).newSession()), '/v1/coins')).toEqual(REFUSED);
  expect(await admitted(signed({ ...session, id: home.admissions.newSession().id }), '/v1/coins')).toEqual(REFUSED);
  // The good one was used by none of these.
  expect(await admitted(good, '/v1/coins')).toEqual([200, null]);
  expect(await home.log()).not.toContain(good.slice(-43));
});

test('A process of home accepts an admission once, in any order; each process accepts those of all sessions.', async () => {
  await using second = startHome(data.path, { serverSecret: home.serverSecret });
  const session = home.admissions.newSession();
  const signed = (counter: number) =>
    signedAdmission(session, { keyId: undefined, address: ADDRESS }, counter, 'GET', '/echo');
  for (const counter of [2, 1, 3, 5000, 4000, 4999, 905]) {
    expect([counter, await admitted(signed(counter))]).toEqual([counter, [202, null]]);
    expect([counter, await admitted(signed(counter))]).toEqual([counter, REFUSED]);
  }
  // Too old to know.
  for (const counter of [904, 900, 1]) expect(await admitted(signed(counter))).toEqual(REFUSED);
  expect(await admitted(signed(5001), '/echo', {}, second.origin)).toEqual([202, null]);
  expect(await admitted(signed(5001), '/echo', {}, second.origin)).toEqual(REFUSED);
});

test('without the setting the header of an admission is any other header', async () => {
  using directory = temporaryDirectory();
  await using other = startHome(directory.path, { hasNodes: false });
  const session = other.admissions.newSession();
  const signed = signedAdmission(session, { keyId: undefined, address: ADDRESS }, 1, 'GET', '/echo');
  const answer = await fetch(`${other.origin}/echo`, { headers: { [ADMISSION]: signed } });
  expect(((await answer.json()) as Echo).address).toBe('127.0.0.1');
});

test('a client cannot send an admission through a node', async () => {
  const signed = signedAdmission(
    home.admissions.newSession(),
    { keyId: 'key_1', address: '1.1.1.1' },
    1,
    'GET',
    '/echo',
  );
  expect((await echoed('/echo', { headers: { [ADMISSION]: signed } })).address).toBe(ADDRESS);
});

test('The routes for nodes are not reached through a node, not even with the secret.', async () => {
  const headers = { authorization: `Node ${SECRET}` };
  expect((await forward('/node/feed', { headers })).status).toBe(404);
  expect((await forward('/node/usage', { method: 'POST', headers, body: '{}' })).status).toBe(404);
});

test('home is started again: requests under way of a node wait for its new session, and none is refused', async () => {
  using directory = temporaryDirectory();
  const first = startHome(directory.path);
  const { apiKey } = first.key();
  await using side = startNode(first.origin);
  await side.link.ready;
  const get = () =>
    side.link.forward(new Request('http://data.example.com/v1/coins'), { keyId: apiKey.id, address: ADDRESS });
  expect((await get()).status).toBe(200);
  await first[Symbol.asyncDispose]();
  await using _ = startHome(directory.path, { port: first.port });
  // Before the node knows that its session has ended: either is right, but no 403.
  const early = await Promise.all(
    Array.from({ length: 20 }, () =>
      get().then(
        ({ status }) => status,
        (error: Error) => error.message,
      ),
    ),
  );
  const away = 'the service that answers this request is not reached: try again later';
  expect(early.filter((one) => one !== 200 && one !== away)).toEqual([]);
  await becomes(() => side.link.isReached, true);
  expect((await get()).status).toBe(200);
});

test('Home and node log the same id of a request, and a client cannot choose it.', async () => {
  const requestId = '5b0a6f4e-0000-4000-8000-000000000001';
  const request = () => new Request('http://a/v1/coins', { headers: { 'x-request-id': 'chosen-by-a-client' } });
  const given = await node.link.forward(request(), { keyId: undefined, address: ADDRESS, requestId });
  expect(given.headers.get('x-request-id')).toBe(requestId);
  const own = await node.link.forward(request(), { keyId: undefined, address: ADDRESS });
  expect(own.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  expect(await home.log()).toContain(`"id":"${requestId}"`);
  expect(await home.log()).not.toContain('chosen-by-a-client');
});

test('no log has a key, a secret, a session or an admission', async () => {
  const { key } = home.key();
  await forward('/v1/coins', { headers: { authorization: `Bearer ${key}` } });
  const log = await home.log();
  expect(log).toContain('/v1/coins');
  expect(log).toContain(ADDRESS);
  for (const secret of [SECRET, key, 'Node ']) expect(log).not.toContain(secret);
});
