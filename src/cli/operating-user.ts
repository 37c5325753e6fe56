import { readFileSync, statSync } from 'node:fs';
import type { Terminal } from './terminal.ts';

/** The characters of user names (useradd(8)), and a bound: the variable may have any text. */
const USER_NAME = /^[\w.@$-]{1,64}$/;
const USERS_FILE = '/etc/passwd';

/** The user who runs this command: under sudo the one who called it. A user without a name in /etc/passwd is `uid 1000`. */
export function operatingUser({ SUDO_USER = '' }: NodeJS.ProcessEnv): string {
  const uid = process.getuid?.();
  // Only root's environment is that of sudo.
  if (uid === 0 && USER_NAME.test(SUDO_USER)) return SUDO_USER;
  return nameOf(uid) ?? `uid ${uid}`;
}

/**
 * Root becomes the owner of a data directory, with its group: the server could not open files of root, and links in the directory
 * could lead root to other files.
 */
export function becomeOwner(directory: string, { becomeUser }: Pick<Terminal, 'becomeUser'>): void {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (process.getuid?.() === 0 && found !== undefined && found.uid !== 0) becomeUser?.(found.uid, found.gid);
}

/** passwd(5). Bun's `userInfo` returns the variable USER, which anybody can set and systemd does not. */
function nameOf(uid: number | undefined): string | undefined {
  try {
    const lines = readFileSync(USERS_FILE, 'utf8').split('\n');
    return lines.map((line) => line.split(':')).find(([, , id]) => id === String(uid))?.[0];
  } catch {
    // Some containers have no such file.
    return undefined;
  }
}
