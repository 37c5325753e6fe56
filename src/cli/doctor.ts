import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { countText } from '../domain/count-text.ts';
import { checkups } from './checkups.ts';
import { EXIT, ExitWith } from './exit.ts';
import { addEverySetting, givenSettings } from './given-settings.ts';
import { becomeOwner } from './operating-user.ts';
import { programCommand } from './program-command.ts';
import { json, printable, type Terminal } from './terminal.ts';

export function doctorCommand(terminal: Terminal): CommandUnknownOpts {
  return addEverySetting(programCommand('doctor'))
    .description('find what is wrong with an installation, and say how to fix it')
    .addHelpText(
      'after',
      `
Checks the settings, the clock, the disk, owners and permissions of files, the
secrets, the write-ahead logs, the last backup, the recorder if one ever ran,
the bucket and the home of a node, the Redis of --windows, the proxy, keys of
the demo in a public service, and the gas keys of payments, for which it asks
their nodes. Run it as the user of the server, with the server's settings.
Findings make the exit code 3. It changes nothing, and works while a server is
running; 'bookreel verify' checks the recordings and accounts themselves.

Examples:
  $ bookreel doctor
  $ bookreel doctor --config /etc/bookreel/bookreel.toml --json`,
    )
    .action(async (_, command) => {
      const given = givenSettings(command, process.env, terminal.packageConfig);
      becomeOwner(given.values.data, terminal);
      const found = await checkups(given, terminal.clock());
      const count = found.reduce((sum, { findings }) => sum + findings.length, 0);
      if (command.optsWithGlobals().json === true) {
        const checks = found.map(({ check, findings }) => ({ check, findings: findings.map(printable) }));
        terminal.out(json({ ok: count === 0, checks }));
      } else {
        const lines = found.map(
          ({ check, findings }) => `${check}: ${findings.map(printable).join(`\n${check}: `) || 'ok'}`,
        );
        terminal.out(`${lines.join('\n')}\n${count === 0 ? 'nothing was found' : `${countText(count, 'finding')}`}\n`);
      }
      if (count > 0) throw new ExitWith(EXIT.verification);
    });
}
