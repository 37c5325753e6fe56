import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { changeKey, createKey, type KeyRequest } from '../../src/account/account-keys.ts';
import { disableAccount, grantTier } from '../../src/account/administration.ts';
import { maskedTarget, maskedText } from '../../src/http/plugins/secret-mask.ts';
import { VIEW_TOKEN_MS, ViewTokens } from '../../src/http/plugins/view-tokens.ts';
import { KeySecret } from '../../src/store/key-secret.ts';
import { SampleMarkets } from '../../src/store/sample-markets.ts';
import { importRecords, NOW_MS } from '../support/archive.ts';
import { CONDITION_ID, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import type { PlainBrowser } from './browser.ts';
import { type Site, startSite } from './site.ts';

const ADA = 'ada@example.com';
const TOKEN = '/view/token';
const SNAPSHOTS = `/v1/btc/markets/${CONDITION_ID}/snapshots`;
const QUOTES = `/v1/btc/markets/${CONDITION_ID}/quotes`;

interface TokenAnswer {
  readonly token: string;
  readonly expiresAt: string;
  readonly expiresInSeconds: number;
  readonly key: { readonly id: string; readonly name: string | null; readonly tier: string };
  readonly tier: { readonly id: string };
  readonly keys: readonly { readonly id: string }[];
  readonly sample: Readonly<Record<'symbol' | 'slug' | 'conditionId', string>> | null;
}

function keyOf({ people: { registry, nowMs } }: Site, request: Partial<KeyRequest> = {}): string {
  const plain = { account: ADA, name: undefined, tier: 'pro', requestsPerMinute: 1000 };
  return createKey(registry, nowMs(), { ...plain, ...request }).apiKey.id;
}

/** Asks for a token as the script of a page does. `headers` replace those of a browser; undefined leaves one out. */
async function ask(
  { origin }: Site,
  browser: PlainBrowser | undefined,
  { body = '{}', headers = {} }: { body?: string; headers?: Readonly<Record<string, string | undefined>> } = {},
): Promise<Response> {
  const cookie = [...(browser?.cookies ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
  const stated = { 'sec-fetch-site': 'same-origin', origin, 'content-type': 'application/json', cookie, ...headers };
  const sent = Object.entries(stated).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return await fetch(`${origin}${TOKEN}`, { method: 'POST', body, headers: Object.fromEntries(sent) });
}

async function tokenOf(site: Site, browser: PlainBrowser | undefined, keyId?: string): Promise<TokenAnswer> {
  const reply = await ask(site, browser, { body: JSON.stringify(keyId === undefined ? {} : { keyId }) });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('cache-control')).toBe('no-store');
  return ((await reply.json()) as { data: TokenAnswer }).data;
}

async function get({ origin }: Site, token: string, path: string, init: RequestInit = {}): Promise<Response> {
  return await fetch(`${origin}${path}`, {
    ...init,
    redirect: 'manual',
    headers: { authorization: `Bearer ${token}` },
  });
}

const statusOf = async (...asked: Parameters<typeof get>) => (await get(...asked)).status;

async function startRecorded(): Promise<Site> {
  const site = startSite();
  const later = sampleSnapshot({ timestamp: '2026-04-16T07:12:00.000Z' });
  await importRecords(site.archive, [sampleMarket(), sampleSnapshot(), later]);
  return site;
}

describe('a token of a signed-in browser', () => {
  test('A token of a page is for one key: the one that sees most, or the one that the person chooses.', async () => {
    await using site = await startRecorded();
    const browser = await site.signedIn(ADA);
    const limited = keyOf(site, { name: 'limited', asOfMs: Date.UTC(2026, 3, 16, 7, 11) });
    // A key that sees all of its data comes before one of a higher tier that does not.
    const competition = keyOf(site, { tier: 'enterprise', asOfMs: Date.UTC(2026, 3, 16, 7, 11) });
    const free = keyOf(site, { tier: 'free' });
    const best = keyOf(site, { name: 'best' });
    const slow = keyOf(site, { requestsPerMinute: 1 });
    const found = await tokenOf(site, browser);
    expect(found).toMatchObject({
      expiresAt: new Date(NOW_MS + VIEW_TOKEN_MS).toISOString(),
      expiresInSeconds: 600,
      key: { id: best, name: 'best', tier: 'pro' },
      tier: { id: 'pro', routes: null },
    });
    expect(found.keys.map(({ id }) => id)).toEqual([best, slow, competition, limited, free]);
    const snapshotsWith = async (token: string) => {
      const { data } = (await (await get(site, token, SNAPSHOTS)).json()) as { data: object[] };
      return data.length;
    };
    expect(await snapshotsWith(found.token)).toBe(2);
    const asOf = await tokenOf(site, browser, limited);
    expect(asOf.key.id).toBe(limited);
    expect(await snapshotsWith(asOf.token)).toBe(1);
    expect(await statusOf(site, (await tokenOf(site, browser, free)).token, QUOTES)).toBe(403);
    expect(await statusOf(site, found.token, '/v1/account')).toBe(200);
  });

  test("Looking costs no key's minute: pages have one of their own per person, of 240 requests or the key's limit if that is higher.", async () => {
    await using site = await startRecorded();
    const browser = await site.signedIn(ADA);
    const request = { account: ADA, name: undefined, tier: 'pro', requestsPerMinute: 3 };
    const { key, apiKey } = createKey(site.people.registry, NOW_MS, request);
    const [first, second] = [await tokenOf(site, browser), await tokenOf(site, browser)];
    expect(first.token).not.toBe(second.token);
    const remaining: string[] = [];
    const bearers = [key, first.token, key, second.token, first.token, key, key, first.token];
    for (const bearer of bearers) {
      const { status, headers } = await get(site, bearer, '/v1/coins');
      remaining.push(`${status} ${headers.get('x-ratelimit-remaining')}/${headers.get('x-ratelimit-limit')}`);
    }
    expect(remaining).toEqual([
      ...['200 2/3', '200 239/240', '200 1/3', '200 238/240'],
      ...['200 237/240', '200 0/3', '429 0/3', '200 236/240'],
    ]);
    const uses = site.people.service.activity.usage.lastUses([apiKey.id]);
    expect(uses.get(apiKey.id)).toBe(NOW_MS);
    keyOf(site, { account: 'eve@example.com' });
    const eve = await tokenOf(site, await site.signedIn('eve@example.com'));
    const { headers } = await get(site, eve.token, '/v1/coins');
    expect(headers.get('x-ratelimit-remaining')).toBe('999');
  });

  test('A token may only read /v1: a POST with it gets a 401.', async () => {
    await using site = await startRecorded();
    keyOf(site);
    const { token } = await tokenOf(site, await site.signedIn(ADA));
    expect(await statusOf(site, token, '/v1/coins')).toBe(200);
    expect(await statusOf(site, token, '/v1/coins', { method: 'HEAD' })).toBe(200);
    for (const path of ['/v1/coins', '/v1/billing/x402/quote', '/v1/billing/x402/settle']) {
      expect(await statusOf(site, token, path, { method: 'POST', body: '{}' })).toBe(401);
    }
    // Sent back to sign in.
    for (const path of ['/account', '/account/keys', '/admin/accounts']) {
      expect(await statusOf(site, token, path)).toBe(303);
    }
    expect(await statusOf(site, token, TOKEN, { method: 'POST' })).toBe(401);
    // Never in a URL.
    const inUrl = await fetch(`${site.origin}/v1/coins?access_token=${token}`);
    expect(inUrl.status).toBe(401);
  });

  const ENDS: readonly (readonly [string, (site: Site, browser: PlainBrowser, keyId: string) => unknown])[] = [
    ['10 minutes', ({ people }) => people.passTime(VIEW_TOKEN_MS)],
    ['signing out', (_, browser) => browser.post('/sign-out')],
    [
      'the end of all sessions',
      ({ people: { service, registry } }) => service.sessions.endAll(registry.accounts.findByEmail(ADA)!, {}),
    ],
    [
      'revoking the key',
      ({ people: { registry } }, _, id) => registry.database.write(() => registry.apiKeys.revoke(id, NOW_MS)),
    ],
    [
      'the end of the key',
      ({ people: { registry, passTime } }, _, id) => {
        changeKey({ registry, nowMs: NOW_MS }, id, { expiresMs: NOW_MS + 1000 });
        passTime(1000);
      },
    ],
    [
      'disabling the account',
      ({ people: { registry, service } }) =>
        disableAccount({ registry, nowMs: NOW_MS }, registry.accounts.findByEmail(ADA)!.id, (account) =>
          service.sessions.endAll(account, {}),
        ),
    ],
  ];
  test.each(ENDS)('A token ends with its session, its key, its account and after 10 minutes. (%s)', async (_, end) => {
    await using site = await startRecorded();
    const browser = await site.signedIn(ADA);
    const id = keyOf(site);
    const { token } = await tokenOf(site, browser);
    site.people.passTime(1);
    expect(await statusOf(site, token, SNAPSHOTS)).toBe(200);
    await end(site, browser, id);
    const refused = await get(site, token, SNAPSHOTS);
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    expect(await refused.text()).not.toContain(token);
  });

  test('has the tier that its key has at each request', async () => {
    await using site = await startRecorded();
    const { registry } = site.people;
    const browser = await site.signedIn(ADA);
    const id = keyOf(site, { tier: undefined });
    const { token, tier } = await tokenOf(site, browser);
    expect(tier.id).toBe('free');
    expect(await statusOf(site, token, QUOTES)).toBe(403);
    const endMs = NOW_MS + 60_000;
    grantTier({ registry, nowMs: NOW_MS }, registry.accounts.findByEmail(ADA)!.id, 'pro', endMs);
    expect(await statusOf(site, token, QUOTES)).toBe(200);
    site.people.passTime(60_000);
    expect(await statusOf(site, token, QUOTES)).toBe(403);
    changeKey({ registry, nowMs: site.people.nowMs() }, id, { tier: 'enterprise' });
    expect(await statusOf(site, token, QUOTES)).toBe(200);
    // Its secret is another one; the session and the key are the same.
    registry.database.write(() => registry.apiKeys.rotate(id, NOW_MS));
    expect(await statusOf(site, token, QUOTES)).toBe(200);
  });

  test('A token of a page is unknown to another process, and after a restart.', async () => {
    await using site = await startRecorded();
    await using other = await startRecorded();
    keyOf(site);
    keyOf(other);
    const { token } = await tokenOf(site, await site.signedIn(ADA));
    expect(await statusOf(other, token, SNAPSHOTS)).toBe(401);
    expect(await statusOf(site, `${token}0`, SNAPSHOTS)).toBe(401);
    expect(await statusOf(site, 'br_view_', SNAPSHOTS)).toBe(401);
  });
});

describe('the market of the day', () => {
  const DAY_MS = 86_400_000;
  const idOf = (nth: number) => `0x${String(nth).padStart(64, '0')}`;
  /** A market whose window ends this long before the day of `NOW_MS`, and its snapshots. */
  const recorded = (nth: number, { endsMs = 0, snapshots = 1, symbol = 'btc', everyMs = 1000 } = {}) => {
    const startMs = NOW_MS - (NOW_MS % DAY_MS) - endsMs - 300_000;
    const ids = { conditionId: idOf(nth), slug: `market-${nth}`, clobTokenIds: [`${nth}1`, `${nth}2`], symbol };
    const times = { startTime: new Date(startMs).toISOString(), endTime: new Date(startMs + 300_000).toISOString() };
    const book = (i: number) =>
      sampleSnapshot({ ...ids, assetId: `${nth}1`, timestamp: new Date(startMs + everyMs * i).toISOString() });
    return [sampleMarket({ ...ids, ...times }), ...Array.from({ length: snapshots }, (_, i) => book(i))];
  };
  const pathOf = (nth: number, rest: string, coin = 'btc') => `/v1/${coin}/markets/${idOf(nth)}/${rest}`;
  const BOOKS = ['coverage', 'heatmap', 'snapshots', `snapshots/at/${NOW_MS}`, `snapshots/at?ts=${NOW_MS}`];

  test('A market that is recorded for half of its window is the market of the day before a fuller one that is not.', async () => {
    await using site = startSite();
    const samples = new SampleMarkets(site.archive);
    const slug = () => samples.of({ coins: ['btc'] }, NOW_MS + DAY_MS)?.slug;
    await importRecords(site.archive, recorded(1, { snapshots: 9 }));
    expect(slug()).toBe('market-1');
    await importRecords(site.archive, [
      ...recorded(2, { endsMs: DAY_MS, snapshots: 4, everyMs: 50_000 }),
      ...recorded(3, { endsMs: 2 * DAY_MS, snapshots: 5, everyMs: 37_000 }),
    ]);
    // It stays the same for the day.
    expect([slug(), new SampleMarkets(site.archive).of({ coins: ['btc'] }, NOW_MS)?.slug]).toEqual([
      'market-1',
      'market-2',
    ]);
  });

  test('A page of a tier without snapshots shows the fullest of the latest markets that ended before the day (UTC), and no other books.', async () => {
    await using site = startSite();
    await importRecords(site.archive, [
      // Today's.
      ...recorded(1, { endsMs: -1, snapshots: 9 }),
      ...recorded(2, { snapshots: 2 }),
      ...recorded(3, { endsMs: DAY_MS, snapshots: 3 }),
      ...recorded(4, { endsMs: 2 * DAY_MS, snapshots: 3 }),
      ...recorded(5, { symbol: 'eth', snapshots: 5 }),
      // Fuller, and older than 20 others.
      ...Array.from({ length: 20 }, (_, i) => recorded(10 + i, { endsMs: 3 * DAY_MS })).flat(),
      ...recorded(6, { endsMs: 4 * DAY_MS, snapshots: 9 }),
    ]);
    const request = { account: ADA, name: undefined, tier: 'free', requestsPerMinute: undefined };
    const { key } = createKey(site.people.registry, NOW_MS, request);
    const browser = await site.signedIn(ADA);
    const { token, sample } = await tokenOf(site, browser);
    expect(sample).toEqual({ symbol: 'btc', slug: 'market-3', conditionId: idOf(3) });
    for (const rest of BOOKS) {
      expect([rest, await statusOf(site, token, pathOf(3, rest))]).toEqual([rest, 200]);
      expect([rest, await statusOf(site, key, pathOf(3, rest))]).toEqual([rest, 403]);
      expect([rest, await statusOf(site, token, pathOf(4, rest))]).toEqual([rest, 403]);
      expect([rest, await statusOf(site, token, pathOf(5, rest, 'eth'))]).toEqual([rest, 403]);
    }
    // A stream checks its grant again while it is sent.
    const stream = await get(site, token, pathOf(3, 'stream?speed=max'));
    expect((await stream.text()).match(/event: snapshot/g)).toHaveLength(3);
    for (const rest of ['quotes', 'export']) expect(await statusOf(site, token, pathOf(3, rest))).toBe(403);
    // The day stays the same when more is recorded of it.
    await importRecords(site.archive, recorded(7, { snapshots: 8 }));
    expect((await tokenOf(site, browser)).sample?.slug).toBe('market-3');
    site.people.passTime(DAY_MS);
    expect((await tokenOf(site, await site.signedIn(ADA))).sample?.slug).toBe('market-1');
  });

  test('is not named to tiers with snapshots, nor where no coin of the tier has one', async () => {
    await using site = startSite();
    await importRecords(site.archive, recorded(5, { symbol: 'eth' }));
    keyOf(site, { tier: 'free' });
    const browser = await site.signedIn(ADA);
    expect((await tokenOf(site, browser)).sample).toBeNull();
    keyOf(site, { tier: 'starter' });
    expect((await tokenOf(site, browser)).sample).toBeNull();
  });
});

describe('a request for a token is refused', () => {
  let site: Site;
  let ada: PlainBrowser;
  let adaKey: string;
  let foreignKey: string;
  beforeAll(async () => {
    site = await startRecorded();
    ada = await site.signedIn(ADA);
    adaKey = keyOf(site);
    foreignKey = keyOf(site, { account: 'eve@example.com' });
  });
  afterAll(() => site[Symbol.asyncDispose]());

  test.each([
    ['from another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['from another origin of the same site', { 'sec-fetch-site': 'same-site' }],
    ['from another origin, by an older browser', { 'sec-fetch-site': undefined, origin: 'http://127.0.0.1:1' }],
    ['without an origin, by an older browser', { 'sec-fetch-site': undefined, origin: undefined }],
    ['from a sandbox', { 'sec-fetch-site': undefined, origin: 'null' }],
  ])('%s', async (_, headers) => {
    const reply = await ask(site, ada, { headers });
    expect(reply.status).toBe(403);
    expect(await reply.text()).not.toContain('br_view_');
    expect(reply.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('without a session', async () => {
    const reply = await ask(site, undefined);
    expect(reply.status).toBe(401);
    expect(await reply.json()).toMatchObject({ detail: 'you are not signed in: sign in at /sign-in, or enter a key' });
    expect((await ask(site, undefined, { headers: { cookie: '__Host-bookreel-session=forged' } })).status).toBe(401);
  });

  test('for a key of another account, an unknown or a revoked one', async () => {
    const { registry } = site.people;
    const revoked = keyOf(site);
    registry.database.write(() => registry.apiKeys.revoke(revoked, NOW_MS));
    for (const keyId of [foreignKey, revoked, 'key_aaaaaaaaaa', '']) {
      const reply = await ask(site, ada, { body: JSON.stringify({ keyId }) });
      expect(reply.status).toBe(404);
      expect(await reply.json()).toMatchObject({
        detail: 'your account has no valid key with this id: choose another one',
      });
    }
    expect((await tokenOf(site, ada)).keys.map(({ id }) => id)).toEqual([adaKey]);
  });

  test('of an account without a key, with the way to one', async () => {
    const reply = await ask(site, await site.signedIn('new@example.com'));
    expect(reply.status).toBe(409);
    const detail = 'your account has no valid key: create one at /account/keys/new';
    expect(await reply.json()).toMatchObject({ detail });
  });

  test.each([
    '[]',
    '""',
    '1',
    'null',
    '{',
    'keyId=key_a',
    '{"keyId":1}',
    '{"keyId":"a","b":1}',
    '{"x":"y"}',
    `{"keyId":"${'a'.repeat(2000)}"}`,
  ])('with the body %s', async (body) => {
    expect((await ask(site, ada, { body })).status).toBe(400);
  });

  test('by GET, and nothing else is at its path', async () => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      expect(await statusOf(site, 'x', TOKEN, { method })).toBe(405);
    }
  });
});

describe('a demo', () => {
  const demoKeyOf = ({ registry }: Site['people']) => {
    const request = { account: 'demo@localhost', name: 'demo', tier: 'pro', requestsPerMinute: 1000 };
    return createKey(registry, NOW_MS, request).apiKey.id;
  };

  test('gives a token of its key without a session to pages in browsers of this machine', async () => {
    await using site = startSite({}, undefined, demoKeyOf);
    const found = await tokenOf(site, undefined);
    expect(found.key).toMatchObject({ name: 'demo', tier: 'pro' });
    expect(found.keys).toHaveLength(1);
    expect(await statusOf(site, found.token, '/v1/coins')).toBe(200);
    const { port } = new URL(site.origin);
    for (const host of [`localhost:${port}`, `[::1]:${port}`, `LOCALHOST:${port}`]) {
      expect((await ask(site, undefined, { headers: { host, origin: `http://${host}` } })).status).toBe(200);
    }
    // A signed-in person has their own keys.
    keyOf(site);
    expect((await tokenOf(site, await site.signedIn(ADA))).key.name).toBeNull();
    const { registry } = site.people;
    registry.database.write(() => registry.apiKeys.revoke(found.key.id, NOW_MS));
    expect(await statusOf(site, found.token, '/v1/coins')).toBe(401);
    expect((await ask(site, undefined)).status).toBe(409);
  });

  test('serve --demo gives a token without a session to this machine only: by address, Host and Origin, and through no proxy.', async () => {
    await using site = startSite({}, undefined, demoKeyOf);
    const rebound = { host: 'evil.example', origin: 'http://evil.example' };
    const refused: readonly Readonly<Record<string, string | undefined>>[] = [
      { origin: undefined },
      { origin: 'null' },
      { origin: 'https://evil.example' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      rebound,
      { ...rebound, 'sec-fetch-site': undefined },
      { host: 'localhost.evil.example', origin: 'http://localhost.evil.example' },
      { 'x-forwarded-for': '192.0.2.1' },
      { 'x-forwarded-for': '127.0.0.1' },
      { 'x-forwarded-host': 'books.example' },
      { 'x-real-ip': '192.0.2.1' },
      { forwarded: 'for=192.0.2.1' },
      { via: '1.1 proxy' },
      // A proxy that names itself in no header, and sends its own Host: the page has the name of the proxy.
      { origin: 'https://books.example' },
    ];
    for (const headers of refused) {
      expect([headers, (await ask(site, undefined, { headers })).status]).toEqual([headers, 401]);
    }
  });

  test('without one, nobody gets a token without a session', async () => {
    await using site = startSite();
    expect((await ask(site, undefined)).status).toBe(401);
  });
});

describe('a token that is checked with the secret of the server', () => {
  const grant = { keyId: 'key_abc', session: 'ses_1', account: 7 };
  const secret = KeySecret.random();
  const open = new ViewTokens(() => true, secret);

  test('A token is valid in every process of a server until its end, while its session is open.', () => {
    const asked: unknown[] = [];
    let isOpen = true;
    const other = new ViewTokens((session, account) => {
      asked.push([session, account]);
      return isOpen;
    }, secret);
    const { token, endsMs } = open.issue(grant, 1000);
    expect(endsMs).toBe(1000 + VIEW_TOKEN_MS);
    expect(other.find(token, endsMs - 1)).toEqual({ keyId: 'key_abc', account: 7 });
    expect(other.find(token, endsMs)).toBeUndefined();
    isOpen = false;
    expect(other.find(token, 1000)).toBeUndefined();
    expect(asked).toEqual([
      ['ses_1', 7],
      ['ses_1', 7],
    ]);
  });

  test('A token of which any character was changed, left out or added is refused.', () => {
    const { token } = open.issue(grant, 0);
    expect(open.find(token, 1)).toBeDefined();
    for (let at = 0; at < token.length; at += 1) {
      const changed = `${token.slice(0, at)}${token[at] === '0' ? '1' : '0'}${token.slice(at + 1)}`;
      expect(open.find(changed, 1)).toBeUndefined();
      expect(open.find(token.slice(0, at) + token.slice(at + 1), 1)).toBeUndefined();
    }
    for (const other of ['', 'br_view_', `${token}00`, `${token} `, token.toUpperCase(), `br_view_${'0'.repeat(64)}`]) {
      expect(open.find(other, 1)).toBeUndefined();
    }
    expect(new ViewTokens(() => true).find(token, 1)).toBeUndefined();
  });

  test('the log masks all of it', () => {
    const { token } = open.issue(grant, 0);
    expect(maskedText(`a ${token} b`, 1000)).toBe('a … b');
  });
});

test('the log has no token, wherever a client writes one', () => {
  const token = `br_view_${'0'.repeat(64)}`;
  for (const path of [
    `/v1/${token}`,
    `/view/btc/${token}`,
    `/v1/btc/markets?search=${token}`,
    `/v1?access_token=${token}`,
  ]) {
    expect(maskedTarget(path)).not.toContain('br_view_0');
    expect(maskedTarget(path.replaceAll('_', '%5F'))).not.toContain('00000000');
  }
  expect(maskedText(`agent ${token}`, 200)).toBe('agent …');
});
