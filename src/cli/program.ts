import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { addSettings } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { isSystemError, systemSentence } from '../store/database-errors.ts';
import { EXIT, type ExitCode, ExitWith, exitCodeFor } from './exit.ts';
import { applySettings } from './settings.ts';
import { printError, type Terminal, withoutPasswords } from './terminal.ts';
import { VERSION } from './version.ts';

/** The commands in the order of the help. Each is loaded when it is needed: together they take most of the time of a start. */
const COMMANDS = {
  serve: async () => (await import('./serve.ts')).serveCommand,
  seed: async () => (await import('./seed.ts')).seedCommand,
  account: async () => (await import('./account.ts')).accountCommand,
  key: async () => (await import('./key.ts')).keyCommand,
  tier: async () => (await import('./tier.ts')).tierCommand,
  usage: async () => (await import('./usage.ts')).usageCommand,
  audit: async () => (await import('./audit.ts')).auditCommand,
  billing: async () => (await import('./billing.ts')).billingCommand,
  status: async () => (await import('./status.ts')).statusCommand,
  markets: async () => (await import('./markets.ts')).marketsCommand,
  inspect: async () => (await import('./inspect.ts')).inspectCommand,
  import: async () => (await import('./import.ts')).importCommand,
  export: async () => (await import('./export.ts')).exportCommand,
  show: async () => (await import('./show.ts')).showCommand,
  plot: async () => (await import('./plot.ts')).plotCommand,
  delete: async () => (await import('./delete.ts')).deleteCommand,
  seal: async () => (await import('./seal.ts')).sealCommand,
  publish: async () => (await import('./publish.ts')).publishCommand,
  replay: async () => (await import('./replay.ts')).replayCommand,
  paper: async () => (await import('./paper.ts')).paperCommand,
  backtest: async () => (await import('./backtest.ts')).backtestCommand,
  mcp: async () => (await import('./mcp.ts')).mcpCommand,
  record: async () => (await import('./record.ts')).recordCommand,
  verify: async () => (await import('./verify.ts')).verifyCommand,
  backup: async () => (await import('./backup.ts')).backupCommand,
  restore: async () => (await import('./backup.ts')).restoreCommand,
  config: async () => (await import('./config.ts')).configCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  health: async () => (await import('./health.ts')).healthCommand,
  metrics: async () => (await import('./metrics.ts')).metricsCommand,
  completion: async () => (await import('./completion.ts')).completionCommand,
  manual: async () => (await import('./manual.ts')).manualCommand,
  openapi: async () => (await import('./openapi.ts')).openapiCommand,
  licenses: async () => (await import('./licenses.ts')).licensesCommand,
  version: async () => (await import('./version.ts')).versionCommand,
} satisfies Record<string, () => Promise<(terminal: Terminal) => CommandUnknownOpts>>;

type Noun = keyof typeof COMMANDS;
const NOUNS = Object.keys(COMMANDS) as Noun[];

/** The command line `bookreel <noun> <verb>`: the whole of it, or only some nouns. */
export async function createProgram(terminal: Terminal, nouns: readonly Noun[] = NOUNS): Promise<CommandUnknownOpts> {
  const program = addSettings(new Command('bookreel'), 'data', 'config')
    .description('Record, import, keep, serve, replay and export order books of up-or-down prediction markets.')
    .option('--json', 'print JSON')
    .version(`bookreel ${VERSION}`, '-V, --version', 'print the version')
    .hook('preAction', (_, command) => applySettings(command, process.env, terminal))
    .addHelpText(
      'after',
      `
Exit codes: 0 success, 1 failure, 2 wrong usage or settings, 3 problems were
found, 4 the data directory is in use. With --json an error is one line of JSON.

Examples:
  $ bookreel serve --demo
  $ bookreel import recordings/ --data /var/lib/bookreel
  $ bookreel key create --tier pro`,
    );
  for (const noun of nouns) program.addCommand((await COMMANDS[noun]())(terminal));
  for (const command of withDescendants(program)) {
    command
      .exitOverride()
      .configureOutput({
        writeOut: terminal.out,
        writeErr: terminal.errorsAreJson === true ? missingCommand(terminal, command) : terminal.err,
        outputError: (message) =>
          printError(terminal, withoutPasswords(usageSentence(command, message)), 'invalid-parameter'),
      })
      .configureHelp({ ...command.configureHelp(), showGlobalOptions: true });
  }
  return program;
}

