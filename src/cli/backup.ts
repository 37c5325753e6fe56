import { Command } from 'commander';
import { DomainError } from '../domain/errors.ts';
import { backUp, restore } from '../store/backup.ts';
import { saysDamaged } from '../store/database.ts';
import { verifyFile } from '../verify/verify.ts';
import { EXIT, ExitWith } from './exit.ts';
import { errorLine, json, printable, type Terminal } from './terminal.ts';
import { printProblems } from './verify.ts';
import type { GlobalOptions } from './with-archive.ts';

interface CopyOptions extends GlobalOptions {
  readonly force?: boolean;
}

export function backupCommand(terminal: Terminal): Command {
  return new Command('backup')
    .argument('<file>', 'file to write, outside the data directory')
    .description('write a verified copy of the archive and of its key secret')
    .option('--force', 'replace the file if it exists')
    .addHelpText(
      'after',
      `
The copy has the state of the archive at one moment; a server and imports may
run meanwhile. The copy gets its name after it is verified. Keep both FILE and
FILE.key-secret: without the secret no key is valid. Files named FILE.partial-…
come from a backup that was killed, and can be deleted.

Examples:
  $ bookreel backup /mnt/backups/bookreel-monday.db
  $ bookreel backup /mnt/backups/bookreel.db --force --data /var/lib/bookreel`,
    )
    .action(async (file: string, _, command: Command) => {
      const options = command.optsWithGlobals<CopyOptions>();
      const backup = await copied(terminal, options.data, (check) =>
        backUp(options.data, file, { force: options.force === true, check }),
      );
      const { file: copy, bytes, secretFile = null } = backup;
      terminal.out(options.json === true ? json({ ...backup, secretFile }) : `${copy}\n`);
      const secret = secretFile === null ? '' : `; its key secret is ${secretFile}`;
      if (options.json !== true) terminal.err(`${bytes} bytes, verified${secret}\n`);
    });
}

export function restoreCommand(terminal: Terminal): Command {
  return new Command('restore')
    .argument('<file>', "file that 'bookreel backup' wrote, with its key secret in the same directory")
    .description('replace the archive and the keys of the data directory by a backup')
    .option('--force', 'if there is an archive, rename it to bookreel.db.before-restore-N')
    .addHelpText(
      'after',
      `
The backup is verified before it is installed. If the command is interrupted,
the data directory has a complete archive or none. While a server uses the data
directory, the command fails with exit code 4.

Examples:
  $ bookreel restore /mnt/backups/bookreel-monday.db --data /var/lib/bookreel
  $ bookreel restore /mnt/backups/bookreel-monday.db --force`,
    )
    .action(async (file: string, _, command: Command) => {
      const { data, ...options } = command.optsWithGlobals<CopyOptions>();
      const { bytes, keptAs = null } = await copied(terminal, file, (check) =>
        restore(file, data, { force: options.force === true, check }),
      );
      terminal.out(options.json === true ? json({ data, bytes, keptAs }) : `${data}\n`);
      const kept = keptAs === null ? '' : `; the previous archive is now ${keptAs}`;
      if (options.json !== true) terminal.err(`${bytes} bytes, verified${kept}\n`);
    });
}

/**
 * Copies the archive `source`; `work` verifies the copy with the function it gets. Prints the reason and throws ExitWith 3 if
 * the copy is damaged, or the source too damaged to be read. An error in a recording (a winner that contradicts the prices) is
 * not damage.
 */
async function copied<T>(
  terminal: Terminal,
  source: string,
  work: (check: (path: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  try {
    return await work(async (path) => {
      const verification = await verifyFile(path, { clock: terminal.clock });
      if (verification.totals.damage === 0) return;
      printProblems(terminal.err, verification);
      terminal.err(
        errorLine(
          printable(`the copy of '${source}' is not kept because of the problems above: restore an earlier backup`),
        ),
      );
      throw new ExitWith(EXIT.verification);
    });
  } catch (error) {
    if (!(error instanceof DomainError) || !saysDamaged(error)) throw error;
    terminal.err(errorLine(printable(error.message)));
    throw new ExitWith(EXIT.verification);
  }
}
