import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cannotBeCreated, isUnwritable } from './data-directory.ts';
import { Database } from './database.ts';
import { explained } from './database-errors.ts';
import { ACTIVITY } from './database-file.ts';
import { Nodes } from './nodes.ts';
import { Usage } from './usage.ts';

/** An open activity.db: sessions, sign-in attempts, usage. */
export type Activity = Readonly<ReturnType<typeof activityOf>>;

/**
 * Opens the activity.db of a data directory, and creates it if it is missing. If it is missing and cannot be created, opens an empty
 * database that cannot be written. Throws as `Database.open` does.
 */
export function openActivity(directory: string, { readOnly = false }: { readonly readOnly?: boolean } = {}): Activity {
  const path = join(directory, ACTIVITY.name);
  const isMissing = readOnly && !existsSync(path);
  if (!isMissing && !explained(path, () => cannotBeCreated(directory, ACTIVITY.name))) {
    return activityOf(Database.open(directory, ACTIVITY, { create: true, readOnly }));
  }
  const activity = inMemory(directory);
  activity.database.refuseWrites();
  return activity;
}

/**
 * Opens the activity.db for a server: one in memory if it cannot be written, or must not be, since the server counts usage. `gather`: see
 * Usage.
 */
export function openServedActivity(
  directory: string,
  { readOnly, gather }: { readonly readOnly: boolean; readonly gather?: (() => Promise<void>) | undefined },
): Activity {
  const activity = readOnly || isUnwritable(directory, ACTIVITY.name) ? inMemory(directory) : openActivity(directory);
  if (gather !== undefined) activity.usage.gather = gather;
  return activity;
}

/** Ends all sessions and sign-ins that were begun, and forgets the browsers that signed in, and the emails that wait. */
export function endSignIns({ database }: Activity): void {
  database.write(() => {
    database.query('DELETE FROM sessions').run();
    database.query('DELETE FROM sign_in_attempts').run();
    database.query('DELETE FROM devices').run();
    database.query('DELETE FROM waiting_mails').run();
  });
}

function inMemory(directory: string): Activity {
  return activityOf(Database.inMemory(directory, ACTIVITY));
}

function activityOf(database: Database) {
  const usage = new Usage(database);
  return { database, usage, nodes: new Nodes(database, usage), [Symbol.dispose]: () => database.close() };
}
