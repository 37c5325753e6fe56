import { userInfo } from 'node:os';

/** The characters of user names (useradd(8)), and a bound: the variable may have any text. */
const USER_NAME = /^[\w.@$-]{1,64}$/;

/** The user who runs this command: under sudo the one who called it. A user without a name is `uid 1000`. */
export function operatingUser({ SUDO_USER = '' }: NodeJS.ProcessEnv): string {
  if (USER_NAME.test(SUDO_USER)) return SUDO_USER;
  try {
    return userInfo().username;
  } catch {
    // Containers run as users that /etc/passwd does not have.
    return `uid ${process.getuid?.()}`;
  }
}
