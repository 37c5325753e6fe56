import type { ApiKey } from '../../domain/api-key.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Allowance, ClockReading, CommonWindows, Subject, Windows } from '../../domain/rate-window.ts';
import type { Tier } from '../../domain/tier.ts';
import type { ResponseHeaders, ResponseSettings } from '../response/response.ts';
import { AddressBudgets, commonSubjects, tighter } from './address-budgets.ts';
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

/** Where the requests of a key, or of a person, are counted. */
interface KeyBudget {
  readonly windows: Windows;
  readonly subject: string;
  readonly limit: number;
  /** The beginning of the subject's name in windows of several servers. */
  readonly kind: 'key' | 'viewer';
}

/** The allowances of a request that was counted before it began. */
interface Asked {
  readonly budget: Windows | AddressBudgets;
  /** Undefined: this server must count it. */
  readonly allowances: readonly Allowance[] | undefined;
}

/**
 * Limits per key, per person who looks at pages, or per address without a valid key. Looking costs no key's budget. All methods that charge,
 * except `chargeKeyAgain`, set X-RateLimit headers.
 *
 * With windows of several servers, a request is counted there before it begins (`askForKey`, `askForAddress`), and charging it uses the
 * allowance from there. This server also counts allowed requests in its own windows, so that they are right when it must count alone.
 */
export class RateLimit {
  readonly #clocks: () => ClockReading;
  readonly #addresses: ClientAddresses;
  readonly #isOff: boolean;
  readonly #keyWindows: Windows;
  readonly #viewerWindows: Windows;
  readonly #addressBudgets: AddressBudgets;
  readonly #preflightBudgets: AddressBudgets;
  readonly #common: CommonWindows | undefined;
  readonly #asked = new WeakMap<Request, Asked>();

  /** `isOff`: no counts and no headers. `common`: windows of several servers. */
  constructor(
    clocks: () => ClockReading,
    addresses: ClientAddresses,
    { windows }: RequestCounts,
    isOff: boolean,
    common?: CommonWindows,
  ) {
    this.#common = common;
    this.#clocks = clocks;
    this.#addresses = addresses;
    this.#isOff = isOff;
    // The processes of a server make them in the same order, see SharedCounts.
    this.#keyWindows = windows(KEYS_MAX);
    this.#viewerWindows = windows(KEYS_MAX);
    this.#addressBudgets = new AddressBudgets(windows);
    this.#preflightBudgets = new AddressBudgets(windows);
  }

  /** Counts a request with a valid key in windows of several servers. Undefined: there is nothing to wait for. */
  askForKey(request: Request, holder: RequestHolder): Promise<void> | undefined {
    const budget = this.#budgetOf(holder);
    return this.#ask(request, budget.windows, [commonSubject(budget)]);
  }

  /** The same for a request that counts against its address. */
  askForAddress(request: Request, isPreflight = false): Promise<void> | undefined {
    const [kind, budgets] = isPreflight ? ['preflight', this.#preflightBudgets] : ['address', this.#addressBudgets];
    return this.#ask(request, budgets, commonSubjects(kind, this.#addresses.of(request)));
  }

  /** Returns true if the request had to wait for windows of several servers. */
  hasWaited(request: Request): boolean {
    return this.#common !== undefined && this.#asked.has(request);
  }

  /** Counts a request with a valid key; throws 'rate-limited' above the limit. */
  chargeKey(request: Request, holder: RequestHolder, { headers }: ResponseSettings, now: ClockReading): void {
    const { windows, subject, limit } = this.#budgetOf(holder);
    const common = this.#askedOf(request, windows)?.[0];
    const own = common?.allowed === false ? common : windows.charge(subject, limit, now);
    const allowance = common ?? own;
    setHeaders(headers, allowance);
    if (allowance.allowed) return;
    throw rateLimited(headers, allowance, holder.viewer === undefined ? 'requests with this key' : 'requests of pages');
  }

  /** Counts one more request for an answer that has begun. Returns false, and counts nothing, above the limit. */
  async chargeKeyAgain(holder: RequestHolder, now: ClockReading): Promise<boolean> {
    const budget = this.#budgetOf(holder);
    const { windows, subject, limit } = budget;
    const [allowance] = (await this.#common?.charge([commonSubject(budget)])) ?? [];
    if (allowance?.allowed === false) return false;
    return windows.charge(subject, limit, now).allowed || allowance !== undefined;
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
  async peekKey(key: ApiKey, tier: Tier): Promise<Allowance> {
    const budget = this.#budgetOf({ key, tier });
    const { windows, subject, limit } = budget;
    const [allowance] = (await this.#common?.peek([commonSubject(budget)])) ?? [];
    return allowance ?? windows.peek(subject, limit, this.#clocks());
  }

  #budgetOf({ key, tier, viewer }: Pick<RequestHolder, 'key' | 'tier' | 'viewer'>): KeyBudget {
    const limit = limitOf(key, tier);
    if (viewer === undefined) return { windows: this.#keyWindows, kind: 'key', subject: key.id, limit };
    const viewerLimit = Math.max(limit, VIEWER_PER_MINUTE_MIN);
    return { windows: this.#viewerWindows, kind: 'viewer', subject: String(viewer), limit: viewerLimit };
  }

  #ask(request: Request, budget: Asked['budget'], subjects: readonly Subject[]): Promise<void> | undefined {
    return this.#common?.charge(subjects)?.then((allowances) => void this.#asked.set(request, { budget, allowances }));
  }

  /** The allowances of a request that was counted in windows of several servers; undefined: this server must count it. */
  #askedOf(request: Request, budget: Asked['budget']): Asked['allowances'] {
    const asked = this.#common && this.#asked.get(request);
    return asked?.budget === budget ? asked.allowances : undefined;
  }

  #charge(budgets: AddressBudgets, { request, set: { headers } }: RequestContext, what: string): void {
    if (this.#isOff || headers['x-ratelimit-limit'] !== undefined) return;
    // A node has counted it with its key.
    if (this.#addresses.admissions?.of(request)?.keyId !== undefined) return;
    const address = this.#addresses.of(request);
    const [ofClient, ofNetwork] = this.#askedOf(request, budgets) ?? [];
    const common = ofClient && ofNetwork && tighter(ofClient, ofNetwork);
    const own = common?.allowed === false ? common : budgets.charge(address, this.#clocks());
    const allowance = common ?? own;
    setHeaders(headers, allowance);
    if (allowance.allowed) return;
    throw rateLimited(headers, allowance, allowance.isNetwork ? `${what} from one network (/24, IPv6: /48)` : what);
  }
}

function commonSubject({ kind, subject, limit }: KeyBudget): Subject {
  return { name: `${kind}:${subject}`, limit };
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
