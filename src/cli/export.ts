import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { bookDepth, instant, interval, outcome } from '../config.ts';
import { parseCoin } from '../domain/coin.ts';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import { parseTimeframe, TIMEFRAMES } from '../domain/timeframe.ts';
import { ExportTally } from '../export/export.ts';
import { type ByteSink, exportedBytes, send } from '../export/export-bytes.ts';
import { contentOf, type FileContent } from '../export/file-name.ts';
import { EXPORT_FORMATS, isText, samplingRefusal } from '../export/format.ts';
import { type Manifest, manifestOf } from '../export/manifest.ts';
import { NewDirectory } from '../export/new-directory.ts';
import { NewFile } from '../export/new-file.ts';
import { DAY_MS, marketDaysOf, PARTITIONS, selectionOfDay } from '../export/partition.ts';
import { countMarkets, type ExportSelection, type Sampling, selectionOf } from '../export/selection.ts';
import { NUMBERS, SHAPES, TABLE_TYPES, tableRefusal, tableShapeOf } from '../export/table-shape.ts';
import type { Archive } from '../store/archive.ts';
import { type OptionsOf, programCommand } from './program-command.ts';
import { eraseLine, megabytes, progressOn, shareDone } from './status-line.ts';
import { json, type Terminal } from './terminal.ts';
import { VERSION } from './version.ts';
import { LOOK, withArchive } from './with-archive.ts';

type ExportOptions = OptionsOf<typeof declared>;

const STDOUT = '-';
const MANIFEST_SUFFIX = '.manifest.json';

function declared() {
  return programCommand('export')
    .description('write recordings to a file: everything, or a selection')
    .option('--coin <list>', 'only these coins, like btc,eth', coins)
    .option('--market <name>', 'only this market, by conditionId or slug; may be repeated', market)
    .option('--tf <list>', `only markets of these timeframes (${TIMEFRAMES.join(', ')})`, timeframes)
    .option('--from <time>', 'earliest timestamp, inclusive', instant)
    .option('--to <time>', 'latest timestamp, inclusive', instant)
    .addOption(new Option('--outcome <name>', 'only records of this outcome').choices(OUTCOMES).argParser(outcome))
    .option(
      '--interval <length>',
      'for each outcome, kind and source, only the last record of each interval, like 1s or 5m',
      interval,
    )
    .option('--depth <number>', 'maximum number of levels per side, the best ones', bookDepth)
    .addOption(
      new Option('--format <name>', "format of the file; without it, the file's name decides, else ndjson").choices(
        EXPORT_FORMATS,
      ),
    )
    .addOption(new Option('--shape <name>', 'of snapshots in Parquet, Arrow: a table of them only').choices(SHAPES))
    .addOption(new Option('--type <name>', 'in Parquet, Arrow: a table of these records only').choices(TABLE_TYPES))
    .addOption(new Option('--numbers <name>', 'prices and sizes of such a table').choices(NUMBERS))
    .addOption(new Option('--partition <name>', 'such a table as a directory, a file a day').choices(PARTITIONS))
    .option('-o, --output <file>', 'file to write; - is standard output', STDOUT)
    .addOption(new Option('--zstd', 'compress with zstd').conflicts('gzip'))
    .option('--gzip', 'compress with gzip')
    .option('--force', 'replace the file if it exists')
    .addHelpText(
      'after',
      `
The file's name selects format and compression: .ndjson, .msgpack, .csv,
.parquet, .arrow, .segments, .sqlite or .db; compressed with .zst or .gz after
it.

  ndjson, msgpack  can be imported again without loss
  csv, parquet     one flat table of all records; with --shape or --type,
                   Parquet has a table of one type: books (a row for each, with
                   lists of levels), wide (a column for each level), levels (a
                   row for each), quotes, prices (midpoints), trades. Numbers
                   are doubles, or exact decimals with --numbers decimal
  arrow            the same tables as an Arrow IPC stream
  sqlite           a database of plain tables
  segments         the archive's own format: the smallest, and the fastest to
                   write; can be imported again, or read with the TypeScript
                   file that a server has at /docs/segment-reader.ts

The same data gives the same bytes, except in segments: their boundaries depend
on the order of the imports. A manifest with counts, first and last timestamp
and SHA-256 is written to <file>${MANIFEST_SUFFIX}, or to standard error when
the export goes to standard output.

An export has the reference prices of its coins, unless --market or --tf is
given. With --from or --to it leaves out markets without any record in that
time, except those that --market names. --outcome keeps gaps and reference
prices, which belong to no outcome. Intervals begin at multiples of their length
in Unix time. segments have all records and all levels: choose another format
for --interval and --depth.

--partition date writes directories like coin=btc/tf=5m/date=2026-04-16 with a
file each, which DuckDB, polars and pandas read as one table. With --force it
replaces the files of its days in a directory and keeps all others.

Examples:
  $ bookreel export -o archive.ndjson.zst
  $ bookreel export --coin btc --tf 5m,15m --from 2026-04-16 -o btc.parquet
  $ bookreel export --market btc-updown-5m-1776323400 -o btc.segments
  $ bookreel export --coin btc --outcome up --interval 1s --depth 10 -o btc.csv
  $ bookreel export --coin btc --tf 5m --shape wide --depth 5 -o best.parquet
  $ bookreel export --type quote --format parquet --partition date -o quotes
  $ bookreel export --market btc-updown-5m-1776323400 | head -n 3`,
    );
}

