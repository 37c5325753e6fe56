import { describe, expect, test } from 'bun:test';
import { Connection, type ConnectionDeps, type ConnectionSettings } from '../../src/web/browser/view/connection.ts';
import { pause } from '../../src/web/browser/view/pause.ts';
import { RequestRefused } from '../../src/web/browser/view/request-refused.ts';

const TIER = { id: 'starter', name: 'Starter', coins: ['btc'], routes: ['markets', 'prices'] };
const KEY = { id: 'key_a', name: 'laptop', prefix: 'br_live_abc', tier: 'starter', asOf: null };
const TYPED = 'br_live_typed';

interface Sent {
  readonly path: string;
  readonly method: string;
  readonly authorization: string | undefined;
  readonly body: string | undefined;
}

/** An answer, or an error: the server cannot be reached. */
type Answer = () => Response;
const json =
  (value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}) =>
  () =>
    new Response(JSON.stringify(value), { status, headers });
const problem = (status: number, kind: string, detail: string, headers: Readonly<Record<string, string>> = {}) =>
  json({ type: `urn:bookreel:problem:${kind}`, detail }, status, headers);
const DATA = json({ data: [] });

const unreachable: Answer = () => {
  throw new TypeError('fetch failed');
};

/** A server that answers in this order, with a clock that only pauses move. */
function served(answers: readonly Answer[]) {
  const left = [...answers];
  const sent: Sent[] = [];
  const pauses: number[] = [];
  let nowMs = 0;
  const deps: ConnectionDeps = {
    async fetch(path, init) {
      const headers = new Headers(init.headers);
      const authorization = headers.get('authorization') ?? undefined;
      sent.push({ path, method: init.method ?? 'GET', authorization, body: init.body?.toString() });
      const answer = left.shift();
      if (answer === undefined) throw new Error(`an unexpected request: ${path}`);
      return answer();
    },
    nowMs: () => nowMs,
    async pause(ms) {
      pauses.push(ms);
      nowMs += ms;
    },
  };
  return {
    sent,
    pauses,
    passTime(ms: number) {
      nowMs += ms;
    },
    connection: (settings: Partial<ConnectionSettings> = {}) =>
      new Connection({ access: 'token', hasAccounts: true, prefix: '', ...settings }, deps),
  };
}

const SAMPLE = { symbol: 'btc', slug: 'market-1', conditionId: '0x1' };
const given = (token: string) =>
  json({ data: { token, expiresInSeconds: 600, key: KEY, tier: TIER, keys: [KEY], sample: SAMPLE } });

async function refusalOf(work: Promise<unknown>): Promise<RequestRefused> {
  const thrown: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof RequestRefused) return thrown;
  throw new Error(`not refused: ${String(thrown)}`);
}

describe('without keys', () => {
  test('requests have no Authorization, and the prefix of the replay', async () => {
    const server = served([DATA]);
    const connection = server.connection({ access: 'open', prefix: '/replays/rep_1' });
    await connection.connect();
    expect(connection.state.value).toEqual({ kind: 'ready', connected: undefined });
    expect(await connection.get<object>('/v1/coins')).toEqual({ data: [] });
    expect(server.sent).toEqual([
      { path: '/replays/rep_1/v1/coins', method: 'GET', authorization: undefined, body: undefined },
    ]);
    expect(connection.grants('snapshots')).toBe(true);
    expect(connection.needsKey).toBe(false);
  });
});

