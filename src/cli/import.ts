import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';
import { type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { addSettings } from '../config.ts';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { Importer, type ImportOptions, type ImportProgress } from '../import/importer.ts';
import type { Mapping } from '../import/mapping/mapping-schema.ts';
import { parsePace, type SnapshotPace } from '../import/rebuild/pace.ts';
import type { FileReport, ImportReport, RecordResult, Rejection } from '../import/report.ts';
import { type Source, sourcesOf } from '../import/source.ts';
import type { Archive } from '../store/archive.ts';
import { explained } from '../store/database-errors.ts';
import { RECORDINGS } from '../store/database-file.ts';
import { type DiskFloor, refuseLowDisk } from '../store/disk-floor.ts';
import { discard } from '../store/on-disk.ts';
import { EXIT, ExitWith } from './exit.ts';
import { mappingChange, readMapping } from './mapping-file.ts';
import type { GlobalOptions } from './program-command.ts';
import { type OptionsOf, programCommand } from './program-command.ts';
import { eraseLine, megabytes, progressOn, shareDone } from './status-line.ts';
import { onStopSignals } from './stop-signals.ts';
import { type Column, table } from './table.ts';
import { json, printable, printError, type Terminal } from './terminal.ts';
import { notingNew, withArchive } from './with-archive.ts';

/** Options of all commands that import. */
export interface StoringOptions extends GlobalOptions {
  readonly diskFloor: DiskFloor;
}

type ImportCommandOptions = OptionsOf<typeof declared>;

/** The options of an import, without its sources. */
type ImportRequest = Pick<ImportOptions, 'every' | 'mirror' | 'dryRun' | 'onReject' | 'signal' | 'mapping'>;

const MISSING_SHOWN = 20;
const EXAMPLES_NAMED = 3;
const KINDS_SHOWN = 10;
const PACKED = /\.(?:gz|zst|xz)$/i;
const MISSING_HINT =
  "; --missing FILE writes their condition ids, and 'bookreel manual recordings' says where to get them";

function declared() {
  return addSettings(programCommand('import'), 'diskFloor')
    .argument('<path...>', 'files, containers or directories of recordings; - is standard input')
    .description('import recordings; the format is recognised from the content')
    .option('--map <file>', 'read the files as this mapping describes them: a TOML file, or the name of a mapping')
    .option('--set <key=text>', 'state a key of the mapping, such as time.zone=UTC; may be repeated', mappingChange)
    .option(
      '--markets <file>',
      'read these market records first, for recordings that do not state the outcome of an asset',
    )
    .addOption(
      new Option(
        '--every <pace>',
        'how often recorded changes become a snapshot: at every change, or every 100ms, 1s, …',
      )
        .argParser(paceOption)
        .default('change'),
    )
    .option('--mirror', "derive the books of an outcome from the other outcome's, up to the first one of its own")
    .option('--rejects <file>', 'write every rejected record to this new file, one JSON object per line')
    .option('--missing <file>', 'write the condition ids of unknown markets to this new file, one a line')
    .option('--dry-run', 'validate without storing')
    .addHelpText(
      'after',
      `
Formats: bookreel's own NDJSON, msgpack and segments; the venue's WebSocket
messages, market objects and trades; Parquet of book messages and of PMXT; CSV
of best quotes, of snapshots every second and of reference prices. Files may be
compressed with gzip, zstd or xz, or packed in zip and tar files. A mapping
describes any other table or lines of JSON; some come with bookreel ('bookreel
manual mappings').

Rejected records are reported with file and line, and the others are imported;
the exit code is then 1. Importing the same records again stores nothing.
Ctrl-C stops the import after the current batch; the same command imports the
rest. A running server serves new records at once. An import stops before the
disk has less free space than --disk-floor.

Examples:
  $ bookreel import recordings/
  $ bookreel import collection.zip
  $ bookreel import capture.jsonl.gz --markets markets.json --every 1s
  $ bookreel import books.parquet --mirror --rejects rejects.ndjson
  $ bookreel import ticks.csv --map my.toml --set time.zone=UTC
  $ zstdcat monday.ndjson.zst | bookreel import - --dry-run`,
    );
}

export function importCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (paths, _, command) => {
    const options = command.optsWithGlobals();
    const mapping = mappingOf(options);
    const sources = sourcesWith(options.markets, paths);
    using rejects = options.rejects === undefined ? undefined : openNewFile(options.rejects);
    using missing = options.missing === undefined ? undefined : openNewFile(options.missing);
    using interruption = interruptible(terminal);
    const request: ImportRequest = {
      every: options.every,
      mirror: options.mirror === true,
      dryRun: options.dryRun === true,
      ...(mapping === undefined ? {} : { mapping }),
      signal: interruption.signal,
      ...(rejects === undefined
        ? {}
        : { onReject: (rejection: Rejection) => rejects.write(`${JSON.stringify(rejection)}\n`) }),
    };
    const nameNew = notingNew(terminal, options);
    const report = await withArchiveOrRehearsal(terminal, options, (archive) =>
      importSources(terminal, options, archive, sources, request),
    );
    printReport(terminal, options, report);
    if (options.dryRun !== true) nameNew();
    for (const conditionId of report.missingMarkets) missing?.write(`${conditionId}\n`);
    if (!isClean(report)) throw new ExitWith(EXIT.failure);
  });
}

