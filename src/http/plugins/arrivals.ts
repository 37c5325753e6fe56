import type { ClockReading } from '../../domain/rate-window.ts';
import type { RequestMetrics } from '../metrics/request-metrics.ts';
import { pathOf } from '../request-target.ts';
import type { AccessLog } from './access-log.ts';
import { ADMISSION } from './admission.ts';
import { keepWellFormedKey } from './authentication.ts';
import type { ClientAddresses } from './client-address.ts';
import type { Cors } from './cors.ts';
import type { IpNetwork } from './ip-address.ts';
import { ObservedRequest, type RequestObservation } from './observed-request.ts';
import type { RateLimit, RequestContext } from './rate-limit.ts';
import { LOOPBACK_HOSTS, refuseMalformed } from './request-checks.ts';
import type { RequestCounts } from './request-counts.ts';
import { requestIdOf } from './request-id.ts';

/** A year. Not for subdomains: they may be other services. */
const STRICT_TRANSPORT = 'max-age=31536000';

/** Options of a service for other machines. */
export interface Edge {
  readonly accessLog?: AccessLog;
  readonly cors?: Cors;
  /** Proxies whose headers for client addresses and request ids are trusted. */
  readonly trustedProxies?: readonly IpNetwork[];
  /** In lower case, without port. Other Host headers are refused. */
  readonly allowedHosts?: ReadonlySet<string>;
  /** True if clients reach the service by https: browsers then never send it a request without TLS (RFC 6797). */
  readonly isSecure?: boolean;
}

export interface ArrivalDeps {
  readonly edge: Edge;
  readonly addresses: ClientAddresses;
  readonly rateLimit: RateLimit;
  readonly counts: RequestCounts;
  /** Undefined: requests are not measured. */
  readonly metrics: RequestMetrics | undefined;
  readonly clocks: () => ClockReading;
  /** True if no request needs a key. */
  readonly isOpen: boolean;
  /** Refuses more requests: those that a process that replays does not serve. */
  readonly refuse: (request: Request) => void;
}

/** Begins every request, before the router finds its path. */
export class Arrivals {
  readonly #deps: ArrivalDeps;
  /** Undefined: requests are neither logged nor measured. */
  readonly #observation: RequestObservation | undefined;
  readonly #allowedHosts: ReadonlySet<string> | undefined;

  constructor(deps: ArrivalDeps) {
    const { accessLog, allowedHosts } = deps.edge;
    const { metrics, clocks, isOpen } = deps;
    this.#deps = deps;
    this.#observation = accessLog === undefined && metrics === undefined ? undefined : { accessLog, metrics, clocks };
    // Otherwise a page could resolve its own host name to this machine (DNS rebinding), and read answers without a key.
    this.#allowedHosts = isOpen ? new Set([...LOOPBACK_HOSTS, ...(allowedHosts ?? [])]) : allowedHosts;
  }

  /** The answer to a preflight; undefined for other requests. Throws 'malformed-request', and what `refuse` throws. */
  begin({ request, set }: RequestContext): Response | undefined {
    const { edge, addresses, rateLimit, counts, refuse } = this.#deps;
    const { accessLog, cors, isSecure = false } = edge;
    counts.arrived();
    // The client's address, and the id of the request, depend on the admission.
    const refusal = addresses.admissions?.accept(request);
    const requestId = requestIdOf(request, addresses);
    if (rateLimit.hasWaited(request)) set.isLate = true;
    set.headers['x-request-id'] = requestId;
    set.headers['x-content-type-options'] = 'nosniff';
    if (isSecure) set.headers['strict-transport-security'] = STRICT_TRANSPORT;
    cors?.setHeaders(set, request);
    if (this.#observation !== undefined) {
      // Only the log has addresses.
      const address = accessLog === undefined ? '' : addresses.of(request);
      set.observer = new ObservedRequest(this.#observation, request, requestId, address);
    }
    if (refusal !== undefined) {
      set.headers[ADMISSION] = 'refused';
      throw refusal;
    }
    refuseMalformed(request, this.#allowedHosts);
    refuse(request);
    if (cors?.isPreflight(request) === true) {
      // Preflights have no key.
      rateLimit.chargePreflight({ request, set });
      return cors.preflightAnswer(set);
    }
    if (addresses.admissions === undefined || !isForNodes(request)) keepWellFormedKey(request);
    return undefined;
  }
}

/** Returns true for the routes that nodes use: they have another scheme of authorization. */
function isForNodes(request: Request): boolean {
  return pathOf(request).startsWith('/node/');
}
