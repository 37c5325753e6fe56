import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { DEFAULT_TIERS } from '../domain/tier.ts';
import { AccountTiers } from './account-tiers.ts';
import { Accounts } from './accounts.ts';
import { ApiKeys, hasKeys } from './api-keys.ts';
import { Audit } from './audit.ts';
import { cannotBeCreated } from './data-directory.ts';
import { Database, type OpenOptions } from './database.ts';
import { explained } from './database-errors.ts';
import { ACCOUNTS, ACTIVITY, RECORDINGS } from './database-file.ts';
import { Grants } from './grants.ts';
import { Invoices } from './invoices.ts';
import { KeyDirectory } from './key-directory.ts';
import { KeySecret } from './key-secret.ts';
import { PaymentSends } from './payment-sends.ts';
import { Payments } from './payments.ts';
import { Tiers } from './tiers.ts';

export interface RegistryOptions extends OpenOptions {
  /** The tier of accounts without a grant; by default `free`. */
  readonly newAccountTier?: string;
  /** Maximum number of keys of an account that are neither revoked nor expired; by default there is none. */
  readonly keysPerAccount?: number;
}

/** An open accounts.db: tiers, accounts, grants, payments, keys, audit. */
export type Registry = Readonly<ReturnType<typeof registryOf>>;

/**
 * Opens the accounts.db of a data directory, and creates it for an archive that has none. If it cannot be created, opens a database
 * with the default tiers only that cannot be written. Throws as `Database.open` and `KeySecret.open` do, 'unavailable' when accounts.db was lost, and 'invalid-parameter' for
 * an unknown or retired tier.
 */
export function openRegistry(
  directory: string,
  { newAccountTier, keysPerAccount, ...options }: RegistryOptions,
): Registry {
  const create = options.create || existsSync(join(directory, RECORDINGS.name));
  refuseLost(directory);
  const path = join(directory, ACCOUNTS.name);
  const isLook = options.readOnly === true && create && !existsSync(path);
  const isUnwritten = isLook || explained(path, () => cannotBeCreated(directory, ACCOUNTS.name));
  const database = isUnwritten
    ? Database.inMemory(directory, ACCOUNTS)
    : Database.open(directory, ACCOUNTS, { ...options, create });
  try {
    const tiers = new Tiers(database);
    if (database.read(() => tiers.list()).length === 0) database.write(() => tiers.addDefaults());
    if (isUnwritten) database.refuseWrites();
    const secret = isUnwritten ? KeySecret.random() : KeySecret.open(directory, () => !hasKeys(database));
    if (newAccountTier !== undefined) tiers.offered(newAccountTier);
    return registryOf(database, secret, { newAccountTier, keysPerAccount });
  } catch (error) {
    database.close();
    throw error;
  }
}

interface RegistryParts {
  /** As RegistryOptions have them. */
  readonly newAccountTier?: string | undefined;
  readonly keysPerAccount?: number | undefined;
  /** Left out: a KeyDirectory. */
  readonly directoryOf?: (...parts: ConstructorParameters<typeof KeyDirectory>) => KeyDirectory;
}

/** The parts of an open accounts.db that has tiers. Throws 'invalid-parameter' for an unknown tier. */
export function registryOf(
  database: Database,
  secret: KeySecret,
  {
    newAccountTier = DEFAULT_TIERS[0]!.id,
    keysPerAccount = Infinity,
    directoryOf = (...parts) => new KeyDirectory(...parts),
  }: RegistryParts,
) {
  const tiers = new Tiers(database);
  const grants = new Grants(database);
  const accountTiers = new AccountTiers(tiers, grants, newAccountTier);
  const apiKeys = new ApiKeys(database, secret);
  return {
    database,
    secret,
    tiers,
    grants,
    accountTiers,
    accounts: new Accounts(database),
    keysPerAccount,
    /** The tier of accounts without a grant. */
    newAccountTier,
    apiKeys,
    keyDirectory: directoryOf(database, secret, apiKeys, tiers, accountTiers),
    payments: new Payments(database),
    invoices: new Invoices(database),
    paymentSends: new PaymentSends(database, secret),
    audit: new Audit(database),
    [Symbol.dispose]: () => database.close(),
  };
}

/** Throws 'unavailable' if accounts.db was lost. activity.db is created after it: an empty accounts.db would give its usage and sessions to no account, or to others. */
export function refuseLost(directory: string): void {
  const path = join(directory, ACCOUNTS.name);
  if (existsSync(path) || !existsSync(join(directory, ACTIVITY.name))) return;
  throw new DomainError(
    'unavailable',
    `'${path}' is missing, and ${ACTIVITY.name} has the usage of its keys: restore a backup with --force, or move ${ACTIVITY.name} away`,
  );
}
