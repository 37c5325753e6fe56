export const ALLOWED_METHODS = 'GET, HEAD, OPTIONS';

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
