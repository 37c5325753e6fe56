import { REFUSED, REQUESTS } from '../openapi/described.ts';
import { examplesOf } from '../openapi/examples.ts';
import { acceptedHeaders, HEADER_PARAMETERS, HEADERS, REPLAY_HEADERS } from '../openapi/headers.ts';
import { REFUSALS, type RefusalName, refusalComponents, refusalsOf } from '../openapi/refusals.ts';
import { type Json, type JsonObject, openApiSchema } from '../openapi/schema.ts';
import { GRANT } from '../plugins/access.ts';
import { ALLOWED_METHODS } from '../plugins/mounted-paths.ts';
import { Problem } from '../response/problem.ts';
import { EVENT_STREAM_TYPE } from '../response/responder.ts';
import { manualPath } from './manual-page.ts';

/** What is true of all paths; readable without Markdown too. */
const DESCRIPTION = `The manual is at ${manualPath()}.

Times in answers are ISO 8601 UTC with milliseconds; prices and sizes are exact decimals. Accept: application/msgpack gets the same documents packed (of JSON and msgpack liked alike, the one named first is sent); Accept-Encoding zstd and gzip are honoured; answers about resolved markets carry a strong ETag.

The paths are described for GET. HEAD gets the same status and headers without the body, OPTIONS a 204 with Allow: ${ALLOWED_METHODS}, and every other method a 405 with the same. A trailing slash makes no difference. Coins, outcomes, conditionIds and slugs are compared without regard to case. A parameter that is unknown or given twice is refused. Examples are answers about the simulated recordings that are part of the program, cut where books and texts are long.

What the HTTP parser refuses itself (messages that are no HTTP/1.1, longer than it reads, or too slow) gets a 4xx or a 505 without the headers named here. Where the operator allows scripts of other origins, answers have Access-Control-Allow-Origin and Access-Control-Expose-Headers as well.`;

const SERVICE_INTRO =
  'Read-only. Every path under /v1 needs an API key, sent as Authorization: Bearer; its tier decides coins, routes and requests a minute.';

const REPLAY_INTRO = `A process that replays: everything is answered as at the instant of a clock, and nothing later is sent. Paths speak of the first replay; with /replays/{replay} in front they speak of another one. Those under /v1/replays list, create and steer replays; all others are read-only. Where others than this machine can connect every path under /v1 needs an API key, sent as Authorization: Bearer, whose tier grants replay; on loopback none does, and no X-RateLimit header is sent.

Beside what is described here it has the venue’s own paths (/ws/market, /book, /markets and so on) and those of tardis-machine (/replay, /replay-normalized, /ws-replay, /ws-replay-normalized), which their own documentation describes.`;

/** A document of the swagger plugin: its operations by path and method. */
export interface GatheredDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, GatheredOperation>>>>;
}

interface GatheredOperation {
  readonly [GRANT]?: string;
  readonly [REFUSED]?: readonly RefusalName[];
  readonly [REQUESTS]?: Readonly<Record<string, string>>;
  readonly description: string;
  readonly parameters?: readonly GatheredParameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema?: object }>>;

interface GatheredParameter {
  readonly name: string;
  readonly in: string;
  readonly description: string;
  readonly required: boolean;
  readonly schema: JsonObject;
  readonly examples?: readonly Json[];
}

/**
 * The OpenAPI 3.1 document, of what the plugin gathers from the routes. The plugin writes 3.0.3; it does not know that a parameter with a
 * default may be left out, and repeats a schema in each place. What all routes of a kind have in common is added here: refusals,
 * request headers, security, examples.
 */
