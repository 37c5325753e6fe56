import type { Json, JsonObject } from './schema.ts';

type HeaderRow = readonly [description: string, schema: JsonObject, example: Json, presence?: 'always'];

const TEXT = { type: 'string' };
const integer = (minimum: number, maximum?: number) => ({ type: 'integer', minimum, ...(maximum && { maximum }) });
const matching = (pattern: string) => ({ type: 'string', pattern });
const oneOf = (...words: readonly string[]) => ({ type: 'string', enum: words });

/** Every header of this service, and the standard headers that change how a client handles an answer. */
const ROWS: Readonly<Record<string, HeaderRow>> = {
  'X-RateLimit-Limit': ['Allowed requests per minute.', integer(1), 300, 'always'],
  'X-RateLimit-Remaining': ['Requests left in this window.', integer(0), 299, 'always'],
  'X-RateLimit-Reset': ['The end of the window in Unix seconds.', integer(0), 1767868380, 'always'],
  'X-Request-Id': [
    'The id of this request. A trusted proxy can set it.',
    matching('^[A-Za-z0-9._-]{1,128}$'),
    'adf59b20-3770-4b11-b127-754c23497cf7',
    'always',
  ],
  'X-Content-Type-Options': ['Always nosniff.', oneOf('nosniff'), 'nosniff', 'always'],
  'X-Bookreel-Warning': [
    'Names times in the request that look like seconds. The request was served with these times as milliseconds.',
    TEXT,
    'from=1767868300 looks like seconds; integer times are Unix milliseconds',
  ],
  ETag: [
    'A strong entity tag. Only answers about resolved markets have one.',
    matching('^"[0-9a-z]+-[0-9a-z]+"$'),
    '"19d7o28jgwf-2t4ltrctgwqlh"',
  ],
  Vary: ['The request headers that the answer depends on.', TEXT, 'Accept, Accept-Encoding', 'always'],
  'Cache-Control': ['How the answer may be cached. Refusals are never cached.', TEXT, 'private, no-cache'],
  'Content-Encoding': [
    'The compression, if the client accepts one and it makes the answer smaller.',
    oneOf('zstd', 'gzip'),
    'zstd',
  ],
  'X-Accel-Buffering': ['Always no: proxies must not buffer a stream.', oneOf('no'), 'no', 'always'],
  'Content-Disposition': [
    'A name for the file.',
    matching('^attachment; filename="[A-Za-z0-9._-]+"$'),
    'attachment; filename="simulated-btc-updown-5m-1767868200.ndjson"',
    'always',
  ],
  'Payment-Required': ['The x402 challenge as base64, if the tier is still offered.', TEXT, 'eyJ4NDAyVmVyc2lvbiI6Mn0='],
  'Payment-Response': [
    'The x402 settlement as base64: the transaction, or why the payment is pending or refused.',
    TEXT,
    'eyJzdWNjZXNzIjp0cnVlfQ==',
  ],
  'Retry-After': ['Wait this number of seconds before the next request.', integer(1, 60), 42, 'always'],
  'WWW-Authenticate': ['Always Bearer.', oneOf('Bearer'), 'Bearer', 'always'],
  'Content-Security-Policy': ['The resources that a browser may load for this page.', TEXT, "default-src 'none'"],
  'Referrer-Policy': ['Only pages have it.', oneOf('no-referrer'), 'no-referrer'],
  'Cross-Origin-Opener-Policy': ['Only pages have it.', oneOf('same-origin'), 'same-origin'],
};
const LOCATION: HeaderRow = ['The path of the new replay.', TEXT, '/v1/replays/0a1b2c3d4e5f', 'always'];

/** The headers of every answer, except answers of the HTTP parser. */
const ALWAYS = Object.keys(ROWS).slice(0, 5);

/** The headers as components. Without keys a process that replays counts no requests, and sends no X-RateLimit headers. */
export function headerComponents(isReplay: boolean): JsonObject {
  const rows = isReplay ? { ...ROWS, Location: LOCATION } : ROWS;
  // A process that replays sells nothing.
  const sent = Object.entries(rows).filter(([name]) => !isReplay || !name.startsWith('Payment-'));
  return Object.fromEntries(
    sent.map(([name, [description, schema, example, presence]]) => {
      const required = presence === 'always' && !(isReplay && name.startsWith('X-RateLimit'));
      return [name, { description, ...(required && { required }), schema, example }];
    }),
  );
}

/** References to the headers of every answer, and to those of these names. */
export function headersNamed(names: readonly string[]): JsonObject {
  return Object.fromEntries([...ALWAYS, ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The headers of an answer that its path implies, in addition to those that every answer has. */
export function answerHeaders(path: string, takesTimes: boolean): JsonObject {
  if (path.startsWith('/v1/replays')) return headersNamed(['Cache-Control']);
  if (!path.startsWith('/v1/')) return {};
  const isStream = path.endsWith('/stream');
  return headersNamed([
    'Vary',
    'Cache-Control',
    ...(takesTimes ? ['X-Bookreel-Warning'] : []),
    ...(isStream ? [] : ['Content-Encoding']),
    ...(isStream || !path.includes('{conditionId}') ? [] : ['ETag']),
  ]);
}

const REQUEST_ROWS: Readonly<Record<string, readonly [description: string, example: string]>> = {
  'Accept-Encoding': [
    'zstd or gzip, used if it makes the answer smaller; zstd if both have the same quality. Other encodings are ignored.',
    'zstd, gzip',
  ],
  'Last-Event-ID': [
    'The id of the last event that the client received from a stream with the same path, from, to, outcome and depth. The stream continues after it.',
    'AZudKX0nAAAAAAAA5suY9IjDRFEP',
  ],
  'If-None-Match': [
    'Entity tags of cached answers. The answer is 304 if one of them is current.',
    '"19d7o28jgwf-2t4ltrctgwqlh"',
  ],
};

/** Request headers that change an answer. Media types describe Accept, the security scheme describes Authorization. */
export const HEADER_PARAMETERS: JsonObject = Object.fromEntries(
  Object.entries(REQUEST_ROWS).map(([name, [description, example]]) => [
    name,
    { name, in: 'header', required: false, description, schema: TEXT, example },
  ]),
);

/** The names of a path's request headers among the components. `path` is written as in the document. */
export function acceptedHeaders(path: string): readonly string[] {
  if (!path.startsWith('/v1/') || path.startsWith('/v1/replays')) return [];
  if (path.endsWith('/stream')) return ['Last-Event-ID'];
  return path.includes('{conditionId}') ? ['Accept-Encoding', 'If-None-Match'] : ['Accept-Encoding'];
}
