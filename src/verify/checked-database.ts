import { join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { Database } from '../store/database.ts';
import { isDamageError } from '../store/database-errors.ts';
import { type DatabaseFile, RECORDINGS } from '../store/database-file.ts';
import { schemaDifference } from '../store/schema-difference.ts';
import type { ProblemList } from './report.ts';

/**
 * The result of `read`; undefined if the file has nothing, or is damaged or has another schema, which is reported as a problem. Throws if the file cannot
 * be accessed, and what `read` throws except about damage.
 */
export async function checkedDatabase<T>(
  directory: string,
  file: DatabaseFile,
  problems: ProblemList,
  read: (database: Database) => T | Promise<T>,
): Promise<T | undefined> {
  const path = join(directory, file.name);
  try {
    using database = Database.openToRead(path, file);
    // Its creation was interrupted: the next command that writes to it goes on. An archive without records is never meant.
    const isEmpty = database.query('SELECT name FROM sqlite_schema LIMIT 1').get() === null;
    if (isEmpty && file.name !== RECORDINGS.name) return undefined;
    const difference = schemaDifference(database);
    if (difference === undefined) return await read(database);
    problems.add('database', difference);
  } catch (error) {
    if (!isDamageError(error)) throw error;
    const what = error instanceof DomainError ? error.message : `'${path}' is damaged: restore it from a backup`;
    problems.add('database', what);
  }
  return undefined;
}