export function openApiDocument({ paths }: GatheredDocument, version: string, isReplay: boolean): JsonObject {
  const schemas = new Map<string, JsonObject>();
  const refusals = new Set<RefusalName>();
  openApiSchema(Problem, schemas);
  const finish = (path: string, operation: GatheredOperation) => finished(path, operation, schemas, refusals);
  const finishedPaths = Object.entries(paths).map(([path, methods]) => [
    path,
    Object.fromEntries(Object.entries(methods).map(([method, operation]) => [method, finish(path, operation)])),
  ]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'bookreel',
      description: `${isReplay ? REPLAY_INTRO : SERVICE_INTRO}\n\n${DESCRIPTION}`,
      version,
      summary: 'Recorded order books of short-horizon up-or-down prediction markets.',
      contact: { name: 'The operator of this service' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'This service.' }],
    security: isReplay ? [{ bearer: [] }, {}] : [{ bearer: [] }],
    tags: [
      { name: 'markets', description: 'Markets of a coin.' },
      { name: 'books', description: 'Order books and tops of books.' },
      { name: 'prices', description: 'Prices of outcomes and coins.' },
      { name: 'account', description: 'Tiers.' },
      { name: 'service', description: 'The service itself; no key needed.' },
      ...(isReplay ? [{ name: 'replays', description: 'What is replayed, and its clocks.' }] : []),
    ],
    paths: Object.fromEntries(finishedPaths),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key: br_live_ and 47 letters and digits.' },
      },
      schemas: Object.fromEntries(schemas),
      parameters: HEADER_PARAMETERS,
      headers: isReplay ? REPLAY_HEADERS : HEADERS,
      responses: refusalComponents(refusals),
    },
  };
}

function finished(
  path: string,
  { [GRANT]: grant, [REFUSED]: stated, [REQUESTS]: requests = {}, ...operation }: GatheredOperation,
  schemas: Map<string, JsonObject>,
  refusals: Set<RefusalName>,
): JsonObject {
  const { description, parameters = [], requestBody, responses, ...rest } = operation;
  const needsGrant = grant !== undefined && grant !== 'any';
  const refusedAs = stated ?? refusalsOf(path, needsGrant);
  for (const name of refusedAs) refusals.add(name);
  const answers = Object.entries(responses).map(([status, { content, ...response }]) => [
    status,
    {
      ...response,
      ...(content === undefined ? {} : { content: contentOf(content, Number(status), requests, schemas) }),
    },
  ]);
  return {
    ...(rest as JsonObject),
    description: needsGrant ? `${description} Needs a tier that grants ${grant}.` : description,
    ...(path.startsWith('/v1/') ? {} : { security: [] }),
    parameters: [
      ...parameters.map((parameter) => parameterOf(path, parameter, requests, schemas)),
      ...acceptedHeaders(path).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(requestBody === undefined
      ? {}
      : { requestBody: { ...requestBody, content: contentOf(requestBody.content, 0, {}, schemas) } }),
    responses: {
      ...Object.fromEntries(
        refusedAs.map((name) => [REFUSALS[name].status, { $ref: `#/components/responses/${name}` }]),
      ),
      ...Object.fromEntries(answers),
    },
  };
}

/** The requests of the examples give its values; where none has the parameter, its own example does. */
function parameterOf(
  path: string,
  { schema, examples: [example] = [], ...parameter }: GatheredParameter,
  requests: Readonly<Record<string, string>>,
  schemas: Map<string, JsonObject>,
): JsonObject {
  const { name, in: where, required } = parameter;
  const examples = Object.entries(requests).flatMap(([of, request]) => {
    const [pathname = '', search] = request.split('?');
    const value =
      where === 'path'
        ? pathname.split('/')[path.split('/').indexOf(`{${name}}`)]
        : (new URLSearchParams(search).get(name) ?? undefined);
    // Plain digits are integers.
    return value === undefined ? [] : [[of, { value: /^\d+$/.test(value) ? Number(value) : value }] as const];
  });
  return {
    ...parameter,
    required: required && schema.default === undefined,
    schema: openApiSchema(schema, schemas),
    ...(examples.length > 0 ? { examples: Object.fromEntries(examples) } : example === undefined ? {} : { example }),
  };
}

/** Examples are those of JSON, which msgpack repeats; bytes have none. */
function contentOf(
  content: Content,
  status: number,
  requests: Readonly<Record<string, string>>,
  schemas: Map<string, JsonObject>,
): JsonObject {
  return Object.fromEntries(
    Object.entries(content).map(([type, { schema }]) => {
      if (schema === undefined) return [type, {}];
      const asked = Object.entries(requests).filter(([, request]) => typeOf(request) === type);
      const examples = examplesOf(status, Object.fromEntries(asked));
      const shown = Object.keys(examples).length === 0 ? {} : { examples };
      return [type, { schema: openApiSchema(schema, schemas), ...shown }];
    }),
  );
}

/** The media type that a request for an example gets. */
function typeOf(request: string): string {
  if (request.includes('/stream?')) return EVENT_STREAM_TYPE;
  if (request.includes('format=csv')) return 'text/csv';
  return request.includes('format=ndjson') ? 'application/x-ndjson' : 'application/json';
}
