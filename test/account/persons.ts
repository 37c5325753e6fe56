import type { PersonalChange } from '../../src/account/change.ts';
import type { Role } from '../../src/domain/account.ts';
import type { InstantMs } from '../../src/domain/instant.ts';
import { Sessions } from '../../src/store/sessions.ts';
import { NOW_MS, type TemporaryArchive } from '../support/archive.ts';

/** A person with an account, as a page has it: signed in at `signedInMs`, acting at `nowMs`. */
export function person(
  { registry, activity }: TemporaryArchive,
  email: string,
  { role = 'user' as Role, signedInMs = NOW_MS, nowMs = NOW_MS as InstantMs } = {},
): PersonalChange {
  const { accounts, database, secret } = registry;
  const account = database.write(() => accounts.findByEmail(email) ?? accounts.create({ email, role }, NOW_MS));
  const request = { accountId: account.id, method: 'email', userAgent: undefined };
  const { session } = activity.database.write(() =>
    new Sessions(activity.database, secret).create(request, signedInMs),
  );
  return { registry, nowMs, actor: { account, session } };
}

/** The latest entry of the audit. */
export function lastEntry({ registry }: TemporaryArchive) {
  const { action, actorId, accountId, detail } = registry.audit.list(1)[0]!;
  return { action, actorId, accountId, detail };
}
