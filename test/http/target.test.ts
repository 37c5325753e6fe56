import { describe, expect, test } from 'bun:test';
import { generateKey } from '../../src/domain/api-key.ts';
import { exchange, requestOf } from '../contract/raw-http.ts';
import { startEdge } from './edge-service.ts';

const TIERS = '/v1/billing/tiers';

describe('the Host of a request', () => {
  test('The server reads the host name from the Host header only, and with --allowed-hosts any other Host is a 400.', async () => {
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
    // An authority in the target does not replace it.
    expect((await exchange(named.origin, requestOf('http://api.example/healthz', ['Host: evil.example']))).status).toBe(
      400,
    );
  });
});

test('every refusal has no-store and its media type', async () => {
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
  limited.registry.database.query('ALTER TABLE api_keys RENAME TO gone').run();
  // A key that was not used before.
  answers.push(await limited.get(TIERS, { headers: { authorization: `Bearer ${generateKey()}` } }));
  expect(answers.map(({ status }) => status)).toEqual([400, 401, 403, 404, 400, 405, 200, 429, 404, 405, 503]);
  for (const { status, headers: said } of answers) {
    expect(said.get('x-content-type-options')).toBe('nosniff');
    if (status >= 400) expect([status, said.get('cache-control')]).toEqual([status, 'no-store']);
  }
});
