import { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { sqliteVersion } from '../store/database.ts';
import { RECORDINGS } from '../store/database-file.ts';
import { json, type Terminal } from './terminal.ts';
import type { GlobalOptions } from './with-archive.ts';

export const VERSION: string = manifest.version;

export function versionCommand(terminal: Terminal): Command {
  return new Command('version')
    .description('print the versions of the program, Bun, SQLite and the database schema')
    .addHelpText('after', '\nExamples:\n  $ bookreel version\n  $ bookreel version --json')
    .action((_, command: Command) => {
      const [bun, sqlite, schema] = [Bun.version, sqliteVersion(), RECORDINGS.version];
      terminal.out(
        command.optsWithGlobals<GlobalOptions>().json === true
          ? json({ bookreel: VERSION, bun, sqlite, schema })
          : `bookreel ${VERSION} (Bun ${bun}, SQLite ${sqlite}, schema ${schema})\n`,
      );
    });
}