function mappingOf({ map, set = [] }: ImportCommandOptions): Mapping | undefined {
  if (map !== undefined) return readMapping(map, set);
  if (set.length === 0) return undefined;
  throw new DomainError('invalid-parameter', '--set states a key of a mapping: name the mapping with --map');
}

/** The files of market records first. */
function sourcesWith(markets: string | undefined, paths: readonly string[]): Source[] {
  const first =
    markets === undefined ? [] : sourcesOf([markets]).map((source) => ({ ...source, byContent: true as const }));
  const read = new Set(first.map(({ path }) => path));
  return [...first, ...sourcesOf(paths).filter(({ path }) => !read.has(path))];
}

function paceOption(text: string): SnapshotPace {
  const pace = parsePace(text);
  if (pace === undefined) throw new InvalidArgumentError('It must be change, or a duration like 100ms or 1s.');
  return pace;
}

/** A dry run does not create an archive where there is none. */
async function withArchiveOrRehearsal(
  terminal: Terminal,
  options: ImportCommandOptions,
  work: (archive: Archive) => Promise<ImportReport>,
): Promise<ImportReport> {
  if (options.dryRun !== true || existsSync(join(options.data, RECORDINGS.name))) {
    return await withArchive(terminal, options, { create: true }, work);
  }
  const directory = mkdtempSync(join(tmpdir(), 'bookreel-dry-run-'));
  try {
    return await withArchive(terminal, { ...options, data: directory }, { create: true }, work);
  } finally {
    discard(directory);
  }
}

interface NewFile extends Disposable {
  /** Writes at once, so that nothing is lost when the import stops early. */
  readonly write: (text: string) => void;
}

/** Creates a file: it never overwrites one or follows a link. Removes it at the end if nothing was written. */
function openNewFile(path: string): NewFile {
  // 'x' is O_EXCL, which also refuses a link, wherever it points.
  const descriptor = writable(path, () => openSync(path, 'wx'));
  let isEmpty = true;
  return {
    write: (text) => {
      isEmpty = false;
      writable(path, () => writeSync(descriptor, text));
    },
    [Symbol.dispose]: () => {
      closeSync(descriptor);
      if (isEmpty) rmSync(path, { force: true });
    },
  };
}

function writable<T>(path: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') {
      throw new DomainError('conflict', `'${path}' exists already: name another one`);
    }
    throw new DomainError('unavailable', `'${path}' cannot be written: check the path, its permissions and the disk`, {
      cause: error,
    });
  }
}

/** The first SIGINT or SIGTERM asks the import to stop; the second one ends the process. */
function interruptible(terminal: Terminal): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const release = onStopSignals(() => {
    eraseLine(terminal);
    terminal.err('stopping after this batch; a second signal stops at once\n');
    controller.abort();
  });
  return { signal: controller.signal, [Symbol.dispose]: release };
}

/** Imports with progress on stderr. An import that fails prints its report up to there, then throws. */
export async function importSources(
  terminal: Terminal,
  options: StoringOptions,
  archive: Archive,
  sources: readonly Source[],
  request: ImportRequest = {},
): Promise<ImportReport> {
  const show = progressOn(terminal);
  const onProgress = (reached: ImportProgress) => show((elapsedMs) => progressLine(reached, elapsedMs));
  const directory = dirname(archive.database.path);
  const beforeBatch = () => explained(directory, () => refuseLowDisk(directory, options.diskFloor));
  const importer = new Importer(archive, { ...request, clock: terminal.clock, onProgress, beforeBatch });
  try {
    const report = await importer.run(sources);
    eraseLine(terminal);
    return report;
  } catch (error) {
    eraseLine(terminal);
    const report = importer.report();
    const { stored, duplicate, contradicted, rejected } = report.total;
    if (stored + duplicate + contradicted + rejected > 0) printReport(terminal, options, report);
    throw error;
  } finally {
    archive.database.checkpoint();
  }
}

