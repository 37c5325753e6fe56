import { run } from './cli/program.ts';
import { errorLine } from './cli/terminal.ts';

/** Files and directories that are made here are for their owner only. */
const OWNER_ONLY = 0o077;
/** How long the last messages may take to be read. */
const MESSAGES_MS = 1000;
const COLUMNS_ASSUMED = 80;

async function main(): Promise<void> {
  process.umask(OWNER_ONLY);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader that has had enough (`| head`) is no failure.
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(errorLine(`standard output cannot be written (${error.code}): the output above is lost`));
    process.exit(1);
  });
  // A server whose log reader went away goes on serving.
  process.stderr.on('error', () => undefined);
  const code = await run(process.argv.slice(2), {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    write: (bytes) => new Promise((resolve) => process.stdout.write(bytes, () => resolve())),
    outIsTerminal: process.stdout.isTTY === true,
    errIsTerminal: process.stderr.isTTY === true && process.env.TERM !== 'dumb',
    // A terminal that does not know its width says 0.
    errColumns: () => process.stderr.columns || COLUMNS_ASSUMED,
    clock: () => Date.now(),
  });
  // A pipe takes what was written at its reader's pace; what is not flushed would be lost with the process.
  await new Promise<void>((resolve) => process.stdout.end(() => resolve()));
  // But a reader that takes no messages does not keep a process from stopping.
  await Promise.race([new Promise<void>((resolve) => process.stderr.end(() => resolve())), Bun.sleep(MESSAGES_MS)]);
  process.exit(code);
}

main();
