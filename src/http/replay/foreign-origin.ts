import { DomainError } from '../../domain/errors.ts';

/**
 * Throws 'forbidden' if a page of another origin steers a replay or listens to it. Browsers send such requests without a
 * preflight (Fetch standard, 3.2; sockets have no CORS), with the page's origin. Reads are not refused: the browser keeps the
 * answer from the page. A page may listen if `mayListen` allows it.
 */
export function refuseForeignOrigin(request: Request, mayListen: (request: Request) => boolean): void {
  const origin = request.headers.get('origin');
  if (origin === null) return;
  const steers = request.method !== 'GET' && request.method !== 'HEAD' && request.method !== 'OPTIONS';
  const listens = request.headers.has('upgrade');
  if (!steers && !listens) return;
  if (isOwn(origin, request.headers.get('host'))) return;
  if (!steers && mayListen(request)) return;
  throw new DomainError('forbidden', 'pages of other origins may neither steer a replay nor listen to it');
}

/** True if a page is from the requested host. The origin of files and sandboxes is `null`, which has no host. */
function isOwn(origin: string, host: string | null): boolean {
  const parsed = URL.parse(origin);
  return parsed !== null && host !== null && parsed.host === host.toLowerCase();
}
