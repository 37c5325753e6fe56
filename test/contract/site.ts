import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ApiDocument, operationsOf, parametersOf } from '../support/api-document.ts';
import { ROUTES } from '../support/routes.ts';
import { type Client, clientOf, inOneWindow } from './client.ts';
import { BOOKS, T0 } from './recording.ts';
import { SHAPES } from './resources.ts';
import type { Suite } from './target.ts';

const PATH_VALUES: Readonly<Record<string, string>> = {
  coin: 'btc',
  conditionId: BOOKS.conditionId,
  ts: String(T0),
  page: 'replay',
};
const QUERY_VALUES: Readonly<Record<string, string>> = {
  tf: '5m',
  limit: '3',
  search: 'btc',
  skip: '1',
  recorded: 'true',
  closed: 'false',
  date: '2026-04',
  winner: 'up',
  gaps: 'true',
  volumeMin: '10',
  sort: '-window',
  include: 'counts',
  totals: 'true',
  from: String(T0),
  to: new Date(T0 + 60_000).toISOString(),
  outcome: 'down',
  order: 'desc',
  format: 'csv',
  shape: 'wide',
  type: 'trade',
  numbers: 'decimal',
  interval: '1s',
  depth: '3',
  mode: 'after',
  asOf: String(T0 + 1),
  asOfReceived: String(T0 + 2),
  columns: '7',
  markets: BOOKS.slug,
  points: '5',
  maxDistance: '50',
  ts: `${T0},${new Date(T0 + 60_000).toISOString()}`,
};

/** Payments are off in the suite. */
const BILLING = /^\/v1\/billing\/(?!tiers$)/;
const SCRIPT = /^\/docs\/scripts\/reference-[0-9a-f]{16}\.js$/;

/** Asks a service that is known only when the tests run. */
const keyless =
  (suite: Suite): Client =>
  (...asked) =>
    clientOf(suite.target.origin)(...asked);

/** The path of the script of the reference. */
async function scriptOf(get: Client): Promise<string> {
  return (await get('/docs')).text.match(/<script src="([^"]+)"/)![1]!;
}

/** A part of its own: to compress the script takes two seconds. */
export function scriptTests(suite: Suite): void {
  const get = keyless(suite);

  test('the script of the page is complete, compressed as requested, and cached for good', async () => {
    const path = await scriptOf(get);
    const plain = await get(path);
    expect(plain.bytes.length).toBeGreaterThan(1_000_000);
    expect(path).toContain(createHash('sha256').update(plain.bytes).digest('hex').slice(0, 16));
    expect(plain.headers.get('content-encoding')).toBeNull();
    for (const [accepted, encoding, decode] of [
      ['zstd, gzip, br', 'zstd', Bun.zstdDecompressSync],
      ['gzip', 'gzip', Bun.gunzipSync],
      ['gzip;q=1, zstd;q=0.5', 'gzip', Bun.gunzipSync],
      ['br', null, (bytes: Uint8Array<ArrayBuffer>) => bytes],
    ] as const) {
      const script = await get(path, { headers: { 'accept-encoding': accepted } });
      expect(script.status).toBe(200);
      expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(script.headers.get('vary')).toBe('Accept-Encoding');
      expect(script.headers.get('content-encoding')).toBe(encoding);
      if (encoding !== null) expect(script.bytes.length).toBeLessThan(plain.bytes.length / 3);
      expect(Buffer.from(decode(new Uint8Array(script.bytes))).equals(plain.bytes)).toBe(true);
    }
  });
}

