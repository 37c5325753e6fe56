import { type TSchema, Type } from '@sinclair/typebox';
import { CoverageResource } from '../domain/coverage.ts';
import { MarketResource } from '../domain/market.ts';
import { SnapshotResource } from '../domain/orderbook.ts';
import { CoinPriceResource, PriceResource } from '../domain/price.ts';
import { QuoteResource } from '../domain/quote.ts';
import { TierResource } from '../domain/tier.ts';
import { fileKindOf, STREAMED_FORMATS } from '../recording/export/export-format.ts';
import { instantSchema, QUERY_SCHEMAS, TIME_FORMS } from './params.ts';
import { Problem } from './problem.ts';
import { ROUTES, type Route, type RouteName } from './routes.ts';

/** A JSON value. */
type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

interface Operation {
  readonly summary: string;
  readonly description: string;
  readonly tag: 'markets' | 'books' | 'prices' | 'account' | 'service';
  readonly answer: TSchema | undefined;
  /** What answers that are no JSON are. */
  readonly contentType?: string;
  /** Likewise, where there are several. */
  readonly contentTypes?: readonly string[];
}

const list = (schema: TSchema) =>
  Type.Object({
    data: Type.Array(Type.Ref(schema.$id!)),
    nextCursor: Type.Union([Type.String(), Type.Null()], { description: 'null: this was the last page.' }),
  });
const state = Type.Object({ status: Type.String() });
const PAGED =
  'Repeat the request with cursor = nextCursor until that is null; from, to, outcome and order stay the same.';
const TIES = 'Records ascend by (timestamp, id); order=desc turns them round. from and to are both inclusive.';
const TIMES = 'from and to are both inclusive and narrow the records, and the gaps that reach into that time.';

const OPERATIONS: Readonly<Record<RouteName, Operation>> = {
  tiers: {
    summary: 'Tier catalog',
    description:
      'The live catalog: what each tier grants and how many requests a minute it allows. Any valid key may read it.',
    tag: 'account',
    answer: Type.Object({ data: Type.Array(Type.Ref('Tier')) }),
  },
  markets: {
    summary: 'Markets of a coin',
    description: 'The latest window first, ties by conditionId descending.',
    tag: 'markets',
    answer: Type.Object({
      data: Type.Array(Type.Ref('Market')),
      pagination: Type.Object({
        limit: Type.Integer(),
        skip: Type.Integer(),
        count: Type.Integer({ description: 'Markets in this answer.' }),
        hasMore: Type.Boolean(),
      }),
    }),
  },
  market: {
    summary: 'One market',
    description: 'By conditionId or slug, neither with regard to case.',
    tag: 'markets',
    answer: Type.Object({ data: Type.Ref('Market') }),
  },
  snapshots: {
    summary: 'Order book snapshots of a market',
    description: `${TIES} ${PAGED}`,
    tag: 'books',
    answer: list(SnapshotResource),
  },
  nearest: {
    summary: 'Snapshots nearest to an instant',
    description:
      'With outcome: the nearest record of that outcome. Without: the nearest of each outcome that has any, the nearer one first, then up before down. As near before as after: the earlier one. Several records with that timestamp: the one with the highest id. A market without snapshots: an empty list.',
    tag: 'books',
    answer: Type.Object({ data: Type.Array(Type.Ref('Snapshot')) }),
  },
  coverage: {
    summary: 'What is recorded of a market',
    description:
      'Per outcome the first and last snapshot, how many there are, how many of them are one-sided, crossed, empty or a placeholder, and the longest silence; and the gaps that recordings speak of.',
    tag: 'books',
    answer: Type.Object({ data: Type.Ref('Coverage') }),
  },
  marketPrices: {
    summary: 'Prices of a market’s outcomes',
    description: `Midpoints of two-sided books (one record per change) and trades. ${TIES} ${PAGED}`,
    tag: 'prices',
    answer: list(PriceResource),
  },
  quotes: {
    summary: 'Top of book of a market',
    description: `One record per change of the best bid or ask. ${TIES} ${PAGED}`,
    tag: 'books',
    answer: list(QuoteResource),
  },
  export: {
    summary: 'A market as a recording',
    description: `The market, its gaps and every recorded record of it in one answer, streamed; ndjson, msgpack and segments can be imported again. segments is what is stored, as it is stored: the fewest bytes and the least to wait for ([its description](${ROUTES.segmentsForm.path}), [a reader to copy](${ROUTES.segmentReader.path})). A client that was cut off goes on with from = the timestamp of the last record it has: records of that millisecond come again, and an import drops them. ${TIMES} When a recording of the market is imported meanwhile the connection is cut: ask again.`,
    tag: 'books',
    answer: undefined,
    contentTypes: STREAMED_FORMATS.map((format) => fileKindOf(format).mediaType),
  },
  coinPrices: {
    summary: 'Reference prices of a coin',
    description: `From every source that was recorded. ${TIES} ${PAGED}`,
    tag: 'prices',
    answer: list(CoinPriceResource),
  },
  home: {
    summary: 'What this is',
    description: 'Name, version and links.',
    tag: 'service',
    answer: Type.Object({ name: Type.String(), version: Type.String() }),
  },
  openapi: { summary: 'This document', description: 'OpenAPI 3.1.', tag: 'service', answer: Type.Object({}) },
  docs: {
    summary: 'API reference',
    description: 'This document for a browser; needs no network.',
    tag: 'service',
    answer: undefined,
    contentType: 'text/html',
  },
  reference: {
    summary: 'Script of the API reference',
    description: 'What /docs runs; part of the executable.',
    tag: 'service',
    answer: undefined,
    contentType: 'text/javascript',
  },
  segmentsForm: {
    summary: 'The form of segments',
    description: 'What an export with format=segments is made of, byte by byte.',
    tag: 'service',
    answer: undefined,
    contentType: 'text/markdown',
  },
  segmentReader: {
    summary: 'A reader for the form of segments',
    description:
      'One file of TypeScript without imports, to be copied: it gives the snapshots of the API’s pages, in their order, and checks all it reads. For Node, Bun, Deno and browsers.',
    tag: 'service',
    answer: undefined,
    contentType: 'text/plain',
  },
  healthz: { summary: 'Liveness', description: 'The process lives.', tag: 'service', answer: state },
  readyz: {
    summary: 'Readiness',
    description: 'The database answers and the server is not stopping; 503 otherwise.',
    tag: 'service',
    answer: state,
  },
};

