import { accessSync, constants } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { integerFrom } from '../config.ts';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { formatInstant } from '../domain/instant.ts';
import { isCompressed } from '../store/backup-manifest.ts';
import { refuseShared } from '../store/data-directory.ts';
import { explained } from '../store/database-errors.ts';
import { discard, draftOf } from '../store/on-disk.ts';
import { expandBackup } from '../store/restore.ts';
import { VerifyProgress } from '../verify/progress.ts';
import type { Verification } from '../verify/report.ts';
import { type VerifyOptions, verifyDirectory } from '../verify/verify.ts';
import { EXIT, ExitWith } from './exit.ts';
import { repeated } from './export.ts';
import type { GlobalOptions } from './program-command.ts';
import { programCommand } from './program-command.ts';
import { eraseLine, progressOn, shareDone } from './status-line.ts';
import { onStopSignals } from './stop-signals.ts';
import { type Column, table } from './table.ts';
import { printError, type Terminal } from './terminal.ts';
import { FOR_PARENT, startVerifyProcess, verifyForParent } from './verify-process.ts';
import {
  type MarketRow,
  marketDocument,
  marketRows,
  problemDocument,
  problemSentence,
  recordsPerSecond,
  totalsLine,
} from './verify-text.ts';

const COLUMNS: readonly Column<MarketRow>[] = [
  { heading: 'MARKET', cell: ({ slug }) => slug },
  { heading: 'SNAPSHOTS', cell: ({ snapshots }) => snapshots },
  { heading: 'PROBLEMS', cell: ({ problems }) => problems },
  { heading: 'OBSERVATIONS', cell: ({ notes }) => notes },
];

const JOBS_MAX = 256;
/** Maximum number of rows of a table: all markets of a large archive do not fit in memory. */
const ROWS_MAX = 10_000;

export function verifyCommand(terminal: Terminal): CommandUnknownOpts {
  return programCommand('verify')
    .description('check the whole archive, and report what its recordings lack')
    .option('--market <name>', 'only this market, by conditionId or slug; may be repeated', repeated)
    .addOption(new Option('--all', 'also what a run that was interrupted has verified').conflicts('market'))
    .option('--jobs <number>', 'processes; default: a large archive has one a core', integerFrom(1, JOBS_MAX))
    .addOption(new Option(FOR_PARENT).hideHelp())
    .addHelpText(
      'after',
      `
The exit code is 3 for problems: a changed schema, damaged pages and segments, a
missing key secret, duplicate ids, broken references, wrong derived or mirrored
records, winners that contradict the prices, instants at which imports stored
different books. Weaknesses of a recording are reported but do not change the
exit code: gaps, gaps with books inside, crossed, one-sided, empty, frozen and
placeholder books, seconds without data. With --market only the named markets
are read. The command changes nothing, and works while a server is running.

A run that was interrupted is continued: sealed markets without problems that
were verified in the last seven days are not read again. They are noted in
verify-progress.db in the data directory, until a run comes to its end. Only a
run that reads both of two files finds that they share the id of a record.

--data may name a backup: compressed databases are compared with its manifest,
and expanded meanwhile in DIRECTORY.partial-… beside it, or in the directory for
temporary files where that is read-only. Delete what a killed run leaves there.

Examples:
  $ bookreel verify
  $ bookreel verify --all
  $ bookreel verify --data /mnt/backups/bookreel-monday
  $ bookreel verify --market btc-updown-5m-1776323400 --json`,
    )
    .action(async (_, command) => {
      const options = command.optsWithGlobals();
      if (options.forParent === true && process.send !== undefined) return await verifyForParent(options);
      explained(options.data, () => refuseShared(options.data));
      const { clock } = terminal;
      const { data, market: names, jobs, all = false } = options;
      using progress = names === undefined ? new VerifyProgress(data, clock(), all) : undefined;
      sayContinued(terminal, progress);
      const { ok } = await readable(terminal, data, (directory) =>
        checkAndPrint(terminal, options, (events) =>
          verifyDirectory(directory, { clock, names, progress, jobs, startWorker: startVerifyProcess, ...events }),
        ),
      );
      if (!ok) throw new ExitWith(EXIT.verification);
    });
}

