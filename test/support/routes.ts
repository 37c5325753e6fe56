import { apiDocument, operationsOf } from './api-document.ts';

/** A route as the API document describes it. */
export interface Route {
  readonly path: string;
  /** In lower case. */
  readonly method: string;
  /** The route that a tier must grant; undefined: any valid key is enough, or none is needed. */
  readonly grant: string | undefined;
  /** Names of its query parameters. */
  readonly query: readonly string[];
}

const DOCUMENT = await apiDocument();

/** The routes of a service, by operation. */
export const ROUTES: Readonly<Record<string, Route>> = Object.fromEntries(
  operationsOf(DOCUMENT).map(({ path, method, operationId, description, parameters }) => {
    const query = parameters.flatMap((given) => ('in' in given && given.in === 'query' ? [given.name] : []));
    const grant = /Needs a tier that grants (\w+)\./.exec(description)?.[1];
    return [operationId, { path, method, grant, query }] as const;
  }),
);
