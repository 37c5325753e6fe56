import { readFileSync } from 'node:fs';

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
