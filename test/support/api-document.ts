import { openApiDocument } from '../../src/cli/openapi.ts';

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
}

interface Example {
  readonly summary?: string;
  readonly value: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, Example>>;
}

interface MediaType {
  readonly schema?: Schema;
  readonly examples?: Readonly<Record<string, Example>>;
}

interface Header {
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Schema;
  readonly example: unknown;
}

interface Reference {
  readonly $ref: string;
}

interface Response {
  readonly description: string;
  readonly headers: Readonly<Record<string, Reference>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly (Parameter | Reference)[];
  readonly responses: Readonly<Record<string, Response | Reference>>;
  readonly security?: readonly unknown[];
}

export interface ApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly responses: Readonly<Record<string, Response>>;
  };
}

/** One status of one path, with its references resolved. */
export interface DescribedAnswer {
  readonly path: string;
  readonly status: number;
  readonly description: string;
  /** By name, as the document spells it. */
  readonly headers: Readonly<Record<string, Header>>;
  readonly content: Readonly<Record<string, MediaType>>;
}

/** The document as the sources make it. */
export async function apiDocument(): Promise<ApiDocument> {
  return (await openApiDocument('0.0.0-test', false)) as ApiDocument;
}

export function parametersOf({ components }: ApiDocument, { parameters }: Operation): readonly Parameter[] {
  return parameters.map((given) => ('$ref' in given ? named(components.parameters, given) : given));
}

/** Every operation with its path and its method, in lower case. */
export function operationsOf({
  paths,
}: ApiDocument): readonly (Operation & { readonly path: string; readonly method: string })[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method })),
  );
}

export function answersOf(document: ApiDocument): readonly DescribedAnswer[] {
  const { components } = document;
  return operationsOf(document).flatMap(({ path, responses }) =>
    Object.entries(responses).map(([status, given]) => {
      const response = '$ref' in given ? named(components.responses, given) : given;
      const headers = Object.entries(response.headers).map(([name, at]) => [name, named(components.headers, at)]);
      const { description, content = {} } = response;
      return { path, status: Number(status), description, headers: Object.fromEntries(headers), content };
    }),
  );
}

/** Finds the document's path for a request's path; the finder returns undefined when it has none. */
export function pathFinder({ paths }: ApiDocument): (path: string) => string | undefined {
  const templates = Object.keys(paths).map((template) => {
    const pattern = new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`);
    return { template, pattern };
  });
  return (path) => {
    const requested = path.split('?')[0]!.replace(/(?<=.)\/$/, '');
    return templates.find(({ pattern }) => pattern.test(requested))?.template;
  };
}

function named<T>(components: Readonly<Record<string, T>>, { $ref }: Reference): T {
  const found = components[$ref.slice($ref.lastIndexOf('/') + 1)];
  if (found === undefined) throw new Error(`the document has no ${$ref}`);
  return found;
}
