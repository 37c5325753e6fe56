import { dirname, extname } from 'node:path';
import { countText } from '../domain/count-text.ts';
import {
  type FileReport,
  type ImportReport,
  type RecordResult,
  type RejectionGroup,
  summedUp,
} from '../import/report.ts';
import type { GlobalOptions } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, printable, printError, type Terminal } from './terminal.ts';

export interface ReportOptions extends GlobalOptions {
  /** True: every file is listed, however many there are. */
  readonly files?: true | undefined;
}

/** More files are summed up by folder and format, and so many with problems are listed. */
const FILES_LISTED = 20;
/** With more sums the folders are taken together by the folders that they are in. */
const SUMS_MAX = 30;
const MISSING_SHOWN = 20;
const EXAMPLES_NAMED = 3;
const KINDS_SHOWN = 10;
const PACKED = /\.(?:gz|zst|xz)$/i;
const MISSING_HINT =
  "; --missing FILE writes their condition ids, and 'bookreel manual recordings' says where to get them";

export function printReport(terminal: Terminal, options: ReportOptions, report: ImportReport): void {
  if (options.json === true) terminal.out(json(report));
  else printText(terminal, options, report);
  for (const failure of failuresOf(report)) printError(terminal, failure, 'failed');
}

function printText(terminal: Terminal, options: ReportOptions, report: ImportReport): void {
  const { total, files, reasons, missingMarkets, skipped, elapsedMs } = report;
  const rate = Math.round((total.read / Math.max(1, elapsedMs)) * 1000);
  const word = report.dryRun ? 'would be stored' : 'stored';
  const contradicted = total.contradicted === 0 ? '' : `${total.contradicted} contradicted, `;
  terminal.out(
    `${countText(total.read, 'record')} read from ${countText(files.length, 'file')}: ${total.stored} ${word}, ${total.duplicate} duplicate, ${contradicted}${total.rejected} rejected, ${countText(total.gaps, 'gap')} opened (${rate} records/s)\n`,
  );
  const isSummary = files.length > FILES_LISTED && options.files !== true;
  const listed = isSummary ? sumsOf(files) : files;
  const heading = isSummary ? 'folder' : 'file';
  if (files.length > 0) {
    const rows = listed.flatMap((of) => itemRowsOf(of));
    terminal.out(table(terminal, itemColumns(total, heading, isSummary), rows));
  }
  const made = listed.filter(hasOtherRecords).flatMap(recordRowsOf);
  if (made.length > 0) terminal.out(`\n${table(terminal, recordColumns(total, heading), made)}`);
  if (isSummary) printProblems(terminal, report);
  if (report.dryRun) terminal.err('dry run: nothing was stored\n');
  if (report.mirrored > 0) terminal.err(`${countText(report.mirrored, 'snapshot')} derived from the other outcome\n`);
  if (total.droppedLevels > 0) terminal.err(`left out ${countText(total.droppedLevels, 'level')} of size 0\n`);
  for (const note of report.notes) terminal.err(`${printable(note)}\n`);
  if (files.length > 0 && skipped.length > 0) terminal.err(`${skippedText(skipped)}\n`);
  for (const group of reasons) terminal.err(rejectionText(group));
  for (const conditionId of missingMarkets.slice(0, MISSING_SHOWN)) terminal.err(`unknown market ${conditionId}\n`);
  const unlisted = missingMarkets.length - MISSING_SHOWN;
  if (unlisted > 0) terminal.err(`… and ${countText(unlisted, 'more unknown market')}\n`);
}

/** The line of rejections for one reason. */
export function rejectionText({ reason, count, examples }: RejectionGroup): string {
  const [first, ...others] = examples.map(({ path, line }) => `${printable(path)}:${line}`);
  const rest = count > examples.length ? ', …' : '';
  const also = others.length === 0 ? '' : ` (${countText(count, 'record')}, also ${others.join(', ')}${rest})`;
  return `${first}: ${printable(reason)}${also}\n`;
}

