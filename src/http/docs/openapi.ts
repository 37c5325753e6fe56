import { REFUSED, REQUESTS } from '../openapi/described.ts';
import { examplesOf } from '../openapi/examples.ts';
import { acceptedHeaders, answerHeaders, HEADER_PARAMETERS, headerComponents } from '../openapi/headers.ts';
import { REFUSALS, type RefusalName, refusalComponents, refusalsOf } from '../openapi/refusals.ts';
import { codeSamples } from '../openapi/samples.ts';
import { type Json, type JsonObject, openApiSchema } from '../openapi/schema.ts';
import { manualPath } from '../pages/manual-menu.tsx';
import { GRANT } from '../plugins/access.ts';
import { ALLOWED_METHODS } from '../plugins/mounted-paths.ts';
import { Problem } from '../response/problem.ts';
import { EVENT_STREAM_TYPE } from '../response/responder.ts';

/** A first request and the rules of all paths, readable without Markdown too. */
const DESCRIPTION = `A first request, with the address of this service in BOOKREEL_URL and your key in BOOKREEL_KEY:

\`\`\`sh
curl -s \\
  -H "Authorization: Bearer $BOOKREEL_KEY" \\
  "$BOOKREEL_URL/v1/btc/markets?limit=1"
\`\`\`

The answer is JSON: \`{"data":[…],"pagination":{…}}\`; an error is a problem document with one sentence that says what to do. Then: the books of a market (\`/v1/{coin}/markets/{conditionId}/snapshots\`), its book at an instant (\`…/snapshots/at/{ts}\`), and all of it in one file (\`…/export\`). [The manual](${manualPath()}) explains each subject.

Rules of all paths:

- Times in answers are ISO 8601 UTC with milliseconds. Prices and sizes are exact decimals.
- \`Accept: application/msgpack\` gets the same documents as msgpack; if \`Accept\` gives JSON and msgpack the same quality, the first one is sent. \`Accept-Encoding\` zstd and gzip are supported.
- Answers about resolved markets have a strong \`ETag\`.
- HEAD gets the status and headers of GET without the body, OPTIONS gets a 204 with the methods of the path in \`Allow\` (for most paths \`${ALLOWED_METHODS}\`), and every other method gets a 405 with the same \`Allow\`.
- A trailing slash is ignored. The case of coins, outcomes, conditionIds and slugs is ignored. Unknown and repeated parameters are refused.
- The HTTP parser answers messages that are not HTTP/1.1, or are too long or too slow, with a 4xx or a 505, without the headers described here.
- If the operator allows scripts of other origins, answers also have \`Access-Control-Allow-Origin\` and \`Access-Control-Expose-Headers\`.
- Examples are answers about the simulated recordings in the executable; long books and texts are cut.`;

const SERVICE_INTRO =
  'Read-only, except for the payments under `/v1/billing/x402`. Every path under `/v1` needs an API key, sent as `Authorization: Bearer`. The key’s tier decides the coins, the routes and the requests per minute.';

const REPLAY_INTRO = `A process that replays: every answer is as of the instant of a clock, and nothing later is sent. Paths are about the first replay; with the prefix \`/replays/{replay}\` they are about another one. The paths under \`/v1/replays\` list, create and steer replays; all others are read-only. If other machines can connect, every path under \`/v1\` needs an API key, sent as \`Authorization: Bearer\`, whose tier grants replay. On loopback no key is needed, and no \`X-RateLimit\` header is sent.

The process also serves the venue’s own paths (\`/ws/market\`, \`/book\`, \`/markets\` and others) and those of tardis-machine (\`/replay\`, \`/replay-normalized\`, \`/ws-replay\`, \`/ws-replay-normalized\`). Their own documentation describes them.`;

const TAGS = {
  markets: 'Markets of a coin.',
  books: 'Order books and tops of books.',
  prices: 'Prices of outcomes and coins.',
  account: 'Tiers, the account of a key, and its usage.',
  service: 'The service itself; no key needed.',
  replays: 'Replays and their clocks.',
};
const TAG_OF_GRANT: Readonly<Record<string, keyof typeof TAGS>> = {
  markets: 'markets',
  prices: 'prices',
  any: 'account',
};

/** A document of the swagger plugin: its operations by path and method. */
export interface GatheredDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, GatheredOperation>>>>;
}

type Requests = Readonly<Record<string, string>>;
type Content = Readonly<Record<string, { readonly schema?: JsonObject }>>;

interface GatheredOperation {
  readonly [GRANT]?: string;
  readonly [REFUSED]?: readonly RefusalName[];
  readonly [REQUESTS]?: Requests;
  readonly operationId: string;
  readonly description: string;
  readonly parameters?: readonly GatheredParameter[];
  readonly responses: Readonly<Record<string, { readonly headers: JsonObject; readonly content?: Content }>>;
}

interface GatheredParameter {
  readonly name: string;
  readonly in: string;
  readonly description: string;
  readonly required: boolean;
  readonly schema: JsonObject;
  readonly examples?: readonly Json[];
}

