import { Command } from 'commander';
import { restore } from '../store/backup.ts';
import { checkCopy, reportingDamage } from './copy-check.ts';
import { json, type Terminal } from './terminal.ts';
import type { GlobalOptions } from './with-archive.ts';

interface RestoreOptions extends GlobalOptions {
  readonly force?: boolean;
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
      const options = command.optsWithGlobals<RestoreOptions>();
      const { bytes, keptAs = null } = await reportingDamage(terminal, () =>
        restore(file, options.data, { force: options.force === true, check: checkCopy(terminal, file) }),
      );
      const { data } = options;
      terminal.out(options.json === true ? json({ data, bytes, keptAs }) : `${data}\n`);
      const kept = keptAs === null ? '' : `; the archive that was there is ${keptAs}`;
      if (options.json !== true) terminal.err(`${bytes} bytes, verified${kept}\n`);
    });
}
