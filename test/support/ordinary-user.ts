import { EXECUTABLE } from './executable.ts';

const AS_NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];

/**
 * The prefix of a command that must obey file modes: empty, unless the tests run as root. Undefined when root cannot run a
 * command as another user here.
 */
export const ORDINARY_USER: readonly string[] | undefined = process.getuid?.() === 0 ? asNobody() : [];

function asNobody(): readonly string[] | undefined {
  if (Bun.which('setpriv') === null) return undefined;
  const tried = Bun.spawnSync([...AS_NOBODY, EXECUTABLE, 'version'], { stdout: 'ignore', stderr: 'ignore' });
  return tried.exitCode === 0 ? AS_NOBODY : undefined;
}
