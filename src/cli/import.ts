import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { addSettings } from '../config.ts';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { isUrl } from '../import/download.ts';
import { Importer, type ImportOptions, type ImportProgress } from '../import/importer.ts';
import type { Mapping } from '../import/mapping/mapping-schema.ts';
import { parsePace, type SnapshotPace } from '../import/rebuild/pace.ts';
import type { ImportReport, Rejection } from '../import/report.ts';
import { type Source, sourcesOf } from '../import/source.ts';
import type { Archive } from '../store/archive.ts';
import { explained } from '../store/database-errors.ts';
import { RECORDINGS } from '../store/database-file.ts';
import { type DiskFloor, refuseLowDisk } from '../store/disk-floor.ts';
import { discard } from '../store/on-disk.ts';
import { localPaths } from './downloads.ts';
import { EXIT, ExitWith } from './exit.ts';
import { isClean, printReport, type ReportOptions } from './import-report.ts';
import { watchDirectories } from './import-watch.ts';
import { mappingChange, readMapping } from './mapping-file.ts';
import { type OptionsOf, programCommand } from './program-command.ts';
import { eraseLine, megabytes, progressOn, shareDone } from './status-line.ts';
import { onStopSignals } from './stop-signals.ts';
import { printable, type Terminal } from './terminal.ts';
import { notingNew, withArchive } from './with-archive.ts';

/** Options of all commands that import. */
export interface StoringOptions extends ReportOptions {
  readonly diskFloor: DiskFloor;
}

type ImportCommandOptions = OptionsOf<typeof declared>;

/** The options of an import, without its sources. */
type ImportRequest = Pick<ImportOptions, 'every' | 'mirror' | 'dryRun' | 'onReject' | 'signal' | 'mapping'>;

function declared() {
  return addSettings(programCommand('import'), 'diskFloor')
    .argument('<path...>', 'files, containers, directories or URLs of recordings; - is standard input')
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
    .option('--watch', 'keep importing what comes into the directories, also as files grow')
    .option('--name <file>', 'the file name of standard input, for mappings that read it')
    .option('--mirror', "derive the books of an outcome from the other outcome's, up to the first one of its own")
    .option('--rejects <file>', 'write every rejected record to this new file, one JSON object per line')
    .option('--missing <file>', 'write the condition ids of unknown markets to this new file, one a line')
    .option('--files', 'list every file: many are summed up by folder and format')
    .option('--dry-run', 'validate without storing')
    .addHelpText(
      'after',
      `
Formats: bookreel's own NDJSON, msgpack and segments; the venue's WebSocket
messages, market objects and trades; Parquet of book messages and of PMXT; CSV
of best quotes, of snapshots every second and of reference prices. Files may be
compressed with gzip, zstd or xz, or packed in zip and tar files. A mapping
describes any other table or lines of JSON; some come with bookreel ('bookreel
manual mappings'). A URL is downloaded first; a download that was interrupted is
continued by the same command.

Rejected records are reported with file and line, and the others are imported;
the exit code is then 1. Importing the same records again stores nothing.
Ctrl-C stops the import after the current batch; the same command imports the
rest. With --watch an import runs until then, and continues where it was. A
running server serves new records at once. An import stops before the disk has
less free space than --disk-floor.

Examples:
  $ bookreel import recordings/
  $ bookreel import collection.zip
  $ bookreel import capture.jsonl.gz --markets markets.json --every 1s
  $ bookreel import books.parquet --mirror --rejects rejects.ndjson
  $ bookreel import ticks.csv --map my.toml --set time.zone=UTC
  $ bookreel import --watch /srv/recorder
  $ bookreel import http://nas.lan/books/monday.parquet
  $ zstdcat monday.ndjson.zst | bookreel import - --dry-run`,
    );
}

export function importCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (paths, _, command) => {
    const options = command.optsWithGlobals();
    const mapping = mappingOf(options);
    using rejects = options.rejects === undefined ? undefined : openNewFile(options.rejects);
    using missing = options.missing === undefined ? undefined : openNewFile(options.missing);
    using interruption = interruptible(terminal);
    if (options.name !== undefined && !paths.includes('-')) {
      throw new DomainError('invalid-parameter', '--name is the name of standard input: add - to the paths');
    }
    const first = marketSources(options.markets);
    const onReject = rejects && ((rejection: Rejection) => rejects.write(`${JSON.stringify(rejection)}\n`));
    const reading = { ...(mapping && { mapping }), ...(onReject && { onReject }), signal: interruption.signal };
    const nameNew = notingNew(terminal, options);
    if (options.watch === true) {
      refuseBesideWatch(options, paths);
      await withArchive(terminal, options, { create: true }, async (archive) => {
        nameNew();
        const beforeBatch = lowDiskRefusal(options, archive);
        await watchDirectories(terminal, options, { archive, paths, first }, { ...reading, beforeBatch });
      });
      return;
    }
    using local = await localPaths(terminal, options, paths, interruption.signal);
    const names = { names: local.names, pipeName: options.name };
    const sources = withFirst(first, sourcesOf(local.paths, names));
    const { every, mirror = false, dryRun = false } = options;
    const request: ImportRequest = { ...reading, every, mirror, dryRun };
    const report = await withArchiveOrRehearsal(terminal, options, (archive) =>
      importSources(terminal, options, archive, sources, request),
    );
    if (!report.stopped) local.discard();
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

/** Options that are for recordings that are complete. */
function refuseBesideWatch(options: ImportCommandOptions, paths: readonly string[]): void {
  const { every, mirror, dryRun, missing, files } = options;
  const given = {
    '--every': every !== 'change',
    '--mirror': mirror,
    '--dry-run': dryRun,
    '--missing': missing,
    '--files': files,
  };
  const [flag] = Object.entries(given).find(([, value]) => value !== undefined && value !== false) ?? [];
  if (flag !== undefined)
    throw new DomainError(
      'invalid-parameter',
      `${flag} is for recordings that are complete: leave it out beside --watch`,
    );
  const other = paths.find((path) => path === '-' || isUrl(path));
  if (other !== undefined) throw new DomainError('invalid-parameter', `--watch is for directories: leave out ${other}`);
}

function marketSources(markets: string | undefined): Source[] {
  return markets === undefined ? [] : sourcesOf([markets]).map((source) => ({ ...source, byContent: true as const }));
}

/** The files of market records first. */
function withFirst(first: readonly Source[], sources: readonly Source[]): Source[] {
  const read = new Set(first.map(({ path }) => path));
  return [...first, ...sources.filter(({ path }) => !read.has(path))];
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
  const beforeBatch = lowDiskRefusal(options, archive);
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

function lowDiskRefusal({ diskFloor }: StoringOptions, { database }: Archive): () => void {
  const directory = dirname(database.path);
  return () => explained(directory, () => refuseLowDisk(directory, diskFloor));
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
