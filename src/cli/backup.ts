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
    .argument('<file>', 'where to, outside the data directory')
    .description('write a verified copy of the archive and, beside it, of its key secret')
    .option('--force', 'replace the file when it exists')
    .addHelpText(
      'after',
      `
The copy is the archive at one moment; a server and imports go on meanwhile. It is written under another name, verified, and
gets its own last. Keep FILE and FILE.key-secret: without the secret no key of the copy is valid. A file named
FILE.partial-… is left of a backup that was killed and can be deleted.

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
    .argument('<file>', "what 'bookreel backup' wrote, its key secret beside it")
    .description('make a backup the archive of the data directory, with its keys')
    .option('--force', 'keep the archive that is there aside, as bookreel.db.before-restore-N')
    .addHelpText(
      'after',
      `
The copy is verified before it is installed, and gets its name last: whenever this is interrupted, the data directory holds no
archive or a whole one. A directory that is being served is refused with exit code 4.

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
      const kept = keptAs === null ? '' : `; the archive that was there is ${keptAs}`;
      if (options.json !== true) terminal.err(`${bytes} bytes, verified${kept}\n`);
    });
}

/**
 * Copies the archive `source`; `work` has the copy verified by what it is given. Throws ExitWith 3, after saying why, where
 * the copy is damaged or the source is too damaged to be read. What a recording has wrong (a winner that prices contradict) is
 * no fault of the copy.
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
