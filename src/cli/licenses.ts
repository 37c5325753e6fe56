import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { examples, programCommand } from './program-command.ts';
import { json, type Terminal } from './terminal.ts';

export function licensesCommand(terminal: Terminal): CommandUnknownOpts {
  return programCommand('licenses')
    .description('print the licences of the program and of everything in it')
    .addHelpText('after', examples('licenses | less', 'licenses --json'))
    .action(async (_, command) => {
      const { LICENSES } = await import('./license-texts.ts');
      if (command.optsWithGlobals().json === true) return void terminal.out(json(LICENSES));
      // Many packages of one author have the same text.
      for (const group of Object.values(Object.groupBy(LICENSES, ({ license, text }) => `${license}\n${text}`))) {
        const names = group!.map(({ name, version }) => `${name} ${version}`).join(', ');
        const [{ license, text }] = group as [(typeof LICENSES)[number]];
        terminal.out(`${'='.repeat(80)}\n${names}: ${license}\n\n${text}\n\n`);
      }
    });
}
