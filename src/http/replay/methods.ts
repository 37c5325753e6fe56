/** A route as a router lists it: its path with `:name` for each parameter, and a star for whatever follows. */
interface MountedRoute {
  readonly method: string;
  readonly path: string;
}

/** In the order in which an Allow header has them. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * What may be done with a path, as an Allow header has it; undefined where none of `routes` has that path. A trailing slash
 * makes no difference; a route for whatever follows says nothing of what there is.
 */
export function methodsAt(routes: readonly MountedRoute[], pathname: string): string | undefined {
  const mounted = new Set(routes.filter(({ path }) => patternOf(path).test(pathname)).map(({ method }) => method));
  if (mounted.has('GET')) mounted.add('HEAD');
  const allowed = METHODS.filter((method) => mounted.has(method));
  return allowed.length === 0 ? undefined : [...allowed, 'OPTIONS'].join(', ');
}

function patternOf(path: string): RegExp {
  const pattern = path.replace(/\/$/, '').replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+');
  // A star stands in no path that exists.
  return path.endsWith('*') ? /^(?!)/ : new RegExp(`^${pattern}/?$`);
}
