import type { Database } from '../store/database.ts';
import { Devices } from '../store/devices.ts';
import { Identities } from '../store/identities.ts';
import { Passkeys } from '../store/passkeys.ts';
import type { Registry } from '../store/registry.ts';
import { Sessions } from '../store/sessions.ts';
import { SignInAttempts } from '../store/sign-in-attempts.ts';
import { UndoLinks } from '../store/undo-links.ts';

/** The stores that sign-in reads and writes. Accounts, identities and the audit are in one database, sessions and attempts in another. */
export type SignInStores = Readonly<ReturnType<typeof signInStores>>;

export function signInStores({ database, secret, accounts, audit }: Registry, activity: Database) {
  return {
    secret,
    accounts,
    audit,
    identities: new Identities(database),
    undoLinks: new UndoLinks(database, secret),
    passkeys: new Passkeys(database, secret),
    accountsDatabase: database,
    sessions: new Sessions(activity, secret),
    devices: new Devices(activity, secret),
    attempts: new SignInAttempts(activity, secret),
    activityDatabase: activity,
  };
}
