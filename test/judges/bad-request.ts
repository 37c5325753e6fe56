import { randomsOf } from '../support/random-books.ts';

/** One generated request, byte for byte (latin1). */
export interface BadRequest {
  readonly bytes: string;
  readonly method: string;
  /** Its flaws, in the order in which they were added. */
  readonly flaws: readonly string[];
  /** Whether its message is well-formed: then the connection must stay open. Otherwise the server may close it. */
  readonly isMessage: boolean;
}

/** Values that exist on the service, from which requests are generated. */
export interface Vocabulary {
  readonly conditionIds: readonly string[];
  readonly slugs: readonly string[];
  /** An instant with records. */
  readonly atMs: number;
  /** Cursors from answers of the service. */
  readonly cursors: readonly string[];
  /** A key with all rights, one of a small tier, and a revoked one. */
  readonly keys: readonly string[];
}

interface Draft {
  method: string;
  path: string;
  query: [name: string, value: string][];
  headers: [name: string, value: string][];
  body: string;
}

type Random = () => number;
type Flaw = readonly [name: string, apply: (draft: Draft, random: Random, words: Vocabulary) => void];
/** Makes the message malformed. */
type Break = readonly [name: string, apply: (bytes: string, random: Random) => string];

const FLAWS_MAX = 3;
/** Share of malformed messages: each costs a connection. */
const BROKEN_SHARE = 0.04;
const LONG_CHARS_MAX = 3000;

/** Request `index` of the sequence of `seed`, always the same. */
export function badRequest(seed: number, index: number, words: Vocabulary): BadRequest {
  const random = randomsOf(Math.imul(seed, 0x9e3779b1) + index);
  const draft = validDraft(random, words);
  const flaws: string[] = [];
  const isMessage = random() >= BROKEN_SHARE;
  // At least one flaw that the service must refuse, then others that may hide it.
  for (let left = isMessage ? 1 + Math.floor(random() * FLAWS_MAX) : 0; left > 0; left -= 1) {
    const [name, apply] = pick(FLAWS, random);
    apply(draft, random, words);
    flaws.push(name);
  }
  const bytes = bytesOf(draft);
  if (isMessage) return { bytes, method: draft.method, flaws, isMessage };
  const [name, apply] = pick(BREAKS, random);
  return { bytes: apply(bytes, random), method: draft.method, flaws: [name], isMessage };
}

function validDraft(random: Random, words: Vocabulary): Draft {
  const market = `/v1/btc/markets/${pick(random() < 0.5 ? words.conditionIds : words.slugs, random)}`;
  const path = pick(
    [
      '/v1/billing/tiers',
      '/v1/btc/markets',
      market,
      `${market}/snapshots`,
      `${market}/snapshots/at/${words.atMs}`,
      `${market}/coverage`,
      `${market}/heatmap`,
      `${market}/prices`,
      `${market}/quotes`,
      `${market}/export`,
      `${market}/stream`,
      '/v1/btc/prices',
      '/',
      '/healthz',
    ],
    random,
  );
  const address = Array.from({ length: 4 }, () => 1 + Math.floor(random() * 254)).join('.');
  return {
    method: 'GET',
    path,
    // A whole export is streamed, like events: later requests on its connection would not be answered.
    query: path.endsWith('/export') ? [['format', 'none']] : path.endsWith('/stream') ? [['speed', 'none']] : [],
    headers: [
      ['Host', 'localhost'],
      ['Authorization', `Bearer ${words.keys[0]}`],
      // Requests without a valid key count for their address, so each has its own.
      ['X-Forwarded-For', address],
    ],
    body: '',
  };
}

