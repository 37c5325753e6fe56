import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { codecsOf } from '../import/codecs.ts';
import { Importer, type ImportOptions } from '../import/importer.ts';
import { type FileReport, type ImportReport, RejectionGroups, summedUp } from '../import/report.ts';
import type { Source } from '../import/source.ts';
import { WatchedDirectory } from '../import/watch/watched-directory.ts';
import type { Archive } from '../store/archive.ts';
import { rejectionText, skippedText } from './import-report.ts';
import type { GlobalOptions } from './program-command.ts';
import { printable, printError, type Terminal } from './terminal.ts';

const POLL_MS = 1000;
/** A scan takes at most this share of the time. */
const SCAN_SHARE = 0.1;
const SUMMARY_MS = 60_000;
/** Names of unknown markets that are waited for. Files with further ones are read again by the next command. */
const UNKNOWN_MAX = 65_536;
/** Sentences that are not repeated. With more of them, earlier ones may be. */
const SENTENCES_MAX = 10_000;

/**
 * Imports what comes into directories until the signal is aborted. What was read of each file is noted beside the archive, so that the next
 * command continues there. A file that cannot be read is reported once. Prints sums by folder, at most one a minute for each.
 */
export async function watchDirectories(
  terminal: Terminal,
  options: GlobalOptions,
  {
    archive,
    paths,
    first,
  }: { readonly archive: Archive; readonly paths: readonly string[]; readonly first: readonly Source[] },
  request: Omit<ImportOptions, 'clock'> & { readonly signal: AbortSignal },
): Promise<void> {
  const { clock } = terminal;
  const { signal } = request;
  const directories = paths.map(
    (path) => new WatchedDirectory(path, { archive, clock, newCodecs: () => codecsOf(request) }),
  );
  const news = new WatchNews(terminal, options);
  const unknown = new Set<string>();
  let isStated = false;
  const forgetStated = () => {
    if (isStated) for (const directory of directories) directory.forgetWaiting();
    isStated = false;
  };
  const run = async (sources: readonly Source[]): Promise<ImportReport> => {
    const onReject: ImportOptions['onReject'] = (rejection) => {
      news.rejections.add(rejection);
      request.onReject?.(rejection);
    };
    const importer = new Importer(archive, { ...request, clock, onReject });
    const report = await importer.run(sources);
    archive.database.checkpoint();
    news.add(report);
    const hadUnknown = unknown.size;
    for (const name of unknown) if (importer.markets.hasName(name)) unknown.delete(name);
    isStated ||= unknown.size < hadUnknown;
    for (const name of importer.unknownNames) if (unknown.size < UNKNOWN_MAX) unknown.add(name);
    // Its memory is not used again.
    Bun.gc(true);
    return report;
  };
  terminal.err(
    `importing what comes into ${paths.map((path) => `'${printable(path)}'`).join(', ')} until it is stopped\n`,
  );
  // A market may have been stated since the last command.
  for (const directory of directories) directory.forgetWaiting();
  if (first.length > 0) await run(first);
  while (!signal.aborted) {
    let [hasMore, scanMs] = [false, 0];
    for (const directory of directories) {
      const startMs = performance.now();
      const scan = await directory.scan().catch((error) => news.failed(error));
      scanMs += performance.now() - startMs;
      if (scan === undefined) continue;
      for (const note of scan.notes) news.say(note);
      hasMore ||= scan.hasMore;
      const report = scan.sources.length === 0 || signal.aborted ? undefined : await run(scan.sources);
      if (report?.stopped !== false) continue;
      const isUnknown = ({ rejected }: FileReport) => rejected > 0 && unknown.size > 0;
      const isFailed = ({ error }: FileReport) => error !== undefined;
      const [waiting, failed] = [isUnknown, isFailed].map(
        (isIt) => new Set(report.files.filter(isIt).map(({ path }) => path)),
      );
      scan.keep(waiting!, failed!);
      // Afterwards, because what is kept are positions behind the records of the market.
      forgetStated();
    }
    news.printIfDue();
    const pauseMs = Math.max(POLL_MS, scanMs / SCAN_SHARE);
    if (!hasMore) await setTimeout(pauseMs, undefined, { signal }).catch(() => undefined);
  }
  news.print();
}

/** The news of a watch since its last summary. */
class WatchNews {
  readonly #terminal: Terminal;
  readonly #isJson: boolean;
  readonly #said = new Set<string>();
  #folders = new Map<string, Omit<FileReport, 'path' | 'format' | 'error'> & { readonly files: Set<string> }>();
  #printedMs = -Infinity;
  /** The rejections since the last summary. */
  rejections = new RejectionGroups();

  constructor(terminal: Terminal, options: GlobalOptions) {
    this.#terminal = terminal;
    this.#isJson = options.json === true;
  }

  add({ files, notes, skipped }: ImportReport): void {
    for (const file of files) {
      const folder = `${dirname(file.path)}/`;
      const before = this.#folders.get(folder);
      const sums = summedUp(before === undefined ? [file] : [{ ...file, ...before }, file]);
      this.#folders.set(folder, { ...sums, files: (before?.files ?? new Set()).add(file.path) });
      if (file.error !== undefined) this.#fail(file.error);
    }
    // Most scans repeat a note with other numbers.
    for (const note of notes) this.say(note, note.replaceAll(/\d+/g, ''));
    if (skipped.length > 0) this.say(skippedText(skipped));
  }

  /** Prints a sentence, unless it or one with the same `name` was printed before. */
  say(sentence: string, name = sentence): void {
    this.#once(name, () => this.#terminal.err(`${printable(sentence)}\n`));
  }

  /** Reports a directory that cannot be read now. Throws any other error again. */
  failed(error: unknown): undefined {
    if (!(error instanceof DomainError) || error.kind !== 'unreadable') throw error;
    this.#fail(error.message);
  }

  printIfDue(): void {
    if (this.#terminal.clock() - this.#printedMs >= SUMMARY_MS) this.print();
  }

  print(): void {
    if (this.#folders.size === 0) return;
    for (const [folder, { files, read, stored, duplicate, contradicted, rejected, gaps }] of this.#folders) {
      const counts = { files: files.size, read, stored, duplicate, contradicted, rejected, gaps };
      const other = contradicted === 0 ? '' : `${contradicted} contradicted, `;
      const text = `${printable(folder)}: ${countText(read, 'record')} read from ${countText(files.size, 'file')}: ${stored} stored, ${duplicate} duplicate, ${other}${rejected} rejected`;
      this.#terminal.out(this.#isJson ? `${JSON.stringify({ folder, ...counts })}\n` : `${text}\n`);
    }
    for (const group of this.rejections.list()) this.#terminal.err(rejectionText(group));
    this.#folders = new Map();
    this.rejections = new RejectionGroups();
    this.#printedMs = this.#terminal.clock();
  }

  #fail(sentence: string): void {
    this.#once(sentence, () => printError(this.#terminal, printable(sentence), 'failed'));
  }

  #once(name: string, print: () => void): void {
    if (this.#said.has(name)) return;
    if (this.#said.size >= SENTENCES_MAX) this.#said.clear();
    this.#said.add(name);
    print();
  }
}
