import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Static, TSchema } from 'typebox';
import { jsonOf } from './json-of.ts';

/**
 * Replaces the state that a process shows to others: readers see the old one or the new one. It is not synced to disk, because it is of no
 * use after a power cut. Only one process may write. Throws errors of the file system.
 */
export function writeStatusFile(path: string, status: object): void {
  // One name, so that processes that are killed leave one file at most.
  const draft = `${path}.new`;
  writeFileSync(draft, `${JSON.stringify(status)}\n`, { mode: 0o600 });
  renameSync(draft, path);
}

/** The state in a file; undefined if it is damaged, or of another version. Throws errors of the file system. */
export function readStatusFile<Schema extends TSchema>(path: string, schema: Schema): Static<Schema> | undefined {
  return jsonOf(schema, readFileSync(path));
}
