import { Command } from 'commander';
import { Importer, type ImportProgress } from '../recording/importer.ts';
import type { ImportReport } from '../recording/report.ts';
import { type Source, sourcesOf } from '../recording/source.ts';
import type { Archive } from '../store/archive.ts';
import { EXIT, ExitWith } from './exit.ts';
import { json, type Terminal } from './terminal.ts';
import { type GlobalOptions, withArchive } from './with-archive.ts';

interface ImportCommandOptions extends GlobalOptions {
  readonly markets?: string;
}

const PROGRESS_EVERY_MS = 3000;
const PROGRESS_ON_TERMINAL_EVERY_MS = 100;

export function importCommand(terminal: Terminal): Command {
  return new Command('import')
    .argument('<path...>', 'recordings: files, directories, or - for standard input')
    .description("load recordings: bookreel's NDJSON (plain, .gz, .zst), Parquet of the venue's book messages")
    .option(
      '--markets <file>',
      'market records to read first, for recordings that do not say which outcome an asset is',
    )
    .addHelpText(
      'after',
      `
Records that cannot be kept are reported with file and line, the others load; the exit code is then 1.
Importing anything again stores nothing. A running server serves what is stored at once.

Examples:
  $ bookreel import recordings/
  $ bookreel import books.parquet --markets markets.ndjson
  $ zstdcat monday.ndjson.zst | bookreel import -`,
    )
    .action(async (paths: readonly string[], _, command: Command) => {
      const options = command.optsWithGlobals<ImportCommandOptions>();
      const sources = sourcesOf(options.markets === undefined ? paths : [options.markets, ...paths]);
      const report = await withArchive(terminal, options, { create: true }, (archive) =>
        importSources(terminal, options, archive, sources),
      );
      printReport(terminal, options, report);
      if (!isClean(report)) throw new ExitWith(EXIT.failure);
    });
}

/** Imports with progress on stderr; a run that fails reports what it had stored before it says why. */
export async function importSources(
  terminal: Terminal,
  options: GlobalOptions,
  archive: Archive,
  sources: readonly Source[],
): Promise<ImportReport> {
  const importer = new Importer(archive, { clock: terminal.clock, onProgress: progressPrinter(terminal) });
  const endProgress = () => {
    if (terminal.errIsTerminal) terminal.err('\r\u001b[K');
  };
  try {
    const report = await importer.run(sources);
    endProgress();
    return report;
  } catch (error) {
    endProgress();
    const report = importer.report();
    const { stored, duplicate, rejected } = report.total;
    if (stored + duplicate + rejected > 0) printReport(terminal, options, report);
    throw error;
  } finally {
    archive.database.checkpoint();
  }
}

export function printReport(terminal: Terminal, options: GlobalOptions, report: ImportReport): void {
  if (options.json === true) {
    terminal.out(json(report));
    return;
  }
  const { total, files, rejections, skipped, elapsedMs } = report;
  const rate = Math.round((total.read / Math.max(1, elapsedMs)) * 1000);
  terminal.out(
    `${total.read} records read from ${files.length} files: ${total.stored} stored, ${total.duplicate} duplicate, ${total.rejected} rejected (${rate} records/s)\n`,
  );
  const open = total.read - total.stored - total.duplicate - total.rejected;
  if (open > 0) terminal.err(`${open} records were read and not stored: run the import again to store them\n`);
  if (total.droppedLevels > 0) terminal.err(`${total.droppedLevels} levels of size 0 were left out\n`);
  for (const path of skipped) terminal.err(`${path}: skipped, not a recording\n`);
  for (const { path, line, reason } of rejections) terminal.err(`${path}:${line}: ${reason}\n`);
  const silent = total.rejected - rejections.length;
  if (silent > 0) terminal.err(`… and ${silent} more rejected records\n`);
  for (const { error } of files)
    if (error !== undefined) terminal.err(`${error}; what stands in front of the damage is stored\n`);
}

export function isClean(report: ImportReport): boolean {
  return report.total.rejected === 0 && report.files.every((file) => file.error === undefined);
}

/** On a terminal one line that is rewritten, elsewhere a line every few seconds. */
function progressPrinter(terminal: Terminal): (progress: ImportProgress) => void {
  const everyMs = terminal.errIsTerminal ? PROGRESS_ON_TERMINAL_EVERY_MS : PROGRESS_EVERY_MS;
  let saidMs = terminal.clock();
  return ({ file, fileNumber, files, read, stored }) => {
    if (terminal.clock() - saidMs < everyMs) return;
    saidMs = terminal.clock();
    const line = `file ${fileNumber} of ${files} (${file}): ${read} records read, ${stored} stored`;
    terminal.err(terminal.errIsTerminal ? `\r\u001b[K${line.slice(0, 120)}` : `${line}\n`);
  };
}
