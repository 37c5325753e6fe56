import type { AccountService } from '../account/account-service.ts';
import type { SignedIn } from '../account/account-sessions.ts';
import type { Billing } from '../billing/billing.ts';
import type { Archive } from '../store/archive.ts';
import type { Registry } from '../store/registry.ts';
import type { Answer, PageRequest } from './page-request.ts';

/** What pages and forms work with. */
export interface WebDeps {
  readonly service: AccountService;
  readonly registry: Registry;
  readonly archive: Archive;
  /** Undefined: payments are off. */
  readonly billing: Billing | undefined;
  readonly nowMs: () => number;
}

/** Who sees a page, and what the menu of the service has for this person. */
export interface Person extends SignedIn {
  readonly hasPayments: boolean;
}

/** A page or form of a signed-in person. */
export type PersonHandler = (deps: WebDeps, person: Person, request: PageRequest) => Answer | Promise<Answer>;
/** By path, as the router writes it. */
export type PersonRoutes = Readonly<Record<string, PersonHandler>>;
