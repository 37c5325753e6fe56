import { readFileSync, type Stats, statSync } from 'node:fs';
import { DomainError, type ErrorKind } from '../domain/errors.ts';

const FOR_OTHERS = 0o077;
const FOR_GROUP_TO_READ = 0o040;

/** The first line of a file that others may not read, without spaces around it. Throws 'invalid-parameter'. */
export function readSecretFile(path: string): string {
  const [line = ''] = readPrivateFile(path).split('\n', 1);
  if (line.trim() !== '') return line.trim();
  throw new DomainError('invalid-parameter', `'${path}' is empty: write the secret into its first line`);
}

/** The text of a file that others may not read. Throws 'invalid-parameter'. */
export function readPrivateFile(path: string): string {
  try {
    refuseReadable(path, statSync(path), 'invalid-parameter');
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw new DomainError('invalid-parameter', `'${path}' cannot be read: check its path and permissions`, {
      cause: error,
    });
  }
}

/**
 * Throws a DomainError of this kind, with the command that mends it, if others than the owner of a file may read or write it. A file of root may
 * also be read by its group: Debian's services (0640, root:ssl-cert) and systemd's credentials (0440) have such files.
 */
export function refuseReadable(path: string, found: Stats, kind: ErrorKind): void {
  // A pipe, as of a shell's <(command), has one reader.
  if (!found.isFile()) return;
  const allowed = found.uid === 0 ? FOR_GROUP_TO_READ : 0;
  if ((found.mode & FOR_OTHERS & ~allowed) === 0) return;
  const isOwn = found.uid === process.getuid?.();
  const mending = isOwn ? `chmod 600 ${path}` : `chgrp ${process.getegid?.()} ${path} && chmod 640 ${path}`;
  throw new DomainError(kind, `other users may read or write '${path}': run '${mending}'`);
}
