import { expect, test } from 'bun:test';
import { exchange, type RawReply, requestOf } from './raw-http.ts';
import { BOOKS } from './recording.ts';
import type { Suite } from './suite.ts';

const HOST = 'Host: localhost';
const MARKETS = '/v1/btc/markets?limit=1';

interface Malformed {
  readonly name: string;
  readonly target: string;
  readonly headers: readonly string[];
  readonly method?: string;
  /** With a key; 0: closed without an answer. */
  readonly statuses: readonly number[];
}

const row = (
  name: string,
  target: string,
  headers: readonly string[],
  statuses: readonly number[],
  method = 'GET',
) => ({
  name,
  target,
  headers,
  statuses,
  method,
});

const TABLE: readonly Malformed[] = [
  row('a Host with a space', MARKETS, ['Host: a b'], [400]),
  row('a Host with a slash', MARKETS, ['Host: a/b'], [400]),
  row('a Host with a user', MARKETS, ['Host: user@localhost'], [400]),
  row('a Host with a question mark', MARKETS, ['Host: localhost?x'], [400]),
  row('a Host with a bad port', MARKETS, ['Host: localhost:http'], [400]),
  row('a Host with a fragment', MARKETS, ['Host: localhost#'], [400]),
  row('a Host that is a path', MARKETS, ['Host: /v1/btc/markets'], [400]),
  row('an empty Host', MARKETS, ['Host:'], [400]),
  row('two Hosts', MARKETS, ['Host: a', 'Host: b'], [400]),
  row('two equal Hosts', MARKETS, [HOST, HOST], [400]),
  row('no Host', MARKETS, [], [400]),
  row('a Host of one letter', MARKETS, ['Host: a'], [200]),
  row('a Host of two letters and a port', MARKETS, ['Host: ab:1'], [200]),
  row('an IPv6 Host', MARKETS, ['Host: [::1]:8080'], [200]),
  row('an absolute target', `http://localhost${MARKETS}`, [HOST], [200]),
  row('an absolute target of another host', `http://elsewhere:1${MARKETS}`, [HOST], [200, 400]),
  row('an absolute target without a path', 'http://localhost', [HOST], [200, 400, 404]),
  row('an absolute target of another scheme', `ftp://localhost${MARKETS}`, [HOST], [400, 404]),
  row('an authority as target', 'localhost:80', [HOST], [400, 404], 'CONNECT'),
  row('an asterisk as target', '*', [HOST], [400, 404], 'OPTIONS'),
  row('a target without a slash', 'v1/btc/markets', [HOST], [400, 404]),
  row('two slashes in front', '//v1/btc/markets', [HOST], [404]),
  row('a host in front of the path', '//localhost/v1/btc/markets', [HOST], [404]),
  row('an empty coin', '/v1//markets', [HOST], [404]),
  row('two slashes behind', '/v1/btc/markets//', [HOST], [404]),
  row('dots out of /v1', '/v1/../v1/btc/markets?limit=1', [HOST], [200, 404]),
  row('dots into /v1', '/healthz/../v1/btc/markets?limit=1', [HOST], [200, 404]),
  row('escaped dots into /v1', '/healthz/%2e%2e/v1/btc/markets?limit=1', [HOST], [200, 404]),
  row('an escaped slash behind /v1', '/v1%2Fbtc%2Fmarkets', [HOST], [404]),
  row('an escaped v1', '/%76%31/btc/markets', [HOST], [200, 404]),
  row('a capital V1', '/V1/btc/markets', [HOST], [404]),
  row('backslashes', '/v1\\btc\\markets', [HOST], [200, 400, 404]),
  row('an escaped slash in the coin', '/v1/b%2Ftc/markets', [HOST], [404]),
  row('an escaped NUL in the coin', '/v1/btc%00/markets', [HOST], [404]),
  row('a cut escape', '/v1/btc/markets%', [HOST], [400]),
  row('an escape that is no hex', '/v1/btc/markets?limit=%ZZ', [HOST], [400]),
  row('escapes that are no UTF-8', '/v1/%C3%28/markets', [HOST], [400]),
  row('an escaped lone surrogate', '/v1/%ED%A0%80/markets', [HOST], [400]),
  row('raw bytes above ASCII', '/v1/b\xfctc/markets', [HOST], [400, 404]),
  row('a fragment', '/v1/btc/markets#x', [HOST], [200, 400, 404]),
  row('a long query', `/v1/btc/markets?x=${'a'.repeat(8000)}`, [HOST], [400]),
  row('a URL that is too long', `/v1/btc/markets?x=${'a'.repeat(40_000)}`, [HOST], [0, 400, 414, 431]),
  row('a header that is too long', MARKETS, [HOST, `X-Long: ${'a'.repeat(40_000)}`], [0, 400, 431]),
  row('a long conditionId', `/v1/btc/markets/0x${'a'.repeat(4000)}/snapshots`, [HOST], [404]),
  row('many parameters', `/v1/btc/markets?${'limit=1&'.repeat(1000)}`, [HOST], [400]),
  row('an unknown method', MARKETS, [HOST], [0, 400, 405, 501], 'FETCH'),
  row('a method in lower case', MARKETS, [HOST], [0, 400, 405], 'get'),
  row('a length and chunks at once', MARKETS, [HOST, 'Content-Length: 4', 'Transfer-Encoding: chunked'], [0, 400]),
  row('a negative length', MARKETS, [HOST, 'Content-Length: -1'], [0, 400]),
  row('a folded header', MARKETS, [HOST, 'X-Folded: a', ' b'], [0, 400]),
  row('a header without a colon', MARKETS, [HOST, 'nonsense'], [0, 400]),
];

