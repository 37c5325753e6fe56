export const ALLOWED_METHODS = 'GET, HEAD, OPTIONS';

/** A route of the router. Its path has `:name` for each parameter, and may end with a star. */
interface MountedRoute {
  readonly method: string;
  readonly path: string;
}

/** The router's method of sockets. */
const SOCKET = 'WS';
/** In the order of an Allow header. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

export class MountedPaths {
  readonly #routes: () => readonly MountedRoute[];
  #methods: readonly { readonly pattern: RegExp; readonly method: string }[] | undefined;

  /** `routes` is called once, on first use. */
  constructor(routes: () => readonly MountedRoute[]) {
    this.#routes = routes;
  }

  /** The methods of a path, for Allow; undefined without one. Ignores a last slash, and routes with a star. */
  methodsAt(pathname: string): string | undefined {
    const mounted = this.#methodsOf(pathname);
    if (mounted.has('GET')) mounted.add('HEAD');
    const allowed = METHODS.filter((method) => mounted.has(method));
    return allowed.length === 0 ? undefined : [...allowed, 'OPTIONS'].join(', ');
  }

  /** Returns true if a client may open a WebSocket at a path. Ignores a trailing slash. */
  hasSocketAt(pathname: string): boolean {
    return this.#methodsOf(pathname).has(SOCKET);
  }

  #methodsOf(pathname: string): Set<string> {
    this.#methods ??= this.#routes().map(({ method, path }) => ({ method, pattern: patternOf(path) }));
    return new Set(this.#methods.flatMap(({ method, pattern }) => (pattern.test(pathname) ? method : [])));
  }
}

function patternOf(path: string): RegExp {
  const pattern = path.replace(/\/$/, '').replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+');
  return path.endsWith('*') ? /^(?!)/ : new RegExp(`^${pattern}/?$`);
}
