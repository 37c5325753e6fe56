import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { countText } from '../domain/count-text.ts';
import { exposures } from './checkups.ts';
import { EXIT, ExitWith } from './exit.ts';
import {
  addEverySetting,
  type GivenSetting,
  type GivenSettings,
  givenSettings,
  type Origin,
} from './given-settings.ts';
import { becomeOwner } from './operating-user.ts';
import { examples, programCommand } from './program-command.ts';
import { startProblems } from './start-checks.ts';
import { type Column, table } from './table.ts';
import { json, printable, printError, type Terminal, withoutPasswords } from './terminal.ts';

const ORIGINS: Readonly<Record<Origin, string>> = {
  flag: 'flags',
  variable: 'variables',
  file: 'the file',
  default: 'defaults',
};

export function configCommand(terminal: Terminal): CommandUnknownOpts {
  const config = programCommand('config')
    .description('show and check the settings')
    .addHelpText('after', examples('config show', 'config check'));
  addEverySetting(config.command('show'))
    .description('show every setting with its value and where that comes from')
    .addHelpText(
      'after',
      `
Flags win over BOOKREEL_* variables, these over the file of --config, the file
over defaults. Files with secrets are named, and not read. --replay-port and
--replay-url are --port and --url of 'bookreel replay'.

Examples:
  $ bookreel config show
  $ bookreel config show --config /etc/bookreel/bookreel.toml --json`,
    )
    .action((_, command) => {
      const given = givenSettings(command, process.env, terminal.packageConfig);
      show(terminal, command, given.settings);
      refuse(terminal, given.problems);
    });
  addEverySetting(config.command('check'))
    .description('check the settings as serve does, without listening')
    .addHelpText(
      'after',
      `
Checks names, types and values, settings that need each other, the files that
they name, the owner of the data directory and the clock. Nothing is created or
changed, and no other machine is contacted. The exit code is 2 if serve would
not start; stderr has a sentence for each reason. It warns of a certificate that
clients refuse or that ends soon, of metrics that others may read, and of keys
that cross the network in plain text.

Examples:
  $ bookreel config check
  $ bookreel config check --config /etc/bookreel/bookreel.toml`,
    )
    .action(async (_, command) => {
      const given = givenSettings(command, process.env, terminal.packageConfig);
      becomeOwner(given.values.data, terminal);
      const problems = await allProblems(given, terminal.clock());
      const warnings = given.problems.length > 0 ? [] : exposures(given.values, terminal.clock());
      const isJson = command.optsWithGlobals().json === true;
      if (isJson) {
        const [listed, warned] = [problems, warnings].map((sentences) => sentences.map(printable));
        terminal.out(json({ ok: problems.length === 0, problems: listed, warnings: warned }));
      } else if (problems.length === 0) {
        terminal.out(`${summaryOf(given.settings)}: no problem\n`);
        for (const warning of warnings) terminal.err(`warning: ${printable(warning)}\n`);
      }
      refuse(terminal, isJson ? [] : problems);
      if (problems.length > 0) throw new ExitWith(EXIT.usage);
    });
  return config;
}

/** A sentence for each problem of the settings; if there is none, for each reason why `serve` would not start with them. */
async function allProblems({ problems, values }: GivenSettings, nowMs: number): Promise<readonly string[]> {
  return problems.length > 0 ? problems : await startProblems(values, nowMs);
}

function show(terminal: Terminal, command: CommandUnknownOpts, settings: readonly GivenSetting[]): void {
  const rows = settings.map(({ key, text, origin, from }) => ({
    setting: key,
    value: printable(withoutPasswords(text)),
    origin,
    from: from === undefined ? null : printable(from),
  }));
  if (command.optsWithGlobals().json === true) terminal.out(json(rows));
  else {
    const columns: readonly Column<(typeof rows)[number]>[] = [
      { heading: 'SETTING', cell: ({ setting }) => setting },
      { heading: 'VALUE', cell: ({ value }) => value, cut: 'end' },
      { heading: 'ORIGIN', cell: ({ origin, from }) => from ?? origin, cut: 'front' },
    ];
    terminal.out(table(terminal, columns, rows));
  }
}

/** Like `42 settings, 3 of the file and 1 of variables`. */
function summaryOf(settings: readonly GivenSetting[]): string {
  const counts = Map.groupBy(settings, ({ origin }) => ORIGINS[origin]);
  return `${countText(settings.length, 'setting')} (${[...counts].map(([of, { length }]) => `${length} of ${of}`).join(', ')})`;
}

function refuse(terminal: Terminal, problems: readonly string[]): void {
  for (const problem of problems) printError(terminal, problem, 'invalid-parameter');
  if (problems.length > 0) throw new ExitWith(EXIT.usage);
}
