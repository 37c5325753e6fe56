import { EVENT_STREAM_TYPE } from '../response/responder.ts';
import { ROUTES, type Route, type RouteName } from '../routes.ts';
import { examplesOf } from './openapi-examples.ts';
import { OPERATIONS, type Operation } from './openapi-operations.ts';
import { type Json, type JsonObject, openApiSchema } from './openapi-schema.ts';

/** What every answer has, but those of the HTTP parser. */
const ALWAYS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
  'X-Content-Type-Options',
];
const PROBLEM_TYPE = 'application/problem+json';

/** A refusal that several routes share. */
interface Refusal {
  readonly status: number;
  readonly description: string;
  /** In addition to those of every answer. */
  readonly headers: readonly string[];
  /** Requests that get it, by name; the test that sends them has the other conditions. */
  readonly examples: Readonly<Record<string, string>>;
}

const MARKET = '/v1/btc/markets/0x51301a7ed09337c50fa1c946ad8013953f71f5dd6e51b7bc5621f86409cb52c1';
/** Of refusals that may come after parameters were read. */
const WARNED = ['X-Bookreel-Warning'];

export const REFUSALS = {
  NotModified: {
    status: 304,
    description: 'The copy that If-None-Match names is current. Only about resolved markets.',
    headers: ['ETag', 'Vary', 'X-Bookreel-Warning'],
    examples: {},
  },
  MalformedRequest: problem(400, 'A malformed URL or Host.', [], { malformedEscape: '/?%ZZ' }),
  BadRequest: problem(
    400,
    'A malformed URL or Host, or parameters that were refused: each is named, 32 at the most.',
    WARNED,
    {
      outOfBounds: '/v1/btc/markets?limit=0&tf=2h',
      unknownParameter: '/v1/btc/markets?timeframe=5m',
      windowTurnedRound: `${MARKET}/quotes?from=2026-01-08T10:35:00Z&to=2026-01-08T10:30:00Z`,
      foreignCursor: '/v1/btc/prices?cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAA',
      malformedEscape: '/v1/btc/markets?tf=%ZZ',
    },
  ),
  Unauthorized: problem(
    401,
    'No key, or none that is valid: unknown, revoked and mistyped keys get the same answer.',
    ['WWW-Authenticate'],
    { noKey: '/v1/btc/markets' },
  ),
  Forbidden: problem(403, 'The key’s tier does not grant this route or coin.', [], {
    route: `${MARKET}/snapshots`,
    coin: '/v1/eth/markets',
  }),
  NotFound: problem(404, 'No such coin or market.', WARNED, {
    coin: '/v1/nosuchcoin/markets',
    market: '/v1/btc/markets/0x99',
    path: '/v1/nothing',
  }),
  TooManyRequests: problem(
    429,
    'The window is used up, or the key has too many streams open; requests without a valid key share the window of their address.',
    ['Retry-After'],
    { keyUsedUp: '/v1/btc/markets' },
  ),
  InternalError: problem(500, 'A defect here.', WARNED, { defect: '/readyz' }),
  ServiceUnavailable: problem(503, 'The archive cannot answer, or too many exports or streams are under way.', WARNED, {
    archiveCannotAnswer: '/v1/billing/tiers',
  }),
} as const satisfies Readonly<Record<string, Refusal>>;

/** A refusal that says why; nobody may keep it. `headers`: those that others do not have. */
export function problem(
  status: number,
  description: string,
  headers: readonly string[],
  examples: Refusal['examples'],
): Refusal {
  return { status, description, headers: ['Cache-Control', ...headers], examples };
}

/** The statuses of a route, each with what it holds. */
export function responsesOf(name: RouteName, route: Route): JsonObject {
  const refusals = refusalsOf(route).map((refusal) => [
    String(REFUSALS[refusal].status),
    { $ref: `#/components/responses/${refusal}` },
  ]);
  const { content, headers, examples } = OPERATIONS[name];
  const answer = (status: number, description: string) => ({
    description,
    headers: headersNamed(headers),
    content: contentOf(content, status, examples),
  });
  const notReady = name === 'readyz' ? { '503': answer(503, 'Not ready.') } : {};
  return { '200': answer(200, 'The answer.'), ...Object.fromEntries(refusals), ...notReady };
}

function refusalsOf({ path, grant }: Route): readonly (keyof typeof REFUSALS)[] {
  // Health checks are not counted.
  if (path === '/healthz' || path === '/readyz') return ['MalformedRequest', 'InternalError'];
  if (path === ROUTES.manual.path) return ['MalformedRequest', 'NotFound', 'TooManyRequests', 'InternalError'];
  if (!path.startsWith('/v1/')) return ['MalformedRequest', 'TooManyRequests', 'InternalError'];
  return [
    ...(path.includes('{conditionId}') && path !== ROUTES.stream.path ? (['NotModified'] as const) : []),
    ...(['BadRequest', 'Unauthorized'] as const),
    ...(grant === undefined ? [] : (['Forbidden'] as const)),
    ...(path.includes('{coin}') ? (['NotFound'] as const) : []),
    ...(['TooManyRequests', 'InternalError', 'ServiceUnavailable'] as const),
  ];
}