describe('a token', () => {
  test('is asked for once, and is renewed before it ends', async () => {
    const server = served([given('one'), DATA, DATA, given('two'), DATA, DATA]);
    const connection = server.connection();
    await connection.connect();
    expect(connection.state.value).toMatchObject({
      kind: 'ready',
      connected: { key: { name: 'laptop' }, keys: [KEY] },
    });
    await Promise.all([connection.get('/v1/coins'), connection.get('/v1/coins')]);
    server.passTime(540_000);
    await Promise.all([connection.get('/v1/coins'), connection.get('/v1/coins')]);
    expect(server.sent.map(({ path, authorization }) => authorization ?? path)).toEqual([
      ...['/view/token', 'Bearer one', 'Bearer one'],
      ...['/view/token', 'Bearer two', 'Bearer two'],
    ]);
    expect(connection.grants('prices')).toBe(true);
    expect(connection.grants('snapshots')).toBe(false);
    const plans = { href: '/account/plan', text: 'See the plans' };
    expect(connection.missingGrant('snapshots', 'So.')).toEqual({
      sentence: 'Your tier, Starter, lacks snapshots. So.',
      link: plans,
      also: { href: '/view/btc/market-1', text: 'See the market of the day' },
    });
    expect(connection.missingGrant('quotes', 'So.').also).toBeUndefined();
    expect(connection.sampleNotice).toEqual({
      sentence:
        'This market is the sample of the day. Your tier, Starter, lacks the books of all other markets, their midpoints, downloads and replays.',
      link: plans,
    });
  });

  test('is renewed once after a 401; a second one is the end', async () => {
    const unauthenticated = problem(401, 'unauthenticated', 'a valid API key is needed');
    const server = served([
      given('one'),
      unauthenticated,
      given('two'),
      DATA,
      unauthenticated,
      given('three'),
      unauthenticated,
    ]);
    const connection = server.connection();
    await connection.connect();
    expect(await connection.get<object>('/v1/coins')).toEqual({ data: [] });
    expect((await refusalOf(connection.get('/v1/coins'))).status).toBe(401);
    expect(connection.state.value).toMatchObject({ kind: 'closed', link: { href: '/view/sign-in' } });
    expect((await refusalOf(connection.get('/v1/coins'))).kind).toBe('not-connected');
    expect(server.sent).toHaveLength(7);
  });

  test.each([
    [problem(401, 'unauthenticated', 'you are not signed in'), 'Sign in to see recordings.', '/view/sign-in'],
    [problem(409, 'conflict', 'your account has no valid key'), 'Your account has no valid key.', '/account/keys/new'],
    [unreachable, 'The server does not answer: check the connection, and try again.', '/view/sign-in'],
    [() => new Response('', { status: 502 }), 'The server answered with status 502.', '/view/sign-in'],
  ])('that is not given: %#', async (answer, sentence, href) => {
    const connection = served([answer]).connection();
    await connection.connect();
    expect(connection.state.value).toMatchObject({ kind: 'closed', sentence, link: { href } });
  });

  test('of another key is asked for by its id, and again at each renewal', async () => {
    const server = served([given('one'), given('two'), given('three'), DATA]);
    const connection = server.connection();
    await connection.connect();
    await connection.chooseKey('key_b');
    server.passTime(600_000);
    await connection.get('/v1/coins');
    expect(server.sent.map(({ body }) => body)).toEqual(['{}', '{"keyId":"key_b"}', '{"keyId":"key_b"}', undefined]);
  });
});

describe('a typed key', () => {
  const account = json({ data: { key: KEY, tier: TIER } });

  test('is tried first, and sent with each request', async () => {
    const server = served([account, DATA]);
    const connection = server.connection({ access: 'key', hasAccounts: false });
    await connection.connect();
    expect(connection.state.value).toEqual({
      kind: 'closed',
      sentence: 'Enter a key to see recordings.',
      link: undefined,
    });
    await connection.useKey(` ${TYPED}\n`);
    expect(connection.state.value).toMatchObject({ kind: 'ready', connected: { key: KEY, tier: TIER, keys: [] } });
    await connection.get('/v1/coins');
    expect(server.sent.map(({ path, authorization }) => [path, authorization])).toEqual([
      ['/v1/account', `Bearer ${TYPED}`],
      ['/v1/coins', `Bearer ${TYPED}`],
    ]);
    expect(connection.missingGrant('export', '').link).toBeUndefined();
  });

  test('has the tier that it is pinned to', async () => {
    const pro = { id: 'pro', name: 'Pro', coins: null, routes: null };
    const pinned = json({ data: { key: { ...KEY, tier: 'pro' }, tier: TIER } });
    const server = served([pinned, json({ data: [TIER, pro] })]);
    const connection = server.connection({ access: 'key' });
    await connection.useKey(TYPED);
    expect(connection.state.value).toMatchObject({ kind: 'ready', connected: { tier: pro } });
    expect(connection.grants('export')).toBe(true);
  });

  test('works in a replay, which has no accounts', async () => {
    const server = served([problem(404, 'not-found', 'there is no such path')]);
    const connection = server.connection({ access: 'key' });
    await connection.useKey(TYPED);
    expect(connection.state.value).toEqual({ kind: 'ready', connected: undefined });
  });

  test.each(['', ' ', 'two words', 'schlüssel', "x' OR 1"])('%j is no key, and is not sent', async (text) => {
    const server = served([]);
    const connection = server.connection({ access: 'key' });
    await connection.useKey(text);
    expect(connection.state.value).toMatchObject({
      kind: 'closed',
      sentence: 'This is not a key: a key begins with br_live_.',
    });
    expect(server.sent).toEqual([]);
  });

  test('that is not valid, or is not any more, is asked for again', async () => {
    const unauthenticated = problem(401, 'unauthenticated', 'a valid API key is needed');
    const server = served([unauthenticated, account, unauthenticated]);
    const connection = server.connection({ access: 'key' });
    await connection.useKey(TYPED);
    const sentence = 'This key is not valid: it may be mistyped, revoked or expired.';
    expect(connection.state.value).toMatchObject({ kind: 'closed', sentence });
    await connection.useKey(TYPED);
    expect((await refusalOf(connection.get('/v1/coins'))).status).toBe(401);
    expect(connection.state.value).toMatchObject({
      kind: 'closed',
      sentence: 'This key is no longer valid: enter another one.',
    });
  });
});

