import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Histogram } from '../../src/http/metrics/histogram.ts';
import { Metrics, metric } from '../../src/http/metrics/metrics.ts';
import { parseIpNetwork } from '../../src/http/plugins/ip-address.ts';
import { type Scraped, scrapedFrom } from '../support/scraped.ts';
import { type EdgeService, startEdge } from './edge-service.ts';

const unexpected = (name: string, error: unknown) => {
  throw new Error(name, { cause: error });
};

describe('the text format', () => {
  test('has help, type and samples, with labels escaped', () => {
    const metrics = new Metrics(unexpected);
    metrics.add(
      metric('gauge', 'one', 'A gauge.', () => 1.5),
      {
        name: 'two_total',
        type: 'counter',
        help: 'A counter.',
        samples: () => [
          { labels: { a: 'back\\slash "quoted"\nline', b: '' }, value: 2 },
          { labels: { a: '', b: 'x' }, value: Infinity },
        ],
      },
      { name: 'none', type: 'gauge', help: 'Has no samples now.', samples: () => [] },
    );
    expect(metrics.text()).toBe(`# HELP one A gauge.
# TYPE one gauge
one 1.5
# HELP two_total A counter.
# TYPE two_total counter
two_total{a="back\\\\slash \\"quoted\\"\\nline",b=""} 2
two_total{a="",b="x"} +Inf
`);
  });

  test('A metric that cannot be read is left out of a scrape, and the log says why.', () => {
    const failed: string[] = [];
    const metrics = new Metrics((name, error) => failed.push(`${name}: ${(error as Error).message}`));
    metrics.add(
      metric('gauge', 'broken', 'Fails.', () => {
        throw new Error('no database');
      }),
      metric('gauge', 'whole', 'Works.', () => 1),
    );
    expect(metrics.text()).toBe('# HELP whole Works.\n# TYPE whole gauge\nwhole 1\n');
    expect(failed).toEqual(['broken: no database']);
  });

  test('of a histogram counts each value in its bucket and all larger ones', () => {
    const histogram = new Histogram([0.1, 1]);
    for (const value of [0.05, 0.1, 0.11, 1, 1.5, 100]) histogram.observe(value);
    expect([...histogram.samples({ route: 'r' })]).toEqual([
      { suffix: '_bucket', labels: { route: 'r', le: '0.1' }, value: 2 },
      { suffix: '_bucket', labels: { route: 'r', le: '1' }, value: 4 },
      { suffix: '_bucket', labels: { route: 'r', le: '+Inf' }, value: 6 },
      { suffix: '_sum', labels: { route: 'r' }, value: expect.closeTo(102.76, 9) },
      { suffix: '_count', labels: { route: 'r' }, value: 6 },
    ]);
  });
});

describe('the metrics of requests', () => {
  const metrics = new Metrics(unexpected);
  let service: EdgeService;
  let scraped: Scraped;
  let sentBytes = 0;

  beforeAll(async () => {
    service = startEdge({ trustedProxies: [parseIpNetwork('127.0.0.1')!] }, 8, metrics);
    const headers = { authorization: `Bearer ${service.key}` };
    const asked: readonly (readonly [string, RequestInit, number])[] = [
      ['/v1/billing/tiers', { headers }, 200],
      ['/v1/billing/tiers', { headers }, 200],
      ['/v1/billing/tiers', { headers, method: 'HEAD' }, 200],
      ['/v1/btc/markets?limit=0', { headers }, 400],
      ['/v1/doge/markets', { headers }, 403],
      ['/v1/btc/markets', {}, 401],
      ['/v1/made-up/path', { headers }, 404],
      ['/healthz', {}, 200],
      ['/docs/replay', {}, 200],
      ['/docs/limits', {}, 200],
      ['/made-up-1', {}, 404],
      ['/made-up-2', {}, 404],
      ['/v1/%ZZ', { headers }, 400],
      ['/healthz', { method: 'PURGE' }, 405],
    ];
    const ask = async (path: string, init: RequestInit) => {
      const plain = { ...init, headers: { ...init.headers, 'accept-encoding': 'identity' } };
      const answer = await service.get(path, plain);
      sentBytes += (await answer.bytes()).length;
      return answer.status;
    };
    for (const [path, init, status] of asked) expect({ path, status: await ask(path, init) }).toEqual({ path, status });
    while ((await ask('/v1/billing/tiers', { headers })) !== 429);
    scraped = scrapedFrom(metrics.text());
  });
  afterAll(async () => await service[Symbol.asyncDispose]());

  const count = (labels: Record<string, string>) => scraped.sum('bookreel_http_requests_total', labels);

  test('Each answer is counted once, with the template of its route, its status, and the tier of its key, also for a refusal.', () => {
    const tiers = { route: '/v1/billing/tiers', tier: 'pro' };
    expect(count({ ...tiers, method: 'HEAD', status: '200' })).toBe(1);
    expect(count({ ...tiers, method: 'GET', status: '429' })).toBe(1);
    expect(count({ route: '/v1/{coin}/markets', status: '400', tier: 'pro' })).toBe(1);
    expect(count({ route: '/v1/{coin}/markets', status: '403', tier: 'pro' })).toBe(1);
    expect(count({ route: '/v1/{coin}/markets', status: '401', tier: '' })).toBe(1);
    expect(count({ route: '/healthz', method: 'GET', status: '200', tier: '' })).toBe(1);
    expect(count({ method: 'other', status: '405' })).toBe(1);
    expect(count({ route: '/docs/{page}', status: '200' })).toBe(2);
  });

  test('All unknown paths have one route in the metrics, so no client invents one.', () => {
    expect(count({ route: 'unmatched', status: '404' })).toBe(2);
    expect(count({ route: '/v1/*', status: '404' })).toBe(1);
    expect(scraped.text).not.toContain('made-up');
    expect(scraped.text).not.toContain(service.key);
    expect(scraped.text).not.toContain(service.keyId);
  });

  test('have the bytes of bodies, and none for HEAD', () => {
    expect(scraped.sum('bookreel_http_response_body_bytes_total')).toBe(sentBytes);
  });

  test('have the duration of each answer', () => {
    const all = scraped.sum('bookreel_http_requests_total');
    expect(scraped.sum('bookreel_http_request_duration_seconds_count')).toBe(all);
    expect(scraped.sum('bookreel_http_request_duration_seconds_bucket', { le: '+Inf' })).toBe(all);
    expect(scraped.sum('bookreel_http_request_duration_seconds_sum')).toBeGreaterThan(0);
  });

  test('count refusals by the kind of their problem', () => {
    const refused = (problem: string) => scraped.sum('bookreel_http_refusals_total', { problem });
    expect(refused('rate-limited')).toBe(1);
    expect(refused('unauthenticated')).toBe(1);
    expect(refused('forbidden')).toBe(1);
    expect(refused('not-found')).toBe(3);
    expect(refused('invalid-parameter')).toBe(1);
  });
});
