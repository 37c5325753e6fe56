import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { refuseShared } from '../store/data-directory.ts';
import { explained } from '../store/database-errors.ts';
import type { MarketObservations, Verification } from '../verify/report.ts';
import { verifyDirectory } from '../verify/verify.ts';
import { EXIT, ExitWith } from './exit.ts';
import type { GlobalOptions } from './program-command.ts';
import { programCommand } from './program-command.ts';
import { eraseLine, progressOn } from './status-line.ts';
import { type Column, table } from './table.ts';
import type { Terminal } from './terminal.ts';
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

/** Maximum number of rows of a table: all markets of a large archive do not fit in memory. */
const ROWS_MAX = 10_000;

export function verifyCommand(terminal: Terminal): CommandUnknownOpts {
  return programCommand('verify')
    .description('check the whole archive, and report what its recordings lack')
    .option(
      '--market <name>',
      'only this market, by conditionId or slug; may be repeated',
      (name: string, before: readonly string[] = []) => [...before, name],
    )
    .addHelpText(
      'after',
      `
The exit code is 3 for problems: a changed schema, damaged pages and segments, a
missing key secret, duplicate ids, broken references, wrong derived or mirrored
records, winners that contradict the prices, instants at which imports stored
different books. Weaknesses of a recording are reported but do not change the
exit code: gaps, gaps with books inside, crossed, one-sided, empty, frozen and
placeholder books, seconds without data. With --market only the named markets
are read. The command only reads, and works while a server is running.

Examples:
  $ bookreel verify
  $ bookreel verify --market btc-updown-5m-1776323400 --json`,
    )
    .action(async (_, command) => {
      const options = command.optsWithGlobals();
      explained(options.data, () => refuseShared(options.data));
      const { ok } = await checkAndPrint(terminal, options, (onMarket) =>
        verifyDirectory(options.data, {
          clock: terminal.clock,
          onMarket,
          ...(options.market === undefined ? {} : { names: options.market }),
        }),
      );
      if (!ok) throw new ExitWith(EXIT.verification);
    });
}

type RunCheck = (onMarket: (market: MarketObservations) => void) => Promise<Verification>;

/** Checks, and shows progress on stderr, unless JSON goes to a terminal: progress would overwrite it. */
async function checkAndPrint(terminal: Terminal, options: GlobalOptions, check: RunCheck): Promise<Verification> {
  const isShown = options.json !== true || !terminal.outIsTerminal;
  const show = progressOn(terminal);
  let done = 0;
  const watched: RunCheck = async (onMarket) => {
    try {
      return await check((market) => {
        onMarket(market);
        done += 1;
        if (isShown) show(() => `${done} markets verified`);
      });
    } finally {
      if (isShown) eraseLine(terminal);
    }
  };
  return options.json === true ? await printJson(terminal, watched) : await printText(terminal, watched);
}

async function printText(terminal: Terminal, check: RunCheck): Promise<Verification> {
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
async function printJson(terminal: Terminal, check: RunCheck): Promise<Verification> {
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
