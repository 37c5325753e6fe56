import { beforeAll, describe, expect, test } from 'bun:test';
import { type Client, clientOf, type ProblemDocument, type Reply, withoutRequestId } from './client.ts';
import { exchange, requestOf } from './raw-http.ts';
import { BOOKS, ETH, SOL, T0, type TierId } from './recording.ts';
import { AMPLE_RPM, type Suite } from './target.ts';

const MARKETS = '/v1/btc/markets';
const ofBooks = `/v1/btc/markets/${BOOKS.conditionId}`;
const remainingOf = ({ headers }: Reply) => Number(headers.get('x-ratelimit-remaining'));

/** Each is one error; errors are found in this order. */
const FLAWS = [
  { name: 'malformed URL', status: 400, type: 'malformed-request' },
  { name: 'no key', status: 401, type: 'unauthenticated' },
  { name: 'exhausted key', status: 429, type: 'rate-limited' },
  { name: 'unknown route', status: 404, type: 'not-found' },
  { name: 'wrong method', status: 405, type: 'method-not-allowed' },
  { name: 'ungranted coin', status: 403, type: 'forbidden' },
  { name: 'bad parameter', status: 400, type: 'invalid-parameter' },
  { name: 'unknown market', status: 404, type: 'not-found' },
] as const;
type Flaw = (typeof FLAWS)[number]['name'];

/** Every set of flaws that one request can have. */
const COMBINATIONS: readonly ReadonlySet<Flaw>[] = Array.from({ length: 2 ** FLAWS.length }, (_, bits) => {
  const chosen = FLAWS.filter((__, index) => (bits >> index) % 2 === 1);
  return new Set(chosen.map(({ name }) => name));
}).filter((flaws) => !(flaws.has('no key') && flaws.has('exhausted key')));