export function exportCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (_, command) => {
    const options = command.optsWithGlobals();
    if ((options.from ?? 0) > (options.to ?? Number.MAX_SAFE_INTEGER)) {
      throw new DomainError('invalid-parameter', '--from must not be later than --to');
    }
    const content = contentOf(options.output, {
      format: options.format,
      compression: options.zstd === true ? 'zstd' : options.gzip === true ? 'gzip' : undefined,
    });
    const { format, compression } = content;
    const refusal = samplingRefusal(format, samplingOf(options));
    if (refusal !== undefined) throw new DomainError('invalid-parameter', `--format ${refusal}`);
    const ofTable = tableRefusal(format, options);
    if (ofTable !== undefined) throw new DomainError('invalid-parameter', `--${ofTable.join(' ')}`);
    if (options.partition !== undefined) refusePartition(options, content);
    if (options.output === STDOUT && terminal.outIsTerminal && (compression !== undefined || !isText(format))) {
      const what = compression === undefined ? format : `${format} compressed with ${compression}`;
      throw new DomainError('invalid-parameter', `a terminal cannot show ${what}: write it to a file with -o FILE`);
    }
    await withArchive(terminal, options, LOOK, (archive) => exportTo(terminal, options, content, archive));
  });
}

async function exportTo(
  terminal: Terminal,
  options: ExportOptions,
  content: FileContent,
  archive: Archive,
): Promise<void> {
  if (options.output === STDOUT) {
    const manifest = await exportInto(terminal, options, content, archive, terminal.write);
    terminal.err(`${JSON.stringify(manifest)}\n`);
    return;
  }
  const replaces = options.force === true;
  using file = options.partition === undefined ? new NewFile(options.output, replaces) : undefined;
  using directory = file === undefined ? new NewDirectory(options.output, replaces) : undefined;
  using manifestFile = new NewFile(`${options.output}${MANIFEST_SUFFIX}`, replaces);
  const target = directory ?? ((bytes: Uint8Array) => file?.write(bytes));
  const manifest = await exportInto(terminal, options, content, archive, target);
  manifestFile.write(Buffer.from(json(manifest)));
  // In this order a file never gets the manifest of another one, even when the process is killed in between.
  manifestFile.removeOld();
  (file ?? directory)?.commit();
  manifestFile.commit();
  terminal.out(options.json === true ? json(manifest) : `${summaryOf(manifest)} written to '${options.output}'\n`);
}