/** The refusals as components. */
export function refusalComponents(refusals: Readonly<Record<string, Refusal>> = REFUSALS): JsonObject {
  return Object.fromEntries(
    Object.entries(refusals).map(([name, { status, description, headers, examples }]) => {
      const said = { description, headers: headersNamed(headers) };
      if (status === 304) return [name, said];
      const schema = { $ref: '#/components/schemas/Problem' };
      return [name, { ...said, content: { [PROBLEM_TYPE]: { schema, ...exampled(status, examples) } } }];
    }),
  );
}

/** Examples are those of JSON, which msgpack repeats; bytes have none. */
function contentOf(content: Operation['content'], status: number, requests: Operation['examples']): JsonObject {
  return Object.fromEntries(
    Object.entries(content).map(([type, schema]) => {
      if (schema === undefined) return [type, {}];
      const named = schema.$id === undefined ? schema : { $ref: schema.$id };
      const asked = Object.entries(requests).filter(([, request]) => typeOf(request) === type);
      return [type, { schema: openApiSchema(named), ...exampled(status, Object.fromEntries(asked)) }];
    }),
  );
}

function exampled(status: number, requests: Readonly<Record<string, string>>): JsonObject {
  const examples = examplesOf(status, requests);
  return Object.keys(examples).length === 0 ? {} : { examples };
}

/** The media type that a request for an example gets. */
function typeOf(request: string): string {
  if (request.includes('/stream?')) return EVENT_STREAM_TYPE;
  if (request.includes('format=csv')) return 'text/csv';
  return request.includes('format=ndjson') ? 'application/x-ndjson' : 'application/json';
}

export function headersNamed(names: readonly string[]): JsonObject {
  return Object.fromEntries([...ALWAYS, ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

export const header = (description: string, schema: JsonObject, example: Json, required = false): JsonObject => ({
  description,
  ...(required ? { required } : {}),
  schema,
  example,
});
const TEXT = { type: 'string' };
/** A header that always has this value. */
const fixed = (description: string, value: string, required = false) =>
  header(description, { type: 'string', enum: [value] }, value, required);

/** Every header of an answer that is particular to this service, or decides what a client does. */
export const HEADERS: JsonObject = {
  'X-RateLimit-Limit': header('Requests a minute.', { type: 'integer', minimum: 1 }, 300, true),
  'X-RateLimit-Remaining': header('Requests left in this window.', { type: 'integer', minimum: 0 }, 299, true),
  'X-RateLimit-Reset': header('When the window ends, Unix seconds.', { type: 'integer', minimum: 0 }, 1767868380, true),
  'X-Request-Id': header(
    'Names this request; a trusted proxy may have named it.',
    { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$' },
    'adf59b20-3770-4b11-b127-754c23497cf7',
    true,
  ),
  'X-Content-Type-Options': fixed('Always nosniff.', 'nosniff', true),
  'X-Bookreel-Warning': header(
    'The request was served as it stands, and is probably not what was meant: times that look like seconds.',
    TEXT,
    'from=1767868300 looks like seconds; integer times are Unix milliseconds',
  ),
  ETag: header(
    'A strong entity tag, of answers about resolved markets.',
    { type: 'string', pattern: '^"[0-9a-z]+-[0-9a-z]+"$' },
    '"19d7o28jgwf-2t4ltrctgwqlh"',
  ),
  Vary: header('What else an answer depends on.', TEXT, 'Accept, Accept-Encoding', true),
  'Cache-Control': header('What may be kept: refusals never.', TEXT, 'private, no-cache'),
  'Content-Encoding': header(
    'Where compression makes the answer smaller and the client takes it.',
    { type: 'string', enum: ['zstd', 'gzip'] },
    'zstd',
  ),
  'X-Accel-Buffering': fixed(
    'Of streams: a proxy that collects answers must pass this one on as it comes.',
    'no',
    true,
  ),
  'Content-Disposition': header(
    'A name for the file.',
    { type: 'string', pattern: '^attachment; filename="[A-Za-z0-9._-]+"$' },
    'attachment; filename="simulated-btc-updown-5m-1767868200.ndjson"',
    true,
  ),
  'Retry-After': header(
    'Seconds to wait until the window ends, or a stream may have.',
    { type: 'integer', minimum: 1, maximum: 60 },
    42,
    true,
  ),
  'WWW-Authenticate': fixed('Always Bearer.', 'Bearer', true),
  'Content-Security-Policy': header('What a browser that shows it may load.', TEXT, "default-src 'none'"),
  'Referrer-Policy': fixed('Of pages.', 'no-referrer'),
  'Cross-Origin-Opener-Policy': fixed('Of pages.', 'same-origin'),
};