/** Access: keys, tiers, rate limits, and the order of the checks of a request. */
export function accessTests(suite: Suite): void {
  const anonymous: Client = (...asked) => clientOf(suite.target.origin)(...asked);
  const keys = new Map<TierId, string>();
  const as = (tier: TierId): Client => clientOf(suite.target.origin, keys.get(tier)!);
  let exhausted = '';
  const operated = test.skipIf(!suite.reach.operated);

  beforeAll(async () => {
    for (const tier of ['free', 'starter', 'pro', 'enterprise'] as const) {
      keys.set(tier, (await suite.target.makeKey(tier, { rpm: AMPLE_RPM })).key);
    }
    if (!suite.reach.operated) return;
    exhausted = (await suite.target.makeKey('starter', { rpm: 1 })).key;
    expect((await clientOf(suite.target.origin, exhausted)(MARKETS)).status).toBe(200);
  });

  test('a request with several errors gets the first refusal in the contract’s order', async () => {
    expect(COMBINATIONS.length).toBe(192);
    for (const flaws of COMBINATIONS) {
      if (flaws.has('exhausted key') && !suite.reach.operated) continue;
      const coin = flaws.has('ungranted coin') ? 'sol' : 'btc';
      const market = flaws.has('unknown market') ? '0xdead' : coin === 'sol' ? SOL.conditionId : BOOKS.conditionId;
      const route = flaws.has('unknown route') ? 'nothing' : 'snapshots';
      const query = `limit=${flaws.has('bad parameter') ? 0 : 1}${flaws.has('malformed URL') ? '&x=%ZZ' : ''}`;
      const key = flaws.has('no key') ? null : flaws.has('exhausted key') ? exhausted : keys.get('starter')!;
      const method = flaws.has('wrong method') ? 'POST' : 'GET';
      const reply = await anonymous(`/v1/${coin}/markets/${market}/${route}?${query}`, { key, method });
      const first = FLAWS.find(({ name }) => flaws.has(name));
      expect(reply.status, [...flaws].join(' + ')).toBe(first?.status ?? 200);
      if (first === undefined) continue;
      expect(reply.json<ProblemDocument>().type).toBe(`urn:bookreel:problem:${first.type}`);
    }
  });

  test.each([
    [200, () => as('pro')(MARKETS)],
    [204, () => as('pro')(MARKETS, { method: 'OPTIONS' })],
    [200, () => as('pro')(MARKETS, { method: 'HEAD' })],
    [304, () => as('pro')(ofBooks, { headers: { 'if-none-match': '*' } })],
    [400, () => as('pro')(`${MARKETS}?limit=0`)],
    [400, () => as('pro')(`${MARKETS}?limit=%ZZ`)],
    [401, () => anonymous(MARKETS)],
    [401, () => anonymous(MARKETS, { method: 'HEAD' })],
    [401, () => anonymous(MARKETS, { method: 'OPTIONS' })],
    [403, () => as('free')('/v1/eth/markets')],
    [404, () => as('pro')('/v1/nothing')],
    [404, () => as('pro')(`${MARKETS}/0x1`)],
    [405, () => as('pro')(MARKETS, { method: 'POST' })],
    ...(suite.reach.operated ? ([[429, () => anonymous(MARKETS, { key: exhausted })]] as const) : []),
    [200, () => anonymous('/')],
    [204, () => anonymous('/', { method: 'OPTIONS' })],
    [404, () => anonymous('/nothing')],
    [405, () => anonymous('/', { method: 'PUT' })],
  ] as const)('a %d carries the request’s id and its budget', async (status, ask) => {
    // The client checks the rules of all answers.
    const [first, second] = [await ask(), await ask()];
    expect(first.status).toBe(status);
    expect(first.headers.get('x-request-id')).not.toBe(second.headers.get('x-request-id'));
  });

  describe('keys', () => {
    operated('missing, malformed, unknown and revoked keys get one and the same answer', async () => {
      const revoked = await suite.target.makeKey('pro');
      await suite.target.revokeKey(revoked.id);
      const altered = `${revoked.key.slice(0, -1)}${revoked.key.endsWith('a') ? 'b' : 'a'}`;
      const unknown = 'br_live_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
      const authorizations = [
        undefined,
        '',
        'Bearer',
        'Bearer ',
        `Bearer ${revoked.key}`,
        `Bearer ${altered}`,
        `Bearer ${unknown}`,
        'Bearer x',
        `Bearer ${'k'.repeat(3000)}`,
        `Basic ${btoa(`key:${suite.ampleKey}`)}`,
        `Basic ${suite.ampleKey}`,
        `Bearer${suite.ampleKey}`,
        `Bearer  ${suite.ampleKey} x`,
        `Bearer ${suite.ampleKey},`,
        `Bearer ${suite.ampleKey}, Bearer ${suite.ampleKey}`,
        `Bearer "${suite.ampleKey}"`,
        `Bearer ${suite.ampleKey.toUpperCase()}`,
        `Bearer ${suite.ampleKey}=`,
        `Token ${suite.ampleKey}`,
        suite.ampleKey,
      ];
      const bodies = new Set<string>();
      // Other paths without a key and with one: the suite makes nearly as many requests without a key as an address has per minute.
      const paths = ['/v1/billing/tiers', '/v1/nothing', '/v1', '/v1/', '/v1/eth/markets/0x1?limit=0'];
      const asked = [
        ...authorizations.map((authorization) => [MARKETS, authorization] as const),
        ...paths.flatMap((path) =>
          [undefined, `Bearer ${unknown}`].map((authorization) => [path, authorization] as const),
        ),
      ];
      for (const [path, authorization] of asked) {
        const reply = await anonymous(path, authorization === undefined ? {} : { headers: { authorization } });
        expect(reply.status, `${path} ${authorization ?? 'without a key'}`).toBe(401);
        bodies.add(JSON.stringify(withoutRequestId(reply)));
      }
      expect([...bodies]).toHaveLength(1);
    });

    test('a key in the query or the body is never accepted', async () => {
      for (const name of ['access_token', 'api_key', 'apikey', 'key', 'token', 'authorization']) {
        expect((await anonymous(`${MARKETS}?${name}=${suite.ampleKey}`)).status).toBe(401);
      }
      const posted = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
      expect((await anonymous(MARKETS, { ...posted, body: `access_token=${suite.ampleKey}` })).status).toBe(401);
      const headers = { 'x-api-key': suite.ampleKey, cookie: `access_token=${suite.ampleKey}` };
      expect((await anonymous(MARKETS, { headers })).status).toBe(401);
    });

    test.each([
      ['application/json', '{bad'],
      ['application/json; charset=utf-8', '{"__proto__":'],
      ['multipart/form-data; boundary=x', 'no part'],
      ['multipart/form-data', 'no boundary'],
      ['application/x-www-form-urlencoded', '%ZZ'],
      ['application/octet-stream', '\u0000'],
      ['nonsense', '{bad'],
    ])('a body of type %s is not read: %p', async (type, body) => {
      const posted = { method: 'POST', headers: { 'content-type': type }, body };
      for (const path of [MARKETS, '/v1/coins']) {
        expect((await anonymous(path, posted)).status).toBe(401);
        expect((await anonymous(path, { ...posted, key: suite.ampleKey })).status).toBe(405);
      }
      expect((await anonymous('/v1/nothing', { ...posted, key: suite.ampleKey })).status).toBe(404);
      expect((await anonymous('/healthz', posted)).status).toBe(405);
    });

    test.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])('the scheme %s is the bearer scheme', async (scheme) => {
      const authorization = `${scheme} ${suite.ampleKey}`;
      expect((await anonymous(MARKETS, { headers: { authorization } })).status).toBe(200);
    });

    test.skipIf(!suite.reach.plain)('Bearer may have any case; two Authorization headers are no key.', async () => {
      const authorization = `Authorization: Bearer ${suite.ampleKey}`;
      for (const pair of [
        [authorization, authorization],
        [authorization, 'Authorization: Bearer x'],
        ['Authorization: Basic eA==', authorization],
      ]) {
        const reply = await exchange(suite.target.origin, requestOf(MARKETS, ['Host: localhost', ...pair]));
        expect(reply.status).toBe(401);
      }
    });

    operated('a rotated key is refused from the next request on, and the new one works', async () => {
      const { id, key } = await suite.target.makeKey('pro');
      expect((await anonymous(MARKETS, { key })).status).toBe(200);
      const fresh = await suite.target.rotateKey(id);
      expect(fresh).not.toBe(key);
      expect((await anonymous(MARKETS, { key })).status).toBe(401);
      expect((await anonymous(MARKETS, { key: fresh })).status).toBe(200);
      await suite.target.revokeKey(id);
      expect((await anonymous(MARKETS, { key: fresh })).status).toBe(401);
    });
  });

  describe('tiers', () => {
    /** From the contract's table: what each tier may see. */
    const COINS = { free: ['btc'], starter: ['btc', 'eth'], pro: ['btc', 'eth', 'sol', 'xrp'], enterprise: null };
    const GRANTS = {
      free: ['markets', 'prices'],
      starter: ['markets', 'prices', 'snapshots', 'quotes'],
      pro: null,
      enterprise: null,
    };
    const PATHS = [
      ['markets', (coin: string) => `/v1/${coin}/markets`],
      ['markets', (coin: string) => `/v1/${coin}/markets/0x1`],
      ['snapshots', (coin: string) => `/v1/${coin}/markets/0x1/snapshots`],
      ['snapshots', (coin: string) => `/v1/${coin}/markets/0x1/snapshots/at/${T0}`],
      ['snapshots', (coin: string) => `/v1/${coin}/markets/0x1/coverage`],
      ['snapshots', (coin: string) => `/v1/${coin}/markets/0x1/heatmap`],
      ['snapshots', (coin: string) => `/v1/${coin}/markets/0x1/stream`],
      ['quotes', (coin: string) => `/v1/${coin}/markets/0x1/quotes`],
      ['export', (coin: string) => `/v1/${coin}/markets/0x1/export`],
      ['prices', (coin: string) => `/v1/${coin}/markets/0x1/prices`],
      ['prices', (coin: string) => `/v1/${coin}/prices`],
    ] as const;

    test.each(['free', 'starter', 'pro', 'enterprise'] as const)(
      '%s sees its coins and routes and nothing else',
      async (tier) => {
        for (const coin of ['btc', 'eth', 'sol', 'xrp', 'doge', 'nosuch']) {
          for (const [grant, pathOf] of PATHS) {
            const { status } = await as(tier)(pathOf(coin));
            const isGranted = (COINS[tier]?.includes(coin) ?? true) && (GRANTS[tier]?.includes(grant) ?? true);
            expect(status === 403, `${tier} ${pathOf(coin)} ${status}`).toBe(!isGranted);
          }
        }
        expect((await as(tier)('/v1/billing/tiers')).status).toBe(200);
      },
    );

    test('a key without access to a coin learns nothing about what exists', async () => {
      const answers = new Map<string, Set<string>>();
      for (const coin of ['sol', 'doge', 'xrp', 'nosuch', 'a'.repeat(300), '%00', '..%2f']) {
        for (const below of [
          '/markets',
          `/markets/${SOL.conditionId}`,
          '/markets/0x1',
          '/markets/0x1/snapshots',
          '/prices',
        ]) {
          for (const query of ['', '?limit=0', '?x=1']) {
            const reply = await as('starter')(`/v1/${coin}${below}${query}`);
            expect(reply.status).toBe(403);
            const seen = answers.get('starter') ?? new Set();
            answers.set('starter', seen.add(JSON.stringify(withoutRequestId(reply))));
          }
        }
      }
      expect(answers.get('starter')?.size).toBe(1);
    });

    test.each([
      'sol',
      'SOL',
      'Sol',
      '%73ol',
      '%53%4f%4C',
      'sol/',
      'SO%4c/',
      's%2Fol',
      'ſol',
      'sol%20',
      '%20sol',
      'sol%00',
      'sol%2F',
      'btc%2F..%2Fsol',
      'sol;btc',
    ])('%s does not open sol to a tier without it', async (coin) => {
      const path = coin.endsWith('/') ? `/v1/${coin.slice(0, -1)}/prices/` : `/v1/${coin}/prices`;
      expect((await as('starter')(path)).status).toBe(403);
    });

    test.each(['BTC', 'Btc', '%62tc', '%42%54%43', 'b%74C'])('%s is the coin btc', async (coin) => {
      for (const below of ['/markets', `/markets/${BOOKS.slug}/prices?limit=2`, '/prices?limit=2']) {
        const canonical = await as('free')(`/v1/btc${below}`);
        const reply = await as('free')(`/v1/${coin}${below}`);
        expect(reply.status).toBe(200);
        expect(reply.text).toBe(canonical.text);
        const slashed = below.replace(/(\?|$)/, '/$1');
        expect((await as('free')(`/v1/${coin}${slashed}`)).text).toBe(canonical.text);
      }
    });

    test('a slash inside a coin is part of its name, not of the path', async () => {
      expect((await as('free')('/v1/b%2Ftc/markets')).status).toBe(403);
      expect((await as('enterprise')('/v1/b%2Ftc/markets')).status).toBe(404);
      expect((await as('enterprise')('/v1/btc%2Fmarkets')).status).toBe(404);
    });

    operated('the catalog is the contract’s table', async () => {
      const { data } = (await as('free')('/v1/billing/tiers')).json<{ data: Record<string, unknown>[] }>();
      expect(data).toEqual([
        {
          id: 'free',
          name: 'Free',
          coins: ['btc'],
          routes: ['markets', 'prices'],
          requestsPerMinute: 10,
          monthlyPriceUsd: 0,
          priceNote: null,
        },
        {
          id: 'starter',
          name: 'Starter',
          coins: ['btc', 'eth'],
          routes: ['markets', 'prices', 'snapshots', 'quotes'],
          requestsPerMinute: 60,
          monthlyPriceUsd: null,
          priceNote: 'to be determined',
        },
        {
          id: 'pro',
          name: 'Pro',
          coins: ['btc', 'eth', 'sol', 'xrp'],
          routes: null,
          requestsPerMinute: 300,
          monthlyPriceUsd: null,
          priceNote: 'to be determined',
        },
        {
          id: 'enterprise',
          name: 'Enterprise',
          coins: null,
          routes: null,
          requestsPerMinute: 1000,
          monthlyPriceUsd: null,
          priceNote: 'custom',
        },
      ]);
    });

    operated('the running service follows a tier from the next request on', async () => {
      const { key } = await suite.target.makeKey('free');
      const get = clientOf(suite.target.origin, key);
      const tier = async () =>
        (await suite.client('/v1/billing/tiers')).json<{ data: Record<string, unknown>[] }>().data[0]!;
      expect((await get(`/v1/eth/markets/${ETH.slug}/quotes`)).status).toBe(403);
      await suite.target.setTier('free', { coins: ['btc', 'eth'], routes: ['markets', 'quotes'], rpm: 17 });
      const granted = await get(`/v1/eth/markets/${ETH.slug}/quotes`);
      expect(granted.status).toBe(200);
      expect(granted.headers.get('x-ratelimit-limit')).toBe('17');
      expect((await get('/v1/btc/prices')).status).toBe(403);
      expect(await tier()).toMatchObject({
        coins: ['btc', 'eth'],
        routes: ['markets', 'quotes'],
        requestsPerMinute: 17,
      });
      await suite.target.setTier('free', { coins: null, routes: null });
      expect((await get(`/v1/sol/markets/${SOL.slug}/snapshots`)).status).toBe(200);
      expect(await tier()).toMatchObject({ coins: null, routes: null });
      await suite.target.setTier('free', { coins: ['btc'], routes: ['markets', 'prices'], rpm: 10 });
      expect((await get('/v1/eth/markets')).status).toBe(403);
      expect((await get(MARKETS)).headers.get('x-ratelimit-limit')).toBe('10');
    });
  });

  describe('budgets', () => {
    operated.each([
      ['free', 10],
      ['starter', 60],
      ['pro', 300],
      ['enterprise', 1000],
      ['starter with a limit of its own', 7],
    ] as const)('a key of %s has %d requests a minute', async (name, limit) => {
      const [tier] = name.split(' ') as [TierId];
      const { key } = await suite.target.makeKey(tier, tier === name ? {} : { rpm: limit });
      const reply = await anonymous(MARKETS, { key });
      expect(reply.headers.get('x-ratelimit-limit')).toBe(String(limit));
      expect(remainingOf(reply)).toBe(limit - 1);
    });

    operated(
      '200, 304, 400, 403, 404, 405, HEAD and OPTIONS each cost one; a 429 costs none and says when to come back',
      async () => {
        const { key } = await suite.target.makeKey('free');
        const get = clientOf(suite.target.origin, key);
        const asked = [
          () => get(MARKETS),
          () => get(ofBooks, { headers: { 'if-none-match': '*' } }),
          () => get(`${MARKETS}?limit=x`),
          () => get('/v1/eth/markets'),
          () => get(`${MARKETS}/0x1`),
          () => get('/v1/nothing'),
          () => get(MARKETS, { method: 'DELETE' }),
          () => get(MARKETS, { method: 'HEAD' }),
          () => get(MARKETS, { method: 'OPTIONS' }),
          () => get('/v1/billing/tiers'),
        ];
        const replies: Reply[] = [];
        for (const ask of asked) replies.push(await ask());
        expect(replies.map(({ status }) => status)).toEqual([200, 304, 400, 403, 404, 404, 405, 200, 204, 200]);
        expect(replies.map(remainingOf)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
        const resets = new Set(replies.map(({ headers }) => headers.get('x-ratelimit-reset')));
        expect(resets.size).toBe(1);
        for (const ask of asked) {
          const refused = await ask();
          expect(refused.status).toBe(429);
          expect(refused.headers.get('x-ratelimit-limit')).toBe('10');
          expect([...resets]).toContain(refused.headers.get('x-ratelimit-reset'));
        }
        // Outside /v1 keys are not read.
        expect((await get('/healthz')).status).toBe(200);
      },
    );

    operated('a 429 does not count: of a limit that is raised there is left what it was raised by', async () => {
      const { key } = await suite.target.makeKey('free');
      const get = clientOf(suite.target.origin, key);
      await suite.target.setTier('free', { rpm: 2 });
      try {
        expect([await get(MARKETS), await get(MARKETS)].map(remainingOf)).toEqual([1, 0]);
        for (let refused = 0; refused < 5; refused += 1) expect((await get(MARKETS)).status).toBe(429);
        await suite.target.setTier('free', { rpm: 5 });
        const reply = await get(MARKETS);
        expect(reply.status).toBe(200);
        expect(remainingOf(reply)).toBe(2);
      } finally {
        await suite.target.setTier('free', { rpm: 10 });
      }
    });

    operated('keys are counted apart, also those of one account', async () => {
      const [one, other] = [await suite.target.makeKey('free'), await suite.target.makeKey('free')];
      for (let left = 9; left >= 0; left -= 1) expect(remainingOf(await anonymous(MARKETS, one))).toBe(left);
      expect((await anonymous(MARKETS, one)).status).toBe(429);
      expect(remainingOf(await anonymous(MARKETS, other))).toBe(9);
    });

    operated.each([40, 100])('64 clients at once share a key’s %d requests exactly', async (limit) => {
      const { key } = await suite.target.makeKey('enterprise', { rpm: limit });
      const client = async () => {
        const statuses: number[] = [];
        for (let i = 0; i < 3; i += 1) statuses.push((await anonymous('/v1/billing/tiers', { key })).status);
        return statuses;
      };
      const statuses = (await Promise.all(Array.from({ length: 64 }, client))).flat();
      expect(statuses.filter((status) => status === 200)).toHaveLength(limit);
      expect(statuses.filter((status) => status === 429)).toHaveLength(64 * 3 - limit);
    });

    test.skipIf(!suite.reach.anew)(
      'an address without a valid key has 600 requests a minute, and its keys have their own',
      async () => {
        await using target = await suite.open([]);
        const get = clientOf(target.origin);
        const { key } = await target.makeKey('pro');
        for (let left = 599; left >= 0; left -= 1) {
          const reply = left % 3 === 0 ? await get('/v1/x', { key: 'br_live_wrong' }) : await get('/v1/x');
          expect(reply.status).toBe(401);
          expect(reply.headers.get('x-ratelimit-limit')).toBe('600');
          expect(remainingOf(reply)).toBe(left);
        }
        for (const wrong of [null, 'br_live_wrong']) {
          const refused = await get('/v1/x', { key: wrong });
          expect(refused.status).toBe(429);
          expect(refused.headers.get('x-ratelimit-limit')).toBe('600');
        }
        const keyed = await get('/v1/billing/tiers', { key });
        expect(keyed.status).toBe(200);
        expect(keyed.headers.get('x-ratelimit-limit')).toBe('300');
        expect((await get('/healthz')).status).toBe(200);
      },
    );
  });
}
