import { existsSync } from 'node:fs';
import { Database } from '../../src/store/database.ts';
import { type DatabaseFile, type Migration, RECORDINGS } from '../../src/store/database-file.ts';

/** Each rewrites all segments, so that a part of it is on disk before it is committed. */
const REWRITE = 'UPDATE segments SET payload = zeroblob(length(payload) + 4000); CREATE TABLE';

/** A later version of the recordings' file. */
export function laterRecordings(migrations: readonly Migration[]): DatabaseFile {
  return { ...RECORDINGS, version: RECORDINGS.version + migrations.length, migrations };
}

/** Three migrations; reading the statements of migration `index` calls `reached(index)`. */
export function migrationsThat(reached: (index: number) => void): Migration[] {
  return ['one', 'two', 'three'].map((name, index) => ({
    get sql() {
      reached(index);
      return `${REWRITE} step_${name} (value INTEGER) STRICT`;
    },
  }));
}

// Upgrades the recordings of a directory, and kills itself before the migration with this index: 0 is after the copy.
if (import.meta.main) {
  const [directory = '', last = ''] = process.argv.slice(2);
  if (!existsSync(directory)) throw new Error('name a data directory and the index of a migration');
  const file = laterRecordings(
    migrationsThat((index) => {
      if (index === Number(last)) process.kill(process.pid, 'SIGKILL');
    }),
  );
  Database.open(directory, file, { create: false }).close();
}
