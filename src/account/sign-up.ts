import { domainOf } from '../domain/email-address.ts';

export const SIGN_UP_POLICIES = ['open', 'invited', 'closed'] as const;
export type SignUpPolicy = (typeof SIGN_UP_POLICIES)[number];

/**
 * Addresses that get an account at the first sign-in. Accounts that a command created sign in with every policy.
 * `open`: every address. `invited`: addresses of `domains`, not of their subdomains. `closed`: nobody.
 */
export interface SignUp {
  readonly policy: SignUpPolicy;
  /** Domains in lower case. */
  readonly domains: ReadonlySet<string>;
}

/** Returns true if a person who has proved this address, in canonical spelling, may create an account. */
export function admitsNew({ policy, domains }: SignUp, email: string): boolean {
  return policy === 'open' || (policy === 'invited' && domains.has(domainOf(email)));
}