export function printReport(terminal: Terminal, options: GlobalOptions, report: ImportReport): void {
  if (options.json === true) terminal.out(json(report));
  else printText(terminal, report);
  for (const failure of failuresOf(report)) printError(terminal, failure, 'failed');
}

function printText(terminal: Terminal, report: ImportReport): void {
  const { total, files, reasons, missingMarkets, skipped, elapsedMs } = report;
  const rate = Math.round((total.read / Math.max(1, elapsedMs)) * 1000);
  const word = report.dryRun ? 'would be stored' : 'stored';
  const contradicted = total.contradicted === 0 ? '' : `${total.contradicted} contradicted, `;
  terminal.out(
    `${countText(total.read, 'record')} read from ${countText(files.length, 'file')}: ${total.stored} ${word}, ${total.duplicate} duplicate, ${contradicted}${total.rejected} rejected, ${countText(total.gaps, 'gap')} opened (${rate} records/s)\n`,
  );
  if (files.length > 0) terminal.out(table(terminal, itemColumns(total), files.flatMap(itemRowsOf)));
  const made = files.filter(hasOtherRecords).flatMap(recordRowsOf);
  if (made.length > 0) terminal.out(`\n${table(terminal, recordColumns(total), made)}`);
  if (report.dryRun) terminal.err('dry run: nothing was stored\n');
  if (report.mirrored > 0) terminal.err(`${countText(report.mirrored, 'snapshot')} derived from the other outcome\n`);
  if (total.droppedLevels > 0) terminal.err(`left out ${countText(total.droppedLevels, 'level')} of size 0\n`);
  for (const note of report.notes) terminal.err(`${printable(note)}\n`);
  if (files.length > 0 && skipped.length > 0) terminal.err(`${skippedText(skipped)}\n`);
  for (const { reason, count, examples } of reasons) {
    const [first, ...others] = examples.map(({ path, line }) => `${printable(path)}:${line}`);
    const rest = count > examples.length ? ', …' : '';
    const also = others.length === 0 ? '' : ` (${countText(count, 'record')}, also ${others.join(', ')}${rest})`;
    terminal.err(`${first}: ${printable(reason)}${also}\n`);
  }
  for (const conditionId of missingMarkets.slice(0, MISSING_SHOWN)) terminal.err(`unknown market ${conditionId}\n`);
  const unlisted = missingMarkets.length - MISSING_SHOWN;
  if (unlisted > 0) terminal.err(`… and ${countText(unlisted, 'more unknown market')}\n`);
}

/** Why an import is not complete, in sentences that say what to do. */
function failuresOf({ total, files, reasons, skipped, missingMarkets, stopped }: ImportReport): string[] {
  const { read, stored, duplicate, contradicted, rejected } = total;
  const unread = files.flatMap((file) =>
    file.error === undefined
      ? []
      : [`${printable(file.error)}${file.read > 0 ? '; the records before the damage are stored' : ''}`],
  );
  const listed = reasons.reduce((count, { examples }) => count + examples.length, 0);
  const remedy = listed < rejected ? '--rejects FILE writes them all' : 'correct them and import them again';
  const notStored = read - stored - duplicate - contradicted - rejected;
  return [
    ...(files.length === 0 ? [nothingFound(skipped)] : []),
    ...unread,
    ...(rejected > 0 ? [`${rejected} of ${countText(read, 'record')} rejected: ${remedy}`] : []),
    ...(missingMarkets.length > 0
      ? [
          `${countText(missingMarkets.length, 'market')} unknown: import their market records, then this again${MISSING_HINT}`,
        ]
      : []),
    ...(stopped ? ['the import was stopped: run the same command again to import the rest'] : []),
    ...(!stopped && notStored > 0
      ? [`${countText(notStored, 'record')} read and not stored: run the same command again`]
      : []),
  ];
}

function skippedText(skipped: readonly string[]): string {
  const [first] = skipped;
  return skipped.length === 1
    ? `${printable(first!)}: skipped, not a recording`
    : `skipped ${kindsText(skipped)}: they are not recordings`;
}

function nothingFound(skipped: readonly string[]): string {
  const formats = "'bookreel manual recordings' lists the formats";
  if (skipped.length === 0) return `no recording was found, because there is no file: ${formats}`;
  return `no recording was found in ${kindsText(skipped)}: ${formats}`;
}

