import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { earlierLimit } from '../../src/http/plugins/access.ts';
import { CONDITION_ID, START_MS } from '../support/sample-records.ts';
import {
  anyQuestion,
  KNOWN,
  KNOWN_MS,
  later,
  MARKET_PATH,
  nearInstant,
  serviceWith,
  type TimedService,
} from './futures.ts';

/** Instants of keys: before the market was listed, in its recording, at its end, after what came later. */
const INSTANTS = [-86_400_001, -86_400_000, 0, 4200, 59_999, 60_000, 60_001, 70_000, 400_000].map(
  (ms) => START_MS + ms,
);
const LATE_MS = KNOWN_MS + 500_000;

test.each([
  [undefined, undefined, undefined],
  [5, undefined, 5],
  [undefined, 5, 5],
  [5, 6, 5],
  [6, 5, 5],
  [0, undefined, 0],
  [undefined, 0, 0],
])('of the limits %j and %j the earlier one counts', (a, b, expected) => {
  expect(earlierLimit(a, b)).toBe(expected);
});

describe('a key as of an instant', () => {
  test('A key with --as-of gets byte for byte the answers of asOf, and a 403 for paths without it; a tier cannot have --as-of.', async () => {
    using client = await serviceWith(KNOWN, later(1));
    const statuses = new Set<number>();
    await fc.assert(
      fc.asyncProperty(
        anyQuestion,
        fc.constantFrom(...INSTANTS),
        fc.option(fc.integer({ min: 0, max: 500_000 }), { nil: undefined }),
        fc.boolean(),
        async ({ url }, asOfMs, laterMs, packed) => {
          const accept = packed ? 'application/msgpack' : 'application/json';
          const asked = await client.ask(`${url}&asOf=${asOfMs}`, { accept });
          const parameter = laterMs === undefined ? '' : `&asOf=${asOfMs + laterMs}`;
          expect({ url, ...(await client.ask(`${url}${parameter}`, { accept, keyAsOfMs: asOfMs })) }).toEqual({
            url,
            ...asked,
          });
          client.holdTo(asOfMs);
          expect({ url, ...(await client.ask(`${url}${parameter}`, { accept })) }).toEqual({ url, ...asked });
          client.holdTo(undefined);
          statuses.add(asked.status);
        },
      ),
      { seed: 6, numRuns: 300 },
    );
    expect([...statuses].sort()).toEqual([200, 400, 404]);
  }, 120_000);

  test('Of an asOf, that of the key and the clock of a replay the earliest is used, and a later one is no error.', async () => {
    using client = await serviceWith(KNOWN, later(1));
    await fc.assert(
      fc.asyncProperty(
        anyQuestion,
        fc.constantFrom(...INSTANTS),
        fc.constantFrom(...INSTANTS, undefined),
        nearInstant,
        async ({ url }, keyMs, clockMs, asOfMs) => {
          const least = Math.min(keyMs, clockMs ?? keyMs, asOfMs);
          const expected = await client.ask(`${url}&asOf=${least}`);
          client.holdTo(clockMs);
          const sent = await client.ask(`${url}&asOf=${asOfMs}`, { keyAsOfMs: keyMs });
          client.holdTo(undefined);
          expect({ url, ...sent }).toEqual({ url, ...expected });
        },
      ),
      { seed: 7, numRuns: 150 },
    );
  }, 120_000);

  test('gets the same tiers as every key', async () => {
    using client = await serviceWith(KNOWN);
    const all = await client.ask('/v1/billing/tiers');
    expect(all.status).toBe(200);
    expect(await client.ask('/v1/billing/tiers', { keyAsOfMs: 1000 })).toEqual(all);
  });

  test('gets no cached answer of other keys, and no 304 for their entity tags', async () => {
    using client = await serviceWith(KNOWN, later(1));
    const series = ['/snapshots', '/quotes', '/prices'].map((kind) => `${kind}?order=desc`);
    const ofMarket = [
      '',
      ...series,
      '/snapshots?order=desc&interval=1s',
      `/snapshots/at/${LATE_MS}`,
      '/coverage',
      '/heatmap',
    ];
    const paths = ofMarket.map((kind) => `${MARKET_PATH}${kind}`);
    const midpoints = `/v1/btc/midpoints?markets=${CONDITION_ID}&points=100`;
    for (const path of [...paths, '/v1/btc/prices?order=desc', '/v1/btc/markets', '/v1/btc/days', midpoints]) {
      const sent = new Set<string>();
      for (const keyAsOfMs of [undefined, START_MS + 20_000, START_MS + 40_000, undefined, START_MS + 20_000]) {
        const first = await client.ask(path, { keyAsOfMs });
        expect(first.status, path).toBe(200);
        // The second request is cached, the third one comes from the cache.
        for (let again = 0; again < 3; again += 1) expect(await client.ask(path, { keyAsOfMs })).toEqual(first);
        sent.add(first.body);
        const etag = new Map(first.headers).get('etag');
        expect(etag !== undefined, path).toBe(keyAsOfMs === undefined && path.startsWith(MARKET_PATH));
        if (etag === undefined) continue;
        const headers = { 'if-none-match': etag };
        expect((await client.ask(path, { headers })).status).toBe(304);
        expect((await client.ask(path, { headers, keyAsOfMs: LATE_MS })).status).toBe(200);
      }
      // The market's own record is the same at both instants; everything else grew.
      expect(sent.size, path).toBe(path === MARKET_PATH || path === '/v1/btc/markets' ? 2 : 3);
    }
  });
});

