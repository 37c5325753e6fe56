import { expect, test } from 'bun:test';
import type { Client, ProblemDocument } from './client.ts';
import { PARAMETER_ROWS } from './parameter-table.ts';
import { BOOKS, EMPTY, T0 } from './recording.ts';
import type { Suite } from './target.ts';

const market = `/v1/btc/markets/${BOOKS.conditionId}`;
const SERIES = ['from', 'to', 'limit', 'cursor', 'order', 'interval', 'asOf'];
const ARRIVAL = ['include', 'asOfReceived'];
const NEAREST = ['outcome', 'mode', 'maxDistance', 'depth', 'asOf', ...ARRIVAL];
const STREAM = ['from', 'to', 'speed', 'outcome', 'depth'];
const PATHS: readonly { readonly path: string; readonly allowed: readonly string[] }[] = [
  { path: '/v1/billing/tiers', allowed: [] },
  { path: '/v1/coins', allowed: ['asOf'] },
  { path: '/v1/btc/markets', allowed: ['tf', 'limit', 'skip', 'recorded', 'closed', 'from', 'to', 'include', 'asOf'] },
  { path: market, allowed: ['include', 'asOf'] },
  { path: `${market}/snapshots`, allowed: [...SERIES, 'outcome', ...ARRIVAL, 'depth'] },
  { path: `${market}/snapshots/at/${T0}`, allowed: NEAREST },
  { path: `${market}/snapshots/at`, allowed: ['ts', ...NEAREST] },
  { path: `${market}/coverage`, allowed: ['asOf'] },
  { path: `${market}/heatmap`, allowed: ['from', 'to', 'columns', 'outcome', 'asOf'] },
  { path: `${market}/prices`, allowed: [...SERIES, 'outcome', ...ARRIVAL] },
  { path: `${market}/quotes`, allowed: [...SERIES, 'outcome', ...ARRIVAL] },
  { path: `${market}/export`, allowed: ['format', 'from', 'to', 'outcome', 'interval', 'depth', 'asOf'] },
  // Nothing is recorded there: at the speed of the recording it would take as long.
  { path: `/v1/btc/markets/${EMPTY.conditionId}/stream`, allowed: [...STREAM, 'include', 'asOf'] },
  { path: '/v1/btc/prices', allowed: SERIES },
];
const EVERY_NAME = [
  'format',
  'tf',
  'limit',
  'skip',
  'recorded',
  'closed',
  'include',
  'from',
  'to',
  'cursor',
  'outcome',
  'order',
  'interval',
  'columns',
  'depth',
  'mode',
  'maxDistance',
  'ts',
  'asOf',
  'asOfReceived',
  'speed',
  'access_token',
  'Limit',
  'x',
];
const VALUES: Readonly<Record<string, string>> = {
  tf: '5m',
  limit: '5',
  skip: '0',
  recorded: 'true',
  closed: 'false',
  include: 'counts',
  from: String(T0),
  to: String(T0),
  outcome: 'up',
  order: 'asc',
  format: 'csv',
  interval: '1s',
  columns: '7',
  depth: '3',
  mode: 'before',
  asOf: String(T0),
  asOfReceived: String(T0),
  maxDistance: '50',
  ts: `${T0},${T0 + 1}`,
  speed: '2.5',
};

/** `include` is another parameter where records have arrivals. */
function textFor(name: string, allowed: readonly string[], other = 'x'): string {
  return name === 'include' && (allowed.includes('asOfReceived') || allowed.includes('speed'))
    ? 'receivedAt'
    : (VALUES[name] ?? other);
}

