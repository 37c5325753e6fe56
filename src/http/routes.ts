import type { Grant } from '../domain/tier.ts';

/** One path of the service. The controllers mount these, the gate enforces them, the API document describes them. */
export interface Route {
  /** With `{name}` for each path parameter. */
  readonly path: string;
  /** The grant that a tier needs; undefined: any valid key will do. Only `/v1` paths ask for a key. */
  readonly grant: Grant | undefined;
  /** Names of its query parameters. */
  readonly query: readonly string[];
}

const SERIES_QUERY = ['from', 'to', 'limit', 'cursor', 'order', 'interval', 'asOf'] as const;
const OUTCOME_SERIES_QUERY = [...SERIES_QUERY, 'outcome'] as const;
const NEAREST_QUERY = ['outcome', 'mode', 'maxDistance', 'depth', 'asOf'] as const;
const MARKETS_QUERY = ['tf', 'limit', 'skip', 'recorded', 'closed', 'from', 'to', 'include', 'asOf'] as const;
const MARKET = '/v1/{coin}/markets/{conditionId}';

export const ROUTES = {
  tiers: { path: '/v1/billing/tiers', grant: undefined, query: [] },
  coins: { path: '/v1/coins', grant: 'markets', query: ['asOf'] },
  markets: { path: '/v1/{coin}/markets', grant: 'markets', query: MARKETS_QUERY },
  market: { path: MARKET, grant: 'markets', query: ['include', 'asOf'] },
  snapshots: { path: `${MARKET}/snapshots`, grant: 'snapshots', query: [...OUTCOME_SERIES_QUERY, 'depth'] },
  nearest: { path: `${MARKET}/snapshots/at/{ts}`, grant: 'snapshots', query: NEAREST_QUERY },
  nearestOfEach: { path: `${MARKET}/snapshots/at`, grant: 'snapshots', query: ['ts', ...NEAREST_QUERY] },
  stream: {
    path: `${MARKET}/stream`,
    grant: 'snapshots',
    query: ['from', 'to', 'speed', 'outcome', 'depth', 'asOf'],
  },
  coverage: { path: `${MARKET}/coverage`, grant: 'snapshots', query: ['asOf'] },
  marketPrices: { path: `${MARKET}/prices`, grant: 'prices', query: OUTCOME_SERIES_QUERY },
  quotes: { path: `${MARKET}/quotes`, grant: 'quotes', query: OUTCOME_SERIES_QUERY },
  export: { path: `${MARKET}/export`, grant: 'export', query: ['format', 'from', 'to', 'asOf'] },
  coinPrices: { path: '/v1/{coin}/prices', grant: 'prices', query: SERIES_QUERY },
  home: { path: '/', grant: undefined, query: [] },
  openapi: { path: '/openapi.json', grant: undefined, query: [] },
  llms: { path: '/llms.txt', grant: undefined, query: [] },
  docs: { path: '/docs', grant: undefined, query: [] },
  segmentReader: { path: '/docs/segment-reader.ts', grant: undefined, query: [] },
  manual: { path: '/docs/{page}', grant: undefined, query: [] },
  healthz: { path: '/healthz', grant: undefined, query: [] },
  readyz: { path: '/readyz', grant: undefined, query: [] },
} as const satisfies Record<string, Route>;

export type RouteName = keyof typeof ROUTES;
/** A query parameter by name; params.ts reads them. */
export type QueryName = (typeof ROUTES)[RouteName]['query'][number];

export const ALLOWED_METHODS = 'GET, HEAD, OPTIONS';

type ElysiaPath<Path extends string> = Path extends `${infer Before}{${infer Name}}${infer After}`
  ? `${Before}:${Name}${ElysiaPath<After>}`
  : Path;

/** `/v1/{coin}/markets` as the router writes it: `/v1/:coin/markets`. */
export function routerPath<Name extends RouteName>(name: Name): ElysiaPath<(typeof ROUTES)[Name]['path']> {
  const path: string = ROUTES[name].path;
  return path.replaceAll('{', ':').replaceAll('}', '') as ElysiaPath<(typeof ROUTES)[Name]['path']>;
}

/** A page of the manual; `manual` is the list of them, and `.md` after a name gets its Markdown. */
export function manualPath(name = 'manual'): string {
  return ROUTES.manual.path.replace('{page}', name);
}

/** The prefix of the paths of one replay, as the router writes it. */
export const REPLAY_PREFIX = '/replays/:replay';

/** The route of a router's path, for the gate; undefined for the router's catch-all. */
export function routeOf(pathOfRouter: string): Route | undefined {
  return BY_ROUTER_PATH.get(
    pathOfRouter.startsWith(REPLAY_PREFIX) ? pathOfRouter.slice(REPLAY_PREFIX.length) : pathOfRouter,
  );
}

const BY_ROUTER_PATH: ReadonlyMap<string, Route> = new Map(
  (Object.keys(ROUTES) as RouteName[]).map((name) => [routerPath(name), ROUTES[name]]),
);

/** A route as the router lists it: its path with `:name` for each parameter, or with a star for the rest. */
interface MountedRoute {
  readonly method: string;
  readonly path: string;
}

/** In the order in which an Allow header has them. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** The paths that exist: those of the routes that are mounted. */
export class MountedPaths {
  readonly #routes: () => readonly MountedRoute[];
  #methods: readonly { readonly pattern: RegExp; readonly method: string }[] | undefined;

  /** `routes` is called once, by the first look-up. */
  constructor(routes: () => readonly MountedRoute[]) {
    this.#routes = routes;
  }

  /**
   * The methods of a path, as an Allow header has them; undefined where there is no such path. A trailing slash makes no
   * difference; a route that ends with a star counts for no path.
   */
  methodsAt(pathname: string): string | undefined {
    this.#methods ??= this.#routes().map(({ method, path }) => ({ method, pattern: patternOf(path) }));
    const mounted = new Set(this.#methods.flatMap(({ method, pattern }) => (pattern.test(pathname) ? method : [])));
    if (mounted.has('GET')) mounted.add('HEAD');
    const allowed = METHODS.filter((method) => mounted.has(method));
    return allowed.length === 0 ? undefined : [...allowed, 'OPTIONS'].join(', ');
  }
}

function patternOf(path: string): RegExp {
  const pattern = path.replace(/\/$/, '').replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+');
  return path.endsWith('*') ? /^(?!)/ : new RegExp(`^${pattern}/?$`);
}