describe('a service with the limit of a clock', () => {
  test('reads the clock once per request', async () => {
    using client = await serviceWith(KNOWN, later(1));
    client.holdTo(KNOWN_MS);
    const paths = [
      ...['/v1/btc/markets', '/v1/btc/markets?skip=6000', '/v1/btc/markets?skip=60000', '/v1/btc/prices'],
      ...['/v1/btc/markets?search=late', '/v1/btc/days', `/v1/btc/midpoints?markets=${CONDITION_ID}`],
      ...[
        '',
        '/snapshots',
        '/snapshots/at/5',
        '/snapshots/at?ts=5',
        '/coverage',
        '/heatmap',
        '/prices',
        '/quotes',
        '/export',
      ].map((kind) => `${MARKET_PATH}${kind}`),
      ...['/v1/billing/tiers', `${MARKET_PATH}?asOf=5`, '/v1/nothing', '/v1/btc/markets?limit=0'],
    ];
    for (const path of paths) {
      for (const method of ['GET', 'HEAD']) {
        const before = client.looks;
        await client.ask(path, { method });
        expect(client.looks - before, `${method} ${path}`).toBe(1);
      }
    }
  });

  const walks = ['snapshots', 'quotes', 'prices'].map((kind) => `${MARKET_PATH}/${kind}`);

  test.each([...walks, '/v1/btc/prices'])(
    'A cursor works with any asOf, so a walk continues while the clock of a replay moves. (%s)',
    async (path) => {
      using client = await serviceWith(KNOWN);
      const all = await everythingOf(client, path, () => undefined);
      expect(all.length).toBeGreaterThan(40);
      let clockMs = START_MS;
      // Never slower than the walk: that ends where nothing more is known.
      const seen = await everythingOf(client, path, () => (clockMs += 4000));
      expect(seen.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
      for (const { ms, latestMs } of seen) expect(ms).toBeLessThanOrEqual(latestMs!);
    },
  );

  test('answers as of the earlier instant after the clock is set back', async () => {
    using client = await serviceWith(KNOWN, later(1));
    for (const ms of [KNOWN_MS, START_MS + 1000, KNOWN_MS + 50_000, START_MS + 1000, START_MS]) {
      client.holdTo(undefined);
      const expected = await client.ask(`${MARKET_PATH}/snapshots?order=desc&asOf=${ms}`);
      client.holdTo(ms);
      expect(await client.ask(`${MARKET_PATH}/snapshots?order=desc`)).toEqual(expected);
    }
  });
});

interface Seen {
  readonly id: string;
  readonly ms: number;
  /** The limit of the service at the request. */
  readonly latestMs: number | undefined;
}

/** All records, in small pages; `clockMs` returns the limit of the service for each page. */
async function everythingOf(client: TimedService, path: string, clockMs: () => number | undefined): Promise<Seen[]> {
  const seen: Seen[] = [];
  let cursor: string | null = null;
  do {
    const latestMs = clockMs();
    client.holdTo(latestMs);
    const sent = await client.ask(`${path}?limit=3${cursor === null ? '' : `&cursor=${cursor}`}`);
    expect(sent.status, sent.body).toBe(200);
    const page = JSON.parse(sent.body) as { data: { id: string; timestamp: string }[]; nextCursor: string | null };
    for (const { id, timestamp } of page.data) seen.push({ id, ms: Date.parse(timestamp), latestMs });
    cursor = page.nextCursor;
  } while (cursor !== null);
  client.holdTo(undefined);
  return seen;
}
