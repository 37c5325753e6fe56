import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { createProgram } from '../cli/program.ts';
import { VERSION } from '../cli/version.ts';

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
  return items.flatMap(([term = '', about = '']) => ['.TP', `.B ${roff(term)}`, roff(about)]);
}

/** What `--help` prints after the options. */
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
  const program = createProgram({
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
