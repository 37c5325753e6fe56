import { createInterface } from 'node:readline/promises';
import { packageConfig } from './cli/config-file.ts';
import { operatingUser } from './cli/operating-user.ts';
import { ownCommand } from './cli/own-command.ts';
import { hasJsonFlag, run } from './cli/program.ts';
import { printError, type Terminal } from './cli/terminal.ts';

/** Only the owner may read files and directories that this program creates. */
const OWNER_ONLY = 0o077;
/** Maximum time for a reader to take the last messages. */
const MESSAGES_MS = 1000;
const COLUMNS_ASSUMED = 80;

async function main(): Promise<void> {
  process.umask(OWNER_ONLY);
  const argv = process.argv.slice(2);
  const terminal: Terminal = {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    write: (bytes) => new Promise((resolve) => process.stdout.write(bytes, () => resolve())),
    outIsTerminal: process.stdout.isTTY === true,
    outHasColour: process.stdout.isTTY === true && allowsColour(process.env),
    errHasColour: process.stderr.isTTY === true && allowsColour(process.env),
    errIsTerminal: process.stderr.isTTY === true && process.env.TERM !== 'dumb',
    // Some terminals report a width of 0.
    outColumns: () => process.stdout.columns || COLUMNS_ASSUMED,
    errColumns: () => process.stderr.columns || COLUMNS_ASSUMED,
    clock: () => Date.now(),
    operatingUser: operatingUser(process.env),
    packageConfig: packageConfig(process.execPath),
    ...(process.stdin.isTTY === true && process.stderr.isTTY === true ? { ask } : {}),
    becomeUser: (uid, gid) => {
      process.setgroups?.([]);
      process.setgid?.(gid);
      process.setuid?.(uid);
    },
    needVariables: (variables) => {
      const { env } = process;
      if (Object.keys(variables).every((name) => env[name] !== undefined)) return;
      process.execve?.(process.execPath, ownCommand(argv), { ...variables, ...env });
    },
  };
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader that wants no more (`| head`) is not a failure.
    if (error.code === 'EPIPE') process.exit(0);
    const sentence = `standard output cannot be written (${error.code}): the output above is lost`;
    printError({ ...terminal, errorsAreJson: hasJsonFlag(argv) }, sentence, 'unavailable');
    process.exit(1);
  });
  // A server continues when nothing reads its log any more.
  process.stderr.on('error', () => undefined);
  const code = await run(argv, terminal);
  // A slow reader of a pipe takes output after the command has ended; without this the rest would be lost with the process.
  await new Promise<void>((resolve) => process.stdout.end(() => resolve()));
  // A reader that never takes the messages must not keep the process from stopping.
  await Promise.race([new Promise<void>((resolve) => process.stderr.end(() => resolve())), Bun.sleep(MESSAGES_MS)]);
  process.exit(code);
}

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // The end of the input is no answer.
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  const answer = await Promise.race([lines.question(question), closed]);
  lines.close();
  return answer;
}

/** See https://no-color.org: a variable that is set and not empty turns colours off, whatever its value. */
function allowsColour({ NO_COLOR = '', TERM }: NodeJS.ProcessEnv): boolean {
  return NO_COLOR === '' && TERM !== 'dumb';
}

main();
