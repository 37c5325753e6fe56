import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { inOneWindow, type ProblemDocument } from './client.ts';
import {
  bodyOf,
  exchange,
  parse,
  type RawReply,
  receivedUntilClosed,
  requestOf,
  statusesUntilClosed,
} from './raw-http.ts';
import { BOOKS } from './recording.ts';
import type { Suite, Target } from './target.ts';

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

/** Unambiguous targets: with a key each gets this status. */
const targets = (status: number, ...asked: readonly string[]) =>
  asked.map((target) => row(`the target ${target}`, target, [HOST], [status]));
const hosts = (status: number, ...said: readonly string[]) =>
  said.map((host) => row(`Host: ${host}`, MARKETS, [`Host: ${host}`], [status]));

const TABLE: readonly Malformed[] = [
  ...hosts(200, 'a', 'ab:1', 'LocalHost:8080', '[::1]:8080'),
  ...hosts(
    400,
    '',
    'a b',
    'a, b',
    'a/b',
    '/v1/btc/markets',
    'user@localhost',
    'local%68ost',
    'localhost?x',
    'localhost#',
  ),
  ...hosts(400, 'localhost:', 'localhost:http', 'localhost:123456', '-x', '\xfc.example'),
  row('two Hosts', MARKETS, ['Host: a', 'Host: b'], [400]),
  row('two equal Hosts', MARKETS, [HOST, HOST], [400]),
  row('no Host', MARKETS, [], [400]),
  // One resource, as the URL standard resolves it: the access check and the router get the same path.
  ...targets(200, '/v1/./btc/markets', '/v1/x/../btc/markets', '/v1/../v1/btc/markets', '/healthz/../v1/btc/markets'),
  ...targets(200, '/v1/x/%2e%2E/btc/markets', '/v1/%2e/btc/markets', '/../../v1/btc/markets', '/v1\\btc\\markets'),
  ...targets(200, '/healthz/%2e%2e/v1/btc/markets', '/v1/btc/markets/'),
  // The Host replaces any authority in the target.
  ...targets(200, `http://localhost${MARKETS}`, `http://elsewhere.example:1${MARKETS}`, `https://localhost${MARKETS}`),
  ...targets(200, `http://user:password@localhost${MARKETS}`),
  // No such path: slashes are not merged, and escapes of slashes are none.
  ...targets(
    404,
    '//v1/btc/markets',
    '/v1//btc/markets',
    '/v1//markets',
    '//localhost/v1/btc/markets',
    '/V1/btc/markets',
  ),
  ...targets(404, '/v1/btc/markets//', '/v1/btc%2Fmarkets', '/v1%2Fbtc%2Fmarkets', '/v1/b%2Ftc/markets'),
  ...targets(404, '/v1/btc%5Cmarkets', '/v1/btc/markets%00', '/v1/btc%00/markets', '/v1/btc/markets%0d%0aX:1'),
  ...targets(404, '/v1/btc/markets;x=1', '/v1/btc/markets%23'),
  // Fragments are not part of a target.
  ...targets(400, `${MARKETS}#x`, '/v1/btc/markets#', '/v1/btc/markets?#x'),
  // No escapes, and no UTF-8: overlong, cut, surrogates, beyond Unicode.
  ...targets(
    400,
    '/v1/btc/markets%',
    '/v1/btc/markets?limit=%ZZ',
    '/v1/%',
    '/v1/%4',
    '/v1/%u0041',
    '/v1/%ff',
    '/v1/%c3',
  ),
  ...targets(
    400,
    '/v1/%C3%28/markets',
    '/v1/%c0%af',
    '/v1/%c0%ae%c0%ae/btc/markets',
    '/v1/%e0%80%af',
    '/v1/%f0%80%80%af',
  ),
  ...targets(400, '/v1/%ed%a0%80', '/v1/%ED%A0%80/markets', '/v1/%f4%90%80%80', `${MARKETS}&x=%c0%80`),
  row('an absolute target without a path', 'http://localhost', [HOST], [200, 400, 404]),
  row('an absolute target of another scheme', `ftp://localhost${MARKETS}`, [HOST], [400, 404]),
  row('an authority as target', 'localhost:80', [HOST], [400, 404], 'CONNECT'),
  row('an asterisk as target', '*', [HOST], [400, 404], 'OPTIONS'),
  row('an asterisk as target of a GET', '*', [HOST], [400, 404]),
  row('a target without a slash', 'v1/btc/markets', [HOST], [400, 404]),
  row('an escaped v1', '/%76%31/btc/markets', [HOST], [200, 404]),
  row('raw bytes above ASCII', '/v1/b\xfctc/markets', [HOST], [400, 404]),
  row('a long query', `/v1/btc/markets?x=${'a'.repeat(8000)}`, [HOST], [400]),
  row('a URL that is too long', `/v1/btc/markets?x=${'a'.repeat(40_000)}`, [HOST], [0, 400, 414, 431]),
  row('a header that is too long', MARKETS, [HOST, `X-Long: ${'a'.repeat(40_000)}`], [0, 400, 431]),
  row('a long conditionId', `/v1/btc/markets/0x${'a'.repeat(4000)}/snapshots`, [HOST], [404]),
  row('many parameters', `/v1/btc/markets?${'limit=1&'.repeat(1000)}`, [HOST], [400]),
  row('an unknown method', MARKETS, [HOST], [0, 400, 405, 501], 'FETCH'),
  row('a method in lower case', MARKETS, [HOST], [0, 400, 405], 'get'),
];

