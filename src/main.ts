import { run } from './cli/program.ts';

/** Files and directories that are made here are for their owner only. */
const OWNER_ONLY = 0o077;

async function main(): Promise<void> {
  process.umask(OWNER_ONLY);
  // A reader that has had enough (`| head`) is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const code = await run(process.argv.slice(2), {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    errIsTerminal: process.stderr.isTTY === true,
    clock: () => Date.now(),
  });
  process.exit(code);
}

main();
