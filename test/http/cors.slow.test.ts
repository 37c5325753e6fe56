import { describe, expect, test } from 'bun:test';
import { Cors } from '../../src/http/plugins/cors.ts';
import { type EdgeService, startEdge } from './edge-service.ts';

const APP = 'https://app.example';
const OTHER = 'https://app.example.evil.example';
const PREFLIGHT = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' };
/** The parts of an answer that a script reads. */
const EXPOSED = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-request-id',
  'x-bookreel-warning',
  'etag',
  'retry-after',
  'payment-required',
  'payment-response',
];

/** One answer of each kind, with its status. */
const ANSWERS: readonly (readonly [number, string, RequestInit])[] = [
  [200, '/healthz', {}],
  [200, '/openapi.json', {}],
  [200, '/v1/billing/tiers', {}],
  [200, '/v1/billing/tiers', { method: 'HEAD' }],
  [204, '/v1/billing/tiers', { method: 'OPTIONS' }],
  [400, '/v1/btc/markets?limit=0', {}],
  [400, '/v1/%ZZ', {}],
  [403, '/v1/doge/markets', {}],
  [404, '/v1/nothing', {}],
  [404, '/nothing', {}],
  [405, '/v1/billing/tiers', { method: 'DELETE' }],
];

const ask = ({ get, key }: EdgeService, origin: string | null, path: string, init: RequestInit = {}, keyed = true) =>
  get(path, {
    ...init,
    headers: {
      ...(keyed ? { authorization: `Bearer ${key}` } : {}),
      ...(origin === null ? {} : { origin }),
      ...(init.headers as Record<string, string>),
    },
  });

const corsHeaders = ({ headers }: Response) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-')).sort();

describe('with origins named', () => {
  test.each(ANSWERS)('a %d (%s) says that this origin may read it, and what of it', async (status, path, init) => {
    await using service = startEdge({ cors: new Cors([APP, 'http://localhost:3000']) });
    const answer = await ask(service, APP, path, init);
    expect(answer.status).toBe(status);
    expect(corsHeaders(answer)).toEqual(['access-control-allow-origin', 'access-control-expose-headers']);
    expect(answer.headers.get('access-control-allow-origin')).toBe(APP);
    const exposed = answer.headers.get('access-control-expose-headers')!.split(', ');
    for (const name of EXPOSED) expect(exposed).toContain(name);
    expect(answer.headers.get('vary')).toMatch(/(?:^|, )Origin$/);
  });

  test('a 401 and a 429 may be read too', async () => {
    await using service = startEdge({ cors: new Cors([APP]) }, 1);
    const unauthenticated = await ask(service, APP, '/v1/billing/tiers', {}, false);
    expect([unauthenticated.status, unauthenticated.headers.get('access-control-allow-origin')]).toEqual([401, APP]);
    await ask(service, APP, '/v1/billing/tiers');
    const limited = await ask(service, APP, '/v1/billing/tiers');
    expect([limited.status, limited.headers.get('access-control-allow-origin')]).toEqual([429, APP]);
    expect(limited.headers.get('retry-after')).toMatch(/^\d+$/);
  });

  test('Vary keeps its other values', async () => {
    await using service = startEdge({ cors: new Cors([APP]) });
    expect((await ask(service, APP, '/v1/billing/tiers')).headers.get('vary')).toBe('Accept, Accept-Encoding, Origin');
  });

  test.each([OTHER, 'null', 'http://app.example', 'https://app.example:8443', 'https://APP.example', ''])(
    'the origin %p may read nothing, and caches see that it matters',
    async (origin) => {
      await using service = startEdge({ cors: new Cors([APP]) });
      for (const [, path, init] of ANSWERS) {
        const answer = await ask(service, origin, path, init);
        expect(corsHeaders(answer)).toEqual([]);
        expect(answer.headers.get('vary')).toContain('Origin');
      }
      const preflight = await ask(service, origin, '/v1/btc/markets', { method: 'OPTIONS', headers: PREFLIGHT }, false);
      expect([preflight.status, corsHeaders(preflight)]).toEqual([401, []]);
    },
  );

  test('without an Origin only Vary is sent', async () => {
    await using service = startEdge({ cors: new Cors([APP]) });
    const answer = await ask(service, null, '/healthz');
    expect([corsHeaders(answer), answer.headers.get('vary')]).toEqual([[], 'Origin']);
  });
});

describe('a preflight', () => {
  const preflight = (service: EdgeService, path: string) =>
    ask(service, APP, path, { method: 'OPTIONS', headers: PREFLIGHT }, false);

  test('A preflight of CORS needs no key on any path, and counts against a limit of its address that other requests do not use.', async () => {
    await using service = startEdge({ cors: new Cors([APP]) });
    const paths = ['/v1/btc/markets', '/v1/nothing', '/healthz', '/nothing'];
    for (const [index, path] of paths.entries()) {
      const answer = await preflight(service, path);
      expect(answer.status).toBe(204);
      expect(answer.headers.get('access-control-allow-origin')).toBe(APP);
      expect(answer.headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST, OPTIONS');
      expect(answer.headers.get('access-control-allow-headers')).toBe(
        'authorization, accept, content-type, if-none-match, last-event-id, payment-signature, access-control-expose-headers, mcp-protocol-version, mcp-method, mcp-name',
      );
      expect(answer.headers.get('access-control-max-age')).toBe('7200');
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
      expect(answer.headers.get('x-request-id')).not.toBeNull();
      expect(answer.headers.get('x-ratelimit-remaining')).toBe(String(599 - index));
    }
    for (let left = 599 - paths.length; left >= 0; left -= 1) await preflight(service, '/v1/btc/markets');
    expect((await preflight(service, '/v1/btc/markets')).status).toBe(429);
  });

  test('that is malformed is refused', async () => {
    await using service = startEdge({ cors: new Cors([APP]) });
    expect((await preflight(service, '/v1/%ZZ')).status).toBe(400);
  });

  test('is an OPTIONS with the headers of a browser; others are ordinary OPTIONS', async () => {
    await using service = startEdge({ cors: new Cors([APP]) });
    const options = (headers: Record<string, string>) => service.get('/v1/btc/markets', { method: 'OPTIONS', headers });
    expect((await options({ origin: APP })).status).toBe(401);
    expect((await options({ 'access-control-request-method': 'GET' })).status).toBe(401);
    const get = await service.get('/v1/btc/markets', { headers: { origin: APP, ...PREFLIGHT } });
    expect(get.status).toBe(401);
  });
});

test('with * every origin may read, and answers do not vary by origin', async () => {
  await using service = startEdge({ cors: new Cors('*') });
  for (const origin of [APP, OTHER, 'null', null]) {
    const answer = await ask(service, origin, '/v1/billing/tiers');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
    expect(answer.headers.get('vary')).toBe('Accept, Accept-Encoding');
  }
  const preflight = await ask(service, OTHER, '/v1/btc/markets', { method: 'OPTIONS', headers: PREFLIGHT }, false);
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
});

test('without CORS no answer has its headers, and a preflight is an OPTIONS without a key', async () => {
  await using service = startEdge({});
  for (const [status, path, init] of ANSWERS) {
    const answer = await ask(service, APP, path, init);
    expect([answer.status, corsHeaders(answer)]).toEqual([status, []]);
    expect(answer.headers.get('vary') ?? '').not.toContain('Origin');
  }
  const preflight = await ask(service, APP, '/v1/btc/markets', { method: 'OPTIONS', headers: PREFLIGHT }, false);
  expect(preflight.status).toBe(401);
});
