import { Database } from './database.ts';
import { ACTIVITY } from './database-file.ts';

/** Opens the activity.db (sessions, sign-in attempts, usage) of a data directory, and creates it if it is missing. Throws as `Database.open` does. */
export function openActivity(directory: string) {
  const database = Database.open(directory, ACTIVITY, { create: true });
  return { database, [Symbol.dispose]: () => database.close() };
}
