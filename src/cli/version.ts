import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import manifest from '../../package.json' with { type: 'json' };
import { sqliteVersion } from '../store/database.ts';
import { RECORDINGS } from '../store/database-file.ts';
import { examples, programCommand } from './program-command.ts';
import { json, type Terminal } from './terminal.ts';

export const VERSION: string = manifest.version;

export function versionCommand(terminal: Terminal): CommandUnknownOpts {
  return programCommand('version')
    .description('print the versions of the program, Bun, SQLite and the database schema')
    .addHelpText('after', examples('version', 'version --json'))
    .action((_, command) => {
      const [bun, sqlite, schema] = [Bun.version, sqliteVersion(), RECORDINGS.version];
      terminal.out(
        command.optsWithGlobals().json === true
          ? json({ bookreel: VERSION, bun, sqlite, schema })
          : `bookreel ${VERSION} (Bun ${bun}, SQLite ${sqlite}, schema ${schema})\n`,
      );
    });
}
