import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { DomainError } from '../domain/errors.ts';
import { COMPRESSED } from './compressed-database.ts';
import { explained } from './database-errors.ts';
import { ACCOUNTS, ACTIVITY, type DatabaseFile, RECORDINGS } from './database-file.ts';
import { jsonOf } from './json-of.ts';
import { KEY_SECRET_FILE } from './key-secret.ts';
import { writeNew } from './on-disk.ts';

/**
 * In the order of copying. Activity names keys and accounts, which are never deleted: the later copy of them has those that it
 * names. Recordings are last when they are installed: a directory with bookreel.db has the other files too.
 */
export const BACKUP_FILES: readonly DatabaseFile[] = [ACTIVITY, ACCOUNTS, RECORDINGS];

/** A database of a backup, which has it compressed; those of earlier versions have it as it is. */
export const BackedUpFile = Type.Object({
  name: Type.Union(BACKUP_FILES.map(({ name }) => Type.Literal(name))),
  /** The database has everything that was reported as stored before this instant. */
  at: Type.String(),
  /** Not compressed. */
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Type.String(),
});
export type BackedUpFile = Readonly<Static<typeof BackedUpFile>>;

const Manifest = Type.Object({
  format: Type.Literal('bookreel-backup'),
  version: Type.Literal(1),
  files: Type.Array(BackedUpFile, { minItems: 1 }),
  /** SHA-256 of the key secret; null: the backup has none. The secret is random, so nobody can compute it from this. */
  keySecretSha256: Type.Union([Type.String(), Type.Null()]),
});

/** The statements of a backup's manifest. */
export type BackupContent = Readonly<Pick<Static<typeof Manifest>, 'keySecretSha256'>> & {
  readonly files: readonly BackedUpFile[];
};

export const MANIFEST_FILE = 'manifest.json';
/** The files in which an interrupted run of verify keeps what it has done, and SQLite what it needs for it. */
export const VERIFY_PROGRESS_FILES = [
  'verify-progress.db',
  'verify-progress.db-wal',
  'verify-progress.db-shm',
] as const;
/** The names of all files that a backup may have. */
export const BACKUP_NAMES: ReadonlySet<string> = new Set([
  ...BACKUP_FILES.flatMap(({ name }) => [name, `${name}${COMPRESSED}`]),
  KEY_SECRET_FILE,
  MANIFEST_FILE,
  ...VERIFY_PROGRESS_FILES,
]);

/** Returns true if a directory is a backup with compressed databases: it cannot be read in its place. */
export function isCompressed(directory: string): boolean {
  return BACKUP_FILES.some(({ name }) => {
    const path = join(directory, name);
    return existsSync(`${path}${COMPRESSED}`) && !existsSync(path);
  });
}

/** Throws 'unavailable' for such a directory. */
export function refuseCompressed(directory: string): void {
  if (!isCompressed(directory)) return;
  const remedy = `restore it into another directory with 'bookreel restore ${directory} --data ANOTHER'`;
  throw new DomainError('unavailable', `'${directory}' is a backup, with compressed databases: ${remedy}`);
}

/** Writes the manifest of a backup, on disk when this returns. */
export function writeManifest(directory: string, content: BackupContent): void {
  const manifest: Static<typeof Manifest> = {
    format: 'bookreel-backup',
    version: 1,
    ...content,
    files: [...content.files],
  };
  writeNew(join(directory, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Throws 'unavailable' if there is no backup, 'unreadable' if its manifest is damaged. */
export function readManifest(source: string): BackupContent {
  const path = join(source, MANIFEST_FILE);
  if (!existsSync(path)) {
    throw new DomainError(
      'unavailable',
      `there is no backup '${source}': name a directory that 'bookreel backup' wrote, with its ${MANIFEST_FILE}`,
    );
  }
  const { files = [], keySecretSha256 = null } =
    jsonOf(
      Manifest,
      explained(path, () => readFileSync(path)),
    ) ?? {};
  if (files.length > 0 && new Set(files.map(({ name }) => name)).size === files.length)
    return { files, keySecretSha256 };
  throw new DomainError('unreadable', `'${path}' is damaged, or of another program: restore an earlier backup`);
}

export function digestOf(secret: Uint8Array | undefined): string | null {
  return secret === undefined ? null : createHash('sha256').update(secret).digest('hex');
}
