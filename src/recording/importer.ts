import { DomainError } from '../domain/errors.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import type { Archive } from '../store/archive.ts';
import { Batch } from './batch.ts';
import { linesOf } from './lines.ts';
import { parseRecordLine } from './ndjson.ts';
import { parquetRows, type VenueBook } from './parquet-books.ts';
import type { RecordedItem, TokenIds } from './record.ts';
import { FileTally, type ImportReport, REJECTIONS_SHOWN, type Rejection, totalOf } from './report.ts';
import { decompressed, type Format, formatOf, type Source } from './source.ts';

export interface ImportOptions {
  readonly clock: () => number;
  /** Called after every commit with what is stored for good, and after every file. */
  readonly onProgress?: (progress: ImportProgress) => void;
}

export interface ImportProgress {
  readonly file: string;
  readonly fileNumber: number;
  readonly files: number;
  readonly read: number;
  readonly stored: number;
}

/**
 * Imports recordings into an archive: batch by batch, each one transaction. Records that cannot be kept are reported and
 * left out, the others load. Importing anything again stores nothing.
 */
export class Importer {
  readonly #archive: Archive;
  readonly #options: ImportOptions;
  readonly #tokens = new Map<string, TokenIds>();
  readonly #tallies: FileTally[] = [];
  readonly #rejections: Rejection[] = [];
  readonly #skipped: string[] = [];
  #batch: Batch;
  #files = 0;
  #startedMs = 0;
  #read = 0;
  /** Committed. */
  #stored = 0;

  constructor(archive: Archive, options: ImportOptions) {
    this.#archive = archive;
    this.#options = options;
    this.#batch = new Batch(archive, this.#tokens);
  }

  /**
   * Reads `sources` in order. A file that is damaged ends with its error in the report, and the next one is read; what
   * stood in front of the damage is kept. Throws what makes going on senseless: an asset whose outcome nobody states
   * ('not-found'), a named file that is no recording ('unreadable'), a database that cannot be written ('unavailable'); what was
   * committed before stays.
   */
  async run(sources: readonly Source[]): Promise<ImportReport> {
    this.#startedMs = this.#options.clock();
    this.#files = sources.length;
    // Named files that are no recordings are found out before anything is read.
    const formats: (Format | undefined)[] = [];
    for (const source of sources) formats.push(await this.#formatOf(source));
    try {
      for (const [index, source] of sources.entries()) {
        const format = formats[index];
        if (format === undefined) this.#skipped.push(source.path);
        else await this.#readSource(source, format);
      }
    } catch (error) {
      // What was read in front of the obstacle is good, unless it is the database that failed.
      if (error instanceof DomainError && error.kind === 'not-found') this.#commit();
      throw error;
    }
    this.#commit();
    return this.report();
  }

  /** What was done so far; of a run that threw, what was committed before. */
  report(): ImportReport {
    const files = this.#tallies.map((tally) => tally.report());
    return {
      files,
      total: totalOf(files),
      rejections: this.#rejections,
      skipped: this.#skipped,
      elapsedMs: this.#options.clock() - this.#startedMs,
    };
  }

  async #formatOf(source: Source): Promise<Format | undefined> {
    const format = source.path === '-' ? 'ndjson' : await formatOf(source.path);
    if (format !== undefined || !source.named) return format;
    throw new DomainError(
      'unreadable',
      `'${source.path}' is not a recording that is known here (bookreel's NDJSON, plain, .gz or .zst; Parquet of book messages)`,
    );
  }

  async #readSource({ path, name }: Source, format: Format): Promise<void> {
    const tally = new FileTally(name);
    this.#tallies.push(tally);
    try {
      if (format === 'parquet') await this.#readParquet(path, tally);
      else await this.#readNdjson(path, tally);
    } catch (error) {
      if (!(error instanceof DomainError) || error.kind !== 'unreadable') throw error;
      tally.error = error.message;
    }
    this.#progress();
  }

  async #readNdjson(path: string, tally: FileTally): Promise<void> {
    for await (const line of linesOf(decompressed(path))) {
      this.#take(tally, line.number, () => parseRecordLine(line.text()));
    }
  }

  async #readParquet(path: string, tally: FileTally): Promise<void> {
    for await (const row of parquetRows(path)) {
      this.#take(tally, row.number, () => this.#snapshot(path, row.parse()));
    }
  }

  /** Which outcome an asset is, is never guessed: a market record has to say it. */
  #snapshot(path: string, book: VenueBook): RecordedItem {
    const { conditionId, assetId, timestampMs, droppedLevels } = book;
    const tokens = this.#tokens.get(conditionId) ?? this.#archive.markets.findByConditionId(conditionId)?.clobTokenIds;
    const outcome = tokens === undefined ? undefined : OUTCOMES[tokens.indexOf(assetId)];
    if (tokens === undefined || outcome === undefined) {
      throw new DomainError(
        'not-found',
        `'${path}' has books of asset ${assetId} of market ${conditionId}, and no market record says which outcome that is: put a markets.ndjson beside the file or name one with --markets`,
      );
    }
    this.#tokens.set(conditionId, tokens);
    return {
      type: 'snapshot',
      conditionId,
      outcome,
      timestampMs,
      id: undefined,
      assetId,
      book: book.book,
      droppedLevels,
    };
  }

  #take(tally: FileTally, line: number, parse: () => RecordedItem): void {
    tally.read += 1;
    this.#read += 1;
    try {
      this.#batch.add(parse(), tally, line);
    } catch (error) {
      if (!(error instanceof DomainError) || error.kind !== 'rejected-record') throw error;
      tally.rejected += 1;
      this.#reject({ path: tally.path, line, reason: error.message });
    }
    if (this.#batch.isFull) this.#commit();
  }

  #commit(): void {
    const batch = this.#batch;
    this.#batch = new Batch(this.#archive, this.#tokens);
    if (batch.isEmpty) return;
    const { stored, refusals } = batch.commit(this.#options.clock());
    this.#stored += stored;
    for (const { tally, line, reason } of refusals) this.#reject({ path: tally.path, line, reason });
    this.#progress();
  }

  #reject(rejection: Rejection): void {
    if (this.#rejections.length < REJECTIONS_SHOWN) this.#rejections.push(rejection);
  }

  #progress(): void {
    this.#options.onProgress?.({
      file: this.#tallies.at(-1)?.path ?? '',
      fileNumber: this.#tallies.length,
      files: this.#files,
      read: this.#read,
      stored: this.#stored,
    });
  }
}
