import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { instant } from '../config.ts';
import { canonicalCoin, isCoin } from '../domain/coin.ts';
import { DomainError } from '../domain/errors.ts';
import { parseTimeframe, TIMEFRAMES, type Timeframe } from '../domain/timeframe.ts';
import { ExportTally } from '../export/export.ts';
import { type ByteSink, exportedBytes, send } from '../export/export-bytes.ts';
import { contentOf, type FileContent } from '../export/file-name.ts';
import { EXPORT_FORMATS, type ExportFormat, isText } from '../export/format.ts';
import { type Manifest, manifestOf } from '../export/manifest.ts';
import { NewFile } from '../export/new-file.ts';
import { selectionOf } from '../export/selection.ts';
import type { Archive } from '../store/archive.ts';
import { countOf, json, type Terminal } from './terminal.ts';
import { VERSION } from './version.ts';
import { type GlobalOptions, withArchive } from './with-archive.ts';

interface ExportOptions extends GlobalOptions {
  readonly coin?: readonly string[];
  readonly market?: readonly string[];
  readonly tf?: readonly Timeframe[];
  readonly from?: number;
  readonly to?: number;
  readonly format?: ExportFormat;
  readonly output: string;
  readonly zstd?: boolean;
  readonly gzip?: boolean;
  readonly force?: boolean;
}

const STDOUT = '-';
const MANIFEST_SUFFIX = '.manifest.json';

export function exportCommand(terminal: Terminal): Command {
  return new Command('export')
    .description('write recordings to a file: everything, or a selection')
    .option('--coin <list>', 'only these coins, like btc,eth', coins)
    .option('--market <name>', 'only this market, by conditionId or slug; may be repeated', market)
    .option('--tf <list>', `only markets of these timeframes (${TIMEFRAMES.join(', ')})`, timeframes)
    .option('--from <time>', 'earliest timestamp, inclusive', instant)
    .option('--to <time>', 'latest timestamp, inclusive', instant)
    .addOption(
      new Option('--format <name>', "format of the file; without it, the file's name decides, else ndjson").choices(
        EXPORT_FORMATS,
      ),
    )
    .option('-o, --output <file>', 'file to write; - is standard output', STDOUT)
    .addOption(new Option('--zstd', 'compress with zstd').conflicts('gzip'))
    .option('--gzip', 'compress with gzip')
    .option('--force', 'replace the file if it exists')
    .addHelpText(
      'after',
      `
The file's name selects format and compression: .ndjson, .msgpack, .csv,
.parquet, .segments, .sqlite or .db; with .zst or .gz after it, compressed.

  ndjson, msgpack  can be imported again without loss
  csv, parquet     one flat table, for pandas or DuckDB
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
time, except those that --market names.

Examples:
  $ bookreel export -o archive.ndjson.zst
  $ bookreel export --coin btc --tf 5m,15m --from 2026-04-16 -o btc.parquet
  $ bookreel export --market btc-updown-5m-1776323400 -o btc.segments
  $ bookreel export --market btc-updown-5m-1776323400 | head -n 3`,
    )
    .action(async (_, command: Command) => {
      const options = command.optsWithGlobals<ExportOptions>();
      if ((options.from ?? 0) > (options.to ?? Number.MAX_SAFE_INTEGER)) {
        throw new DomainError('invalid-parameter', '--from must not be later than --to');
      }
      const content = contentOf(options.output, {
        format: options.format,
        compression: options.zstd === true ? 'zstd' : options.gzip === true ? 'gzip' : undefined,
      });
      const { format, compression } = content;
      if (options.output === STDOUT && terminal.outIsTerminal && (compression !== undefined || !isText(format))) {
        const what = compression === undefined ? format : `${format} compressed with ${compression}`;
        throw new DomainError('invalid-parameter', `a terminal cannot show ${what}: write it to a file with -o FILE`);
      }
      await withArchive(terminal, options, { create: false }, (archive) =>
        exportTo(terminal, options, content, archive),
      );
    });
}

async function exportTo(
  terminal: Terminal,
  options: ExportOptions,
  content: FileContent,
  archive: Archive,
): Promise<void> {
  if (options.output === STDOUT) {
    const manifest = await exportInto(options, content, archive, terminal.write);
    terminal.err(`${JSON.stringify(manifest)}\n`);
    return;
  }
  using file = new NewFile(options.output, options.force === true);
  using manifestFile = new NewFile(`${options.output}${MANIFEST_SUFFIX}`, options.force === true);
  const manifest = await exportInto(options, content, archive, (bytes) => file.write(bytes));
  manifestFile.write(Buffer.from(json(manifest)));
  // In this order a file never gets the manifest of another one, even when the process is killed in between.
  manifestFile.removeOld();
  file.commit();
  manifestFile.commit();
  terminal.out(options.json === true ? json(manifest) : `${summaryOf(manifest)} written to '${options.output}'\n`);
}

async function exportInto(
  options: ExportOptions,
  { format, compression }: FileContent,
  archive: Archive,
  sink: ByteSink,
): Promise<Manifest> {
  const { coin, market: markets, tf, from: fromMs, to: toMs } = options;
  const scratch = options.output === STDOUT ? tmpdir() : dirname(options.output);
  const tally = new ExportTally();
  using _view = archive.database.beginView();
  const selection = selectionOf(archive, { coins: coin, markets, timeframes: tf, fromMs, toMs });
  const written = await send(exportedBytes(archive, selection, format, tally, scratch), compression, sink);
  return manifestOf(format, compression, VERSION, tally, written);
}

function summaryOf({ counts, bytes }: Manifest): string {
  const { market: markets, snapshot, ...others } = counts;
  const records = Object.values(others).reduce((sum, count) => sum + count, snapshot);
  return `${countOf(markets, 'market')} with ${countOf(records, 'record')} (${countOf(snapshot, 'snapshot')}), ${countOf(bytes, 'byte')},`;
}

export const coins = listOf((item) => {
  const coin = canonicalCoin(item);
  return isCoin(coin) ? coin : undefined;
}, 'It must be a list of coin codes like btc,eth.');

export const timeframes = listOf(parseTimeframe, `It must be a list of these: ${TIMEFRAMES.join(', ')}.`);

export function market(text: string, previous: readonly string[] = []): readonly string[] {
  if (text === '') throw new InvalidArgumentError('It must be a conditionId or a slug.');
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