/** The files of a summary that were not read to their end, or not stored. */
function printProblems(terminal: Terminal, { total, files }: ImportReport): void {
  const bad = files.filter(({ error, rejected, contradicted }) => error !== undefined || rejected + contradicted > 0);
  if (bad.length > 0) {
    const rows = bad.slice(0, FILES_LISTED).flatMap((file) => itemRowsOf(file));
    terminal.out(`\n${table(terminal, itemColumns(total, 'file with problems', false), rows)}`);
  }
  const more = bad.length > FILES_LISTED ? `, also the other ${bad.length - FILES_LISTED} with problems` : '';
  terminal.err(`--files lists all ${files.length} files${more}\n`);
}

/** The sums of files by folder and format, in the order of the files. */
function sumsOf(files: readonly FileReport[]): ListedReport[] {
  const folderOf = (path: string, depth: number) => `${dirname(path).split('/').slice(0, depth).join('/')}/`;
  let depth = files.reduce((most, { path }) => Math.max(most, path.split('/').length - 1), 1);
  for (; ; depth -= 1) {
    const sums = Map.groupBy(files, ({ path, format }) => `${folderOf(path, depth)} ${format}`);
    if (sums.size > SUMS_MAX && depth > 1) continue;
    return [...sums.values()].map((of) => ({
      ...summedUp(of),
      path: folderOf(of[0]!.path, depth),
      format: of[0]!.format,
      files: of.length,
    }));
  }
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

/** The line of files in directories that are not recordings. */
export function skippedText(skipped: readonly string[]): string {
  const [first] = skipped;
  return skipped.length === 1
    ? `${printable(first!)}: skipped, not a recording`
    : `skipped ${kindsText(skipped)}: they are not recordings`;
}

function nothingFound(skipped: readonly string[]): string {
  const formats = "'bookreel manual recordings' lists the formats";
  if (skipped.length === 0) return `no recording was found, because there is no file: ${formats}`;
  return `no recording was found in ${kindsText(skipped)}: 'bookreel inspect' prints a mapping for other layouts, and ${formats}`;
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

/** A file, or the sum of several. */
type ListedReport = Omit<FileReport, 'error'> & { readonly files?: number };

type ItemRow = { readonly kind: string } & Readonly<Record<Result, number>> &
  Partial<Pick<ListedReport, 'path' | 'format' | 'files' | 'gaps'>>;

function itemColumns(total: Total, heading: string, hasSums: boolean): readonly Column<ItemRow>[] {
  return [
    { heading, cell: ({ path }) => path, cut: 'front' },
    { heading: 'format', cell: ({ format }) => format },
    ...(hasSums ? [{ heading: 'files', cell: ({ files }: ItemRow) => files }] : []),
    { heading: 'kind', cell: ({ kind }) => kind },
    ...resultsOf(total).map((result) => ({ heading: result, cell: (row: ItemRow) => row[result] })),
    { heading: 'gaps', cell: ({ gaps }) => gaps },
  ];
}

/** One row per kind; the first one names the file. */
function itemRowsOf({ path, format, files, kinds, gaps }: ListedReport): ItemRow[] {
  const none = { kind: '', read: 0, stored: 0, duplicate: 0, contradicted: 0, rejected: 0, ignored: 0 };
  const [first = none, ...others] = kinds;
  return [{ ...first, path, format, gaps, ...(files !== undefined && { files }) }, ...others];
}

/** Returns true unless each item of a file became one record: then counts of items do not show how many records are stored. */
function hasOtherRecords({ types, ...items }: ListedReport): boolean {
  const made = types.reduce((sum, type) => sum + type.made, 0);
  const stored = types.reduce((sum, type) => sum + type.stored, 0);
  return made !== items.read - items.rejected || stored !== items.stored;
}

function recordResultsOf({ types }: Total): readonly RecordResult[] {
  const isContradicted = types.some(({ contradicted }) => contradicted > 0);
  return ['stored', 'duplicate', ...(isContradicted ? (['contradicted'] as const) : []), 'rejected'];
}

type RecordRow = FileReport['types'][number] & { readonly path: string };

function recordColumns(total: Total, heading: string): readonly Column<RecordRow>[] {
  return [
    { heading, cell: ({ path }) => path, cut: 'front' },
    { heading: 'records', cell: ({ type }) => type },
    { heading: 'made', cell: ({ made }) => made },
    ...recordResultsOf(total).map((result) => ({ heading: result, cell: (row: RecordRow) => row[result] })),
  ];
}

/** One row per type of the records that were made of a file's items; the first one names the file. */
function recordRowsOf({ path, types }: ListedReport): RecordRow[] {
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