/** Malformed messages, byte for byte. A smuggled request would begin at the end of `bytes`. */
interface Broken {
  readonly name: string;
  readonly bytes: string;
}

const START = 'GET /healthz HTTP/1.1\r\n';
const POST = `POST /healthz HTTP/1.1\r\n${HOST}\r\n`;
/** Gets an answer if a parser takes it for a separate request. */
const SMUGGLED = 'GET /readyz HTTP/1.1\r\nHost: smuggled\r\n\r\n';

const broken = (name: string, bytes: string): Broken => ({ name, bytes });
/** A request: its request line, the given lines, then its headers. */
const lines = (name: string, ...given: readonly string[]): Broken =>
  broken(name, `${START}${HOST}\r\n${given.map((line) => `${line}\r\n`).join('')}\r\n`);
const startLine = (name: string, line: string): Broken => broken(name, `${line}\r\n${HOST}\r\n\r\n`);
const framed = (name: string, fields: readonly string[], body: string): Broken =>
  broken(name, `${POST}${fields.map((field) => `${field}\r\n`).join('')}\r\n${body}`);

const CHUNKED = 'Transfer-Encoding: chunked';
const EMPTY = '0\r\n\r\n';

const BROKEN: readonly Broken[] = [
  // A length and chunks: two ways to cut one message.
  framed('a length before chunks', ['Content-Length: 5', CHUNKED], EMPTY),
  framed('chunks before a length', [CHUNKED, 'Content-Length: 5'], EMPTY),
  framed('a length of 0 and chunks', ['Content-Length: 0', CHUNKED], EMPTY),
  framed('a length and chunks in other letters', ['content-length: 5', 'TRANSFER-ENCODING: CHUNKED'], EMPTY),
  framed('two lengths', ['Content-Length: 0', 'Content-Length: 44'], ''),
  framed('two lengths, the longer one first', ['Content-Length: 44', 'Content-Length: 0'], ''),
  framed('a list of lengths', ['Content-Length: 0, 44'], ''),
  framed('a length with a sign', ['Content-Length: +0'], ''),
  framed('a length below 0', ['Content-Length: -1'], ''),
  framed('a length in hex', ['Content-Length: 0x0'], ''),
  framed('a length with a fraction', ['Content-Length: 0.0'], ''),
  framed('a length with an exponent', ['Content-Length: 0e0'], ''),
  framed('a length with a space within', ['Content-Length: 0 0'], ''),
  framed('a length with an underscore', ['Content-Length: 0_0'], ''),
  framed('a length that is a word', ['Content-Length: none'], ''),
  framed('a length in quotes', ['Content-Length: "0"'], ''),
  framed('a length past 2^64', ['Content-Length: 18446744073709551616'], ''),
  framed('a length past every integer', [`Content-Length: ${'9'.repeat(40)}`], ''),
  framed('a length larger than any body here', ['Content-Length: 1000000'], ''),
  // Encodings that one parser knows and another does not.
  framed('an unknown encoding', ['Transfer-Encoding: cow'], EMPTY),
  framed('identity', ['Transfer-Encoding: identity'], EMPTY),
  framed('an encoding after chunked', ['Transfer-Encoding: chunked, identity'], EMPTY),
  framed('chunked twice', ['Transfer-Encoding: chunked, chunked'], EMPTY),
  framed('two encodings', [CHUNKED, 'Transfer-Encoding: identity'], EMPTY),
  framed('an encoding in quotes', ['Transfer-Encoding: "chunked"'], EMPTY),
  framed('an encoding with a letter too many', ['Transfer-Encoding: xchunked'], EMPTY),
  framed('an encoding cut short', ['Transfer-Encoding: chunke'], EMPTY),
  framed('an encoding with a semicolon', ['Transfer-Encoding: chunked;q=1'], EMPTY),
  framed('an encoding after a vertical tab', ['Transfer-Encoding: \x0bchunked'], EMPTY),
  framed('an encoding on a folded line', ['Transfer-Encoding:', ' chunked'], EMPTY),
  framed('a space before the colon of an encoding', ['Transfer-Encoding : chunked'], EMPTY),
  framed('a space before the colon of a length', ['Content-Length : 44'], ''),
  // Malformed chunks.
  framed('a chunk size that is no hex', [CHUNKED], 'xyz\r\n\r\n'),
  framed('a chunk size with a sign', [CHUNKED], '-1\r\n\r\n'),
  framed('a chunk size with a prefix', [CHUNKED], '0x0\r\n\r\n'),
  framed('a chunk size past every integer', [CHUNKED], `${'f'.repeat(20)}\r\n`),
  framed('no chunk size', [CHUNKED], '\r\n\r\n'),
  framed('a chunk longer than its size', [CHUNKED], '1\r\nabc\r\n0\r\n\r\n'),
  framed('a chunk without its line end', [CHUNKED], '3\r\nabc0\r\n\r\n'),
  framed('a chunk size ended by LF', [CHUNKED], '1\na\r\n0\r\n\r\n'),
  framed('a chunk size ended by CR', [CHUNKED], '1\ra\r\n0\r\n\r\n'),
  framed('a space before a chunk size', [CHUNKED], ' 0\r\n\r\n'),
  framed('an extension of a chunk with a NUL', [CHUNKED], '0;a\0b\r\n\r\n'),
  framed('an extension of a chunk with a bare LF', [CHUNKED], '0;a\nb\r\n\r\n'),
  // Lines.
  broken('lines ended by LF', `GET /healthz HTTP/1.1\n${HOST}\n\n`),
  broken('a request line ended by LF', `GET /healthz HTTP/1.1\n${HOST}\r\n\r\n`),
  broken('a header ended by LF', `${START}${HOST}\nX: a\r\n\r\n`),
  broken('a header ended by CR', `${START}${HOST}\rX: a\r\n\r\n`),
  broken('an end ended by LF', `${START}${HOST}\r\n\n`),
  broken('CR CR LF after a header', `${START}${HOST}\r\r\n\r\n`),
  lines('a bare CR in a value', 'X: a\rb'),
  lines('a bare LF in a value', 'X: a\nb'),
  lines('a NUL in a value', 'X: a\0b'),
  lines('a NUL in a name', 'X\0: a'),
  lines('an escape character in a value', 'X: a\x1bb'),
  lines('a folded line', 'X: a', ' b'),
  lines('a line folded with a tab', 'X: a', '\tb'),
  broken('a folded line before every header', `${START} X: a\r\n${HOST}\r\n\r\n`),
  lines('a space before a colon', 'X : a'),
  lines('a tab before a colon', 'X\t: a'),
  lines('a space within a name', 'X Y: a'),
  lines('no name', ': a'),
  lines('no colon', 'nonsense'),
  lines('a name in brackets', '(X): a'),
  lines('a name in quotes', '"X": a'),
  lines('a name with a slash', 'X/Y: a'),
  lines('a name with a byte above ASCII', 'X\xfc: a'),
  lines('a line that is a request line', 'GET /readyz HTTP/1.1'),
  lines('a field that is too long', `X: ${'a'.repeat(20_000)}`),
  lines('a name that is too long', `${'X'.repeat(20_000)}: a`),
  lines('too many fields', ...Array.from({ length: 300 }, (_, index) => `X-${index}: a`)),
  lines(
    'fields that are too long together',
    ...Array.from({ length: 90 }, (_, index) => `X-${index}: ${'a'.repeat(250)}`),
  ),
  // Request lines.
  startLine('no version', 'GET /healthz'),
  startLine('no target', 'GET HTTP/1.1'),
  startLine('an empty target', 'GET  HTTP/1.1'),
  startLine('two spaces before the version', 'GET /healthz  HTTP/1.1'),
  startLine('a space after the version', 'GET /healthz HTTP/1.1 '),
  startLine('a space within the target', 'GET /heal thz HTTP/1.1'),
  startLine('tabs between the parts', 'GET\t/healthz\tHTTP/1.1'),
  startLine('a space before the method', ' GET /healthz HTTP/1.1'),
  startLine('a NUL in the target', 'GET /heal\0thz HTTP/1.1'),
  startLine('a tab in the target', 'GET /heal\tthz HTTP/1.1'),
  startLine('a control character in the target', 'GET /heal\x01thz HTTP/1.1'),
  startLine('a target that is too long', `GET /${'a'.repeat(20_000)} HTTP/1.1`),
  startLine('a method that is too long', `${'A'.repeat(20_000)} /healthz HTTP/1.1`),
  startLine('a method with a bracket', 'G(T /healthz HTTP/1.1'),
  startLine('a method with a colon', 'GET: /healthz HTTP/1.1'),
  startLine('no method', '/healthz HTTP/1.1'),
  startLine('HTTP/0.9', 'GET /healthz HTTP/0.9'),
  startLine('HTTP/1.2', 'GET /healthz HTTP/1.2'),
  startLine('HTTP/2.0', 'GET /healthz HTTP/2.0'),
  startLine('HTTP/1.10', 'GET /healthz HTTP/1.10'),
  startLine('HTTP/11', 'GET /healthz HTTP/11'),
  startLine('HTTP/1', 'GET /healthz HTTP/1'),
  startLine('HTTP/1,1', 'GET /healthz HTTP/1,1'),
  startLine('http/1.1', 'GET /healthz http/1.1'),
  startLine('HTTPS/1.1', 'GET /healthz HTTPS/1.1'),
  startLine('another protocol', 'OPTIONS rtsp://localhost/ RTSP/1.0'),
  broken('the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  broken('a greeting of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'),
  broken('nothing but NULs', `${'\0'.repeat(64)}\r\n\r\n`),
  broken('nothing but line ends', '\r\n\r\n\r\n\r\n'),
];

/** The service answers with JSON; answers of the parser have no body. */
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
    'Dot segments and backslashes are resolved before the access check, %2F separates nothing, and no answer is a 5xx. ($name)',
    async ({ name, target, headers, method, statuses }) => {
      const authorization = `Authorization: Bearer ${suite.ampleKey}`;
      const reply = await exchange(suite.target.origin, requestOf(target, [...headers, authorization], method));
      expectHarmless(reply, name);
      expect(statuses, `${reply.status} ${reply.body.slice(0, 200)}`).toContain(reply.status);
    },
  );

  test.each(TABLE)('$name: no record is served without a key', async ({ name, target, headers, method }) => {
    const reply = await exchange(suite.target.origin, requestOf(target, headers, method));
    expectHarmless(reply, name);
    expect(reply.body).not.toContain('"data"');
    expect(reply.body).not.toContain('conditionId"');
    // Only the first page needs no key.
    if (reply.status === 200) expect(reply.body).toContain('"name":"bookreel"');
  });

  describe('malformed messages', () => {
    let target: Target;
    // Some count against their address, whose limit the other tests need.
    beforeAll(async () => {
      target = suite.reach.anew ? await suite.open([]) : suite.target;
    });
    afterAll(async () => {
      if (target !== suite.target) await target[Symbol.asyncDispose]();
    });

    test.concurrent.each(BROKEN)('Two ways to read a length end the connection. ($name)', async ({ bytes }) => {
      const statuses = await statusesUntilClosed(target.origin, `${bytes}${SMUGGLED}`);
      // A chunk may be found to be none when its message's head is answered: a second refusal, and the end.
      expect(statuses.length).toBeLessThanOrEqual(2);
      for (const status of statuses) {
        expect(status).toBeGreaterThanOrEqual(400);
        if (status !== 501) expect([500, 502, 503, 504]).not.toContain(status);
      }
      const next = await exchange(target.origin, requestOf('/healthz', [HOST]));
      expect(next.status).toBe(200);
    });
  });

  test('Pipelined requests are answered in order, also byte by byte, and HEAD without a body.', async () => {
    const asked: readonly [method: string, target: string, body: string][] = [
      ['HEAD', '/healthz', ''],
      ['POST', '/healthz', 'GET'],
      ['GET', '/nothing', ''],
    ];
    const first = asked.map(
      ([method, target, body]) =>
        `${method} ${target} HTTP/1.1\r\n${HOST}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const sent = first.join('') + requestOf('/healthz', [HOST]);
    for (const parts of [[sent], [...sent], [sent.slice(0, 40), sent.slice(40)]]) {
      const head = parse(await receivedUntilClosed(suite.target.origin, ...parts));
      const statuses = [head.status];
      let rest: string | undefined = head.body;
      while (rest !== undefined && rest !== '') {
        const reply = parse(rest);
        statuses.push(reply.status);
        ({ rest } = bodyOf(reply));
      }
      expect({ statuses, rest }).toEqual({ statuses: [200, 405, 404, 200], rest: '' });
    }
  });

  test.each([
    [400, '/v1/btc/markets?limit=0', true],
    [400, '/v1/btc/markets?x=%ZZ', true],
    [401, '/v1/btc/markets', false],
    [404, '/v1/nothing', true],
    [404, '/nothing', false],
  ])('a HEAD refused with %d (%s) has no body', async (status, target, isKeyed) => {
    const headers = [HOST, ...(isKeyed ? [`Authorization: Bearer ${suite.ampleKey}`] : [])];
    const first = `${[`HEAD ${target} HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n`;
    const reply = parse(await receivedUntilClosed(suite.target.origin, first + requestOf('/healthz', [HOST])));
    expect(reply.status).toBe(status);
    expect(reply.body).toStartWith('HTTP/1.1 200 OK\r\n');
  });

  test('A request of HTTP/1.0 needs a Host header too, and the refusal says so.', async () => {
    const key = `Authorization: Bearer ${suite.ampleKey}`;
    const ask = (...headers: readonly string[]) =>
      exchange(suite.target.origin, ['GET /v1/billing/tiers HTTP/1.0', key, ...headers, '', ''].join('\r\n'));
    expect((await ask(HOST)).status).toBe(200);
    const refused = await ask();
    expect(refused.status).toBe(400);
    expect((JSON.parse(bodyOf(refused).text) as ProblemDocument).detail).toBe(
      'the Host header is missing: send it, also with HTTP/1.0',
    );
  });

  test.each([
    ['a page', 'snapshots?limit=1000'],
    ['an export', 'export'],
    ['a stream', 'stream?speed=max'],
  ])('A request sent ahead of the end is answered whole, or not at all. (%s)', async (_, resource) => {
    const { origin } = suite.target;
    const headers = [HOST, `Authorization: Bearer ${suite.ampleKey}`];
    const target = `/v1/btc/markets/${BOOKS.conditionId}/${resource}`;
    const alone = bodyOf(await exchange(origin, requestOf(target, headers)));
    expect(alone.rest).toBe('');
    const first = `${[`GET ${target} HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n`;
    const second = requestOf('/healthz', [HOST]);
    for (const parts of [[first + second], [first, second], [first + second.slice(0, 20), second.slice(20)]]) {
      const received = await receivedUntilClosed(origin, ...parts);
      // A message that ends within its head gets no answer.
      if (!received.includes('\r\n\r\n')) continue;
      const reply = parse(received);
      expect(reply.status).toBe(200);
      const { text, rest } = bodyOf(reply);
      if (rest === undefined) expect(alone.text).toStartWith(text);
      else expect(text).toBe(alone.text);
      if (rest === undefined || rest === '') continue;
      const next = parse(rest);
      expect(next.status).toBe(200);
      expect(bodyOf(next)).toEqual({ text: '{"status":"ok"}', rest: '' });
    }
  });

  test('A malformed URL or Host is refused before the key is read, and counts against its address, with any key.', async () => {
    const authorization = `Authorization: Bearer ${suite.ampleKey}`;
    const ask = () => exchange(suite.target.origin, requestOf('/v1/btc/markets?x=%ZZ', [HOST, authorization]));
    const [first, second] = await inOneWindow(async () => [await ask(), await ask()]);
    expect(first!.headers.get('x-ratelimit-limit')).toBe('600');
    const remaining = (reply: RawReply) => Number(reply.headers.get('x-ratelimit-remaining'));
    expect(remaining(second!)).toBe(remaining(first!) - 1);
  });

  test('a body with a GET changes nothing, and a key in it is ignored', async () => {
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
