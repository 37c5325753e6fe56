import type { ApiKey } from '../../domain/api-key.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Allowance, ClockReading, Windows } from '../../domain/rate-window.ts';
import type { Tier } from '../../domain/tier.ts';
import type { ResponseHeaders, ResponseSettings } from '../response/response.ts';
import { AddressBudgets } from './address-budgets.ts';
import type { RequestHolder } from './authentication.ts';
import type { ClientAddresses } from './client-address.ts';
import type { RequestCounts } from './request-counts.ts';

/** Maximum number of keys with windows. */
const KEYS_MAX = 65_536;
/** The least that a person who looks at pages may send: opening a market takes about ten requests, and playing it as many a minute. */
const VIEWER_PER_MINUTE_MIN = 240;

/** The router's view of a request. */
export interface RequestContext {
  readonly request: Request;
  readonly set: ResponseSettings;
  /** The path as the router writes it. */
  readonly route?: string;
  readonly params?: Readonly<Record<string, string | undefined>>;
}

/**
 * Limits per key, per person who looks at pages, or per address without a valid key. Looking costs no key's budget. All methods but
 * `chargeKeyAgain` set X-RateLimit headers.
 */
export class RateLimit {
  readonly #clocks: () => ClockReading;
  readonly #addresses: ClientAddresses;
  readonly #isOff: boolean;
  readonly #keyWindows: Windows;
  readonly #viewerWindows: Windows;
  readonly #addressBudgets: AddressBudgets;
  readonly #preflightBudgets: AddressBudgets;

  /** `isOff`: no counts and no headers. */
  constructor(clocks: () => ClockReading, addresses: ClientAddresses, { windows }: RequestCounts, isOff: boolean) {
    this.#clocks = clocks;
    this.#addresses = addresses;
    this.#isOff = isOff;
    // The processes of a server make them in the same order, see SharedCounts.
    this.#keyWindows = windows(KEYS_MAX);
    this.#viewerWindows = windows(KEYS_MAX);
    this.#addressBudgets = new AddressBudgets(windows);
    this.#preflightBudgets = new AddressBudgets(windows);
  }

  /** Counts a request with a valid key; throws 'rate-limited' above the limit. */
  chargeKey(holder: RequestHolder, { headers }: ResponseSettings, now: ClockReading): void {
    const allowance = this.#chargeKey(holder, now);
    setHeaders(headers, allowance);
    if (allowance.allowed) return;
    throw rateLimited(headers, allowance, holder.viewer === undefined ? 'requests with this key' : 'requests of pages');
  }

  /** Counts one more request for an answer that has begun. Returns false, and counts nothing, above the limit. */
  chargeKeyAgain(holder: RequestHolder, now: ClockReading): boolean {
    return this.#chargeKey(holder, now).allowed;
  }

  /** Counts a request against its address, unless it was counted before; throws 'rate-limited' above the limit. */
  chargeAddress(context: RequestContext): void {
    this.#charge(this.#addressBudgets, context, 'requests without a valid key');
  }

  /** Counts a preflight against its address, separately from other requests; throws 'rate-limited' above the limit. */
  chargePreflight(context: RequestContext): void {
    this.#charge(this.#preflightBudgets, context, 'preflights');
  }

  /** Sets the X-RateLimit headers for a request's address without counting the request. */
  setAddressHeaders({ request, set: { headers } }: RequestContext): void {
    if (this.#isOff) return;
    setHeaders(headers, this.#addressBudgets.peek(this.#addresses.of(request), this.#clocks()));
  }

  /** The state of a key's minute, without counting a request. */
  peekKey(key: ApiKey, tier: Tier): Allowance {
    return this.#keyWindows.peek(key.id, limitOf(key, tier), this.#clocks());
  }

  #chargeKey({ key, tier, viewer }: RequestHolder, now: ClockReading): Allowance {
    const limit = limitOf(key, tier);
    if (viewer === undefined) return this.#keyWindows.charge(key.id, limit, now);
    return this.#viewerWindows.charge(String(viewer), Math.max(limit, VIEWER_PER_MINUTE_MIN), now);
  }

  #charge(budgets: AddressBudgets, { request, set: { headers } }: RequestContext, what: string): void {
    if (this.#isOff || headers['x-ratelimit-limit'] !== undefined) return;
    // A node has counted it with its key.
    if (this.#addresses.admissions?.of(request)?.keyId !== undefined) return;
    const allowance = budgets.charge(this.#addresses.of(request), this.#clocks());
    setHeaders(headers, allowance);
    if (allowance.allowed) return;
    throw rateLimited(headers, allowance, allowance.isNetwork ? `${what} from one network (/24, IPv6: /48)` : what);
  }
}

function limitOf(key: ApiKey, tier: Tier): number {
  return key.requestsPerMinute ?? tier.requestsPerMinute;
}

function setHeaders(headers: ResponseHeaders, allowance: Allowance): void {
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