/** Texts that parsers often get wrong, as they appear in a URL: without spaces, control characters or bytes above ASCII. */
const JUNK: readonly string[] = [
  ...['', '.', '..', '...', '*', '~', "'", '"', '`', '\\', '|', '^', '<script>', '{}', '[]', '{{7*7}}'],
  ...['null', 'undefined', 'NaN', 'true', '-1', '+1', '0', '00', '1e3', '0x10', '1.0', '1_000', '-0', '١٢٣'],
  ...['9007199254740991', '9007199254740992', '18446744073709551616', '1'.repeat(400), '-9223372036854775809'],
  ...["' OR 1=1--", "1';DROP TABLE markets;--", '%', '%%', '%Z', '%ZZ', '%0', '%00', '%0A%0D', '%FF', '%C0%AF'],
  ...['%E2%82', '%ED%A0%80', '%F5%80%80%80', '%u0041', '%2e%2e%2f', '..%2f..%2fetc%2fpasswd', '..;/', '%25%30%30'],
  ...['2026-02-30', '2026-13-01T00:00Z', '2026-01-01T25:00Z', '2026-01-01T00:00', '2026-01-01T00:00+99:99', 'now'],
  ...['up,down', 'UP%20', 'sideways', 'ASC', '5M', '6m', 'btc', 'BTC', 'sol', 'doge', '__proto__', 'constructor'],
  ...['0x', '0xZZ', `0x${'0'.repeat(64)}`, `0x${'f'.repeat(65)}`, 'toString', 'hasOwnProperty', '%F0%9F%92%A9'],
];
const NAMES = ['tf', 'limit', 'skip', 'from', 'to', 'cursor', 'order', 'outcome', 'format'];
const FOREIGN_NAMES = [
  'Limit',
  'limit[]',
  'limit.x',
  '%6cimit',
  'access_token',
  'key',
  '__proto__',
  'a',
  '',
  'callback',
];
const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH', 'PURGE'];
const AUTHORIZATIONS = [
  '',
  'Bearer',
  'Bearer ',
  'Bearer null',
  'Basic eDp5',
  'Bearer br_live_',
  'Digest x',
  'Bearer a b',
];
const HEADERS: readonly (readonly [string, string])[] = [
  ['Accept', '*/*;q=nan'],
  ['Accept', ',,,;;;'],
  ['Accept', 'application/msgpack;q=1.0000001'],
  ['Accept-Encoding', 'zstd;q=-1, gzip;q=2, *;q=0'],
  ['Accept-Encoding', 'gzip, '.repeat(200)],
  ['If-None-Match', '"'],
  ['If-None-Match', `${'"a", '.repeat(300)}W/"`],
  ['If-Modified-Since', 'never'],
  ['Range', 'bytes=0-0,-1,9999999999-'],
  ['Content-Type', 'multipart/form-data'],
  ['Content-Type', 'application/json; charset=utf-99'],
  ['Cookie', 'a=b; '.repeat(100)],
  ['X-Forwarded-For', '1.2.3.4, 999.1.1.1, ::::, [::1'],
  ['X-Forwarded-For', ', '.repeat(500)],
  ['Forwarded', 'for="[::1'],
  ['X-Forwarded-Host', 'evil.example'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-Original-URL', '/v1/sol/markets'],
  ['X-Request-Id', '<script>'],
  ['Origin', 'null'],
  ['Access-Control-Request-Method', 'DELETE'],
  ['User-Agent', '() { :;}; echo'],
  ['Prefer', 'code=500'],
  ['TE', 'trailers, deflate;q=0.5'],
  ['Via', '1.1 x'],
  ['X-Long', 'a'.repeat(LONG_CHARS_MAX)],
];
const BODIES = [
  '{}',
  '{"a":',
  '[[[[[[[[[[',
  '\0\0\0\0',
  'a=b&access_token=x',
  '\xff\xfe\x80',
  '<?xml version="1.0"?>',
  '--x',
];

const FLAWS: readonly Flaw[] = [
  ['a segment replaced', (draft, random) => editSegments(draft, random, (at, all) => (all[at] = pick(JUNK, random)))],
  [
    'an additional segment',
    (draft, random) => editSegments(draft, random, (at, all) => all.splice(at, 0, pick(JUNK, random))),
  ],
  ['a segment left out', (draft, random) => editSegments(draft, random, (at, all) => all.splice(at, 1))],
  ['a segment doubled', (draft, random) => editSegments(draft, random, (at, all) => all.splice(at, 0, all[at]!))],
  [
    'an escaped segment',
    (draft, random) => editSegments(draft, random, (at, all) => (all[at] = escaped(all[at]!, random))),
  ],
  ['a character of the path changed', (draft, random) => (draft.path = changed(draft.path, random))],
  ['a long segment', (draft, random) => editSegments(draft, random, (at, all) => (all[at] = long(random)))],
  ['many segments', (draft, random) => (draft.path += '/a'.repeat(Math.floor(random() * 400)))],
  ...Array<Flaw>(6).fill([
    'a parameter’s value',
    (draft, random) => void draft.query.push([pick(NAMES, random), pick(JUNK, random)]),
  ]),
  ['an unknown parameter', (draft, random) => void draft.query.push([pick(FOREIGN_NAMES, random), pick(JUNK, random)])],
  [
    'a repeated parameter',
    (draft, random) => {
      const parameter: [string, string] = [pick(NAMES, random), pick(JUNK, random)];
      draft.query.push(parameter, parameter);
    },
  ],
  [
    'many parameters',
    (draft, random) => void draft.query.push(...Array<[string, string]>(50).fill([pick(NAMES, random), '1'])),
  ],
  ['a long parameter', (draft, random) => void draft.query.push([pick(NAMES, random), long(random)])],
  [
    'a cursor of another request',
    (draft, random, { cursors }) => void draft.query.push(['cursor', pick(cursors, random)]),
  ],
  [
    'a changed cursor',
    (draft, random, { cursors }) => void draft.query.push(['cursor', changed(pick(cursors, random), random)]),
  ],
  [
    'a cut cursor',
    (draft, random, { cursors }) => {
      const cursor = pick(cursors, random);
      draft.query.push(['cursor', cursor.slice(0, Math.floor(random() * cursor.length))]);
    },
  ],
  [
    'from after to',
    (draft, random) => void draft.query.push(['from', String(1e12 + Math.floor(random() * 1e12))], ['to', '1']),
  ],
  ['another method', (draft, random) => (draft.method = pick(METHODS, random))],
  ['no key', (draft) => (draft.headers = draft.headers.filter(([name]) => name !== 'Authorization'))],
  ['no scheme or key', (draft, random) => setAuthorization(draft, pick(AUTHORIZATIONS, random))],
  ['another key', (draft, random, { keys }) => setAuthorization(draft, `Bearer ${pick(keys, random)}`)],
  [
    'a changed key',
    (draft, random, { keys }) => setAuthorization(draft, `Bearer ${changed(pick(keys, random), random)}`),
  ],
  ['two keys', (draft, _, { keys }) => void draft.headers.push(['Authorization', `Bearer ${keys[0]}`])],
  [
    'the key in the URL',
    (draft, random, { keys }) => {
      setAuthorization(draft, '');
      draft.query.push([pick(['access_token', 'api_key', 'limit', 'cursor'], random), pick(keys, random)]);
    },
  ],
  ['a header', (draft, random) => void draft.headers.push([...pick(HEADERS, random)])],
  [
    'many headers',
    (draft, random) => {
      for (let n = Math.floor(random() * 60); n > 0; n -= 1)
        draft.headers.push([`X-Header-${n}`, pick(BODIES.slice(0, 3), random)]);
    },
  ],
  [
    'a Host',
    (draft, random) =>
      (draft.headers[0] = ['Host', pick(['a b', 'a/b', 'a@b', 'a:b', '[', 'a:99999', 'a', '%', '-'], random)]),
  ],
  ['a body', (draft, random) => (draft.body = pick(BODIES, random).repeat(1 + Math.floor(random() * 50)))],
];

const BREAKS: readonly Break[] = [
  ['cut off', (bytes, random) => bytes.slice(0, Math.floor(random() * (bytes.length - 1)))],
  ['a byte changed', (bytes, random) => changedByte(bytes, random)],
  ['a byte changed', (bytes, random) => changedByte(changedByte(bytes, random), random)],
  ['lines ended by LF', (bytes) => bytes.replaceAll('\r\n', '\n')],
  ['lines ended by CR', (bytes) => bytes.replaceAll('\r\n', '\r')],
  [
    'another version',
    (bytes, random) =>
      bytes.replace('HTTP/1.1', pick(['HTTP/1.0', 'HTTP/2.0', 'HTTP/9.9', 'HTTP/1', 'http/1.1', ''], random)),
  ],
  [
    'a method that is not a token',
    (bytes, random) => bytes.replace('GET', pick(['', ' ', 'G\0T', 'G(T', '{}', 'A'.repeat(5000), '\xff'], random)),
  ],
  [
    'a target with forbidden bytes',
    (bytes, random) => bytes.replace(' HTTP', `${pick([' x', '\0', '\x7f', '\xff\xfe', '\t', '#a b'], random)} HTTP`),
  ],
  ['no target', (bytes) => bytes.replace(/ \S* HTTP/, '  HTTP')],
  [
    'another form of target',
    (bytes, random) =>
      bytes.replace(
        / \S* HTTP/,
        ` ${pick(['*', 'localhost:80', 'http://', 'http:///', 'http://a@b/', '//', '?', 'x'], random)} HTTP`,
      ),
  ],
  [
    'an invalid length',
    (bytes, random) =>
      withHeader(
        bytes,
        `Content-Length: ${pick(['-1', '1e3', '0x5', 'a', '', '1, 1', '99999999999999999999'], random)}`,
      ),
  ],
  ['two lengths', (bytes) => withHeader(bytes, 'Content-Length: 1\r\nContent-Length: 2')],
  [
    'a length and chunks',
    (bytes) => `${withHeader(bytes, 'Content-Length: 3\r\nTransfer-Encoding: chunked')}0\r\n\r\n`,
  ],
  [
    'invalid chunks',
    (bytes, random) =>
      withHeader(bytes, 'Transfer-Encoding: chunked') +
      pick(['zz\r\n', '-1\r\n', 'ffffffffffffffff\r\n', '5\r\nab', ';\r\n'], random),
  ],
  [
    'an unknown encoding',
    (bytes, random) =>
      withHeader(
        bytes,
        `Transfer-Encoding: ${pick(['x', 'gzip', 'chunked, x', ' chunked', 'chunked\r\nTransfer-Encoding: x'], random)}`,
      ),
  ],
  ['a folded header', (bytes) => withHeader(bytes, 'X-Folded: a\r\n b')],
  [
    'a header without a name',
    (bytes, random) => withHeader(bytes, pick([': a', ' : a', 'a b: c', 'a\0b: c', 'nonsense'], random)),
  ],
  [
    'a header with forbidden bytes',
    (bytes, random) => withHeader(bytes, `X-Odd: ${pick(['\0', '\x01', '\x7f', 'a\rb', 'a\nb'], random)}`),
  ],
  ['no Host', (bytes) => bytes.replace('Host: localhost\r\n', '')],
  ['two Hosts', (bytes) => withHeader(bytes, 'Host: other')],
  [
    'a header that is too long',
    (bytes, random) => withHeader(bytes, `X-Long: ${'a'.repeat(8000 + Math.floor(random() * 40_000))}`),
  ],
  [
    'too many headers',
    (bytes, random) => withHeader(bytes, 'a: b\r\n'.repeat(100 + Math.floor(random() * 2000)).slice(0, -2)),
  ],
  [
    'a URL that is too long',
    (bytes, random) => bytes.replace(' HTTP', `?${'a'.repeat(8000 + Math.floor(random() * 60_000))} HTTP`),
  ],
  [
    'noise',
    (_, random) =>
      Array.from({ length: 1 + Math.floor(random() * 300) }, () => String.fromCharCode(random() * 256)).join(''),
  ],
  ['a handshake of TLS', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['a preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  [
    'an upgrade',
    (bytes, random) =>
      withHeader(
        bytes,
        `Connection: Upgrade\r\nUpgrade: ${pick(['websocket', 'h2c', 'x'], random)}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA`,
      ),
  ],
  ['an expectation', (bytes, random) => withHeader(bytes, `Expect: ${pick(['100-continue', 'x', ''], random)}`)],
];

function bytesOf({ method, path, query, headers, body }: Draft): string {
  const search = query.length === 0 ? '' : `?${query.map(([name, value]) => `${name}=${value}`).join('&')}`;
  const length = body === '' ? [] : [`Content-Length: ${body.length}`];
  const lines = [
    `${method} ${inTarget(path + search)} HTTP/1.1`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...length,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Bytes that a target may not contain unescaped: they would make the message malformed, which is another kind of flaw. */
function inTarget(text: string): string {
  const target = text.startsWith('/') ? text : `/${text}`;
  return target.replace(/[^!-~]|#/gu, (char) => encodeURIComponent(char));
}

function editSegments(draft: Draft, random: Random, edit: (at: number, segments: string[]) => void): void {
  const segments = draft.path.split('/');
  if (segments.length === 1) segments.push('');
  edit(1 + Math.floor(random() * (segments.length - 1)), segments);
  draft.path = segments.join('/');
}

function setAuthorization(draft: Draft, value: string): void {
  draft.headers = [...draft.headers.filter(([name]) => name !== 'Authorization'), ['Authorization', value]];
}

/** The text with about half of its characters escaped. */
function escaped(text: string, random: Random): string {
  return [...text].map((char) => (random() < 0.5 ? char : `%${char.charCodeAt(0).toString(16)}`)).join('');
}

function long(random: Random): string {
  return pick(['a', '%41', '9', '..%2f', '%F0%9F%92%A9'], random).repeat(
    1 + Math.floor((random() * LONG_CHARS_MAX) / 12),
  );
}

/** The text with one character replaced by another printable one. */
function changed(text: string, random: Random): string {
  const at = Math.floor(random() * text.length);
  const other = String.fromCharCode(0x21 + Math.floor(random() * 94));
  return text.slice(0, at) + (other === text[at] ? '~' : other) + text.slice(at + 1);
}

function changedByte(bytes: string, random: Random): string {
  const at = Math.floor(random() * bytes.length);
  return bytes.slice(0, at) + String.fromCharCode(random() * 256) + bytes.slice(at + 1);
}

function withHeader(bytes: string, header: string): string {
  return bytes.replace('\r\n\r\n', `\r\n${header}\r\n\r\n`);
}

function pick<T>(items: readonly T[], random: Random): T {
  return items[Math.floor(random() * items.length)]!;
}
