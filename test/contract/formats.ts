import { expect, test } from 'bun:test';
import { unpack } from 'msgpackr';
import type { Client, ProblemDocument, Reply } from './client.ts';
import { BOOKS, EMPTY, RECORDED, SOL, T0 } from './recording.ts';
import type { Suite } from './target.ts';

const market = `/v1/btc/markets/${BOOKS.conditionId}`;
/** One request of every kind, large and small. */
const QUESTIONS: readonly string[] = [
  '/v1/billing/tiers',
  '/v1/coins',
  '/v1/btc/markets',
  '/v1/btc/markets?recorded=true&include=counts',
  market,
  `${market}?include=counts`,
  `${market}/snapshots`,
  `${market}/snapshots?order=desc&limit=7&outcome=down`,
  `${market}/snapshots/at/${T0 + 5000}`,
  `${market}/snapshots/at/${T0 + 5000}?outcome=down`,
  `${market}/prices`,
  `${market}/quotes?limit=1000`,
  `${market}/coverage`,
  `${market}/heatmap`,
  `${market}/heatmap?columns=7&outcome=down`,
  `/v1/btc/markets/${EMPTY.conditionId}/coverage`,
  `/v1/btc/markets/${EMPTY.conditionId}/snapshots`,
  `/v1/btc/markets/${RECORDED.conditionId}/prices?order=desc`,
  `/v1/sol/markets/${SOL.conditionId}/snapshots`,
  '/v1/btc/prices?limit=20',
];
const ABOUT_RESOLVED = QUESTIONS.filter((path) => path.startsWith(market) || path.includes(EMPTY.conditionId));
const NOT_ABOUT_RESOLVED = QUESTIONS.filter((path) => !ABOUT_RESOLVED.includes(path));
/** Headers that differ between equal answers. */
const PER_REQUEST = ['date', 'x-request-id', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'connection'];

