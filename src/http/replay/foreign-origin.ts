import { DomainError } from '../../domain/errors.ts';

/**
 * Throws 'forbidden' for what a page of another origin might do through a browser of this machine: steer a replay, or listen
 * to it. A browser sends such requests without asking first (Fetch standard, 3.2; sockets know no CORS at all), but says
 * whose page it is. What only reads needs no refusal: the page does not get the answer. `mayListen` are origins whose
 * pages may.
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
