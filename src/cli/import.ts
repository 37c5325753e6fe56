import { closeSync, existsSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { DomainError } from '../domain/errors.ts';
import { Importer, type ImportOptions, type ImportProgress } from '../import/importer.ts';
import { parsePace, type SnapshotPace } from '../import/rebuild/pace.ts';
import type { FileReport, ImportReport, Rejection } from '../import/report.ts';
import { type Source, sourcesOf } from '../import/source.ts';
import type { Archive } from '../store/archive.ts';
import { DATABASE_FILE } from '../store/database.ts';
import { EXIT, ExitWith } from './exit.ts';
import { onStopSignals } from './stop-signals.ts';
import { eraseProgress, errorLine, json, printable, progressOn, type Terminal, table } from './terminal.ts';
import { type GlobalOptions, withArchive } from './with-archive.ts';

interface ImportCommandOptions extends GlobalOptions {
  readonly markets?: string;
  readonly every: SnapshotPace;
  readonly mirror?: boolean;
  readonly rejects?: string;
  readonly dryRun?: boolean;
}

/** What an import is asked for, without its sources. */
type ImportRequest = Pick<ImportOptions, 'every' | 'mirror' | 'dryRun' | 'onReject' | 'signal'>;

const BAR_CHARS = 24;

export function importCommand(terminal: Terminal): Command {
  return new Command('import')
    .argument('<path...>', 'recordings: files, directories, or - for standard input')
    .description('load recordings; their format is recognised by content')
    .option(
      '--markets <file>',
      'market records to read first, for recordings that do not say which outcome an asset is',
    )
    .addOption(
      new Option('--every <pace>', 'how densely recorded changes become snapshots: change, 100ms, 1s, …')
        .argParser(paceOption)
        .default('change'),
    )
    .option('--mirror', 'complete markets recorded on one outcome only from that outcome’s books')
    .option('--rejects <file>', 'write every rejected record there, one JSON object a line')
    .option('--dry-run', 'validate without storing')
    .addHelpText(
      'after',
      `
Formats: bookreel's NDJSON and msgpack, the venue's WebSocket frames and market objects, Parquet of book messages and of
PMXT, CSV of best quotes and of reference prices, snapshots a second. Plain, .gz or .zst.

Records that cannot be kept are reported with file and line, the others load; the exit code is then 1.
Importing anything again stores nothing. Ctrl-C stops at the end of a batch: the same command goes on from there.
A running server serves what is stored at once.

Examples:
  $ bookreel import recordings/
  $ bookreel import capture.jsonl.gz --markets markets.json --every 1s
  $ bookreel import books.parquet --mirror --rejects rejects.ndjson
  $ zstdcat monday.ndjson.zst | bookreel import - --dry-run`,
    )
    .action(async (paths: readonly string[], _, command: Command) => {
      const options = command.optsWithGlobals<ImportCommandOptions>();
      const sources = sourcesOf(options.markets === undefined ? paths : [options.markets, ...paths]);
      if (options.rejects !== undefined) refuseOverwriting(options.rejects, options.data, sources);
      using rejects = options.rejects === undefined ? undefined : openRejects(options.rejects);
      using interruption = interruptible(terminal);
      const request: ImportRequest = {
        every: options.every,
        mirror: options.mirror === true,
        dryRun: options.dryRun === true,
        signal: interruption.signal,
        ...(rejects === undefined ? {} : { onReject: rejects.onReject }),
      };
      const report = await withArchiveOrRehearsal(terminal, options, (archive) =>
        importSources(terminal, options, archive, sources, request),
      );
      printReport(terminal, options, report);
      if (!isClean(report)) throw new ExitWith(EXIT.failure);
    });
}

function paceOption(text: string): SnapshotPace {
  const pace = parsePace(text);
  if (pace === undefined) throw new InvalidArgumentError('It is change, or a duration like 100ms or 1s.');
  return pace;
}

/** A rehearsal on an archive that does not exist yet creates none. */
async function withArchiveOrRehearsal(
  terminal: Terminal,
  options: ImportCommandOptions,
  work: (archive: Archive) => Promise<ImportReport>,
): Promise<ImportReport> {
  if (options.dryRun !== true || existsSync(join(options.data, DATABASE_FILE))) {
    return await withArchive(terminal, options, { create: true }, work);
  }
  const directory = mkdtempSync(join(tmpdir(), 'bookreel-dry-run-'));
  try {
    return await withArchive(terminal, { ...options, data: directory }, { create: true }, work);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A slip in the command must not cost a recording, or the archive. */
function refuseOverwriting(rejects: string, data: string, sources: readonly Source[]): void {
  const target = statSync(rejects, { throwIfNoEntry: false });
  if (target === undefined || target.isCharacterDevice()) return;
  const isTarget = (path: string) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat?.dev === target.dev && stat.ino === target.ino;
  };
  if (![join(data, DATABASE_FILE), ...sources.map(({ path }) => path)].some(isTarget)) return;
  throw new DomainError(
    'invalid-parameter',
    `'${rejects}' is imported, or the archive itself: name another file for the rejected records`,
  );
}

/** Writes rejections as lines of JSON, complete also when the import does not come to its end. */
function openRejects(path: string): Disposable & { readonly onReject: (rejection: Rejection) => void } {
  const descriptor = writable(path, () => openSync(path, 'w'));
  return {
    onReject: (rejection) => void writable(path, () => writeSync(descriptor, `${JSON.stringify(rejection)}\n`)),
    [Symbol.dispose]: () => closeSync(descriptor),
  };
}

function writable<T>(path: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw new DomainError('unavailable', `'${path}' cannot be written: check the path, its permissions and the disk`, {
      cause: error,
    });
  }
}

/** The first SIGINT or SIGTERM asks the import to stop; a second one ends the process, as it would without us. */
function interruptible(terminal: Terminal): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const release = onStopSignals(() => {
    eraseProgress(terminal);
    terminal.err('stopping after this batch; a second signal stops at once\n');
    controller.abort();
  });
  return { signal: controller.signal, [Symbol.dispose]: release };
}