/** Runs `work` with a data directory or backup, or with an expanded copy of a compressed one. */
async function readable<T>(terminal: Terminal, data: string, work: (directory: string) => Promise<T>): Promise<T> {
  if (!isCompressed(data)) return await work(data);
  const beside = dirname(resolve(data));
  const draft = draftOf(join(canWrite(beside) ? beside : tmpdir(), basename(resolve(data))));
  // A copy of the accounts must not stay behind.
  const release = onStopSignals(() => {
    discard(draft);
    process.kill(process.pid, 'SIGTERM');
  });
  try {
    await expandBackup(data, draft).catch((error: unknown) => {
      if (!(error instanceof DomainError) || error.kind !== 'unreadable') throw error;
      printError(terminal, error.message, error.kind);
      throw new ExitWith(EXIT.verification);
    });
    return await work(draft);
  } finally {
    release();
    discard(draft);
  }
}

function canWrite(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function sayContinued({ err }: Terminal, progress: VerifyProgress | undefined): void {
  const { markets = 0, sinceMs = null } = progress?.earlier ?? {};
  if (sinceMs === null) return;
  const verified = `${countText(markets, 'market')} ${markets === 1 ? 'was' : 'were'} verified since ${formatInstant(sinceMs)}`;
  err(`continues a run that was interrupted: ${verified}; --all reads ${markets === 1 ? 'it' : 'them'} again\n`);
}

type Events = Required<Pick<VerifyOptions, 'onMarket' | 'onProgress'>>;
type RunCheck = (events: Events) => Promise<Verification>;
type RunAndPrint = (onMarket: Events['onMarket']) => Promise<Verification>;

/** Checks, and shows progress on stderr, unless JSON goes to a terminal: progress would overwrite it. */
async function checkAndPrint(terminal: Terminal, options: GlobalOptions, check: RunCheck): Promise<Verification> {
  const isShown = options.json !== true || !terminal.outIsTerminal;
  const show = progressOn(terminal);
  const onProgress: Events['onProgress'] = (done, all) => {
    if (isShown) show((elapsedMs) => shareDone(done / all, countText(all, 'market'), elapsedMs));
  };
  const watched: RunAndPrint = async (onMarket) => {
    try {
      return await check({ onMarket, onProgress });
    } finally {
      if (isShown) eraseLine(terminal);
    }
  };
  return options.json === true ? await printJson(terminal, watched) : await printText(terminal, watched);
}

async function printText(terminal: Terminal, check: RunAndPrint): Promise<Verification> {
  const rows: MarketRow[] = [];
  const print = () => {
    if (rows.length === 0) return;
    eraseLine(terminal);
    terminal.out(table(terminal, COLUMNS, rows.splice(0)));
  };
  const verification = await check((market) => {
    rows.push(...marketRows(market));
    if (rows.length >= ROWS_MAX) print();
  });
  print();
  printProblems(terminal.out, verification);
  terminal.out(totalsLine(verification));
  return verification;
}

/** Prints each market at once: the report of a large archive does not fit in memory. */
async function printJson(terminal: Terminal, check: RunAndPrint): Promise<Verification> {
  let separator = '{"markets":[\n';
  const verification = await check((market) => {
    terminal.out(`${separator}${JSON.stringify(marketDocument(market))}`);
    separator = ',\n';
  });
  const { ok, problems, totals } = verification;
  const { records, elapsedMs } = totals;
  const rest = {
    problems: problems.map(problemDocument),
    totals: { ...totals, recordsPerSecond: recordsPerSecond(records, elapsedMs) },
    ok,
  };
  terminal.out(`${separator === ',\n' ? '\n' : separator}],${JSON.stringify(rest).slice(1)}\n`);
  return verification;
}

/** Prints one sentence per problem, and the number of those that the report does not list. */
export function printProblems(write: (text: string) => void, { problems, totals }: Verification): void {
  for (const problem of problems) write(`${problemSentence(problem)}\n`);
  if (totals.problems > problems.length) write(`… and ${totals.problems - problems.length} more problems\n`);
}
