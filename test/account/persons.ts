import type { PersonalChange } from '../../src/account/change.ts';
import type { Role } from '../../src/domain/account.ts';
import { DomainError, type ErrorKind } from '../../src/domain/errors.ts';
import { Sessions } from '../../src/store/sessions.ts';
import { NOW_MS, type TemporaryArchive } from '../support/archive.ts';

/** A person with an account, as a page has it: acting at NOW_MS. */
export function person(
  { registry, activity }: TemporaryArchive,
  email: string,
  { role = 'user' }: { readonly role?: Role } = {},
): PersonalChange {
  const { accounts, database, secret } = registry;
  const account = database.write(() => accounts.findByEmail(email) ?? accounts.create({ email, role }, NOW_MS));
  const request = { accountId: account.id, method: 'email', userAgent: undefined, provedMs: NOW_MS };
  const { session } = activity.database.write(() => new Sessions(activity.database, secret).create(request, NOW_MS));
  return { registry, nowMs: NOW_MS, actor: { account, session } };
}

/** The latest entry of the audit. */
export function lastEntry({ registry }: TemporaryArchive) {
  const { action, actorId, accountId, detail } = registry.audit.list(1)[0]!;
  return { action, actorId, accountId, detail };
}

/** The kind of the refusal of `work`; undefined: it was not refused. */
export function kindOf(work: () => unknown): ErrorKind | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof DomainError) return error.kind;
    throw error;
  }
}
