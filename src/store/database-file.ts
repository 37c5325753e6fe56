import accounts from './accounts.sql' with { type: 'text' };
import activity from './activity.sql' with { type: 'text' };
import recordings from './bookreel.sql' with { type: 'text' };

/** One of the database files of a data directory. SQLite has one writer per file: a sign-in never waits for an import. */
export interface DatabaseFile {
  readonly name: string;
  /** SQLite's application_id. */
  readonly applicationId: number;
  /** The version of `schema`. */
  readonly version: number;
  /** SQL that creates an empty database. */
  readonly schema: string;
}

/** Markets and records. The application_id is "bkrl". Builds before the first release had versions 1 to 5, which are not read. */
export const RECORDINGS: DatabaseFile = {
  name: 'bookreel.db',
  applicationId: 0x62_6b_72_6c,
  version: 6,
  schema: recordings,
};

/** Tiers, accounts, keys, grants and the audit. The application_id is "bkra". */
export const ACCOUNTS: DatabaseFile = {
  name: 'accounts.db',
  applicationId: 0x62_6b_72_61,
  version: 1,
  schema: accounts,
};

/** Sessions, sign-in attempts and usage. The application_id is "bkrv". */
export const ACTIVITY: DatabaseFile = {
  name: 'activity.db',
  applicationId: 0x62_6b_72_76,
  version: 1,
  schema: activity,
};
