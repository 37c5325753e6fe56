/**
 * The origin of this service in the client's URL, for lines to copy. The caller escapes it. X-Forwarded-Proto is trusted from
 * any client: https instead of http makes a line safer, never less safe.
 */
export function originOf(request: Request): string {
  const [scheme = 'http', , authority = ''] = request.url.split('/', 3);
  const isSecure = scheme === 'https:' || /^https\b/i.test(request.headers.get('x-forwarded-proto') ?? '');
  return `${isSecure ? 'https' : 'http'}://${request.headers.get('host') ?? authority}`;
}
