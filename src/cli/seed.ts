import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import btc from '../../fixtures/btc.ndjson.zst' with { type: 'file' };
import eth from '../../fixtures/eth.ndjson.zst' with { type: 'file' };
import sol from '../../fixtures/sol.ndjson.zst' with { type: 'file' };
import xrp from '../../fixtures/xrp.ndjson.zst' with { type: 'file' };
import { addSettings } from '../config.ts';
import type { ImportReport } from '../import/report.ts';
import { type Source, sourcesOf } from '../import/source.ts';
import type { Archive } from '../store/archive.ts';
import { openRegistry } from '../store/registry.ts';
import { EXIT, ExitWith } from './exit.ts';
import { importSources, type StoringOptions } from './import.ts';
import { isClean, printReport } from './import-report.ts';
import { programCommand } from './program-command.ts';
import type { Terminal } from './terminal.ts';
import { notingNew, withArchive } from './with-archive.ts';

/** The simulated recordings inside the executable. */
const FIXTURES: readonly Source[] = Object.entries({ btc, eth, sol, xrp }).map(([coin, path]) => ({
  path,
  name: `fixtures/${coin}.ndjson.zst`,
  named: true,
}));

export function seedCommand(terminal: Terminal): CommandUnknownOpts {
  return addSettings(programCommand('seed'), 'diskFloor')
    .description('load the tier catalog and the simulated recordings that come with this program')
    .option('--fixtures <dir>', 'load the recordings in this directory instead')
    .addHelpText(
      'after',
      `
Seeding again changes nothing. Tiers that you have changed keep your changes.

Examples:
  $ bookreel seed
  $ bookreel seed --fixtures my-recordings --data /var/lib/bookreel`,
    )
    .action(async (_, command) => {
      const options = command.optsWithGlobals();
      const nameNew = notingNew(terminal, options);
      // Opening it adds the tier catalog, if that is missing.
      openRegistry(options.data, { create: true })[Symbol.dispose]();
      const report = await withArchive(terminal, options, { create: true }, (archive) =>
        seed(terminal, options, archive, options.fixtures),
      );
      printReport(terminal, options, report);
      nameNew();
      if (!isClean(report)) throw new ExitWith(EXIT.failure);
    });
}

/** Adds the recordings that are missing. */
export async function seed(
  terminal: Terminal,
  options: StoringOptions,
  archive: Archive,
  directory?: string,
): Promise<ImportReport> {
  return await importSources(terminal, options, archive, directory === undefined ? FIXTURES : sourcesOf([directory]));
}