/** Exports, and shows progress on stderr, unless the data goes to a terminal: progress would overwrite it. */
async function exportInto(
  terminal: Terminal,
  options: ExportOptions,
  { format, compression }: FileContent,
  archive: Archive,
  target: ByteSink | NewDirectory,
): Promise<Manifest> {
  const { coin, market: markets, tf, from: fromMs, to: toMs } = options;
  const scratch = options.output === STDOUT ? tmpdir() : dirname(options.output);
  const tally = new ExportTally();
  const sampling = samplingOf(options);
  using _view = archive.database.beginView();
  const selection = selectionOf(archive, { coins: coin, markets, timeframes: tf, fromMs, toMs, sampling });
  const days = target instanceof NewDirectory ? marketDaysOf(archive, selection) : undefined;
  const marketsTotal =
    days?.reduce((sum, { marketKeys }) => sum + marketKeys.length, 0) ?? countMarkets(archive, selection);
  let bytes = 0;
  const isShown = !terminal.outIsTerminal || (options.output !== STDOUT && options.json !== true);
  const show = progressOn(terminal);
  const onStep = () => {
    if (isShown) show((elapsedMs) => progressLine(tally, marketsTotal, bytes, elapsedMs));
  };
  const write = (part: ExportSelection, sink: ByteSink) =>
    send(exportedBytes(archive, part, format, tally, { scratch, onStep }), compression, async (piece) => {
      await sink(piece);
      bytes += piece.length;
    });
  try {
    if (!(target instanceof NewDirectory)) {
      return manifestOf(format, compression, sampling, VERSION, tally, await write(selection, target));
    }
    const files = [];
    for (const day of days ?? []) {
      using file = target.file(day.path);
      const { written } = await write(selectionOfDay(archive, selection, day), (piece) => file.write(piece));
      file.commit();
      files.push({ path: day.path, ...written });
    }
    return manifestOf(format, compression, sampling, VERSION, tally, files);
  } finally {
    if (isShown) eraseLine(terminal);
  }
}

function refusePartition({ output, interval: intervalMs = DAY_MS, ...request }: ExportOptions, content: FileContent) {
  const { format, compression } = content;
  const refusal =
    format !== 'parquet' || tableShapeOf(request) === undefined
      ? 'is for Parquet with one type of records: add --format parquet, and --shape or --type'
      : compression !== undefined
        ? 'must not be given with a compression: Parquet is compressed inside'
        : output === STDOUT
          ? 'writes a directory: name it with -o'
          : DAY_MS % intervalMs !== 0 && 'needs an --interval that divides a day';
  if (refusal !== false) throw new DomainError('invalid-parameter', `--partition ${refusal}`);
}

function samplingOf(options: ExportOptions): Sampling {
  const { outcome, interval: intervalMs, depth } = options;
  return { outcome, intervalMs, depth, table: tableShapeOf(options) };
}

/** The most important figures come first: a narrow terminal cuts the end off. */
function progressLine(
  { counts, marketsPassed }: ExportTally,
  marketsTotal: number,
  bytes: number,
  elapsedMs: number,
): string {
  const written = `${countText(recordsIn(counts), 'record')}, ${megabytes(bytes)} written`;
  // A bar of one market would show nothing until it is complete.
  if (marketsTotal < 2) return written;
  return `${shareDone(marketsPassed / marketsTotal, countText(marketsTotal, 'market'), elapsedMs)}: ${written}`;
}

function recordsIn({ market: _, ...records }: Manifest['counts']): number {
  return Object.values(records).reduce((sum, count) => sum + count, 0);
}

function summaryOf({ counts, bytes }: Manifest): string {
  const { market: markets, snapshot } = counts;
  const records = recordsIn(counts);
  const ofMarkets = markets === 0 ? '' : `${countText(markets, 'market')} with `;
  return `${ofMarkets}${countText(records, 'record')} (${countText(snapshot, 'snapshot')}), ${countText(bytes, 'byte')},`;
}

export const coins = listOf(parseCoin, 'It must be a list of coin codes like btc,eth.');

export const timeframes = listOf(parseTimeframe, `It must be a list of these: ${TIMEFRAMES.join(', ')}.`);

export function market(text: string, previous?: readonly string[]): readonly string[] {
  if (text === '') throw new InvalidArgumentError('It must be a conditionId or a slug.');
  return repeated(text, previous);
}

/** The values of an option that may be repeated. */
export function repeated(text: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, text];
}

/** Parses comma-separated lists, each appended to the one before. Refuses items for which `read` returns undefined. */
function listOf<T>(read: (item: string) => T | undefined, refusal: string) {
  return (text: string, previous: readonly T[] = []): readonly T[] => {
    const items = text.split(',').map((item) => read(item.trim()));
    if (!items.every((item) => item !== undefined)) throw new InvalidArgumentError(refusal);
    return [...previous, ...items];
  };
}