describe('a request', () => {
  const start = async (...answers: readonly Answer[]) => {
    const server = served(answers);
    const connection = server.connection({ access: 'open' });
    await connection.connect();
    return { ...server, opened: connection };
  };
  const limited = problem(429, 'rate-limited', 'too many', { 'retry-after': '7' });

  test('waits after 429 and 503 as Retry-After says, four times at most', async () => {
    const busy = problem(503, 'busy', 'busy', { 'retry-after': '1' });
    const { opened, pauses } = await start(limited, busy, DATA);
    await opened.get('/v1/coins');
    expect(pauses).toEqual([7000, 1000]);
    expect(opened.isWaiting.value).toBe(false);
    const always = await start(limited, limited, limited, limited, limited);
    expect((await refusalOf(always.opened.get('/v1/coins'))).message).toBe('Too many.');
    expect(always.pauses).toEqual([7000, 7000, 7000, 7000]);
    const long = await start(problem(429, 'rate-limited', 'x', { 'retry-after': '86400' }), DATA);
    await long.opened.get('/v1/coins');
    expect(long.pauses).toEqual([60_000]);
  });

  test.each([
    [
      problem(403, 'forbidden', "the tier 'free' does not grant snapshots"),
      "The tier 'free' does not grant snapshots.",
    ],
    [problem(404, 'not-found', 'no market of btc has this slug'), 'No market of btc has this slug.'],
    [
      problem(404, 'not-found', 'listed at 2026-04-25T09:15:44.276Z, not at 2026-04-29T08:00:00.000Z: /v1/btc/markets'),
      'Listed at 2026-04-25 09:15:44.276 UTC, not at 2026-04-29 08:00 UTC.',
    ],
    [problem(503, 'unavailable', 'the archive cannot answer'), 'The archive cannot answer.'],
    [() => new Response('<html>', { status: 502 }), 'The server answered with status 502.'],
    [unreachable, 'The server does not answer: check the connection, and try again.'],
  ])('that is refused has one sentence: %#', async (answer, sentence) => {
    const { opened } = await start(answer);
    const refusal = await refusalOf(opened.get('/v1/coins'));
    expect(refusal.message).toBe(sentence);
    expect(refusal.link?.href).toBe(refusal.kind === 'forbidden' ? '/account/plan' : undefined);
  });

  test('that is aborted ends with the reason, also while it waits', async () => {
    const { opened } = await start(DATA);
    const aborted = AbortSignal.abort(new Error('left'));
    expect(opened.get('/v1/coins', { signal: aborted })).rejects.toThrow('left');
    const controller = new AbortController();
    const waiting = pause(1e9, controller.signal);
    controller.abort();
    expect(waiting).rejects.toThrow(/abort/i);
    expect(pause(1e9, aborted)).rejects.toThrow('left');
  });
});
