import { DomainError } from '../domain/errors.ts';
import { isLoopback } from '../domain/loopback.ts';
import { METRICS_TYPE } from '../http/metrics/metrics.ts';
import { LOOPBACK_HOSTS } from '../http/plugins/request-checks.ts';
import { cannotListen, originOf } from './listening.ts';

interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const PATH = '/metrics';

/** The address for scrapes as options of a command. */
export interface MetricsOptions {
  readonly metricsHost: string;
  /** Undefined: no metrics. */
  readonly metricsPort?: number | undefined;
}

/** Throws 'invalid-parameter' if the service and its metrics would listen on one port of one address. */
export function refuseEqualPorts({ host, port, metricsHost, metricsPort }: MetricsOptions & ListenAddress): void {
  const isOne = host === metricsHost || [host, metricsHost].some(isEveryAddress);
  if (port === 0 || port !== metricsPort || !isOne) return;
  throw new DomainError(
    'invalid-parameter',
    `--port and --metrics-port are both ${port}: choose another one for metrics`,
  );
}

/** Returns true for the addresses that stand for all addresses of this machine. */
export function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** Answers scrapes on an address of its own: metrics need no key, so clients of the service cannot read them. */
export class MetricsListener implements Disposable {
  readonly #server: Bun.Server<undefined>;
  readonly #host: string;

  /** `text`: the metrics of now. Throws as `cannotListen` says. */
  constructor(text: () => string | Promise<string>, { metricsHost: host, metricsPort: port = 0 }: MetricsOptions) {
    this.#host = host;
    try {
      this.#server = Bun.serve({
        hostname: host,
        port,
        reusePort: false,
        fetch: (request) => (isForeign(request, host) ? refuseHost() : answer(request, text)),
      });
    } catch (error) {
      throw cannotListen(error, { host, port, flags: '--metrics-port or --metrics-host' });
    }
  }

  get url(): string {
    return `${originOf(this.#host, this.#server.port ?? 0)}${PATH}`;
  }

  [Symbol.dispose](): void {
    void this.#server.stop(true);
  }
}

/**
 * Returns true for a name that a page could have resolved to the loopback address of this machine (DNS rebinding). On another address
 * the listener has the names that the operator gave it.
 */
function isForeign({ headers }: Request, listenHost: string): boolean {
  const host = (headers.get('host') ?? '').replace(/:\d+$/, '').toLowerCase();
  return isLoopback(listenHost) && host !== listenHost && !LOOPBACK_HOSTS.includes(host);
}

function refuseHost(): Response {
  return new Response('this address is served as localhost, 127.0.0.1 or [::1] only\n', { status: 400 });
}

async function answer({ url, method }: Request, text: () => string | Promise<string>): Promise<Response> {
  const { pathname } = URL.parse(url) ?? { pathname: '' };
  if (pathname !== PATH) return new Response(`only ${PATH} is served here\n`, { status: 404 });
  if (method !== 'GET' && method !== 'HEAD') {
    return new Response('only GET and HEAD are allowed\n', { status: 405, headers: { allow: 'GET, HEAD' } });
  }
  return new Response(await text(), { headers: { 'content-type': METRICS_TYPE } });
}
