import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError } from '../domain/errors.ts';

const WRITABLE_BY_OTHERS = 0o022;
const WRITABLE = 0o222;
/** In such a directory (/tmp) everybody may create files, and only delete their own. */
const STICKY = 0o1000;

/**
 * Throws DomainError 'invalid-parameter', with the command that fixes it, if other users may write to a data directory: they could
 * replace the archive or the key secret, or set links where this program writes. Root may write everywhere, so a directory of
 * root is accepted. The directories above it are not checked; one that does not exist yet is created for its owner only.
 */
export function refuseShared(directory: string): void {
  const found = statSync(directory, { throwIfNoEntry: false });
  const self = process.getuid?.();
  if (found?.isDirectory() !== true || self === undefined) return;
  const isWritable = (found.mode & WRITABLE_BY_OTHERS) !== 0;
  const isOwn = found.uid === self;
  if (isWritable && isOwn && (found.mode & STICKY) === 0) {
    throw new DomainError(
      'invalid-parameter',
      `other users may write to '${directory}': run 'chmod 700 ${directory}' first`,
    );
  }
  if (isWritable) {
    const own = `${directory.replace(/\/+$/, '')}/bookreel`;
    throw new DomainError(
      'invalid-parameter',
      `other users may write to '${directory}': run 'mkdir -m 700 ${own}', and name that directory with --data`,
    );
  }
  if (!isOwn && found.uid !== 0) {
    throw new DomainError(
      'invalid-parameter',
      `'${directory}' belongs to the user ${found.uid}: run this as that user (sudo -u '#${found.uid}'), or name another directory with --data`,
    );
  }
}

/**
 * Returns true if a file or directory exists and cannot be written: nobody has the permission (mode 444, also for root), this user
 * does not have it, or its file system is mounted read-only.
 */
export function isReadOnly(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return false;
  if ((found.mode & WRITABLE) === 0) return true;
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EROFS');
  }
}

/** Returns true if a file of a data directory cannot be written, or is missing and cannot be created. */
export function isUnwritable(directory: string, name: string): boolean {
  const path = join(directory, name);
  return isReadOnly(existsSync(path) ? path : directory);
}

/**
 * Returns true if a file is missing in a data directory that cannot be written. Throws errors of the file system: a file that this
 * user may not see is not missing.
 */
export function cannotBeCreated(directory: string, name: string): boolean {
  return statSync(join(directory, name), { throwIfNoEntry: false }) === undefined && isReadOnly(directory);
}
