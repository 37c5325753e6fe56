import type { TSchema } from 'typebox';
import { ALLOWED_METHODS, manualPath, ROUTES, type Route, type RouteName } from '../routes.ts';
import { OPERATIONS, SCHEMAS } from './openapi-operations.ts';
import { HEADER_PARAMETERS, parametersOf } from './openapi-parameters.ts';
import { HEADERS, refusalComponents, responsesOf } from './openapi-responses.ts';
import { type JsonObject, openApiSchema } from './openapi-schema.ts';

/** What is true of all paths; readable without Markdown too. */
const DESCRIPTION = `The manual is at ${manualPath()}.

Times in answers are ISO 8601 UTC with milliseconds; prices and sizes are exact decimals. Accept: application/msgpack gets the same documents packed (of JSON and msgpack liked alike, the one named first is sent); Accept-Encoding zstd and gzip are honoured; answers about resolved markets carry a strong ETag.

The paths are described for GET. HEAD gets the same status and headers without the body, OPTIONS a 204 with Allow: ${ALLOWED_METHODS}, and every other method a 405 with the same. A trailing slash makes no difference. Coins, outcomes, conditionIds and slugs are compared without regard to case. A parameter that is unknown or given twice is refused. Examples are answers about the simulated recordings that are part of the program, cut where books and texts are long.

What the HTTP parser refuses itself (messages that are no HTTP/1.1, longer than it reads, or too slow) gets a 4xx or a 505 without the headers named here. Where the operator allows scripts of other origins, answers have Access-Control-Allow-Origin and Access-Control-Expose-Headers as well.`;

/** What a document has of its own. */
export interface Edition {
  readonly intro: string;
  /** Under /v1. */
  readonly security: readonly JsonObject[];
  readonly tags?: readonly JsonObject[];
  readonly paths?: JsonObject;
  readonly schemas?: readonly TSchema[];
  readonly responses?: JsonObject;
  /** By their names among the components; they take the place of others of their names. */
  readonly headers?: JsonObject;
}

const SERVICE: Edition = {
  intro:
    'Read-only. Every path under /v1 needs an API key, sent as Authorization: Bearer; its tier decides coins, routes and requests a minute.',
  security: [{ bearer: [] }],
};

/** The OpenAPI 3.1 document: made from the routes that are mounted and the schemas of what they take and answer. */
export function openApiDocument(version: string, edition: Edition = SERVICE): JsonObject {
  const names = Object.keys(ROUTES) as RouteName[];
  return {
    openapi: '3.1.0',
    // In this order: the plugin that serves the document puts these three in front.
    info: {
      title: 'bookreel',
      description: `${edition.intro}\n\n${DESCRIPTION}`,
      version,
      summary: 'Recorded order books of short-horizon up-or-down prediction markets.',
      contact: { name: 'The operator of this service' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'This service.' }],
    security: edition.security,
    tags: [
      { name: 'markets', description: 'Markets of a coin.' },
      { name: 'books', description: 'Order books and tops of books.' },
      { name: 'prices', description: 'Prices of outcomes and coins.' },
      { name: 'account', description: 'Tiers.' },
      { name: 'service', description: 'The service itself; no key needed.' },
      ...(edition.tags ?? []),
    ],
    paths: {
      ...Object.fromEntries(names.map((name) => [ROUTES[name].path, { get: operation(name, ROUTES[name]) }])),
      ...edition.paths,
    },
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key: br_live_ and 47 letters and digits.' },
      },
      schemas: Object.fromEntries(
        [...SCHEMAS, ...(edition.schemas ?? [])].map((schema) => [schema.$id!, openApiSchema(schema)]),
      ),
      parameters: HEADER_PARAMETERS,
      headers: { ...HEADERS, ...edition.headers },
      responses: { ...refusalComponents(), ...edition.responses },
    },
  };
}

function operation(name: RouteName, route: Route): JsonObject {
  const { summary, description, tag, examples } = OPERATIONS[name];
  return {
    operationId: name,
    summary,
    description: route.grant === undefined ? description : `${description} Needs a tier that grants ${route.grant}.`,
    tags: [tag],
    ...(route.path.startsWith('/v1/') ? {} : { security: [] }),
    parameters: parametersOf(route, examples),
    responses: responsesOf(name, route),
  };
}
