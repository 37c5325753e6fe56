import { DomainError } from '../domain/errors.ts';
import { refusal } from '../record/fields.ts';
import type { RecordedItem } from '../record/record.ts';
import type { Archive } from '../store/archive.ts';
import { Batch } from './batch.ts';
import type { Codec } from './codec.ts';
import { codecsFor } from './codecs.ts';
import { checkpoint } from './decompressed.ts';
import { KnownMarkets } from './known-markets.ts';
import { MemoryRelief } from './memory-relief.ts';
import { mirroredBooks } from './mirror.ts';
import { type OpenedSource, openSource } from './opened-source.ts';
import type { SnapshotPace } from './rebuild/pace.ts';
import type { RecordSink, SourceItem } from './record-sink.ts';
import type { RecordingFile } from './recording-file.ts';
import { FileTally, type ImportReport, type KindTally, REJECTIONS_SHOWN, type Rejection, totalOf } from './report.ts';
import { type Source, sizeOf } from './source.ts';
import { winnerNotes } from './winner-notes.ts';

export interface ImportOptions {
  readonly clock: () => number;
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Called with every rejection, also with those that the report only counts. */
  readonly onReject?: (rejection: Rejection) => void;
  /** Ends the import at the next batch edge; what was read until then is stored. */
  readonly signal?: AbortSignal;
  /** Validates without storing. */
  readonly dryRun?: boolean;
  /** Completes markets of which one outcome only was recorded. */
  readonly mirror?: boolean;
  /** How densely recorded changes become snapshots; 'change' unless it is said. */
  readonly every?: SnapshotPace;
}

export interface ImportProgress {
  readonly file: string;
  readonly fileNumber: number;
  readonly files: number;
  readonly read: number;
  readonly stored: number;
  /** Bytes as they are in the files, compressed or not. */
  readonly bytesRead: number;
  /** Undefined where an input has no size, as a pipe. */
  readonly bytesTotal: number | undefined;
}

/** An item, and how many of its parts are open. */
interface CountedItem extends SourceItem {
  readonly file: FileTally;
  readonly tally: KindTally;
  open: number;
  stored: boolean;
  refused: boolean;
}

/** The format of a file that could not be opened. */
const UNREAD = 'unknown';
/** A reason is a sentence, whatever a recording makes it quote. */
const REASON_CHARS_MAX = 400;

/** Thrown through the codecs when the import was told to stop. */
class Stopped extends Error {}

type Items = readonly CountedItem[];

/** A file to read, with the codec that knows it. */
interface Recognised {
  readonly source: Source;
  readonly codec: Codec;
  readonly file: RecordingFile;
}

/**
 * Imports recordings into an archive: batch by batch, each one transaction. Records that cannot be kept are reported and
 * left out, the others load. Importing anything again stores nothing.
 */
export class Importer implements RecordSink {
  readonly markets: KnownMarkets;
  readonly #archive: Archive;
  readonly #options: ImportOptions;
  readonly #codecs: readonly Codec[];
  readonly #tallies: FileTally[] = [];
  readonly #rejections: Rejection[] = [];
  readonly #skipped: string[] = [];
  readonly #records: Record<string, number> = {};
  /** Markets that were stated, and those that books were read of, for what is done when all are in. */
  readonly #stated = new Set<string>();
  readonly #withBooks = new Set<string>();
  readonly #relief = new MemoryRelief();
  #batch: Batch<Items>;
  #file = new FileTally('', '');
  #files = 0;
  #startedMs = 0;
  #read = 0;
  /** Committed. */
  #stored = 0;
  #mirrored = 0;
  #winnerNotes: readonly string[] = [];
  #bytesRead = 0;
  /** Of the files that are done: some readers do not say how many bytes they read. */
  #bytesDone = 0;
  #bytesTotal: number | undefined = 0;
  #stopped = false;

  constructor(archive: Archive, options: ImportOptions) {
    this.#archive = archive;
    this.#options = options;
    this.markets = new KnownMarkets(archive);
    this.#codecs = codecsFor(options.every ?? 'change');
    this.#batch = new Batch(archive, this.markets);
  }

