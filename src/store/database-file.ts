import accounts from './accounts.sql' with { type: 'text' };
import accountsToVersion2 from './accounts-2.sql' with { type: 'text' };
import activity from './activity.sql' with { type: 'text' };
import activityToVersion2 from './activity-2.sql' with { type: 'text' };
import recordings from './bookreel.sql' with { type: 'text' };
import toVersion7 from './bookreel-7.sql' with { type: 'text' };
import toVersion8 from './bookreel-8.sql' with { type: 'text' };
import type { Queries } from './queries.ts';
import { RecordedTimes } from './recorded-times.ts';
import { Segments } from './segments.ts';

/** One of the database files of a data directory. SQLite has one writer per file: a sign-in never waits for an import. */
export interface DatabaseFile {
  readonly name: string;
  /** SQLite's application_id. */
  readonly applicationId: number;
  /** The version of `schema`. */
  readonly version: number;
  /** True if the bytes of removed and replaced values are overwritten: they are of persons. */
  readonly erases?: boolean;
  /** SQL that creates an empty database. */
  readonly schema: string;
  /** In order, one for each released version that this program upgrades; the last one leads to `version`. */
  readonly migrations: readonly Migration[];
}

/** Changes a database from one version to the next. A released migration is never changed. */
export interface Migration {
  readonly sql: string;
  /** Fills what SQL cannot compute, after `sql` and in its transaction. */
  readonly fill?: (database: Queries) => void;
}

/** Markets and records. The application_id is "bkrl". Version 6 was released first, in 0.2.0. */
export const RECORDINGS: DatabaseFile = {
  name: 'bookreel.db',
  applicationId: 0x62_6b_72_6c,
  version: 8,
  schema: recordings,
  migrations: [{ sql: toVersion7 }, { sql: toVersion8, fill: measureMarkets }],
};

function measureMarkets(database: Queries): void {
  new RecordedTimes(database, new Segments(database)).updateAll();
}

/** Tiers, accounts, keys, grants and the audit. The application_id is "bkra". */
export const ACCOUNTS: DatabaseFile = {
  name: 'accounts.db',
  applicationId: 0x62_6b_72_61,
  version: 2,
  erases: true,
  schema: accounts,
  migrations: [{ sql: accountsToVersion2 }],
};

/** Sessions, sign-in attempts and usage. The application_id is "bkrv". */
export const ACTIVITY: DatabaseFile = {
  name: 'activity.db',
  applicationId: 0x62_6b_72_76,
  version: 2,
  schema: activity,
  migrations: [{ sql: activityToVersion2 }],
};

/** The databases of a data directory. */
export const DATABASES: readonly DatabaseFile[] = [RECORDINGS, ACCOUNTS, ACTIVITY];