/** Parameters: each spelling is read literally, and refused parameters are named. */
export function parameterTests(suite: Suite): void {
  const get: Client = (...asked) => suite.client(...asked);

  test('the table of spellings is complete', () => {
    const accepted = PARAMETER_ROWS.filter(({ status }) => status === 200);
    expect(PARAMETER_ROWS.length).toBeGreaterThan(1500);
    expect(accepted.length).toBeGreaterThan(150);
  });

  for (const parameter of new Set(PARAMETER_ROWS.map((row) => row.parameter))) {
    test(`${parameter}: every spelling is accepted or refused as the contract says`, async () => {
      const wrong: string[] = [];
      for (const { spelling, path, status } of PARAMETER_ROWS.filter((row) => row.parameter === parameter)) {
        const reply = await get(path);
        if (reply.status !== status) wrong.push(`${JSON.stringify(spelling)}: ${reply.status} for ${status}`);
        if (reply.status !== 400) continue;
        const name = parameter.split(' ')[0]!;
        const { issues, type } = reply.json<ProblemDocument>();
        expect(type).toBe('urn:bookreel:problem:invalid-parameter');
        expect(issues).toMatchObject([{ in: name === 'ts' ? 'path' : 'query', name }]);
      }
      expect(wrong).toEqual([]);
    });
  }

  test.each(PATHS)(
    '$path takes its own parameters and names them when asked with another',
    async ({ path, allowed }) => {
      for (const name of EVERY_NAME) {
        const reply = await get(`${path}?${name}=${textFor(name, allowed)}`);
        const lacksTs = allowed.includes('ts') && name !== 'ts';
        if (allowed.includes(name) && name !== 'cursor' && !lacksTs) {
          expect(reply.status, name).toBe(200);
          continue;
        }
        expect(reply.status, name).toBe(400);
        if (lacksTs && allowed.includes(name)) continue;
        const { detail, issues } = reply.json<ProblemDocument>();
        // What is needed as well is missed as well.
        expect(issues?.[0]).toMatchObject({ in: 'query', name });
        if (!allowed.includes(name)) for (const right of allowed) expect(detail).toContain(right);
      }
    },
  );

  test.each(PATHS.filter(({ allowed }) => allowed.length > 0))(
    '$path refuses a parameter given twice, also with one value',
    async ({ path, allowed }) => {
      for (const name of allowed) {
        const value = textFor(name, allowed, 'A'.repeat(28));
        const reply = await get(`${path}?${name}=${value}&${name}=${value}`);
        expect(reply.status, name).toBe(400);
        const { detail, issues } = reply.json<ProblemDocument>();
        expect(issues?.some((issue) => issue.name === name && issue.message.includes('more than once'))).toBe(true);
        for (const right of allowed) expect(detail).toContain(right);
      }
    },
  );

  test('all invalid parameters are listed at once', async () => {
    const reply = await get(`${market}/snapshots?limit=0&order=up&outcome=left&from=x&cursor=&y=1`);
    const { issues } = reply.json<ProblemDocument>();
    expect(issues?.map(({ name }) => name).sort()).toEqual(['cursor', 'from', 'limit', 'order', 'outcome', 'y']);
  });

  test.each([
    ['snapshots?from=1&limit=0', ['query limit']],
    ['snapshots?from=2&to=1&limit=0&x=1', ['query from', 'query limit', 'query x']],
    ['prices?to=0&from=1&order=up', ['query from', 'query order']],
    ['stream?from=2026-04-17&to=2026-04-16&speed=0', ['query from', 'query speed']],
    ['export?from=2&to=1&format=x', ['query format', 'query from']],
    ['heatmap?from=2&to=1&columns=0&outcome=both', ['query columns', 'query from', 'query outcome']],
    // Neither is a parameter of this path, and their order does not matter.
    ['coverage?from=2&to=1', ['query from', 'query to']],
    ['snapshots?from=2&from=3&to=1', ['query from']],
    ['snapshots/at/x?depth=0&mode=x', ['path ts', 'query depth', 'query mode']],
    ['snapshots/at/x?limit=1&depth=0&depth=1', ['path ts', 'query depth', 'query limit']],
    ['snapshots/at/x?asOf=1', ['path ts']],
    // Of the path here, and no parameter of its query.
    [`snapshots/at/${T0}?ts=x`, ['query ts']],
    ['snapshots/at?ts=x&outcome=left', ['query outcome', 'query ts']],
    ['snapshots/at/?outcome=left', ['path ts', 'query outcome']],
  ])('%s: an issue for each wrong parameter, of path and query together', async (query, wrong) => {
    const reply = await get(`${market}/${query}`);
    expect(reply.status).toBe(400);
    const { issues } = reply.json<ProblemDocument>();
    expect(issues?.map((issue) => `${issue.in} ${issue.name}`).sort()).toEqual(wrong);
    expect(reply.headers.has('x-bookreel-warning')).toBe(false);
  });

  test('refusals and warnings are bounded for any request', async () => {
    const many = await get(`${market}/snapshots?${'a&'.repeat(5000)}limit=0`);
    expect(many.status).toBe(400);
    expect(many.json<ProblemDocument>().issues?.length).toBeLessThanOrEqual(32);
    expect(many.bytes.length).toBeLessThan(32 * 1024);
    const seconds = Math.floor(T0 / 1000);
    const instants = Array.from({ length: 1000 }, (_, index) => seconds + index).join();
    const warned = await get(`${market}/snapshots/at?ts=${instants}&depth=1`);
    expect(warned.status).toBe(200);
    const warning = warned.headers.get('x-bookreel-warning')!;
    expect(warning).toStartWith(`ts=${seconds}, ts=${seconds + 1}, `);
    expect(warning).toEndWith('looks like seconds; integer times are Unix milliseconds');
    expect(warning.length).toBeLessThan(300);
  });

  test.each([
    [`from=${T0 + 1}&to=${T0}`, 400],
    [`from=${T0}&to=${T0}`, 200],
    ['from=2026-04-17&to=2026-04-16', 400],
    ['to=0&from=1', 400],
  ])('%s: from later than to is refused, and equal ones are not', async (query, status) => {
    for (const path of [
      `${market}/snapshots`,
      `${market}/prices`,
      `${market}/quotes`,
      `${market}/heatmap`,
      '/v1/btc/prices',
      '/v1/btc/markets',
    ]) {
      expect((await get(`${path}?${query}`)).status).toBe(status);
    }
  });

  test.each([
    ['', 0],
    ['?skip=', 0],
    ['?skip=null', 0],
    ['?skip=0', 0],
    ['?skip', 0],
    ['?skip=2', 2],
    ['?skip=9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('/v1/btc/markets%s skips %d', async (query, skip) => {
    const { pagination } = (await get(`/v1/btc/markets${query}`)).json<{ pagination: { skip: number } }>();
    expect(pagination.skip).toBe(skip);
  });

  test('A plus sign in a query is a plus sign, and white space around a value is not removed.', async () => {
    const plain = await get(`${market}/snapshots?outcome=up&limit=2`);
    const escaped = await get(`${market}/snapshots?%6futcome=%75P&limi%74=%32`);
    expect(escaped.text).toBe(plain.text);
    expect((await get(`${market}/snapshots?`)).status).toBe(200);
    expect((await get(`${market}/snapshots?&limit=2&`)).status).toBe(200);
  });

  test.each([
    ['from=1776323400', 'from'],
    ['to=99999999999', 'to'],
    ['from=0', 'from'],
    ['from=1&to=2', 'to'],
    ['from=100000000000', null],
    [`from=${T0}&to=${T0}`, null],
    ['from=1970-01-01T00:00:01Z', null],
    ['limit=5', null],
  ])('%s is served as given, and a value that looks like seconds is pointed out (%p)', async (query, named) => {
    const reply = await get(`${market}/snapshots?${query}`);
    expect(reply.status).toBe(200);
    const warning = reply.headers.get('x-bookreel-warning');
    if (named === null) expect(warning).toBeNull();
    else expect(warning).toContain(named);
  });

  test('a time in the path that looks like seconds gets a warning, and is not converted', async () => {
    const reply = await get(`${market}/snapshots/at/${T0 / 1000}`);
    expect(reply.headers.get('x-bookreel-warning')).toContain(`${T0 / 1000}`);
    const first = await get(`${market}/snapshots/at/0`);
    expect(reply.text).toBe(first.text);
    expect((await get(`${market}/snapshots/at/${T0}`)).headers.has('x-bookreel-warning')).toBe(false);
  });
}
