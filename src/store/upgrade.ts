import type { Database as Sqlite } from 'bun:sqlite';
import { renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { isBusy } from './database-errors.ts';
import type { DatabaseFile } from './database-file.ts';
import { discard, flush, writeNew } from './on-disk.ts';
import { queriesOf } from './queries.ts';

/** A finished upgrade: the versions before and after it, and the path of the copy with the earlier version. */
export interface Upgraded {
  readonly from: number;
  readonly to: number;
  readonly copy: string;
}

/** The oldest version that `upgrade` can read. */
export function oldestVersion({ version, migrations }: DatabaseFile): number {
  return version - migrations.length;
}

/** The path of the copy that is made before the schema `version` is upgraded. */
export function copyBeforeUpgrade(path: string, version: number): string {
  return `${path}.schema-${version}`;
}

/**
 * Locks a database for this connection alone until it is closed, and merges the write-ahead log into it. Returns false if another process
 * has it open. Processes that open it later wait.
 */
export function takeAlone(sqlite: Sqlite): boolean {
  try {
    sqlite.run('PRAGMA journal_mode = DELETE');
    sqlite.run('PRAGMA locking_mode = EXCLUSIVE');
    // The mode keeps the lock of this transaction after its end.
    sqlite.run('BEGIN EXCLUSIVE');
    sqlite.run('COMMIT');
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}

/** Makes a copy with `write`, which replaces the file `target`; it is on disk when this returns. */
export function keepCopy(target: string, write: (draft: string) => void): void {
  const draft = `${target}.partial`;
  // An upgrade that was killed leaves this file.
  rmSync(draft, { force: true });
  try {
    // Created empty, so that only its owner can ever read it.
    writeNew(draft, '');
    write(draft);
    flush(draft);
    renameSync(draft, target);
  } finally {
    discard(draft);
  }
  flush(dirname(target));
}

/**
 * Runs the migrations of a database that was taken alone, from `version` on, all in one transaction: after a crash it has the
 * schema before or the newest one. Throws DomainError 'unavailable' when rows refer to rows that do not exist.
 */
export function migrate(sqlite: Sqlite, path: string, file: DatabaseFile, version: number): void {
  // A migration may replace a table that others refer to; the references are checked at the end.
  sqlite.run('PRAGMA foreign_keys = OFF');
  // Syncs the removal of the journal too: a journal that reappears would undo later writes.
  sqlite.run('PRAGMA synchronous = EXTRA');
  const run = sqlite.transaction(() => {
    for (const { sql, fill } of file.migrations.slice(version - oldestVersion(file))) {
      sqlite.run(sql);
      fill?.(queriesOf(sqlite));
    }
    if (sqlite.query('PRAGMA foreign_key_check').get() !== null) {
      throw new DomainError(
        'unavailable',
        `'${path}' is damaged and was not upgraded: run 'bookreel verify' with the bookreel that wrote it, or restore a backup`,
      );
    }
    sqlite.run(`PRAGMA user_version = ${file.version}`);
  });
  run.immediate();
}