const PATH_PARAMETERS: Readonly<Record<string, JsonObject>> = {
  coin: {
    description: 'Coin code, compared in lower case.',
    schema: { type: 'string', minLength: 1 },
    example: 'btc',
  },
  conditionId: {
    description: 'A market’s conditionId or slug, neither with regard to case.',
    schema: { type: 'string', minLength: 1 },
  },
  ts: { description: `${TIME_FORMS}.`, schema: plain(instantSchema()) },
};

const RATE_HEADERS = {
  'X-RateLimit-Limit': { $ref: '#/components/headers/X-RateLimit-Limit' },
  'X-RateLimit-Remaining': { $ref: '#/components/headers/X-RateLimit-Remaining' },
  'X-RateLimit-Reset': { $ref: '#/components/headers/X-RateLimit-Reset' },
  'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
};

/** The OpenAPI 3.1 document: made from the routes that are mounted and the schemas of what they answer. */
export function openApiDocument(version: string): JsonObject {
  return {
    openapi: '3.1.0',
    info: {
      title: 'bookreel',
      version,
      summary: 'Recorded order books of short-horizon up-or-down prediction markets.',
      description:
        'Read-only. Every /v1 path needs an API key; its tier decides coins, routes and requests a minute. Times in answers are ISO 8601 UTC with milliseconds; prices and sizes are exact decimals. Accept: application/msgpack gets the same documents packed; Accept-Encoding zstd and gzip are honoured; answers about resolved markets carry a strong ETag.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    tags: [
      { name: 'markets', description: 'Markets of a coin.' },
      { name: 'books', description: 'Order books and tops of books.' },
      { name: 'prices', description: 'Prices of outcomes and coins.' },
      { name: 'account', description: 'Tiers.' },
      { name: 'service', description: 'The service itself; no key needed.' },
    ],
    paths: Object.fromEntries(
      (Object.keys(ROUTES) as RouteName[]).map((name) => [ROUTES[name].path, { get: operation(name, ROUTES[name]) }]),
    ),
    components: components(),
  };
}

