import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { keySecretFault } from '../store/backup.ts';
import type { Database } from '../store/database.ts';
import { ACCOUNTS, ACTIVITY, type DatabaseFile } from '../store/database-file.ts';
import { DELETED_KEYS } from '../store/usage.ts';
import { checkedDatabase } from './checked-database.ts';
import type { ProblemList } from './report.ts';

/** Maximum number of faults that are listed for one file. */
const FAULTS_MAX = 100;
/** Columns of activity.db that name rows of accounts.db. SQLite checks the references within a file. */
const REFERENCES = [
  { table: 'sessions', column: 'account_id', parent: 'accounts' },
  { table: 'usage', column: 'key_id', parent: 'api_keys' },
  { table: 'key_uses', column: 'key_id', parent: 'api_keys' },
] as const;

/** Verifies accounts.db and activity.db of a data directory, if they exist: schema, pages, references, and the key secret. */
export async function verifyAccounts(directory: string, problems: ProblemList): Promise<void> {
  // activity.db is read first: accounts and keys are never deleted, so accounts.db has all that it names, even if a server writes.
  const referring = await inFile(directory, ACTIVITY, problems, (database) =>
    REFERENCES.map((reference) => ({ ...reference, ids: idsIn(database, reference.table, reference.column) })),
  );
  const known = existsSync(join(directory, ACCOUNTS.name))
    ? await inFile(directory, ACCOUNTS, problems, (database) => ({
        accounts: idsIn(database, 'accounts', 'account_id'),
        api_keys: idsIn(database, 'api_keys', 'key_id'),
      }))
    : { accounts: new Set(), api_keys: new Set() };
  if (known === undefined) return;
  for (const { table, parent, ids } of referring ?? []) {
    const missing = [...ids].filter((id) => id !== DELETED_KEYS && !known[parent].has(id));
    if (missing.length === 0) continue;
    const what = `table ${table} of ${ACTIVITY.name} names rows of table ${parent} that do not exist: ${missing.length}`;
    problems.add('reference', what);
  }
  const fault = keySecretFault(directory);
  if (fault !== undefined) problems.add('database', fault);
}

/** The different values of a column. */
function idsIn(database: Database, table: string, column: string): ReadonlySet<unknown> {
  const rows = database.query<{ id: unknown }, []>(`SELECT DISTINCT ${column} AS id FROM ${table}`).all();
  return new Set(rows.map(({ id }) => id));
}

/** Verifies a file by itself and reads it; undefined if it is missing, damaged, or has another schema. */
async function inFile<T>(
  directory: string,
  file: DatabaseFile,
  problems: ProblemList,
  read: (database: Database) => T,
): Promise<T | undefined> {
  if (!existsSync(join(directory, file.name))) return undefined;
  return await checkedDatabase(directory, file, problems, (database) =>
    database.read(() => {
      const faults = database.query<{ integrity_check: string }, []>(`PRAGMA integrity_check(${FAULTS_MAX})`).all();
      for (const { integrity_check: fault } of faults) {
        if (fault !== 'ok') problems.add('database', `SQLite about ${file.name}: ${fault}`);
      }
      const broken = database.query<{ table: string; parent: string }, []>('PRAGMA foreign_key_check').all();
      for (const { table, parent } of broken.slice(0, FAULTS_MAX)) {
        problems.add('reference', `a row of table ${table} names a row of table ${parent} that does not exist`);
      }
      return read(database);
    }),
  );
}
