import { DomainError } from '../../domain/errors.ts';
import { type Allowance, type ClockReading, RateWindows } from '../../domain/rate-window.ts';
import type { KeyHolder } from '../../store/key-directory.ts';
import type { ResponseHeaders, ResponseSettings } from '../response/response.ts';
import { type AddressSource, budgetSubject, type ClientAddresses } from './client-address.ts';

/** Allowed requests per minute of a client address without a valid key. */
const ADDRESS_REQUESTS_PER_MINUTE = 600;

/** Maximum number of keys, and of addresses, with windows of their own. All others share one window. */
const SUBJECTS_MAX = 65_536;

/** The router's view of a request. */
export interface RequestContext {
  readonly request: Request;
  readonly set: ResponseSettings;
  readonly server: AddressSource | null;
}

/** Limits of requests per key, or per client address without a valid key. All methods set the X-RateLimit headers. */
export class RateLimit {
  readonly #clocks: () => ClockReading;
  readonly #addresses: ClientAddresses;
  readonly #isOff: boolean;
  readonly #keyWindows = new RateWindows(SUBJECTS_MAX);
  readonly #addressWindows = new RateWindows(SUBJECTS_MAX);

  /** `isOff`: no counts and no headers. */
  constructor(clocks: () => ClockReading, addresses: ClientAddresses, isOff: boolean) {
    this.#clocks = clocks;
    this.#addresses = addresses;
    this.#isOff = isOff;
  }

  /** Counts a request with a valid key; throws 'rate-limited' above the limit. */
  chargeKey({ key, tier }: KeyHolder, { headers }: ResponseSettings): void {
    const limit = key.requestsPerMinute ?? tier.requestsPerMinute;
    const allowance = this.#keyWindows.charge(key.id, limit, this.#clocks());
    describe(headers, allowance);
    if (!allowance.allowed) throw rateLimited(headers, allowance, 'requests with this key');
  }

  /** Counts a request against its address, unless it was counted before; throws 'rate-limited' above the limit. */
  chargeAddress({ request, set: { headers }, server }: RequestContext): void {
    if (this.#isOff || headers['x-ratelimit-limit'] !== undefined) return;
    const subject = budgetSubject(this.#addresses.of(request, server));
    const allowance = this.#addressWindows.charge(subject, ADDRESS_REQUESTS_PER_MINUTE, this.#clocks());
    describe(headers, allowance);
    if (!allowance.allowed) throw rateLimited(headers, allowance, 'requests without a valid key');
  }

  /** Sets the headers of a request's address without counting the request. */
  describeAddress({ request, set: { headers }, server }: RequestContext): void {
    if (this.#isOff) return;
    const subject = budgetSubject(this.#addresses.of(request, server));
    describe(headers, this.#addressWindows.peek(subject, ADDRESS_REQUESTS_PER_MINUTE, this.#clocks()));
  }
}

function describe(headers: ResponseHeaders, allowance: Allowance): void {
  headers['x-ratelimit-limit'] = String(allowance.limit);
  headers['x-ratelimit-remaining'] = String(allowance.remaining);
  headers['x-ratelimit-reset'] = String(allowance.resetEpochSeconds);
}

function rateLimited(headers: ResponseHeaders, { limit, retryAfterSeconds }: Allowance, what: string): DomainError {
  headers['retry-after'] = String(retryAfterSeconds);
  return new DomainError(
    'rate-limited',
    `${what} are limited to ${limit} per minute: try again in ${retryAfterSeconds} s`,
  );
}
