import { Command } from 'commander';
import { backUp } from '../store/backup.ts';
import { checkCopy, reportingDamage } from './copy-check.ts';
import { json, type Terminal } from './terminal.ts';
import type { GlobalOptions } from './with-archive.ts';

interface BackupOptions extends GlobalOptions {
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
      const options = command.optsWithGlobals<BackupOptions>();
      const backup = await reportingDamage(terminal, () =>
        backUp(options.data, file, { force: options.force === true, check: checkCopy(terminal, options.data) }),
      );
      const { file: copy, bytes, secretFile = null } = backup;
      terminal.out(options.json === true ? json({ ...backup, secretFile }) : `${copy}\n`);
      const secret = secretFile === null ? '' : `; its key secret is ${secretFile}`;
      if (options.json !== true) terminal.err(`${bytes} bytes, verified${secret}\n`);
    });
}
