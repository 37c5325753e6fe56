import type { AccountService } from '../account/account-service.ts';
import type { SignedIn } from '../account/account-sessions.ts';
import type { Billing } from '../billing/billing.ts';
import type { RateLimit } from '../http/plugins/rate-limit.ts';
import type { Archive } from '../store/archive.ts';
import type { Registry } from '../store/registry.ts';
import type { Answer, PageRequest } from './page-request.ts';

/** The parts of the service that pages and forms use. */
export interface WebDeps {
  readonly service: AccountService;
  readonly registry: Registry;
  readonly archive: Archive;
  /** Undefined: payments are off. */
  readonly billing: Billing | undefined;
  /** Where people ask for a price on request: a link; undefined: none. */
  readonly contact?: string | undefined;
  readonly nowMs: () => number;
  /** The requests of keys in their current minute. */
  readonly rateLimit: Pick<RateLimit, 'peekKey'>;
}

/** The person who sees a page. The menu has payments only while they are on. */
export interface Person extends SignedIn {
  readonly hasPayments: boolean;
}

/** A page or form of a signed-in person. */
export type PersonHandler = (deps: WebDeps, person: Person, request: PageRequest) => Answer | Promise<Answer>;
/** Handlers by path, as the router writes paths. */
export type PersonRoutes = Readonly<Record<string, PersonHandler>>;