function headersOf({ headers }: Reply): [string, string][] {
  return [...headers].filter(([name]) => !PER_REQUEST.includes(name)).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Representations: msgpack, compression, entity tags, HEAD and OPTIONS. */
export function formatTests(suite: Suite): void {
  const get: Client = (...asked) => suite.client(...asked);
  const tagOf = async (path: string, headers: Record<string, string> = {}) =>
    (await get(path, { headers })).headers.get('etag');

  test.each(QUESTIONS)('%s as msgpack is the same document', async (path) => {
    const json = await get(path);
    const packed = await get(path, { headers: { accept: 'application/msgpack' } });
    expect(packed.status).toBe(200);
    expect(packed.headers.get('content-type')).toBe('application/msgpack');
    expect(unpack(packed.bytes) as unknown).toEqual(json.json<unknown>());
    expect(packed.headers.get('vary')?.toLowerCase()).toContain('accept');
  });

  test.each([
    ['application/msgpack', true],
    ['Application/MsgPack', true],
    ['text/html, application/msgpack', true],
    ['application/json;q=0.5, application/msgpack', true],
    ['application/msgpack; q=0.9', true],
    ['application/msgpack, application/json', true],
    ['application/json, application/msgpack', false],
    ['application/json;q=0.8, text/html, application/msgpack;q=0.8', false],
    ['application/msgpack;q=0.8, application/json;q=0.80', true],
    // A named type wins over a wildcard of the same quality.
    ['*/*, application/msgpack', true],
    ['application/*;q=0.5, application/msgpack;q=0.5', true],
    ['application/msgpack;q=0.5, */*', false],
    ['application/msgpack;q=2, application/json;q=0.1', false],
    ['application/json, application/msgpack;q=0.5', false],
    ['application/msgpack;q=0', false],
    ['application/msgpackish', false],
    ['application/json', false],
    ['text/html', false],
    ['image/png', false],
    ['*/*', false],
    ['', false],
  ])('Of types accepted equally the first that is named is sent. (%s: %p)', async (accept, isPacked) => {
    const reply = await get(market, { headers: { accept } });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toBe(isPacked ? 'application/msgpack' : 'application/json');
  });

  test('Errors are JSON (problem+json), also for clients that accept msgpack.', async () => {
    const headers = { accept: 'application/msgpack', 'accept-encoding': 'zstd, gzip' };
    expect((await get('/v1/btc/markets?limit=0', { headers })).status).toBe(400);
    expect((await get('/v1/nothing', { headers })).status).toBe(404);
  });

  const decoders = { zstd: Bun.zstdDecompressSync, gzip: (bytes: Uint8Array<ArrayBuffer>) => Bun.gunzipSync(bytes) };
  test.each(QUESTIONS)('Answers are compressed from 512 bytes (zstd) and 800 (gzip). (%s)', async (path) => {
    for (const accept of ['application/json', 'application/msgpack']) {
      const plain = await get(path, { headers: { accept } });
      expect(plain.headers.has('content-encoding')).toBe(false);
      for (const encoding of ['zstd', 'gzip'] as const) {
        const reply = await get(path, { headers: { accept, 'accept-encoding': encoding } });
        const sent = reply.headers.get('content-encoding');
        expect(sent === null || sent === encoding).toBe(true);
        if (plain.bytes.length > 4096) expect(sent).toBe(encoding);
        const decoded = sent === null ? reply.bytes : decoders[encoding](new Uint8Array(reply.bytes));
        expect(Buffer.from(decoded).equals(Buffer.from(plain.bytes))).toBe(true);
        if (sent !== null) expect(reply.bytes.length).toBeLessThan(plain.bytes.length);
        expect(reply.headers.get('vary')?.toLowerCase()).toContain('accept-encoding');
      }
    }
  });

  test.each([
    ['zstd', 'zstd'],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip;q=1.0, zstd;q=0', 'gzip'],
    ['zstd;q=0.5, gzip', 'gzip'],
    ['gzip;q=0', null],
    ['br', null],
    ['identity', null],
    ['identity, gzip;q=0.5', null],
    ['', null],
  ])('Accept-Encoding: %s gets %p', async (accepted, encoding) => {
    const reply = await get(`${market}/snapshots`, { headers: { 'accept-encoding': accepted } });
    expect(reply.headers.get('content-encoding')).toBe(encoding);
  });

  test.each(ABOUT_RESOLVED)('A refusal goes before a 304, which an ETag gets. (%s)', async (path) => {
    const first = await get(path);
    const etag = first.headers.get('etag')!;
    expect(etag).toMatch(/^"[\x21\x23-\x7e]+"$/);
    expect(await tagOf(path)).toBe(etag);
    for (const tags of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
      const reply = await get(path, { headers: { 'if-none-match': tags } });
      expect(reply.status, tags).toBe(304);
      expect(reply.headers.get('etag')).toBe(etag);
      // Those of the answer that is not sent again: RFC 9110, 15.4.5.
      for (const name of ['cache-control', 'vary']) expect(reply.headers.get(name)).toBe(first.headers.get(name));
    }
    for (const other of ['"other"', 'W/"other"', etag.slice(1, -1), '""']) {
      const reply = await get(path, { headers: { 'if-none-match': other } });
      expect(reply.status, other).toBe(200);
      expect(reply.text).toBe(first.text);
    }
  });

  test('different answers have different tags', async () => {
    const forms = [
      {},
      { accept: 'application/msgpack' },
      { 'accept-encoding': 'gzip' },
      { 'accept-encoding': 'zstd' },
    ] as const;
    const tags = new Map<string, string>();
    for (const path of ABOUT_RESOLVED) {
      for (const form of forms) {
        const reply = await get(path, { headers: form });
        const etag = reply.headers.get('etag')!;
        const body = Buffer.from(reply.bytes).toString('base64');
        expect(tags.get(etag) ?? body).toBe(body);
        tags.set(etag, body);
      }
    }
    expect(tags.size).toBeGreaterThanOrEqual(ABOUT_RESOLVED.length);
  });

  test.each(NOT_ABOUT_RESOLVED)('%s may change and has no entity tag', async (path) => {
    expect(await tagOf(path)).toBeNull();
    expect((await get(path, { headers: { 'if-none-match': '*' } })).status).toBe(200);
  });

  test.each([
    [`${market}/snapshots?limit=0`, 400],
    [`${market}/snapshots?cursor=${'A'.repeat(28)}`, 400],
    [`/v1/btc/markets/0x99`, 404],
    ['/v1/nothing', 404],
  ])('%s is refused with or without If-None-Match', async (path, status) => {
    for (const tags of ['*', '"x"']) {
      expect((await get(path, { headers: { 'if-none-match': tags } })).status).toBe(status);
    }
  });

  test.each([
    ...QUESTIONS,
    `${market}/snapshots?from=5`,
    '/v1/btc/markets?limit=0',
    '/v1/btc/markets/0x99',
    '/v1/nothing',
  ])('HEAD %s has the headers of GET and no body', async (path) => {
    for (const headers of [{}, { 'accept-encoding': 'zstd' }, { accept: 'application/msgpack' }] as const) {
      const whole = await get(path, { headers });
      const head = await get(path, { headers, method: 'HEAD' });
      expect(head.status).toBe(whole.status);
      expect(headersOf(head)).toEqual(headersOf(whole));
      expect(head.headers.get('content-length')).toBe(String(whole.bytes.length));
      expect(head.bytes.length).toBe(0);
    }
  });

  test('HEAD with a current entity tag is a 304 too', async () => {
    const etag = (await tagOf(market))!;
    expect((await get(market, { method: 'HEAD', headers: { 'if-none-match': etag } })).status).toBe(304);
  });

  test.each([...QUESTIONS, '/', '/healthz', '/openapi.json', '/docs'])(
    'OPTIONS %s is 204 and says what works',
    async (path) => {
      const reply = await get(path, { method: 'OPTIONS' });
      expect(reply.status).toBe(204);
      expect(reply.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
    },
  );

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('%s is 405 on every path that exists', async (method) => {
    for (const path of [...QUESTIONS, '/', '/healthz', '/readyz', '/openapi.json', '/docs']) {
      const reply = await get(path, { method, ...(method === 'DELETE' ? {} : { body: '{"a":' }) });
      expect(reply.status, path).toBe(405);
      expect(reply.json<ProblemDocument>().type).toBe('urn:bookreel:problem:method-not-allowed');
    }
    expect((await get('/v1/nothing', { method })).status).toBe(404);
    expect((await get('/nothing', { method })).status).toBe(404);
  });

  test.skipIf(!suite.reach.operated)('an entity tag changes when a record of its market is imported late', async () => {
    const late = (outcome: string, bid: string) => ({
      type: 'snapshot',
      conditionId: EMPTY.conditionId,
      outcome,
      timestamp: T0 + 1,
      bids: [{ price: bid, size: 1 }],
      asks: [],
    });
    const path = `/v1/btc/markets/${EMPTY.conditionId}/snapshots`;
    const elsewhere = await tagOf(market);
    const before = (await tagOf(path))!;
    await suite.target.importRecords([late('up', '0.4')]);
    const changed = await get(path, { headers: { 'if-none-match': before } });
    expect(changed.status).toBe(200);
    expect(changed.json<{ data: unknown[] }>().data.length).toBe(1);
    expect(changed.headers.get('etag')).not.toBe(before);
    await suite.target.importRecords([late('down', '0.5')]);
    expect((await get(path)).json<{ data: unknown[] }>().data.length).toBe(2);
    expect(new Set([before, changed.headers.get('etag'), await tagOf(path)]).size).toBe(3);
    expect(await tagOf(market)).toBe(elsewhere);
  });
}
