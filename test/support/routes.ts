import { apiDocument } from './api-document.ts';

/** A route as the API document describes it. */
export interface Route {
  readonly path: string;
  /** The route that a tier must grant; undefined: any valid key is enough, or none is needed. */
  readonly grant: string | undefined;
  /** Names of its query parameters. */
  readonly query: readonly string[];
}

const { paths } = await apiDocument();

/** The routes of a service, by operation. */
export const ROUTES: Readonly<Record<string, Route>> = Object.fromEntries(
  Object.entries(paths).map(([path, { get }]) => {
    const query = get.parameters.flatMap((given) => ('in' in given && given.in === 'query' ? [given.name] : []));
    const grant = /Needs a tier that grants (\w+)\./.exec(get.description)?.[1];
    return [get.operationId, { path, grant, query }] as const;
  }),
);