/** Our own answers speak JSON; what the parser says by itself has no body. */
function expectHarmless(reply: RawReply, name: string): void {
  expect(reply.status, name).toBeLessThan(500);
  if (reply.body === '') return;
  expect(reply.headers.get('x-request-id'), name).toBeDefined();
  for (const header of ['limit', 'remaining', 'reset']) {
    expect(reply.headers.get(`x-ratelimit-${header}`), name).toMatch(/^\d+$/);
  }
  if (reply.status >= 400) expect(reply.headers.get('content-type'), name).toBe('application/problem+json');
  expect(reply.body, name).not.toMatch(/sqlite|\.ts\b|bunfs|\/tmp\//i);
}

/** Requests that no HTTP library sends, over plain sockets. */
export function malformedHttpTests(suite: Suite): void {
  test.each(TABLE)(
    '$name: answered as it should be, never with a 5xx',
    async ({ name, target, headers, method, statuses }) => {
      const authorization = `Authorization: Bearer ${suite.ampleKey}`;
      const reply = await exchange(suite.target.origin, requestOf(target, [...headers, authorization], method));
      expectHarmless(reply, name);
      expect(statuses, `${reply.status} ${reply.body.slice(0, 200)}`).toContain(reply.status);
    },
  );

  test.each(TABLE)('$name: nothing recorded is served without a key', async ({ name, target, headers, method }) => {
    const reply = await exchange(suite.target.origin, requestOf(target, headers, method));
    expectHarmless(reply, name);
    expect(reply.body).not.toContain('"data"');
    expect(reply.body).not.toContain('conditionId"');
    // The only open path among these is the first page.
    if (reply.status === 200) expect(reply.body).toContain('"name":"bookreel"');
  });

  test('a malformed request is charged to its address, whatever key it carries', async () => {
    const authorization = `Authorization: Bearer ${suite.ampleKey}`;
    const ask = () => exchange(suite.target.origin, requestOf('/v1/btc/markets?x=%ZZ', [HOST, authorization]));
    const [first, second] = [await ask(), await ask()];
    expect(first.headers.get('x-ratelimit-limit')).toBe('600');
    const remaining = (reply: RawReply) => Number(reply.headers.get('x-ratelimit-remaining'));
    expect(remaining(second)).toBe(remaining(first) - 1);
  });

  test('a body with a GET changes nothing, and a key in it is no key', async () => {
    const body = JSON.stringify({ access_token: suite.ampleKey, api_key: suite.ampleKey });
    const headers = [HOST, 'Content-Type: application/json', `Content-Length: ${body.length}`];
    const target = `/v1/btc/markets/${BOOKS.conditionId}`;
    const keyless = await exchange(suite.target.origin, requestOf(target, headers) + body);
    expect(keyless.status).toBe(401);
    const authorization = `Authorization: Bearer ${suite.ampleKey}`;
    const keyed = await exchange(suite.target.origin, requestOf(target, [...headers, authorization]) + body);
    expect(keyed.status).toBe(200);
  });
}