function operation(name: RouteName, route: Route): JsonObject {
  const { summary, description, tag, answer, contentType = 'application/json', contentTypes } = OPERATIONS[name];
  const needsKey = route.path.startsWith('/v1/');
  const schema: Json = answer === undefined ? { type: 'string' } : plain(answer);
  const types = contentTypes ?? (needsKey ? ['application/json', 'application/msgpack'] : [contentType]);
  const content: JsonObject = Object.fromEntries(types.map((type) => [type, { schema }]));
  const failures = needsKey ? keyedFailures(route) : name === 'readyz' ? { '503': ok('Not ready.', content) } : {};
  return {
    operationId: name,
    summary,
    description: route.grant === undefined ? description : `${description} Needs a tier that grants ${route.grant}.`,
    tags: [tag],
    ...(needsKey ? {} : { security: [] }),
    parameters: parametersOf(route),
    responses: { '200': ok('The answer.', content), ...failures },
  };
}

function ok(description: string, content: JsonObject): JsonObject {
  return { description, headers: RATE_HEADERS, content };
}

function keyedFailures(route: Route): JsonObject {
  const named = (name: string): Json => ({ $ref: `#/components/responses/${name}` });
  const aboutMarket = route.path.includes('{conditionId}');
  return {
    ...(aboutMarket ? { '304': named('NotModified') } : {}),
    '400': named('BadRequest'),
    '401': named('Unauthorized'),
    ...(route.grant === undefined ? {} : { '403': named('Forbidden'), '404': named('NotFound') }),
    '429': named('TooManyRequests'),
    '500': named('InternalError'),
    '503': named('ServiceUnavailable'),
  };
}

function parametersOf(route: Route): Json[] {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    ...PATH_PARAMETERS[name!]!,
  }));
  const inQuery = route.query.map((name) => ({
    name,
    in: 'query',
    required: false,
    description: QUERY_SCHEMAS[name].description,
    schema: plain(QUERY_SCHEMAS[name].schema),
  }));
  return [...inPath, ...inQuery];
}

function components(): JsonObject {
  const resources = [
    MarketResource,
    SnapshotResource,
    CoverageResource,
    QuoteResource,
    PriceResource,
    CoinPriceResource,
    TierResource,
    Problem,
  ];
  const header = (description: string, schema: JsonObject): JsonObject => ({ description, schema });
  const problem = (description: string, headers: JsonObject = {}): JsonObject => ({
    description,
    headers: { ...RATE_HEADERS, ...headers },
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  });
  return {
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An API key: br_live_…' } },
    schemas: Object.fromEntries(resources.map((schema) => [schema.$id!, plain(schema)])),
    headers: {
      'X-RateLimit-Limit': header('Requests a minute.', { type: 'integer', minimum: 1 }),
      'X-RateLimit-Remaining': header('Requests left in this window.', { type: 'integer', minimum: 0 }),
      'X-RateLimit-Reset': header('When the window ends, Unix seconds.', { type: 'integer' }),
      'X-Request-Id': header('Names this request.', { type: 'string' }),
      'Retry-After': header('Seconds to wait.', { type: 'integer', minimum: 1 }),
      'WWW-Authenticate': header('Bearer.', { type: 'string' }),
    },
    responses: {
      NotModified: { description: 'The copy that If-None-Match names is current.', headers: RATE_HEADERS },
      BadRequest: problem('A malformed request or a refused parameter.'),
      Unauthorized: problem('No valid key.', {
        'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' },
      }),
      Forbidden: problem('The key’s tier does not grant this route or coin.'),
      NotFound: problem('No such coin or market.'),
      TooManyRequests: problem('The window is used up.', {
        'Retry-After': { $ref: '#/components/headers/Retry-After' },
      }),
      InternalError: problem('A defect here.'),
      ServiceUnavailable: problem('The archive cannot answer.'),
    },
  };
}

/** A schema as plain JSON: without TypeBox's symbols, and with references into the components. */
function plain(schema: object): Json {
  return JSON.parse(
    JSON.stringify(schema, function (this: object, key, value: unknown) {
      if (key === '$id') return undefined;
      return key === '$ref' && typeof value === 'string' && !value.startsWith('#')
        ? `#/components/schemas/${value}`
        : value;
    }),
  ) as Json;
}
