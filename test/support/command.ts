import { run } from '../../src/cli/program.ts';
import { captured } from './captured.ts';
import type { Finished } from './executable.ts';

/** The umask of the executable: only the owner may read its files. */
const OWNER_ONLY = 0o077;

/**
 * Runs one command of the program in this process, which takes a tenth of the time that a start of the executable takes.
 * `cli/executable.slow.test.ts` compares the two. Commands that get another directory, environment or input run as executables.
 */
export async function runCommand(args: readonly string[]): Promise<Finished> {
  const terminal = captured();
  const umask = process.umask(OWNER_ONLY);
  try {
    const code = await run(args, terminal);
    return { code, stdout: terminal.stdout(), stderr: terminal.stderr() };
  } finally {
    process.umask(umask);
  }
}

/** The standard output of a command that runs in this process; throws when the command fails. */
export async function outputOf(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}
