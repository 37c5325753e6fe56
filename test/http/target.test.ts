import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { generateKey } from '../../src/domain/api-key.ts';
import { exchange, requestOf } from '../contract/raw-http.ts';
import { type EdgeService, startEdge } from './edge-service.ts';

const HOST = 'Host: localhost';
const TIERS = '/v1/billing/tiers';

/** What each request target means, with a key; 0: closed without an answer. */
const TARGETS: readonly (readonly [target: string, status: number])[] = [
  [TIERS, 200],
  // One resource, as the URL standard resolves it: the gate sees what the router sees.
  ['/v1/./billing/tiers', 200],
  ['/v1/x/../billing/tiers', 200],
  ['/healthz/../v1/billing/tiers', 200],
  ['/v1/x/%2e%2E/billing/tiers', 200],
  ['/v1/%2e/billing/tiers', 200],
  ['/../../v1/billing/tiers', 200],
  ['/v1\\billing\\tiers', 200],
  ['/v1/billing/tiers/', 200],
  // The Host stands for an authority in the target, whatever that says.
  [`http://localhost${TIERS}`, 200],
  [`http://elsewhere.example:1${TIERS}`, 200],
  [`http://user:password@localhost${TIERS}`, 200],
  [`https://localhost${TIERS}`, 200],
  // No such path: slashes are not merged, and escapes of slashes are none.
  ['//v1/billing/tiers', 404],
  ['/v1//billing/tiers', 404],
  ['//localhost/v1/billing/tiers', 404],
  ['/v1/billing/tiers//', 404],
  ['/v1/billing%2Ftiers', 404],
  ['/v1%2Fbilling%2Ftiers', 404],
  ['/v1/billing%5Ctiers', 404],
  ['/v1/billing/tiers%00', 404],
  ['/v1/billing/tiers%0d%0aX:1', 404],
  ['/v1/billing/tiers;x=1', 404],
  ['/v1/billing/tiers%23', 404],
  ['/V1/billing/tiers', 404],
  // Fragments are a client's own business, and no part of a target.
  [`${TIERS}#x`, 400],
  [`${TIERS}#`, 400],
  [`${TIERS}?#x`, 400],
  // No UTF-8: overlong, cut, surrogates, beyond Unicode.
  ['/v1/%c0%af', 400],
  ['/v1/%c0%ae%c0%ae/billing/tiers', 400],
  ['/v1/%e0%80%af', 400],
  ['/v1/%f0%80%80%af', 400],
  ['/v1/%ed%a0%80', 400],
  ['/v1/%f4%90%80%80', 400],
  ['/v1/%ff', 400],
  ['/v1/%c3', 400],
  ['/v1/%', 400],
  ['/v1/%4', 400],
  ['/v1/%u0041', 400],
  [`${TIERS}?x=%c0%80`, 400],
];

/** What the parser itself refuses. */
const UNPARSED: readonly string[] = [
  '/v1/billing/tiers\0',
  '/v1/billing/\x01tiers',
  '/v1/billing/ti\ters',
  '/v1/billing tiers',
  'v1/billing/tiers',
  '*',
  'ftp://localhost/v1/billing/tiers',
];

const HOSTS: readonly (readonly [headers: readonly string[], status: number])[] = [
  [[HOST], 200],
  [['Host: LocalHost:8080'], 200],
  [['Host: [::1]:8080'], 200],
  [['Host: a'], 200],
  [['Host: a', 'Host: b'], 400],
  [[HOST, HOST], 400],
  [['Host: a, b'], 400],
  [['Host: user@localhost'], 400],
  [['Host: local%68ost'], 400],
  [['Host: localhost:'], 400],
  [['Host: localhost:123456'], 400],
  [['Host: -x'], 400],
  [['Host: \xfc.example'], 400],
  [['Host:'], 400],
];

let service: EdgeService;
beforeAll(() => {
  service = startEdge({});
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

describe('the target of a request', () => {
  test.each(TARGETS)('%j is answered with %d, and without a key it opens nothing', async (target, status) => {
    const keyed = await exchange(service.origin, requestOf(target, [HOST, `Authorization: Bearer ${service.key}`]));
    expect(keyed.status).toBe(status);
    expect(keyed.headers.get('x-request-id')).toBeDefined();
    if (status >= 400) expect(keyed.headers.get('cache-control')).toBe('no-store');
    const keyless = await exchange(service.origin, requestOf(target, [HOST]));
    expect([400, 401, 404]).toContain(keyless.status);
    expect(keyless.body).not.toContain('"data"');
  });

  test.each(UNPARSED.map((target) => [target] as const))('%j is no request', async (target) => {
    const reply = await exchange(service.origin, requestOf(target, [HOST, `Authorization: Bearer ${service.key}`]));
    expect([0, 400, 404, 505]).toContain(reply.status);
    expect(reply.body).not.toContain('"data"');
  });
});

describe('the Host of a request', () => {
  test.each(HOSTS)('%j is answered with %d', async (headers, status) => {
    const authorization = `Authorization: Bearer ${service.key}`;
    expect((await exchange(service.origin, requestOf(TIERS, [...headers, authorization]))).status).toBe(status);
  });

  test('is one of those allowed, where they are named; no page gets to this server under a name of its own', async () => {
    await using named = startEdge({ allowedHosts: new Set(['api.example', '[::1]']) });
    const ask = (host: string) => exchange(named.origin, requestOf('/healthz', [`Host: ${host}`]));
    for (const host of ['api.example', 'API.Example', 'api.example:8443', '[::1]', '[::1]:80']) {
      expect((await ask(host)).status, host).toBe(200);
    }
    for (const host of [
      'localhost',
      'evil.example',
      'api.example.evil.example',
      'x.api.example',
      'api.example.',
      '::1',
    ]) {
      const refused = await ask(host);
      expect(refused.status, host).toBe(400);
      expect(refused.headers.get('x-ratelimit-limit')).toBe('600');
      expect(refused.body).not.toContain('api.example');
    }
    // An authority in the target does not stand in for it.
    expect((await exchange(named.origin, requestOf('http://api.example/healthz', ['Host: evil.example']))).status).toBe(
      400,
    );
  });
});

test('every refusal says that it must not be kept, and what it is', async () => {
  await using limited = startEdge({}, 5);
  const headers = { authorization: `Bearer ${limited.key}` };
  const answers = [
    await limited.get('/v1/%ZZ', { headers }),
    await limited.get(TIERS),
    await limited.get('/v1/doge/markets', { headers }),
    await limited.get('/v1/nothing', { headers }),
    await limited.get('/v1/btc/markets?limit=0', { headers }),
    await limited.get(TIERS, { headers, method: 'POST' }),
    await limited.get(TIERS, { headers }),
    await limited.get(TIERS, { headers }),
    await limited.get('/nothing'),
    await limited.get('/', { method: 'POST' }),
  ];
  limited.archive.database.query('ALTER TABLE api_keys RENAME TO gone').run();
  // A key that was not asked about before.
  answers.push(await limited.get(TIERS, { headers: { authorization: `Bearer ${generateKey()}` } }));
  expect(answers.map(({ status }) => status)).toEqual([400, 401, 403, 404, 400, 405, 200, 429, 404, 405, 503]);
  for (const { status, headers: said } of answers) {
    expect(said.get('x-content-type-options')).toBe('nosniff');
    if (status >= 400) expect([status, said.get('cache-control')]).toEqual([status, 'no-store']);
  }
});
