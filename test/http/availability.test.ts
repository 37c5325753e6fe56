import { expect, test } from 'bun:test';
import { type Service, startService } from './service.ts';

const INTERNAL = /sqlite|database|closed|\.ts\b|\/tmp\/|stack|select/i;

async function ask({ origin, key }: Service, path: string) {
  const response = await fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test('a stopping server is alive and not ready', async () => {
  await using service = startService();
  expect((await ask(service, '/readyz')).status).toBe(200);
  service.drain();
  const ready = await ask(service, '/readyz');
  expect(ready.status).toBe(503);
  expect(JSON.parse(ready.text)).toEqual({ status: 'draining' });
  expect(ready.headers.get('x-ratelimit-limit')).toBe('600');
  expect((await ask(service, '/healthz')).status).toBe(200);
  // Open requests, and requests on open connections, are still served.
  expect((await ask(service, '/v1/billing/tiers')).status).toBe(200);
});

const GONE = [
  ['registry', 'api_keys'],
  ['registry', 'tiers'],
  ['archive', 'markets'],
] as const;

test.each(GONE)('without a table of the %s, %s: 503, and only the log has internals', async (file, table) => {
  await using service = startService();
  service[file].database.query(`ALTER TABLE ${table} RENAME TO gone`).run();
  const reply = await ask(service, '/v1/btc/markets');
  expect(reply.status).toBe(503);
  expect(reply.headers.get('content-type')).toBe('application/problem+json');
  expect(reply.headers.get('x-ratelimit-limit')).toMatch(/^\d+$/);
  const problem = JSON.parse(reply.text) as { type: string; requestId: string };
  expect(problem.type).toBe('urn:bookreel:problem:unavailable');
  expect(reply.text).not.toMatch(INTERNAL);
  expect(service.log).toHaveLength(1);
  expect(service.log[0]).toStartWith(`${problem.requestId} GET /v1/btc/markets: `);
  expect(service.log[0]).toContain(`no such table: `);
  expect(service.log[0]).not.toContain(service.key);
  expect((await ask(service, '/healthz')).status).toBe(200);
});

test.each(GONE)('/readyz is a 503 without a table of the %s, %s', async (file, table) => {
  await using service = startService();
  service[file].database.query(`ALTER TABLE ${table} RENAME TO gone`).run();
  const ready = await ask(service, '/readyz');
  expect(ready.status).toBe(503);
  expect(JSON.parse(ready.text)).toEqual({ status: 'database unavailable' });
});

test('A request that needs a damaged segment gets a 503, never a wrong book, and no details, which are in the log.', async () => {
  await using service = startService();
  const { archive } = service;
  const nowMs = 1_776_323_400_000;
  const conditionId = '0x01';
  archive.database.write(() => {
    const { market } = archive.markets.put(
      {
        conditionId,
        slug: 'damaged',
        symbol: 'btc',
        timeframe: '5m',
        clobTokenIds: ['1', '2'],
        startMs: nowMs,
        endMs: nowMs + 300_000,
      },
      nowMs,
    );
    const book = { bidPrices: [0.5], bidSizes: [1], askPrices: [0.6], askSizes: [1] };
    archive.snapshots.add(market, 'up', [{ timestampMs: nowMs, id: 1, book }]);
    archive.database.query("UPDATE segments SET payload = x'ffffffff'").run();
  });
  service.registry.database.query("UPDATE tiers SET routes = NULL, coins = NULL WHERE tier_id = 'free'").run();
  for (const kind of ['snapshots', `snapshots/at/${nowMs}`, 'quotes', 'prices']) {
    const reply = await ask(service, `/v1/btc/markets/${conditionId}/${kind}`);
    expect(reply.status, kind).toBeGreaterThanOrEqual(500);
    expect(reply.headers.get('content-type')).toBe('application/problem+json');
    expect(reply.text).not.toMatch(INTERNAL);
  }
  expect(service.log).toHaveLength(4);
});