/**
 * The OpenAPI 3.1 document, made from the document that the plugin gathers from the routes. The plugin writes 3.0.3, requires
 * parameters that have a default, and repeats each schema. The common parts of routes are added here: tags, refusals, headers,
 * security, examples.
 */
export function openApiDocument({ paths }: GatheredDocument, version: string, isReplay: boolean): JsonObject {
  const schemas = new Map<string, JsonObject>();
  const refusals = new Set<RefusalName>();
  openApiSchema(Problem, schemas);
  const finishedPaths = Object.entries(paths).map(([path, methods]) => [
    path,
    Object.fromEntries(Object.entries(methods).map(([method, it]) => [method, finished(path, it, refusals)])),
  ]);
  const tags = Object.entries(TAGS).map(([name, description]) => ({
    name,
    description,
    'x-displayName': `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
  }));
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
    tags: tags.filter(({ name }) => isReplay || name !== 'replays'),
    paths: openApiSchema(Object.fromEntries(finishedPaths), schemas),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key: br_live_ and 47 letters and digits.' },
      },
      schemas: Object.fromEntries(schemas),
      parameters: HEADER_PARAMETERS,
      headers: headerComponents(isReplay),
      responses: refusalComponents(refusals),
    },
  };
}

/** Adds the names of the operation's refusals to `refusals`. */
function finished(path: string, gathered: GatheredOperation, refusals: Set<RefusalName>): JsonObject {
  const { [GRANT]: grant, [REFUSED]: stated, [REQUESTS]: requests = {}, ...operation } = gathered;
  const { description, parameters = [], responses, ...rest } = operation;
  const needsGrant = grant !== undefined && grant !== 'any';
  const refusedAs = stated ?? refusalsOf(path, needsGrant);
  for (const name of refusedAs) refusals.add(name);
  const implied = answerHeaders(
    path,
    parameters.some(({ name }) => name === 'asOf'),
  );
  const answers = Object.entries(responses).map(([status, { headers, content, ...response }]) => {
    const shown = content && { content: contentOf(content, Number(status), requests, grant !== undefined) };
    return [status, { ...response, headers: { ...headers, ...implied }, ...shown }];
  });
  const request = Object.values(requests)[0] ?? shownPath(path, parameters);
  return {
    ...(rest as JsonObject),
    ...(request !== undefined && { 'x-codeSamples': codeSamples(operation.operationId, path, request) }),
    tags: [tagOf(path, grant)],
    description: needsGrant ? `${description} Needs a tier that grants ${grant}.` : description,
    ...(path.startsWith('/v1/') ? {} : { security: [] }),
    parameters: [
      ...parameters.map((parameter) => parameterOf(path, parameter, requests)),
      ...acceptedHeaders(path).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    responses: {
      ...Object.fromEntries(
        refusedAs.map((name) => [REFUSALS[name].status, { $ref: `#/components/responses/${name}` }]),
      ),
      ...Object.fromEntries(answers),
    },
  };
}

/** A path outside /v1 with its parameters' examples: these paths have no example requests. */
function shownPath(path: string, parameters: readonly GatheredParameter[]): string | undefined {
  if (path.startsWith('/v1/')) return undefined;
  return path.replace(/\{(\w+)\}/g, (_, name) => String(parameters.find((each) => each.name === name)?.examples?.[0]));
}

function tagOf(path: string, grant: string | undefined): keyof typeof TAGS {
  if (grant !== undefined) return TAG_OF_GRANT[grant] ?? 'books';
  return path.startsWith('/v1/') ? 'replays' : 'service';
}

/** The example requests give a parameter its examples. Its own example is used if no request has the parameter. */
function parameterOf(
  path: string,
  { schema, examples: [example] = [], ...parameter }: GatheredParameter,
  requests: Requests,
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
    schema,
    ...(examples.length > 0 ? { examples: Object.fromEntries(examples) } : example === undefined ? {} : { example }),
  };
}

/** `isPackable`: JSON is also sent as msgpack. Only JSON and texts have examples. */
function contentOf(content: Content, status: number, requests: Requests, isPackable: boolean): JsonObject {
  const media = Object.entries(content).map(([type, { schema }]) => {
    if (schema === undefined) return [type, {}];
    const asked = Object.entries(requests).filter(([, request]) => typeOf(request) === type);
    return [type, { schema, ...examplesOf(status, Object.fromEntries(asked)) }];
  });
  const json = isPackable ? content['application/json'] : undefined;
  return { ...Object.fromEntries(media), ...(json && { 'application/msgpack': json }) };
}

/** The media type of the answer to an example request. */
function typeOf(request: string): string {
  if (request.includes('/stream?')) return EVENT_STREAM_TYPE;
  if (request.includes('format=csv')) return 'text/csv';
  return request.includes('format=ndjson') ? 'application/x-ndjson' : 'application/json';
}
