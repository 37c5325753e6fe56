import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Accounts } from './accounts.ts';
import { ApiKeys, hasKeys } from './api-keys.ts';
import { Audit } from './audit.ts';
import { Database, type OpenOptions } from './database.ts';
import { ACCOUNTS, RECORDINGS } from './database-file.ts';
import { KeyDirectory } from './key-directory.ts';
import { KeySecret } from './key-secret.ts';
import { Tiers } from './tiers.ts';

/** An open accounts.db: tiers, accounts, keys, audit. */
export type Registry = Readonly<ReturnType<typeof openRegistry>>;

/**
 * Opens the accounts.db of a data directory, and creates it for an archive that has none. Throws as `Database.open` and
 * `KeySecret.open` do.
 */
export function openRegistry(directory: string, options: OpenOptions) {
  const create = options.create || existsSync(join(directory, RECORDINGS.name));
  const database = Database.open(directory, ACCOUNTS, { create });
  try {
    const tiers = new Tiers(database);
    if (database.read(() => tiers.list()).length === 0) database.write(() => tiers.addDefaults());
    const secret = KeySecret.open(directory, () => !hasKeys(database));
    const apiKeys = new ApiKeys(database, secret);
    return {
      database,
      secret,
      tiers,
      accounts: new Accounts(database),
      apiKeys,
      keyDirectory: new KeyDirectory(database, secret, apiKeys, tiers),
      audit: new Audit(database),
      [Symbol.dispose]: () => database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}
