import { Database } from './database.ts';
import { ACTIVITY } from './database-file.ts';
import { Usage } from './usage.ts';

/** An open activity.db: sessions, sign-in attempts, usage. */
export type Activity = Readonly<ReturnType<typeof openActivity>>;

/** Opens the activity.db of a data directory, and creates it if it is missing. Throws as `Database.open` does. */
export function openActivity(directory: string) {
  const database = Database.open(directory, ACTIVITY, { create: true });
  return { database, usage: new Usage(database), [Symbol.dispose]: () => database.close() };
}