/** Runs one command. One that fails says why in one sentence on stderr. */
export async function run(argv: readonly string[], given: Terminal): Promise<ExitCode> {
  // Arguments that cannot be parsed are an error too.
  const terminal = { ...given, errorsAreJson: hasJsonFlag(argv) };
  const user = process.getuid?.();
  try {
    const program = await createProgram(terminal, nounsOf(argv));
    await program.parseAsync([...argv], { from: 'user' });
    return EXIT.ok;
  } catch (thrown) {
    const error = firstError(thrown);
    if (error instanceof DomainError) printError(terminal, `${error.message}${asWhom(error, user)}`, error.kind);
    else if (isSystemError(error)) printError(terminal, systemSentence(error, 'used'), 'unavailable');
    else if (!(error instanceof CommanderError) && !(error instanceof ExitWith)) {
      const trace = error instanceof Error ? error.stack : String(error);
      printError(terminal, `this is a defect, please report it: ${trace}`, 'internal');
    }
    return exitCodeFor(error);
  }
}

/** The nouns that a command line needs: help, completions and the error about an unknown noun need all of them. */
function nounsOf([first]: readonly string[]): readonly Noun[] {
  if (first === '--version') return [];
  const noun = NOUNS.find((name) => name === first && name !== 'completion');
  return noun === undefined ? NOUNS : [noun];
}

/** The error that ended the work, not those of closing what it had open. */
function firstError(error: unknown): unknown {
  return error instanceof SuppressedError ? firstError(error.suppressed) : error;
}

/** Root is surprised when it may not do something: names the user that it has become. */
function asWhom({ cause }: DomainError, startedAs: number | undefined): string {
  const user = process.getuid?.();
  const isRefused = cause instanceof Error && 'code' in cause && cause.code === 'EACCES';
  return user === startedAs || !isRefused ? '' : ` (this ran as the user ${user}, who owns the data directory)`;
}

export function hasJsonFlag(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end === -1 ? argv.length : end).includes('--json');
}

/** Replaces the help that the parser prints, in several pieces, where a command is missing. */
function missingCommand(terminal: Terminal, command: CommandUnknownOpts): () => void {
  let isPrinted = false;
  return () => {
    if (!isPrinted) printError(terminal, `a command is missing; see '${wordsOf(command)} --help'`, 'invalid-parameter');
    isPrinted = true;
  };
}

/** The parser's message about wrong usage, as one sentence that says what to do. */
function usageSentence(command: CommandUnknownOpts, message: string): string {
  const sentence = message
    .replace(/^error: (?:command-argument value )?/, '')
    .replace(
      / is invalid( for argument '[^']*')?\. (.)/,
      (_, where = '', first) => ` is invalid${where}: ${first.toLowerCase()}`,
    )
    .replace(/\. Expected (\d+) arguments? but got (\d+): .*$/s, ': $1 expected, $2 given')
    .replace(/\n\(Did you mean (.*)\?\)\n$/, ': did you mean $1?')
    .replace(/\.?\n$/, '');
  const saysWhatToDo = / is invalid.*: |: did you mean .*\?$/s.test(sentence);
  return saysWhatToDo ? sentence : `${sentence}; see '${wordsOf(command)} --help'`;
}

/** The words that call a command. */
function wordsOf(command: CommandUnknownOpts): string {
  return command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`;
}

function withDescendants(command: CommandUnknownOpts): CommandUnknownOpts[] {
  return [command, ...command.commands.flatMap(withDescendants)];
}
