import { run } from '../../src/cli/program.ts';
import { captured } from './captured.ts';
import type { Finished, RunOptions } from './executable.ts';

/** The umask of the executable: only the owner may read its files. */
const OWNER_ONLY = 0o077;

/** Commands that run, those among them that have changed the directory or the environment of this process, and its own umask. */
const running = { all: 0, placed: 0, umask: 0 };

/**
 * Runs one command of the program in this process, which takes a tenth of the time that a start of the executable takes.
 * `cli/executable.slow.test.ts` compares the two. With a directory or variables it must be the only one that runs.
 */
export async function runCommand(
  args: readonly string[],
  { cwd, env = {} }: Pick<RunOptions, 'cwd' | 'env'> = {},
): Promise<Finished> {
  const isPlaced = cwd !== undefined || Object.keys(env).length > 0;
  if (running.placed > 0 || (isPlaced && running.all > 0)) throw new Error('another command runs in this process');
  const terminal = captured();
  const before = { cwd: process.cwd(), env: { ...process.env } };
  if (running.all === 0) running.umask = process.umask(OWNER_ONLY);
  running.all += 1;
  if (isPlaced) running.placed += 1;
  if (cwd !== undefined) process.chdir(cwd);
  Object.assign(process.env, env);
  try {
    const code = await run(args, terminal);
    return { code, stdout: terminal.stdout(), stderr: terminal.stderr() };
  } finally {
    if (cwd !== undefined) process.chdir(before.cwd);
    for (const name of Object.keys(env)) {
      if (before.env[name] === undefined) delete process.env[name];
      else process.env[name] = before.env[name];
    }
    running.all -= 1;
    if (running.all === 0) process.umask(running.umask);
    if (isPlaced) running.placed -= 1;
  }
}

/** The standard output of a command that runs in this process; throws when the command fails. */
export async function outputOf(
  args: readonly string[],
  options: Pick<RunOptions, 'cwd' | 'env'> = {},
): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, options);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}