/** Paths outside /v1, which need no key. */
export function siteTests(suite: Suite): void {
  const get = keyless(suite);
  const document = async () => (await get('/openapi.json')).json<ApiDocument>();
  const filled = (path: string) => path.replace(/\{(\w+)\}/g, (_, name: string) => PATH_VALUES[name]!);

  test('/ describes the service, and its links work', async () => {
    const home = (await get('/')).json<{ name: string; coins: string[]; links: Record<string, string> }>();
    expect(home.name).toBe('bookreel');
    expect(home.coins).toEqual(['btc', 'doge', 'eth', 'sol', 'xrp']);
    expect(Object.values(home.links).length).toBeGreaterThan(3);
    for (const link of Object.values(home.links)) {
      expect((await suite.client(filled(link))).status, link).toBe(200);
    }
  });

  test('/healthz and /readyz answer 200 without a key', async () => {
    expect((await get('/healthz')).json<unknown>()).toEqual({ status: 'ok' });
    const ready = await get('/readyz');
    expect(ready.status).toBe(200);
    expect(ready.json<unknown>()).toEqual({ status: 'ready' });
  });

  test('/docs is a page without references to other hosts', async () => {
    const page = await get('/docs');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toStartWith('text/html');
    const loaded = [...page.text.matchAll(/\b(?:src|href|action|data|poster)\s*=\s*["']?([^"'\s>]*)/gi)].map(
      (match) => match[1]!,
    );
    expect(loaded).toContainEqual(expect.stringMatching(SCRIPT));
    const foreign = [
      ...loaded,
      ...[...page.text.matchAll(/(?:url\(|@import\s*)["']?([^"')]+)/gi)].map((match) => match[1]!),
    ];
    expect(foreign.filter((reference) => /^(?:[a-z]+:)?\/\//i.test(reference))).toEqual([]);
    expect(page.text).not.toMatch(/https?:\/\//);
    for (const path of loaded.filter((reference) => reference.startsWith('/'))) {
      expect((await get(path)).status, path).toBe(200);
    }
    expect(page.text).toContain('/openapi.json');
    expect(page.text).toMatch(/withDefaultFonts(?:"|&quot;|&#34;)?\s*:\s*false/);
  });

  test('A script of the reference has a digest in its name, and any other name is not found.', async () => {
    const path = await scriptOf(get);
    const old = [path.replace(/[0-9a-f]{16}/, '0123456789abcdef'), path.replace('.js', ''), '/docs/reference.js'];
    for (const name of old) {
      const reply = await get(name);
      expect(reply.status, name).toBe(404);
      expect(reply.headers.get('cache-control') ?? '').not.toContain('immutable');
    }
  });

  test('the description of segments and their reader are served from the sources', async () => {
    for (const [path, link, file, type] of [
      ['/docs/segments.md', '/docs/segments', 'manual/segments.md', 'text/markdown; charset=utf-8'],
      ['/docs/segment-reader.ts', '/docs/segment-reader.ts', 'client/segment-reader.ts', 'text/plain; charset=utf-8'],
    ] as const) {
      const reply = await get(path);
      expect(reply.status).toBe(200);
      expect(reply.headers.get('content-type')).toBe(type);
      expect(reply.text).toBe(readFileSync(join(import.meta.dir, '..', '..', 'src', file), 'utf8'));
      expect((await get('/openapi.json')).text).toContain(`](${link})`);
    }
  });

  test('The API document has the routes of the service and no others; it lists GET, and says what HEAD and OPTIONS do.', async () => {
    const described = await document();
    const { openapi, paths } = described;
    expect(openapi).toStartWith('3.1');
    expect(Object.keys(paths).sort()).toEqual(
      Object.values(ROUTES)
        .map(({ path }) => path)
        .sort(),
    );
    for (const [name, { path, method, query }] of Object.entries(ROUTES)) {
      const operation = paths[path]![method]!;
      expect(Object.keys(paths[path]!)).toEqual([method]);
      expect(operation.operationId).toBe(name);
      const named = (where: string) =>
        parametersOf(described, operation)
          .filter((parameter) => parameter.in === where)
          .map((parameter) => parameter.name);
      expect(named('query').sort()).toEqual([...query].sort());
      expect(named('path').sort()).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!).sort());
      const ofRequest =
        path === ROUTES.stream!.path
          ? ['Last-Event-ID']
          : path.includes('{conditionId}')
            ? ['Accept-Encoding', 'If-None-Match']
            : ['Accept-Encoding'];
      expect(named('header').sort()).toEqual(path.startsWith('/v1/') ? ofRequest : []);
      expect(operation.security?.length === 0, path).toBe(!path.startsWith('/v1/'));
    }
  });

  test('the document has the refusals of each path', async () => {
    for (const { path, method, ...operation } of operationsOf(await document())) {
      const expected = !path.startsWith('/v1/')
        ? [
            ...['200', '400', '500'],
            ...(['/healthz', '/readyz'].includes(path) ? [] : ['429']),
            ...(path === ROUTES.manual!.path ? ['404'] : []),
            ...(path === '/readyz' ? ['503'] : []),
          ]
        : [
            ...['200', '400', '401', '429', '500', '503'],
            ...(path.includes('{conditionId}') && path !== ROUTES.stream!.path ? ['304'] : []),
            ...(path.includes('{coin}') ? ['403', '404'] : path === ROUTES.coins!.path ? ['403'] : []),
            ...(path === ROUTES.usage!.path || BILLING.test(path) ? ['404'] : []),
            ...(method === 'post' ? ['403', '409'] : []),
            ...(path === ROUTES.quote!.path ? ['202', '413', '415'] : []),
            ...(path === ROUTES.settle!.path ? ['202', '402', '410', '413', '415'] : []),
            ...(path === ROUTES.upgrade!.path ? ['202', '402', '410'] : []),
          ];
      expect(Object.keys(operation.responses).sort(), path).toEqual(expected.sort());
    }
  });

  test('every path of the document answers, with and without each documented parameter', async () => {
    const described = await document();
    for (const { path, ...operation } of operationsOf(described).filter(({ path: one }) => !BILLING.test(one))) {
      const parameters = parametersOf(described, operation);
      const needed = parameters.filter((parameter) => parameter.in === 'query' && parameter.required);
      // At speed 1 a recording takes its recorded time.
      const hurried = path === ROUTES.stream!.path ? 'speed=max&' : '';
      const plain = `${filled(path)}?${hurried}${needed.map(({ name }) => `${name}=${QUERY_VALUES[name]}&`).join('')}`;
      expect((await suite.client(plain)).status, path).toBe(200);
      for (const { name, in: where, required } of parameters) {
        if (where !== 'query' || required || hurried.startsWith(`${name}=`)) continue;
        // A keyId must be one of the account.
        if (name === 'keyId') continue;
        const hasArrivals = parameters.some((one) => one.name === 'asOfReceived') || path === ROUTES.stream!.path;
        const own: Record<string, string> = hasArrivals ? { include: 'receivedAt' } : {};
        const text = path === ROUTES.usage!.path && name === 'interval' ? 'day' : (own[name] ?? QUERY_VALUES[name]);
        // Only Parquet and Arrow have tables of one type.
        const format = ['shape', 'type', 'numbers'].includes(name)
          ? `format=arrow&${name === 'numbers' ? 'type=quote&' : ''}`
          : '';
        const question = `${plain}${format}${name}=${text ?? ''}`;
        // A cursor needs an earlier request.
        const value = name === 'cursor' ? await cursorFor(filled(path)) : '';
        expect((await suite.client(`${question}${value}`)).status, question).toBe(200);
      }
      const outside = !path.startsWith('/v1/');
      expect((await get(plain)).status, path).toBe(outside ? 200 : 401);
    }
  });

  const cursorFor = async (path: string) => {
    const { nextCursor } = (await suite.client(`${path}?limit=1`)).json<{ nextCursor: string }>();
    return nextCursor;
  };

  test('the document describes the served records', async () => {
    const { components } = await document();
    for (const [name, shape] of Object.entries(SHAPES)) {
      const schema = components.schemas[name]!;
      expect(Object.keys(schema.properties!).sort()).toEqual(Object.keys(shape).sort());
      expect([...schema.required!].sort()).toEqual(Object.keys(shape).sort());
    }
  });

  test.each(['/nothing', '/v2/btc/markets', '/favicon.ico', '/docs/nothing.js', '/.env', '/bookreel.db', '/v1x'])(
    '%s is not found',
    async (path) => {
      expect((await get(path)).status).toBe(404);
    },
  );

  test.each([
    ...['/', '/healthz', '/readyz', '/openapi.json', '/docs'],
    ...['/docs/manual', '/docs/segments.md', '/docs/segment-reader.ts'],
  ])('%s works for HEAD, and with a trailing slash', async (path) => {
    const whole = await get(path);
    const head = await get(path, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers.get('content-type')).toBe(whole.headers.get('content-type'));
    expect(head.headers.get('content-length')).toBe(String(whole.bytes.length));
    if (path !== '/') expect((await get(`${path}/`)).status).toBe(200);
  });

  test('Requests outside /v1 count against the limit of their address, except /healthz and /readyz.', async () => {
    const counted = ['/', '/docs', '/nothing', '/openapi.json'];
    const answers = await inOneWindow(async () => {
      const before = await get('/healthz');
      const uncounted = [await get('/readyz'), await get('/healthz')];
      for (const path of counted) await get(path);
      return [before, ...uncounted, await get('/healthz')];
    });
    const remaining = answers.map(({ headers }) => Number(headers.get('x-ratelimit-remaining')));
    const before = remaining[0]!;
    expect(remaining).toEqual([before, before, before, before - counted.length]);
  });
}