  /**
   * Reads `sources`: those that state markets first, else in their order. A file that is damaged ends with its error in the
   * report, and the next one is read; what came before the damage is kept. Throws what makes going on senseless: a
   * named file that is no recording ('unreadable'), a database that cannot be written ('unavailable'); what was committed
   * before stays.
   */
  async run(sources: readonly Source[]): Promise<ImportReport> {
    this.#startedMs = this.#options.clock();
    this.#files = sources.length;
    using _rehearsal = this.#options.dryRun === true ? this.#archive.database.rehearse() : undefined;
    const recognised: Recognised[] = [];
    for (const source of sources) recognised.push(...(await this.#recognise(source)));
    const sizes = recognised.map(({ source }) => sizeOf(source.path));
    this.#bytesTotal = sizes.includes(undefined) ? undefined : sizes.reduce<number>((sum, size) => sum + size!, 0);
    try {
      for (const input of recognised.filter(({ codec }) => codec.statesMarkets)) await this.#readSource(input);
      for (const input of recognised.filter(({ codec }) => !codec.statesMarkets)) await this.#readSource(input);
      for (const codec of this.#codecs) codec.finish?.(this);
      this.#commit();
      if (this.#options.mirror === true) this.#mirror();
      this.#winnerNotes = winnerNotes(this.#archive, this.#stated);
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      this.#stopped = true;
      this.#commit();
    }
    return this.report();
  }

  /** What was done so far; of a run that threw, what was committed before. */
  report(): ImportReport {
    const files = this.#tallies.map((tally) => tally.report());
    return {
      files,
      total: totalOf(files),
      records: { ...this.#records },
      mirrored: this.#mirrored,
      rejections: this.#rejections,
      skipped: this.#skipped,
      notes: [...this.#codecs.flatMap((codec) => codec.notes?.() ?? []), ...this.#winnerNotes],
      stopped: this.#stopped,
      dryRun: this.#options.dryRun === true,
      elapsedMs: this.#options.clock() - this.#startedMs,
    };
  }

  item(kind: string, line: number, parts = 1): CountedItem {
    this.#throwIfStopped();
    const tally = this.#file.kind(kind);
    tally.read += 1;
    this.#read += 1;
    return { file: this.#file, tally, line, open: parts, stored: false, refused: false };
  }

  add(record: RecordedItem, items: Items): void {
    this.#batch.add(record, items);
    if (record.type === 'market') this.#stated.add(record.statement.conditionId);
    if (record.type === 'snapshot') {
      this.#withBooks.add(record.conditionId);
      items[0]!.file.droppedLevels += record.droppedLevels;
    }
    if (this.#batch.isFull) this.#commit();
  }

  reject(item: CountedItem, reason: string): void {
    if (!item.refused) {
      item.refused = true;
      const rejection = { path: item.file.path, line: item.line, kind: item.tally.kind, reason: shortened(reason) };
      if (this.#rejections.length < REJECTIONS_SHOWN) this.#rejections.push(rejection);
      this.#options.onReject?.(rejection);
    }
    this.finish(item);
  }

  /** With the last part of an item its fate is known. */
  finish(item: CountedItem): void {
    item.open -= 1;
    if (item.open > 0) return;
    const fate = item.refused ? 'rejected' : item.stored ? 'stored' : 'duplicate';
    item.tally[fate] += 1;
    if (fate === 'stored') this.#stored += 1;
  }

  ignore(kind: string): void {
    this.#file.kind(kind).ignored += 1;
  }

  take(kind: string, line: number, parse: () => readonly RecordedItem[]): void {
    // One part for the item as a whole, so that it does not end between two of its records.
    const item = this.item(kind, line);
    try {
      for (const record of parse()) {
        item.open += 1;
        this.#tryAdd(record, item);
      }
      this.finish(item);
    } catch (error) {
      this.reject(item, refusal(error).message);
    }
  }

  #tryAdd(record: RecordedItem, item: CountedItem): void {
    try {
      this.add(record, [item]);
    } catch (error) {
      this.reject(item, refusal(error).message);
    }
  }

  #throwIfStopped(): void {
    if (this.#options.signal?.aborted === true) throw new Stopped();
  }

  /** Named files that are no recordings are found out before anything is read. None for a file that is passed over. */
  async #recognise(source: Source): Promise<readonly Recognised[]> {
    const onBytes = (bytes: number) => {
      this.#bytesRead += bytes;
      this.#progress();
    };
    let opened: OpenedSource;
    try {
      opened = await openSource(source, { signal: this.#options.signal, onBytes });
    } catch (error) {
      // What was found and cannot be read keeps nobody from reading the others.
      if (source.named) throw error;
      this.#tallies.push(new FileTally(source.name, UNREAD, unreadable(error).message));
      return [];
    }
    const { file } = opened;
    const codec = codecOf(this.#codecs, opened);
    this.#relief.relieve();
    if (codec !== undefined) {
      return [{ source, codec, file: { ...file, bytes: () => this.#relief.whileReading(file.bytes()) } }];
    }
    if (source.named) throw unrecognised(source, this.#codecs);
    this.#skipped.push(source.name);
    return [];
  }

  async #readSource({ source, codec, file }: Recognised): Promise<void> {
    this.#file = new FileTally(source.name, codec.format);
    this.#tallies.push(this.#file);
    try {
      await checkpoint(this.#options.signal);
      await codec.read(file, this);
    } catch (error) {
      const { message } = unreadable(error);
      // Bytes end with an error when the import is told to stop.
      if (this.#options.signal?.aborted !== true) this.#file.error = message;
    }
    this.#throwIfStopped();
    this.#bytesDone += sizeOf(source.path) ?? 0;
    this.#bytesRead = Math.max(this.#bytesRead, this.#bytesDone);
    this.#progress();
  }

  #mirror(): void {
    for (const conditionId of this.#withBooks) {
      const known = this.markets.byConditionId(conditionId);
      const market = known === undefined ? undefined : this.#archive.markets.findByConditionId(known.conditionId);
      for (const record of market === undefined ? [] : mirroredBooks(this.#archive, market)) {
        this.#batch.add(record, []);
        if (this.#batch.isFull) this.#commit();
      }
      this.#throwIfStopped();
    }
    this.#commit();
  }

  #commit(): void {
    const batch = this.#batch;
    this.#batch = new Batch(this.#archive, this.markets);
    if (batch.isEmpty) return;
    for (const { source, type, stored, refusal } of batch.commit(this.#options.clock())) {
      // Only mirrored books are made of no item.
      if (stored && type === 'snapshot' && source.length === 0) this.#mirrored += 1;
      else if (stored) this.#records[type] = (this.#records[type] ?? 0) + 1;
      // A gap may be found where no item is at hand.
      if (stored && type === 'gap') (source[0]?.file ?? this.#file).gaps += 1;
      for (const item of source) {
        if (stored) item.stored = true;
        if (refusal === undefined) this.finish(item);
        else this.reject(item, refusal);
      }
    }
    this.markets.shrink();
    this.#relief.relieve();
    this.#progress();
  }

  #progress(): void {
    this.#options.onProgress?.({
      file: this.#tallies.at(-1)?.path ?? '',
      fileNumber: this.#tallies.length,
      files: this.#files,
      read: this.#read,
      stored: this.#stored,
      bytesRead: this.#bytesRead,
      bytesTotal: this.#bytesTotal,
    });
  }
}

function shortened(reason: string): string {
  return reason.length <= REASON_CHARS_MAX ? reason : `${reason.slice(0, REASON_CHARS_MAX)}…`;
}

/** The error that ends one file and lets the import go on; any other is thrown. */
function unreadable(error: unknown): DomainError {
  if (error instanceof DomainError && error.kind === 'unreadable') return error;
  throw error;
}

/** A function of its own: what a file's bytes are read by would else hold on to the sample until the import ends. */
function codecOf(codecs: readonly Codec[], { sample }: OpenedSource): Codec | undefined {
  return codecs.find((codec) => codec.recognises(sample));
}

function unrecognised({ name }: Source, codecs: readonly Codec[]): DomainError {
  const formats = codecs.map(({ format }) => format).join(', ');
  return new DomainError('unreadable', `'${name}' is not a recording that is known here (${formats})`);
}
