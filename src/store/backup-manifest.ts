import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { COMPRESSED } from './compressed-database.ts';
import { explained } from './database-errors.ts';
import { ACCOUNTS, ACTIVITY, type DatabaseFile, RECORDINGS } from './database-file.ts';
import { KEY_SECRET_FILE } from './key-secret.ts';
import { writeNew } from './on-disk.ts';

/** A database of a backup, which has it compressed; those of earlier versions have it as it is. */
export interface BackedUpFile {
  readonly name: string;
  /** The database has everything that was reported as stored before this instant. */
  readonly at: string;
  /** Not compressed. */
  readonly bytes: number;
  readonly sha256: string;
}

/** The statements of a backup's manifest. */
export interface BackupContent {
  readonly files: readonly BackedUpFile[];
  /** SHA-256 of the key secret; null: the backup has none. The secret is random, so nobody can compute it from this. */
  readonly keySecretSha256: string | null;
}

/**
 * In the order of copying. Activity names keys and accounts, which are never deleted: the later copy of them has those that it
 * names. Recordings are last when they are installed: a directory with bookreel.db has the other files too.
 */
export const BACKUP_FILES: readonly DatabaseFile[] = [ACTIVITY, ACCOUNTS, RECORDINGS];

export const MANIFEST_FILE = 'manifest.json';
const MANIFEST = { format: 'bookreel-backup', version: 1 } as const;
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
  writeNew(join(directory, MANIFEST_FILE), `${JSON.stringify({ ...MANIFEST, ...content }, null, 2)}\n`);
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
  const text = explained(path, () => readFileSync(path, 'utf8'));
  try {
    const found = JSON.parse(text) as Partial<Record<keyof (typeof MANIFEST & BackupContent), unknown>> | null;
    const { format, version, files, keySecretSha256 } = found ?? {};
    const isOurs = format === MANIFEST.format && version === MANIFEST.version;
    const saysSecret = typeof keySecretSha256 === 'string' || keySecretSha256 === null;
    if (isOurs && saysSecret && Array.isArray(files) && files.every(isBackedUp)) {
      const names = files.map(({ name }) => name);
      if (names.length > 0 && new Set(names).size === names.length) return { files, keySecretSha256 };
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new DomainError('unreadable', `'${path}' is damaged, or of another program: restore an earlier backup`);
}

function isBackedUp(value: unknown): value is BackedUpFile {
  if (typeof value !== 'object' || value === null) return false;
  const { name, at, bytes, sha256 } = value as Partial<Record<keyof BackedUpFile, unknown>>;
  return (
    BACKUP_FILES.some((file) => file.name === name) &&
    typeof at === 'string' &&
    Number.isSafeInteger(bytes) &&
    typeof sha256 === 'string'
  );
}

export function digestOf(secret: Uint8Array | undefined): string | null {
  return secret === undefined ? null : createHash('sha256').update(secret).digest('hex');
}
