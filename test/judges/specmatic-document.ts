/** The API document, as far as it is looked at here. */
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

/** A part of the parameters, small enough for every combination of their values to be tried. */
export interface Variation {
  readonly parameters: ReadonlySet<string>;
  /** Only routes that have this one. */
  readonly having?: string;
}

/**
 * Of the query together these are varied; all that a series takes would make 100,000 tests. What is in none of them: a
 * cursor, which the service gives out for one question, and headers, which change an answer's form at the most. The
 * examples have both.
 */
export const VARIATIONS: readonly Variation[] = [
  { parameters: new Set(['from', 'to', 'limit', 'skip', 'tf']) },
  { parameters: new Set(['to', 'limit', 'order', 'outcome']), having: 'outcome' },
  { parameters: new Set(['interval', 'depth']), having: 'interval' },
  { parameters: new Set(['mode', 'maxDistance']), having: 'mode' },
  { parameters: new Set(['asOf']), having: 'asOf' },
];

/** Without its cursor this example is the one in front of it again. */
const FOLLOWING = 'nextPage';

/**
 * What Specmatic may vary as it likes: with the parameters of one variation and what a request needs beside, without the export, whose format decides its
 * media type, without the stream, which takes as long as the recording did unless it is asked not to, and with one media type an answer, for Specmatic asks for none by Accept.
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
  return withShortLists(withMediaTypes(varied, (types) => types.slice(0, 1)));
}

/** A parameter's own name, or that of the component it refers to. */
function nameOf({ name, $ref }: OpenApiParameter): string {
  return name ?? $ref?.slice($ref.lastIndexOf('/') + 1) ?? '';
}

/** What Specmatic is to ask as it stands: all examples, of each media type that has any. */
export function examplesOnly(document: OpenApiDocument): OpenApiDocument {
  const shown = withMediaTypes(document, (types) => {
    const exampled = types.filter(([, { examples }]) => examples !== undefined);
    return exampled.length === 0 ? types.slice(0, 1) : exampled;
  });
  return withShortLists(shown);
}

/** Lists of two at the most: with patterns that repeat for a thousand times Specmatic is busy for minutes. */
function withShortLists(document: OpenApiDocument): OpenApiDocument {
  const paths = Object.entries(document.paths).map(([path, { get }]) => {
    const parameters = get.parameters?.map((parameter) => {
      const { schema } = parameter;
      if (schema?.pattern === undefined) return parameter;
      return { ...parameter, schema: { ...schema, pattern: schema.pattern.replace(/\{0,\d{3}\}\$$/, '{0,1}$') } };
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

/** Parameters and answers without the example of that name. */
function withoutExample(document: OpenApiDocument, name: string): OpenApiDocument {
  return JSON.parse(
    JSON.stringify(document, (key, value: unknown) => {
      if (key !== 'examples' || typeof value !== 'object' || value === null) return value;
      const kept = Object.entries(value).filter(([of]) => of !== name);
      return kept.length === 0 ? undefined : Object.fromEntries(kept);
    }),
  ) as OpenApiDocument;
}
