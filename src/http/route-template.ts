/** `/v1/{coin}/markets`, as in the API document, of a route as the router writes it: `/v1/:coin/markets`. */
export function templateOf(route: string): string {
  return route.replaceAll(/:(\w+)/g, '{$1}');
}
