import type { Account } from '../domain/account.ts';
import { DomainError } from '../domain/errors.ts';
import { randomToken } from '../domain/random-token.ts';
import type { AuditActor } from '../store/audit.ts';
import type { SignInStores } from './sign-in-stores.ts';

interface LinkDeps {
  readonly stores: SignInStores;
  readonly clock: () => number;
  /** Without a slash at its end. */
  readonly publicUrl: string;
}

/** The page of a link that signs in once. */
export function linkUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/sign-in/link?token=${token}`;
}

/** A one-time link for an account. Throws 'forbidden' for a disabled account. */
export function createLink(
  { stores, clock, publicUrl }: LinkDeps,
  { id, email, disabledMs }: Account,
  by: AuditActor,
): string {
  if (disabledMs !== undefined) {
    throw new DomainError('forbidden', `'${email}' is disabled: run 'bookreel account enable ${email}' first`);
  }
  const { attempts, audit, accountsDatabase, activityDatabase } = stores;
  const link = randomToken();
  const nowMs = clock();
  activityDatabase.write(() => attempts.add({ method: 'command', email, link, createdMs: nowMs }));
  accountsDatabase.write(() => audit.append({ atMs: nowMs, by, action: 'account.link', accountId: id }));
  return linkUrl(publicUrl, link);
}
