import { ROUTES, type Route } from '../routes.ts';
import { PATH_SCHEMAS, QUERY_SCHEMAS } from '../v1/params.ts';
import { type Json, type JsonObject, openApiSchema } from './openapi-schema.ts';

/** Request headers that make a difference; Accept is described by the media types of the answers, Authorization by the scheme. */
export const HEADER_PARAMETERS: JsonObject = {
  ...headerParameter(
    'Accept-Encoding',
    'zstd and gzip are honoured where they make the answer smaller; of what is liked equally well, zstd. Anything else is ignored.',
    'zstd, gzip',
  ),
  ...headerParameter(
    'Last-Event-ID',
    'The id of the last event that came, of a stream with the same path, from, to, outcome and depth: what follows it is sent.',
    'AZudKX0nAAAAAAAA5suY9IjDRFEP',
  ),
  ...headerParameter(
    'If-None-Match',
    'Entity tags of the copies at hand: 304 when one of them is the answer that would be sent.',
    '"19d7o28jgwf-2t4ltrctgwqlh"',
  ),
};

function headerParameter(name: string, description: string, example: string): JsonObject {
  return { [name]: { name, in: 'header', required: false, description, schema: { type: 'string' }, example } };
}

/** All others have a default, or narrow nothing without a value. */
const REQUIRED_QUERY = 'ts';

/** The parameters of a route; those of the requests in `examples` (paths with queries, by name) are their examples. */
export function parametersOf(route: Route, examples: Readonly<Record<string, string>>): Json[] {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    ...described(PATH_SCHEMAS[name!]!),
    ...given(examples, (request) => valueInPath(route.path, request, name!), PATH_SCHEMAS[name!]!.example),
  }));
  const inQuery = route.query.map((name) => ({
    name,
    in: 'query',
    required: name === REQUIRED_QUERY,
    ...described(QUERY_SCHEMAS[name]!),
    ...given(examples, (request) => new URLSearchParams(request.split('?')[1]).get(name), QUERY_SCHEMAS[name]!.example),
  }));
  return [...inPath, ...inQuery, ...headersOf(route)];
}

function headersOf({ path }: Route): Json[] {
  if (!path.startsWith('/v1/')) return [];
  if (path === ROUTES.stream.path) return [{ $ref: '#/components/parameters/Last-Event-ID' }];
  const names = path.includes('{conditionId}') ? ['Accept-Encoding', 'If-None-Match'] : ['Accept-Encoding'];
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

function described({ description, schema }: { description: string; schema: object }): JsonObject {
  return { description, schema: openApiSchema(schema) };
}

function given(
  examples: Readonly<Record<string, string>>,
  valueIn: (request: string) => string | null,
  otherwise?: string | number,
): JsonObject {
  const values = Object.entries(examples).flatMap(([name, request]) => {
    const text = valueIn(request);
    return text === null ? [] : [[name, { value: typed(text) }] as const];
  });
  if (values.length > 0) return { examples: Object.fromEntries(values) };
  return otherwise === undefined ? {} : { example: otherwise };
}

function valueInPath(template: string, request: string, name: string): string {
  const index = template.split('/').indexOf(`{${name}}`);
  return request.split('?')[0]!.split('/')[index]!;
}

/** Plain digits are integers. */
function typed(text: string): string | number {
  return /^\d+$/.test(text) ? Number(text) : text;
}
