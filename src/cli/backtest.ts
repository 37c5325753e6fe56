import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, resolve } from 'node:path';
import { type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { durationFrom, integerFrom } from '../config.ts';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { INSTANT_MAX_MS } from '../domain/instant.ts';
import { NewFile } from '../export/new-file.ts';
import { paperRulesOf, replayOptionsOf } from '../http/replay/replay-resource.ts';
import { QUEUES } from '../paper/paper-market.ts';
import { Replay } from '../replay/replay.ts';
import type { Archive } from '../store/archive.ts';
import { type Part, type PartMessage, type PartProcess, runBacktest, runPart, STUCK_MS } from '../trading/backtest.ts';
import { type Report, reportOf } from '../trading/report.ts';
import { reportCsv } from '../trading/report-csv.ts';
import { RecordedWorld } from '../trading/strategy-file.ts';
import { StrayErrors } from '../trading/stray-errors.ts';
import { EXAMPLE_NAMES, exampleText } from './backtest-examples.ts';
import { backtestText } from './backtest-report.ts';
import { EXIT } from './exit.ts';
import { ownCommand } from './own-command.ts';
import { type OptionsOf, programCommand } from './program-command.ts';
import { addAccountFlags, addMarketFlags, requestOf } from './replay-selection.ts';
import { eraseLine, progressOn, shareDone } from './status-line.ts';
import { onStopSignals } from './stop-signals.ts';
import { json, type Terminal } from './terminal.ts';
import { LOOK, withArchive } from './with-archive.ts';

type BacktestOptions = OptionsOf<typeof declared>;

const JOBS_MAX = 256;
const stuckAfter = durationFrom(0, 'It must be a whole number with a unit, like 30s.');
/** The word for a process that runs markets for the one that has started it, and is connected to it. */
const PART = 'part';
/** A single word with this ending is a strategy; everything else is a program. */
const STRATEGY = /\.[cm]?[jt]s$/;

function declared() {
  return addAccountFlags(
    addMarketFlags(
      programCommand('backtest').description(
        'run a strategy, or any program, on recordings with honest fills, and report the result',
      ),
    ),
  )
    .argument('[strategy...]', 'a file .ts or .js; or a program with its arguments, after --')
    .addOption(
      new Option('--queue <where>', 'recorded shares ahead of resting orders; all: compare')
        .choices([...QUEUES, 'all'] as const)
        .default('all' as const),
    )
    .option('--jobs <number>', 'processes that run markets; default: one for each core', integerFrom(1, JOBS_MAX))
    .option('--stuck-after <length>', 'end a strategy that does not return for so long; default: 30s', stuckAfter)
    .addOption(new Option('--example <name>', 'print a strategy to begin with, or the types').choices(EXAMPLE_NAMES))
    .option('--csv <file>', 'write the fills, a line each', ownFile)
    .option('--html <file>', 'write the report as a page with charts, which needs no other file', ownFile)
    .option('--force', 'replace these files if they exist')
    .addHelpText(
      'after',
      `
A strategy has a default export: a function that is called for each market. It
is the one word that ends with .ts or .js; anything else is a program, which
has the addresses of a replay and a key in its environment. 'bookreel manual
backtest' describes both.

Examples:
  $ bookreel backtest --example late-favourite > late-favourite.ts
  $ bookreel backtest late-favourite.ts --coin btc --tf 5m --html report.html
  $ bookreel backtest --coin btc --tf 5m --speed 10 -- python3 bot.py`,
    );
}

function ownFile(path: string): string {
  if (path !== '-') return path;
  throw new InvalidArgumentError('It must be a file: standard output has the report.');
}

export function backtestCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (words, _, command) => {
    const options = command.optsWithGlobals();
    const [file] = words;
    if (file === PART && process.send !== undefined) return await serveParts(terminal, options);
    if (options.example !== undefined) terminal.out(exampleText(options.example));
    else if (file === undefined)
      throw new DomainError('invalid-parameter', "name a strategy's file, or a program after --");
    else if (words.length === 1 && STRATEGY.test(file)) await runStrategy(terminal, file, options);
    else await runAnyProgram(terminal, words, options);
  });
}

async function runStrategy(terminal: Terminal, file: string, options: BacktestOptions): Promise<void> {
  const strategy = resolve(file);
  if (!existsSync(strategy)) throw new DomainError('invalid-parameter', `there is no strategy '${file}'`);
  using files = new ReportFiles(options);
  await withArchive(terminal, options, LOOK, async (archive) => {
    const { keys, fromMs, toMs } = selected(archive, options);
    const queues = options.queue === 'all' ? QUEUES : [options.queue];
    const rules = paperRulesOf(requestOf({ ...options, paper: true, queue: queues[0] }))!;
    const input = { strategy, rules, queues, fromMs, toMs, hasHistory: options.json === true };
    const show = progressOn(terminal);
    const processes = new Set<PartProcess>();
    const release = onStopSignals(() => {
      for (const process of processes) process.kill();
      process.exit(EXIT.failure);
    });
    try {
      const results = await runBacktest(input, keys, {
        start: () => startPart(options.data, processes),
        jobs: options.jobs ?? availableParallelism(),
        stuckMs: options.stuckAfter ?? STUCK_MS,
        onProgress: (done, records, all) =>
          show((ms) => `${shareDone(done / all, countText(all, 'market'), ms)}: ${countText(records, 'record')}`),
      }).finally(() => eraseLine(terminal));
      const reported = { name: basename(file), rules, queues, isOneAccount: false, fromMs, toMs };
      const histories = results.flatMap(({ history }) => history ?? []);
      await files.write(terminal, archive, reportOf(reported, results, histories));
    } finally {
      release();
    }
  });
}

