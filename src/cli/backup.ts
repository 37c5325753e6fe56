import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { integerFrom } from '../config.ts';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { type Backup, backUp } from '../store/backup.ts';
import { isDamageError } from '../store/database-errors.ts';
import { backUpAndKeep, KEPT_MAX } from '../store/kept-backups.ts';
import { restore } from '../store/restore.ts';
import { verifyDirectory } from '../verify/verify.ts';
import { EXIT, ExitWith } from './exit.ts';
import type { GlobalOptions } from './program-command.ts';
import { programCommand } from './program-command.ts';
import { json, printError, type Terminal } from './terminal.ts';
import { printProblems } from './verify.ts';

export function backupCommand(terminal: Terminal): CommandUnknownOpts {
  return programCommand('backup')
    .argument('<directory>', 'directory to write, outside the data directory')
    .description('write a verified copy of the recordings, the accounts and the key secret')
    .option('--force', 'replace the directory if it is a backup')
    .addOption(
      new Option('--keep <count>', 'write a backup into the directory, and keep this number of them')
        .argParser(integerFrom(1, KEPT_MAX))
        .conflicts('force'),
    )
    .addHelpText(
      'after',
      `
Each database is copied as of one instant, which the manifest has; a server and
imports may run meanwhile. The copy gets its name after it is verified. It holds
the key secret: keep it as safe as the data directory. Directories named
DIRECTORY.partial-… come from a backup that was killed, and can be deleted. One
killed with --force may leave the earlier backup as DIRECTORY.replaced-….

With --keep the new backup is a directory in DIRECTORY, named by its time. It is
restored into a scratch directory there and verified once more; then the oldest
ones are deleted. The disk needs room for the archive twice.

Examples:
  $ bookreel backup /mnt/backups/bookreel-monday
  $ bookreel backup /mnt/backups/bookreel --force --data /var/lib/bookreel
  $ bookreel backup /mnt/backups --keep 7`,
    )
    .action(async (target, _, command) => {
      const options = command.optsWithGlobals();
      if (options.keep !== undefined) return await keepBackup(terminal, options, target, options.keep);
      const backup = await copyVerified(terminal, options.data, (check) =>
        backUp(options.data, target, terminal.clock, { force: options.force === true, check }),
      );
      terminal.out(options.json === true ? json(backup) : `${backup.directory}\n`);
      if (options.json !== true) terminal.err(`${sizeOf(backup)}, verified${secretNote(backup)}\n`);
    });
}

async function keepBackup(terminal: Terminal, options: GlobalOptions, directory: string, keep: number): Promise<void> {
  const backup = await copyVerified(terminal, options.data, (check) =>
    backUpAndKeep(options.data, directory, terminal.clock, { keep, check }),
  );
  terminal.out(options.json === true ? json(backup) : `${backup.directory}\n`);
  if (options.json === true) return;
  const deleted = backup.deleted.length === 0 ? '' : `; deleted ${backup.deleted.join(', ')}`;
  terminal.err(`${sizeOf(backup)}, verified and restored${secretNote(backup)}${deleted}\n`);
}

function secretNote({ keySecretSha256 }: Pick<Backup, 'keySecretSha256'>): string {
  return keySecretSha256 === null ? '' : '; it has the key secret';
}

export function restoreCommand(terminal: Terminal): CommandUnknownOpts {
  return programCommand('restore')
    .argument('<directory>', "directory that 'bookreel backup' wrote")
    .description('replace the recordings, the accounts and the keys of the data directory with a backup')
    .option('--force', 'if there is an archive, rename its files to *.before-restore-N')
    .addHelpText(
      'after',
      `
The backup is compared with its manifest and verified before it is installed. If
the command is interrupted, the data directory has a complete archive or no
bookreel.db; run it again with --force. Directories named restore.partial-… in
the data directory come from a restore that was killed, and can be deleted.
While a server uses the data directory, the command fails with exit code 4.

Examples:
  $ bookreel restore /mnt/backups/bookreel-monday --data /var/lib/bookreel
  $ bookreel restore /mnt/backups/bookreel-monday --force`,
    )
    .action(async (source, _, command) => {
      const { data, ...options } = command.optsWithGlobals();
      const restored = await copyVerified(terminal, source, (check) =>
        restore(source, data, { force: options.force === true, check }),
      );
      const { keptAs } = restored;
      terminal.out(options.json === true ? json({ data, ...restored }) : `${data}\n`);
      const kept = keptAs.length === 0 ? '' : `; the previous archive is now ${keptAs.join(', ')}`;
      if (options.json !== true) terminal.err(`${sizeOf(restored)}, verified${kept}\n`);
    });
}

function sizeOf({ files }: Pick<Backup, 'files'>): string {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return `${bytes} bytes in ${countText(files.length, 'database')}`;
}

/**
 * Copies the archive `source`; `work` verifies the copy with the function it gets. Prints the reason and throws ExitWith 3 if
 * the copy is damaged, or the source too damaged to be read. An error in a recording (a winner that contradicts the prices) is
 * not damage.
 */
async function copyVerified<T>(
  terminal: Terminal,
  source: string,
  work: (check: (directory: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  try {
    return await work(async (directory) => {
      const verification = await verifyDirectory(directory, { clock: terminal.clock });
      if (verification.totals.damage === 0) return;
      const printProblem = (line: string) => printError(terminal, line.trimEnd(), 'unreadable');
      printProblems(terminal.errorsAreJson === true ? printProblem : terminal.err, verification);
      const sentence = `the copy of '${source}' is not kept because of the problems above: restore an earlier backup`;
      printError(terminal, sentence, 'unreadable');
      throw new ExitWith(EXIT.verification);
    });
  } catch (error) {
    if (!(error instanceof DomainError) || !(error.kind === 'unreadable' || isDamageError(error))) throw error;
    printError(terminal, error.message, error.kind);
    throw new ExitWith(EXIT.verification);
  }
}