/** Imports with progress on stderr; an import that fails reports what it had stored before it says why. */
export async function importSources(
  terminal: Terminal,
  options: GlobalOptions,
  archive: Archive,
  sources: readonly Source[],
  request: ImportRequest = {},
): Promise<ImportReport> {
  const show = progressOn(terminal);
  const onProgress = (reached: ImportProgress) => show((elapsedMs) => progressLine(reached, elapsedMs));
  const importer = new Importer(archive, { ...request, clock: terminal.clock, onProgress });
  try {
    const report = await importer.run(sources);
    eraseProgress(terminal);
    return report;
  } catch (error) {
    eraseProgress(terminal);
    const report = importer.report();
    const { stored, duplicate, rejected } = report.total;
    if (stored + duplicate + rejected > 0) printReport(terminal, options, report);
    throw error;
  } finally {
    archive.database.checkpoint();
  }
}

export function printReport(terminal: Terminal, options: GlobalOptions, report: ImportReport): void {
  if (options.json === true) terminal.out(json(report));
  else printText(terminal, report);
  for (const failure of failuresOf(report)) terminal.err(errorLine(failure));
}

function printText(terminal: Terminal, report: ImportReport): void {
  const { total, files, rejections, skipped, elapsedMs } = report;
  const rate = Math.round((total.read / Math.max(1, elapsedMs)) * 1000);
  const word = report.dryRun ? 'would be stored' : 'stored';
  terminal.out(
    `${total.read} records read from ${files.length} files: ${total.stored} ${word}, ${total.duplicate} duplicate, ${total.rejected} rejected, ${total.gaps} gaps opened (${rate} records/s)\n`,
  );
  if (files.length > 0) terminal.out(table(HEADINGS, files.flatMap(rowsOf)));
  if (report.dryRun) terminal.err('dry run: nothing was stored\n');
  if (report.mirrored > 0) terminal.err(`${report.mirrored} snapshots mirrored from the other outcome\n`);
  if (total.droppedLevels > 0) terminal.err(`${total.droppedLevels} levels of size 0 were left out\n`);
  for (const note of report.notes) terminal.err(`${printable(note)}\n`);
  for (const path of skipped) terminal.err(`${printable(path)}: skipped, not a recording\n`);
  for (const { path, line, reason } of rejections) {
    terminal.err(`${printable(path)}:${line}: ${printable(reason)}\n`);
  }
}

/** Why an import is not complete, in sentences that say what to do. */
function failuresOf({ total, files, rejections, stopped }: ImportReport): string[] {
  const { read, stored, duplicate, rejected } = total;
  const unread = files.flatMap((file) =>
    file.error === undefined
      ? []
      : [`${printable(file.error)}${file.read > 0 ? '; the records before the damage are stored' : ''}`],
  );
  const remedy =
    rejections.length < rejected
      ? `the first ${rejections.length} are listed, --rejects FILE writes them all`
      : 'correct them and import them again';
  const notStored = read - stored - duplicate - rejected;
  return [
    ...unread,
    ...(rejected > 0 ? [`${rejected} of ${read} records were rejected: ${remedy}`] : []),
    ...(stopped ? ['the import was stopped: run the same command again to import the rest'] : []),
    ...(!stopped && notStored > 0 ? [`${notStored} records were read and not stored: run the same command again`] : []),
  ];
}

const HEADINGS = ['file', 'format', 'kind', 'read', 'stored', 'duplicate', 'rejected', 'ignored', 'gaps'];

/** A row a kind; the first one names the file. */
function rowsOf({ path, format, kinds, gaps }: FileReport): string[][] {
  const none = { kind: '', read: 0, stored: 0, duplicate: 0, rejected: 0, ignored: 0 };
  return (kinds.length === 0 ? [none] : kinds).map(({ kind, read, stored, duplicate, rejected, ignored }, index) => [
    ...(index === 0 ? [printable(path), format] : ['', '']),
    kind,
    ...[read, stored, duplicate, rejected, ignored].map(String),
    index === 0 ? String(gaps) : '',
  ]);
}

export function isClean(report: ImportReport): boolean {
  return report.total.rejected === 0 && !report.stopped && report.files.every((file) => file.error === undefined);
}

/** What matters most comes first: a narrow terminal cuts the end off. */
function progressLine(progress: ImportProgress, elapsedMs: number): string {
  const { fileNumber, files, read, stored, bytesRead, bytesTotal } = progress;
  const rate = Math.round((read / Math.max(1, elapsedMs)) * 1000);
  const file = `file ${fileNumber} of ${files} (${printable(progress.file)})`;
  const counts = `${read} records read, ${stored} stored, ${rate} records/s, ${file}`;
  if (bytesTotal === undefined || bytesTotal === 0) return `${megabytes(bytesRead)}: ${counts}`;
  const done = Math.min(1, bytesRead / bytesTotal);
  const percent = `${Math.floor(done * 100)}`.padStart(3);
  const bar = '#'.repeat(Math.floor(done * BAR_CHARS)).padEnd(BAR_CHARS, '.');
  const left = done === 0 ? '' : `, ${Math.ceil((elapsedMs * (1 / done - 1)) / 1000)} s left`;
  return `${percent} % [${bar}] of ${megabytes(bytesTotal)}${left}: ${counts}`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