/** The number of files of each kind, the most frequent first, and the first of them. */
function kindsText(skipped: readonly string[]): string {
  const kinds = Map.groupBy(skipped, (path) => extname(path.replace(PACKED, '')).toLowerCase() || 'no extension');
  const counts = [...kinds]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([kind, { length }]) => `${length} ${printable(kind)}`);
  const examples = skipped
    .slice(0, EXAMPLES_NAMED)
    .map((path) => printable(path))
    .join(', ');
  return `${countText(skipped.length, 'file')} (${counts.slice(0, KINDS_SHOWN).join(', ')}; for example ${examples})`;
}

type Total = ImportReport['total'];
type Result = 'read' | 'stored' | 'duplicate' | 'contradicted' | 'rejected' | 'ignored';

/** The counts of a row. Few imports have contradicted messages: the others have no column for them. */
function resultsOf({ contradicted }: Total): readonly Result[] {
  return [
    'read',
    'stored',
    'duplicate',
    ...(contradicted > 0 ? (['contradicted'] as const) : []),
    'rejected',
    'ignored',
  ];
}

type ItemRow = { readonly kind: string } & Readonly<Record<Result, number>> &
  Partial<Pick<FileReport, 'path' | 'format' | 'gaps'>>;

function itemColumns(total: Total): readonly Column<ItemRow>[] {
  return [
    { heading: 'file', cell: ({ path }) => path, cut: 'front' },
    { heading: 'format', cell: ({ format }) => format },
    { heading: 'kind', cell: ({ kind }) => kind },
    ...resultsOf(total).map((result) => ({ heading: result, cell: (row: ItemRow) => row[result] })),
    { heading: 'gaps', cell: ({ gaps }) => gaps },
  ];
}

/** One row per kind; the first one names the file. */
function itemRowsOf({ path, format, kinds, gaps }: FileReport): ItemRow[] {
  const none = { kind: '', read: 0, stored: 0, duplicate: 0, contradicted: 0, rejected: 0, ignored: 0 };
  const [first = none, ...others] = kinds;
  return [{ ...first, path, format, gaps }, ...others];
}

/** Returns true unless each item of a file became one record: then counts of items do not show how many records are stored. */
function hasOtherRecords({ types, ...items }: FileReport): boolean {
  const made = types.reduce((sum, type) => sum + type.made, 0);
  const stored = types.reduce((sum, type) => sum + type.stored, 0);
  return made !== items.read - items.rejected || stored !== items.stored;
}

function recordResultsOf({ types }: Total): readonly RecordResult[] {
  const isContradicted = types.some(({ contradicted }) => contradicted > 0);
  return ['stored', 'duplicate', ...(isContradicted ? (['contradicted'] as const) : []), 'rejected'];
}

type RecordRow = FileReport['types'][number] & { readonly path: string };

function recordColumns(total: Total): readonly Column<RecordRow>[] {
  return [
    { heading: 'file', cell: ({ path }) => path, cut: 'front' },
    { heading: 'records', cell: ({ type }) => type },
    { heading: 'made', cell: ({ made }) => made },
    ...recordResultsOf(total).map((result) => ({ heading: result, cell: (row: RecordRow) => row[result] })),
  ];
}

/** One row per type of the records that were made of a file's items; the first one names the file. */
function recordRowsOf({ path, types }: FileReport): RecordRow[] {
  return types.map((type, index) => ({ ...type, path: index === 0 ? path : '' }));
}

export function isClean(report: ImportReport): boolean {
  return (
    report.files.length > 0 &&
    report.total.rejected === 0 &&
    !report.stopped &&
    report.files.every((file) => file.error === undefined)
  );
}

/** The most important figures come first: a narrow terminal cuts the end off. */
function progressLine(progress: ImportProgress, elapsedMs: number): string {
  const { fileNumber, files, read, stored, bytesRead, bytesTotal } = progress;
  const rate = Math.round((read / Math.max(1, elapsedMs)) * 1000);
  const file = `file ${fileNumber} of ${files} (${printable(progress.file)})`;
  const counts = `${countText(read, 'record')} read, ${stored} stored, ${rate} records/s, ${file}`;
  if (bytesTotal === undefined || bytesTotal === 0) return `${megabytes(bytesRead)}: ${counts}`;
  return `${shareDone(Math.min(1, bytesRead / bytesTotal), megabytes(bytesTotal), elapsedMs)}: ${counts}`;
}
