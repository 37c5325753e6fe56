import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { addSettings } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { isSystemError, systemSentence } from '../store/database-errors.ts';
import { accountCommand } from './account.ts';
import { auditCommand } from './audit.ts';
import { backtestCommand } from './backtest.ts';
import { backupCommand, restoreCommand } from './backup.ts';
import { billingCommand } from './billing.ts';
import { completionCommand } from './completion.ts';
import { configCommand } from './config.ts';
import { deleteCommand } from './delete.ts';
import { doctorCommand } from './doctor.ts';
import { EXIT, type ExitCode, ExitWith, exitCodeFor } from './exit.ts';
import { exportCommand } from './export.ts';
import { healthCommand } from './health.ts';
import { importCommand } from './import.ts';
import { inspectCommand } from './inspect.ts';
import { keyCommand } from './key.ts';
import { licensesCommand } from './licenses.ts';
import { manualCommand } from './manual.ts';
import { marketsCommand } from './markets.ts';
import { mcpCommand } from './mcp.ts';
import { metricsCommand } from './metrics.ts';
import { openapiCommand } from './openapi.ts';
import { paperCommand } from './paper.ts';
import { plotCommand } from './plot.ts';
import { publishCommand } from './publish.ts';
import { recordCommand } from './record.ts';
import { replayCommand } from './replay.ts';
import { sealCommand } from './seal.ts';
import { seedCommand } from './seed.ts';
import { serveCommand } from './serve.ts';
import { applySettings } from './settings.ts';
import { showCommand } from './show.ts';
import { statusCommand } from './status.ts';
import { printError, type Terminal, withoutPasswords } from './terminal.ts';
import { tierCommand } from './tier.ts';
import { usageCommand } from './usage.ts';
import { verifyCommand } from './verify.ts';
import { VERSION, versionCommand } from './version.ts';

/** The whole command line: `bookreel <noun> <verb>`. */
export function createProgram(terminal: Terminal): CommandUnknownOpts {
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
  const nouns = [
    ...[
      serveCommand,
      seedCommand,
      accountCommand,
      keyCommand,
      tierCommand,
      usageCommand,
      auditCommand,
      billingCommand,
      statusCommand,
      marketsCommand,
      inspectCommand,
      importCommand,
      exportCommand,
      showCommand,
      plotCommand,
      deleteCommand,
      sealCommand,
      publishCommand,
      replayCommand,
      paperCommand,
      backtestCommand,
      mcpCommand,
      recordCommand,
    ],
    ...[verifyCommand, backupCommand, restoreCommand, configCommand, doctorCommand, healthCommand, metricsCommand],
    ...[completionCommand, manualCommand, openapiCommand, licensesCommand, versionCommand],
  ];
  for (const commandOf of nouns) program.addCommand(commandOf(terminal));
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
    await createProgram(terminal).parseAsync([...argv], { from: 'user' });
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
