import { join } from 'node:path';
import { Command } from 'commander';
import { DATABASE_FILE } from '../store/database.ts';
import { KEY_SECRET_FILE } from '../store/key-secret.ts';
import type { MarketObservations, Verification } from '../verify/report.ts';
import { verifyFile } from '../verify/verify.ts';
import { EXIT, ExitWith } from './exit.ts';
import { eraseProgress, progressOn, type Terminal, table } from './terminal.ts';
import {
  marketDocument,
  marketRows,
  problemDocument,
  recordsPerSecond,
  sentenceOf,
  totalsLine,
} from './verify-text.ts';
import type { GlobalOptions } from './with-archive.ts';

interface VerifyCommandOptions extends GlobalOptions {
  readonly market?: readonly string[];
}

const HEADINGS = ['MARKET', 'SNAPSHOTS', 'PROBLEMS', 'OBSERVATIONS'];

export function verifyCommand(terminal: Terminal): Command {
  return new Command('verify')
    .description('check everything the archive holds, and report what its recordings lack')
    .option(
      '--market <name>',
      'only this market, by conditionId or slug; may be given several times',
      (name: string, before: readonly string[] = []) => [...before, name],
    )
    .addHelpText(
      'after',
      `
Problems (something is wrong) make the exit code 3: damaged pages and segments, ids given twice, broken references, derived
or mirrored records that do not follow, winners that prices contradict. What recordings lack is reported as it is: gaps,
crossed, one-sided, empty, frozen and placeholder books, seconds without data. With --market the named markets are read and
nothing else. Nothing is changed, and a running server is no obstacle.

Examples:
  $ bookreel verify
  $ bookreel verify --market btc-updown-5m-1776323400 --json`,
    )
    .action(async (_, command: Command) => {
      const options = command.optsWithGlobals<VerifyCommandOptions>();
      const { ok } = await printed(terminal, options, (onMarket) =>
        verifyFile(join(options.data, DATABASE_FILE), {
          clock: terminal.clock,
          keySecretPath: join(options.data, KEY_SECRET_FILE),
          onMarket,
          ...(options.market === undefined ? {} : { names: options.market }),
        }),
      );
      if (!ok) throw new ExitWith(EXIT.verification);
    });
}

type Check = (onMarket: (market: MarketObservations) => void) => Promise<Verification>;

/** Checks with progress on stderr, unless the document that is being written to the same terminal shows it. */
async function printed(terminal: Terminal, options: GlobalOptions, check: Check): Promise<Verification> {
  const isShown = options.json !== true || !terminal.outIsTerminal;
  const show = progressOn(terminal);
  let done = 0;
  const watched: Check = async (onMarket) => {
    try {
      return await check((market) => {
        onMarket(market);
        done += 1;
        if (isShown) show(() => `${done} markets verified`);
      });
    } finally {
      if (isShown) eraseProgress(terminal);
    }
  };
  return options.json === true ? await printJson(terminal, watched) : await printText(terminal, watched);
}

async function printText(terminal: Terminal, check: Check): Promise<Verification> {
  const rows: string[][] = [];
  const verification = await check((market) => rows.push(...marketRows(market)));
  if (rows.length > 0) terminal.out(table(HEADINGS, rows));
  printProblems(terminal.out, verification);
  terminal.out(totalsLine(verification));
  return verification;
}

/** Market by market, so that an archive of any size is printed without holding its report. */
async function printJson(terminal: Terminal, check: Check): Promise<Verification> {
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

/** A sentence each; those that are not listed are counted. */
export function printProblems(write: (text: string) => void, { problems, totals }: Verification): void {
  for (const problem of problems) write(`${sentenceOf(problem)}\n`);
  if (totals.problems > problems.length) write(`… and ${totals.problems - problems.length} more problems\n`);
}
