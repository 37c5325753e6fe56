import { join } from 'node:path';
import { cannotBeCreated, isUnwritable } from './data-directory.ts';
import { Database, explained } from './database.ts';
import { ACTIVITY } from './database-file.ts';
import { Usage } from './usage.ts';

/** An open activity.db: sessions, sign-in attempts, usage. */
export type Activity = Readonly<ReturnType<typeof activityOf>>;

/**
 * Opens the activity.db of a data directory, and creates it if it is missing. If the directory cannot be written it is an empty one,
 * which cannot be written either. Throws as `Database.open` does.
 */
export function openActivity(directory: string): Activity {
  const path = join(directory, ACTIVITY.name);
  if (!explained(path, () => cannotBeCreated(directory, ACTIVITY.name))) {
    return activityOf(Database.open(directory, ACTIVITY, { create: true }));
  }
  const activity = inMemory(directory);
  activity.database.refuseWrites();
  return activity;
}

/** For a server, which counts usage: in memory if the activity.db cannot be written. */
export function openServedActivity(directory: string): Activity {
  return isUnwritable(directory, ACTIVITY.name) ? inMemory(directory) : openActivity(directory);
}

function inMemory(directory: string): Activity {
  return activityOf(Database.inMemory(directory, ACTIVITY));
}

function activityOf(database: Database) {
  return { database, usage: new Usage(database), [Symbol.dispose]: () => database.close() };
}