async function runAnyProgram(terminal: Terminal, words: readonly string[], options: BacktestOptions): Promise<void> {
  using files = new ReportFiles(options);
  await withArchive(terminal, options, { create: false }, async (archive) => {
    const { runProgram } = await import('./backtest-program.ts');
    const queue = options.queue === 'all' ? undefined : options.queue;
    const asked = requestOf({ ...options, paper: true, queue });
    const { report, exitCode } = await runProgram(terminal, archive, options.data, words, asked);
    await files.write(terminal, archive, report);
    if (exitCode === undefined || exitCode === 0) return;
    throw new DomainError(
      'conflict',
      `the program ended with exit code ${exitCode}: the report has what it did until then`,
    );
  });
}

/** The markets of the selection, by the start of their windows, and its time. */
function selected(archive: Archive, options: BacktestOptions) {
  const clocks = { monotonicMs: () => performance.now(), wallMs: () => 0 };
  const asked = requestOf({ ...options, queue: undefined });
  const replay = new Replay(archive, replayOptionsOf(asked), clocks);
  return { keys: replay.windowsStarting(-1, INSTANT_MAX_MS).map(({ key }) => key), ...replay.clock.span };
}

type TextOf = (archive: Archive, report: Report) => string | Promise<string>;

const csvOf: TextOf = (_, report) => reportCsv(report);
const pageOf: TextOf = async (archive, report) => (await import('./backtest-page.tsx')).backtestPage(archive, report);

/** The files of the report, which are refused before the work if they exist. */
class ReportFiles implements Disposable {
  readonly #isJson: boolean;
  readonly #files: readonly { readonly file: NewFile; readonly textOf: TextOf }[];

  constructor({ csv, html, force, json: isJson }: BacktestOptions) {
    this.#isJson = isJson === true;
    const asked = [
      { path: csv, textOf: csvOf },
      { path: html, textOf: pageOf },
    ];
    this.#files = asked.flatMap(({ path, textOf }) =>
      path === undefined ? [] : { file: new NewFile(path, force === true), textOf },
    );
  }

  /** Writes the report to its files and to standard output. */
  async write(terminal: Terminal, archive: Archive, report: Report): Promise<void> {
    for (const { file, textOf } of this.#files) file.write(Buffer.from(await textOf(archive, report)));
    for (const { file } of this.#files) file.commit();
    const paths = this.#files.map(({ file }) => `'${file.path}'`);
    const written = paths.length === 0 ? '' : `\nwritten to ${paths.join(' and ')}\n`;
    terminal.out(this.#isJson ? json(report) : `${backtestText(terminal, report)}${written}`);
  }

  [Symbol.dispose](): void {
    for (const { file } of this.#files) file[Symbol.dispose]();
  }
}

/** The output of a strategy goes to standard error: standard output has the report. */
function startPart(data: string, processes: Set<PartProcess>): PartProcess {
  let listener: (message: PartMessage) => void = () => undefined;
  const child = Bun.spawn(ownCommand(['backtest', PART, '--data', data]), {
    stdio: ['ignore', 2, 2],
    // The other side is `serveParts`, of the same executable.
    ipc: (message: PartMessage) => listener(message),
  });
  const started: PartProcess = {
    run: (part, onMessage) =>
      new Promise((done) => {
        const last = part.first + part.keys.length - 1;
        listener = (message) => {
          onMessage(message);
          if (message.kind === 'failed' || (message.kind === 'market' && message.index === last)) done();
        };
        child.exited.then(() => done());
        child.send(part);
      }),
    kill: () => {
      processes.delete(started);
      child.kill('SIGKILL');
    },
  };
  processes.add(started);
  return started;
}

/** Runs a part for the process that started this one, which ends it. */
async function serveParts(terminal: Terminal, options: BacktestOptions): Promise<void> {
  const ended = new Promise<void>((done) => process.once('disconnect', done));
  const part = await new Promise<Part>((received) => process.once('message', (message: Part) => received(message)));
  await withArchive(terminal, options, LOOK, async (archive) => {
    const send = (message: PartMessage) =>
      new Promise<void>((sent) => process.send?.(message, undefined, undefined, () => sent()));
    await runPart(archive, part, new RecordedWorld(), new StrayErrors(), send);
    await ended;
  });
}
