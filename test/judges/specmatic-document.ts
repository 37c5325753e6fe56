/** The part of the API document that is used here. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<'get', OpenApiOperation>>>>;
}

interface OpenApiOperation {
  readonly parameters?: readonly OpenApiParameter[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, MediaType>> }>>;
}

interface OpenApiParameter {
  readonly name?: string;
  readonly in?: string;
  readonly required?: boolean;
  readonly schema?: { readonly pattern?: string };
  readonly $ref?: string;
}

interface MediaType {
  readonly examples?: object;
}

/** A subset of the parameters, small enough to test every combination of their values. */
export interface Variation {
  readonly parameters: ReadonlySet<string>;
  /** Only routes with this parameter. */
  readonly having?: string;
}

/**
 * Query parameters that are varied together. All parameters of a series would make 100,000 tests, and Specmatic keeps each test
 * in memory: its report of 25,000 tests needed more than 1 GB. None has a cursor, which the service issues for one request, or
 * headers, which change only the format. The examples have both.
 */
export const VARIATIONS: readonly Variation[] = [
  { parameters: new Set(['from', 'to', 'limit']) },
  { parameters: new Set(['limit', 'skip', 'tf']), having: 'tf' },
  { parameters: new Set(['to', 'limit', 'order', 'outcome']), having: 'outcome' },
  { parameters: new Set(['interval', 'depth']), having: 'interval' },
  { parameters: new Set(['mode', 'maxDistance']), having: 'mode' },
  { parameters: new Set(['asOf']), having: 'asOf' },
];

/** Without its cursor this example equals the one before it. */
const FOLLOWING = 'nextPage';

/** The document without payments, which are off here. */
export function readOnly(document: OpenApiDocument): OpenApiDocument {
  const paths = Object.entries(document.paths).filter(([path]) => !/^\/v1\/billing\/(?!tiers$)/.test(path));
  return { ...document, paths: Object.fromEntries(paths) };
}

/**
 * The document for Specmatic's own variations: the parameters of one variation and the required ones. It has no export, whose
 * format decides its media type, no stream, which takes as long as the recording by default, and one media type per answer,
 * because Specmatic sends no Accept.
 */
export function generatedOnly(document: OpenApiDocument, { parameters, having }: Variation): OpenApiDocument {
  const paths = Object.entries(document.paths)
    .filter(([path, { get }]) => {
      const isWanted = having === undefined || get.parameters?.some((parameter) => nameOf(parameter) === having);
      return isWanted && !path.endsWith('/export') && !path.endsWith('/stream');
    })
    .map(([path, { get }]) => {
      const kept = get.parameters?.filter(
        (parameter) => parameter.required === true || parameters.has(nameOf(parameter)),
      );
      return [path, { get: { ...get, ...(kept === undefined ? {} : { parameters: kept }) } }] as const;
    });
  const varied = withoutExample({ ...document, paths: Object.fromEntries(paths) }, FOLLOWING);
  return withNarrowPatterns(withMediaTypes(varied, (types) => types.slice(0, 1)));
}

/** A parameter's name, or the name of the component to which it refers. */
function nameOf({ name, $ref }: OpenApiParameter): string {
  return name ?? $ref?.slice($ref.lastIndexOf('/') + 1) ?? '';
}

/** The document for Specmatic's unchanged requests: all examples of each media type. */
export function examplesOnly(document: OpenApiDocument): OpenApiDocument {
  const shown = withMediaTypes(document, (types) => {
    const exampled = types.filter(([, { examples }]) => examples !== undefined);
    return exampled.length === 0 ? types.slice(0, 1) : exampled;
  });
  return withNarrowPatterns(shown);
}

/**
 * Limits lists to two items: patterns with many repetitions take Specmatic minutes, or all of its stack. Names of pages have no .md, which
 * would decide the media type.
 */
function withNarrowPatterns(document: OpenApiDocument): OpenApiDocument {
  const paths = Object.entries(document.paths).map(([path, { get }]) => {
    const parameters = get.parameters?.map((parameter) => {
      const { schema } = parameter;
      if (schema?.pattern === undefined) return parameter;
      const pattern = schema.pattern.replace(/\{0,\d+\}\$$/, '{0,1}$').replace('(\\.md)?', '');
      return { ...parameter, schema: { ...schema, pattern } };
    });
    return [path, { get: { ...get, ...(parameters === undefined ? {} : { parameters }) } }] as const;
  });
  return { ...document, paths: Object.fromEntries(paths) };
}

type Entry = readonly [type: string, media: MediaType];

function withMediaTypes(
  document: OpenApiDocument,
  choose: (types: readonly Entry[]) => readonly Entry[],
): OpenApiDocument {
  const paths = Object.entries(document.paths).map(([path, { get }]) => {
    const responses = Object.entries(get.responses).map(([status, response]) => {
      if (response.content === undefined) return [status, response] as const;
      const content = Object.fromEntries(choose(Object.entries(response.content)));
      return [status, { ...response, content }] as const;
    });
    return [path, { get: { ...get, responses: Object.fromEntries(responses) } }] as const;
  });
  return { ...document, paths: Object.fromEntries(paths) };
}

/** The parameters and answers without the example `name`. */
function withoutExample(document: OpenApiDocument, name: string): OpenApiDocument {
  return JSON.parse(
    JSON.stringify(document, (key, value: unknown) => {
      if (key !== 'examples' || typeof value !== 'object' || value === null) return value;
      const kept = Object.entries(value).filter(([of]) => of !== name);
      return kept.length === 0 ? undefined : Object.fromEntries(kept);
    }),
  ) as OpenApiDocument;
}
