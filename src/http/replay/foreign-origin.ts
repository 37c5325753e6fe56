import { DomainError } from '../../domain/errors.ts';

/**
 * Throws 'forbidden' where a page of another origin steers a replay or listens to it: browsers send such requests without asking
 * first (Fetch standard, 3.2; sockets have no CORS), but name the page's origin. Reads need no refusal: the page does not get
 * the answer. Pages that `mayListen` allows may listen.
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

/** Whether a page is of the host that is asked; `null`, as which files and sandboxes present themselves, is none. */
function isOwn(origin: string, host: string | null): boolean {
  const parsed = URL.parse(origin);
  return parsed !== null && host !== null && parsed.host === host.toLowerCase();
}
