import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { EXIT } from '../cli/exit.ts';
import { createProgram } from '../cli/program.ts';
import { VERSION } from '../cli/version.ts';
import { ALL_SETTINGS, variableOf } from '../config.ts';

const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'Success.',
  failure: 'Failure; for health: the server is not ready.',
  usage: 'Wrong usage, or a setting that is wrong. The service is not started again.',
  verification: 'verify, backup, restore, doctor or config check found problems.',
  inUse: 'Another process uses the data directory.',
};
/** Paths of the package, and names in the data directory. */
const FILES: readonly (readonly [path: string, about: string])[] = [
  ['/etc/bookreel/bookreel.toml', 'Settings of the service, named by --config.'],
  [
    '/etc/bookreel/secrets/',
    'Files that only root reads. The service finds them in $CREDENTIALS_DIRECTORY/secret_NAME.',
  ],
  ['/var/lib/bookreel/', 'Data directory of the service.'],
  [
    'bookreel.db, accounts.db, activity.db',
    'Recordings; tiers, accounts and keys; sessions, usage and emails that wait.',
  ],
  ['*.db-wal, *.db-shm', 'Parts of these databases: copy them together, or better with backup.'],
  ['*.db.schema-N', 'A copy from before an upgrade.'],
  ['*.before-restore-N', 'What restore replaced.'],
  ['key-secret', 'Without it no key is valid.'],
  ['last-backup.json', 'How the last backups ended.'],
  ['restore.download/', 'What a restore from a bucket has downloaded so far.'],
  ['download.lock', 'Locked by such a restore.'],
  ['serve.lock', 'Locked by the server.'],
  ['server.json', 'The processes of the server, if there are several.'],
  ['journal/', 'What the recorder received, a file for each hour.'],
  ['recorder.json', 'What the recorder does, written every second.'],
  ['record.lock', 'Locked by the recorder.'],
  ['/var/backups/bookreel/', 'Backups of bookreel-backup.service.'],
  ['/usr/share/bookreel/', 'Alert rules for Prometheus, and a dashboard for Grafana.'],
  ['/usr/share/doc/bookreel/licenses.gz', 'The licences of everything in the program.'],
];

/** The page bookreel(1): every command with its options and examples, as `--help` has them. */
export function manPage(program: CommandUnknownOpts, version: string, date: string): string {
  const commands = withDescendants(program).slice(1);
  return [
    `.TH BOOKREEL 1 "${date}" "bookreel ${version}" "User Commands"`,
    '.SH NAME',
    `bookreel \\- ${roff(lowerFirst(program.description()).replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    '.B bookreel',
    `.I ${roff(program.usage())}`,
    '.SH OPTIONS',
    ...optionsOf(program),
    ...textAfter(program),
    '.SH COMMANDS',
    ...commands.flatMap((command) => [
      `.SS ${roff(`${wordsOf(command)} ${command.usage()}`)}`,
      `${roff(sentence(command.description()))}`,
      ...optionsOf(command),
      ...textAfter(command),
    ]),
    '.SH EXIT STATUS',
    ...listOf(Object.entries(EXIT).map(([name, code]) => [String(code), EXIT_MEANINGS[name as keyof typeof EXIT]])),
    '.SH ENVIRONMENT',
    'A flag wins over its variable, a variable over the settings file.',
    ...listOf(ALL_SETTINGS.map(([name, { about }]) => [variableOf(name), sentence(about)])),
    ...listOf([
      ['NO_COLOR', 'If it is not empty, nothing is coloured.'],
      ['TMPDIR', 'Where import and export keep temporary files.'],
    ]),
    '.SH FILES',
    ...listOf(FILES),
    '.SH SEE ALSO',
    "The manual: run 'bookreel manual'.",
    '',
  ].join('\n');
}

function optionsOf(command: CommandUnknownOpts): string[] {
  const help = command.createHelp();
  const items = [
    ...help
      .visibleArguments(command)
      .map((argument) => [help.argumentTerm(argument), help.argumentDescription(argument)]),
    ...help.visibleOptions(command).map((option) => [help.optionTerm(option), help.optionDescription(option)]),
  ];
  return listOf(items);
}

function listOf(items: readonly (readonly string[])[]): string[] {
  return items.flatMap(([term = '', about = '']) => ['.TP', `.B ${roff(term)}`, roff(about)]);
}

/** The text that `--help` prints after the options. */
function textAfter(command: CommandUnknownOpts): string[] {
  let printed = '';
  const { writeOut } = command.configureOutput();
  command.configureOutput({ writeOut: (text) => (printed += text) });
  command.outputHelp();
  command.configureOutput({ writeOut: writeOut! });
  const after = printed.slice(command.helpInformation().length).trim();
  return after === '' ? [] : ['.PP', '.nf', ...after.split('\n').map(roff), '.fi'];
}

function withDescendants(command: CommandUnknownOpts): CommandUnknownOpts[] {
  return [command, ...command.commands.flatMap(withDescendants)];
}

function wordsOf(command: CommandUnknownOpts): string {
  return command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;
}

function lowerFirst(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

/** A line of text: no character of it is a command of roff. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/, '\\&');
}

if (import.meta.main) {
  const [date = ''] = process.argv.slice(2);
  const silent = () => undefined;
  const program = await createProgram({
    out: silent,
    err: silent,
    write: () => Promise.resolve(),
    outIsTerminal: false,
    errIsTerminal: false,
    errColumns: () => 80,
    outColumns: () => 80,
    outHasColour: false,
    errHasColour: false,
    operatingUser: '',
    clock: () => 0,
  });
  process.stdout.write(manPage(program, VERSION, date));
}
