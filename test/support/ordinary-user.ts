import { EXECUTABLE } from './executable.ts';

const AS_NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];

/**
 * What to put in front of a command so that file modes mean something to it: nothing, unless the tests run as root.
 * Undefined when root cannot step down here.
 */
export const ORDINARY_USER: readonly string[] | undefined = process.getuid?.() === 0 ? stepDown() : [];

function stepDown(): readonly string[] | undefined {
  if (Bun.which('setpriv') === null) return undefined;
  const tried = Bun.spawnSync([...AS_NOBODY, EXECUTABLE, 'version'], { stdout: 'ignore', stderr: 'ignore' });
  return tried.exitCode === 0 ? AS_NOBODY : undefined;
}
