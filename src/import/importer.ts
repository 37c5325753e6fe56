import { basename, dirname } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { refusal } from '../record/fields.ts';
import type { RecordedItem } from '../record/record.ts';
import type { Archive } from '../store/archive.ts';
import { UnknownMarket } from '../venue/market-message-parser.ts';
import { Batch, type MergedAsset } from './batch.ts';
import type { Codec } from './codec.ts';
import { allCodecs } from './codecs.ts';
import { openContainer } from './containers/container.ts';
import { checkpoint } from './decompressed.ts';
import { binaryKind, type ContainerKind, containerKind } from './file-kind.ts';
import { GarbageCollection } from './garbage-collection.ts';
import { KnownMarkets } from './known-markets.ts';
import { mappingCodec } from './mapping/mapping-codec.ts';
import type { Mapping } from './mapping/mapping-schema.ts';
import { mirroredBooks } from './mirror.ts';
import { Occurrences } from './occurrences.ts';
import { type OpenedSource, openSource } from './opened-source.ts';
import type { SnapshotPace } from './rebuild/pace.ts';
import type { AssetEvent, AssetTarget } from './rebuild/asset-event.ts';
import { IntervalBooks } from './rebuild/interval-books.ts';
import { endMessages } from './rebuild/merged-books.ts';
import { StatedBooks } from './rebuild/stated-books.ts';
import type { StatedMoment } from './rebuild/stated-moments.ts';
import type { RecordSink, SourceItem } from './record-sink.ts';
import type { RecordingFile } from './recording-file.ts';
import {
  FileTally,
  type ImportReport,
  type KindTally,
  REJECTIONS_SHOWN,
  type Rejection,
  RejectionGroups,
  totalOf,
} from './report.ts';
import type { Sample } from './sample.ts';
import { type Source, storedSizeOf } from './source.ts';
import { winnerNotes } from './winner-notes.ts';

export interface ImportOptions {
  readonly clock: () => number;
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Called with every rejection, also if the report only counts it. */
  readonly onReject?: (rejection: Rejection) => void;
  /** Stops the import; the records that were read before are stored. */
  readonly signal?: AbortSignal;
  /** Called before each batch is stored. An error that it throws ends the import. */
  readonly beforeBatch?: () => void;
  /** Validates without storing. */
  readonly dryRun?: boolean;
  /** Adds mirrored books of an outcome before its first recorded one, see `mirroredBooks`. */
  readonly mirror?: boolean;
  /** How often recorded changes become snapshots; 'change' by default. */
  readonly every?: SnapshotPace;
  /** Reads the files that were named with it, and those found in directories that it fits. Others are recognised by their content. */
  readonly mapping?: Mapping;
}

export interface ImportProgress {
  readonly file: string;
  readonly fileNumber: number;
  readonly files: number;
  readonly read: number;
  readonly stored: number;
  /** Bytes of the files, before decompression. */
  readonly bytesRead: number;
  /** Undefined if an input has no size, like a pipe. */
  readonly bytesTotal: number | undefined;
}

/** An item and the number of its parts that have not ended. */
interface CountedItem extends SourceItem {
  readonly file: FileTally;
  readonly tally: KindTally;
  open: number;
  stored: boolean;
  contradicted: boolean;
  refused: boolean;
}

/** The names of files that recorders derive from their captures. */
const DERIVED = /^(?:normali[sz]ed|derived)[-_.]|[-_.](?:normali[sz]ed|derived)\./i;
/** The format of a file that could not be opened. */
const UNREAD = 'unknown';
/** Items that are read between two checks of the process's memory: about CHECK_EVERY_BYTES of books. */
const COLLECT_EVERY_ITEMS = 512;
/** Maximum number of assets whose intervals are open. With more, that of the asset whose last message is oldest ends. */
const INTERVAL_ASSETS_MAX = 4096;
/** Messages about books that are merged at once: each may become a snapshot of a hundred levels. */
const BATCH_MESSAGES = 8192;
/** Further binary files in directories are only counted as skipped. */
const BINARY_NOTES_MAX = 20;
/** Corrections of further markets are only counted, to keep the report readable. */
const CORRECTION_NOTES_MAX = 100;
/** Longer reasons are cut: they may quote text of the recording. */
const REASON_CHARS_MAX = 400;

/** Thrown through the codecs when the import is stopped. */
class Stopped extends Error {}

type Items = readonly CountedItem[];

interface RecognisedFile {
  readonly source: Source;
  readonly codec: Codec;
  readonly file: RecordingFile;
  readonly copy: OpenedSource['copy'];
  /** It has market records among others. */
  readonly holdsMarkets: boolean;
}

/**
 * Imports recordings into an archive in batches, each one transaction. Records that cannot be stored are reported and skipped.
 * Importing a file again stores nothing.
 */
export class Importer implements RecordSink {
  readonly markets: KnownMarkets;
  readonly #archive: Archive;
  readonly #options: ImportOptions;
  /** Reads the named files; undefined: every file is recognised by its content. */
  readonly #mapped: Codec | undefined;
  readonly #codecs: readonly Codec[];
  readonly #tallies: FileTally[] = [];
  readonly #rejections: Rejection[] = [];
  readonly #reasons = new RejectionGroups();
  readonly #skipped: string[] = [];
  readonly #sourceNotes: string[] = [];
  readonly #records: Record<string, number> = {};
  /** ConditionIds of the markets that the input stated: their winners are checked at the end. */
  readonly #stated = new Set<string>();
  /** ConditionIds of the markets with books in the input: their books are mirrored at the end. */
  readonly #withBooks = new Set<string>();
  readonly #garbage = new GarbageCollection();
  readonly #occurrences = new Occurrences();
  readonly #onBytes = (bytes: number): void => {
    this.#bytesRead += bytes;
    this.#progress();
  };
  readonly #books = new StatedBooks();
  /** By asset id, the one whose last message is oldest first. */
  readonly #intervals = new Map<string, IntervalBooks>();
  #batch: Batch<Items>;
  #file = new FileTally('', '');
  #files = 0;
  #startedMs = 0;
  #read = 0;
  /** Items whose records are committed. */
  #stored = 0;
  #mirrored = 0;
  /** Stored snapshots that were wrong, by conditionId. */
  readonly #corrected = new Map<string, number>();
  #missingMarkets: readonly string[] = [];
  #winnerNotes: readonly string[] = [];
  #bytesRead = 0;
  /** Size of the finished files. The Parquet reader does not report the bytes that it reads. */
  #bytesDone = 0;
  #bytesTotal: number | undefined = 0;
  #stopped = false;

  constructor(archive: Archive, options: ImportOptions) {
    this.#archive = archive;
    this.#options = options;
    this.markets = new KnownMarkets(archive);
    this.#mapped = options.mapping === undefined ? undefined : mappingCodec(options.mapping);
    const codecs = allCodecs();
    this.#codecs = this.#mapped === undefined ? codecs : [this.#mapped, ...codecs];
    this.#batch = new Batch(archive, this.markets, this.#occurrences);
  }

  /**
   * Reads `sources` in their order, files of market records first. If a file is damaged, the records before the damage are kept,
   * the report has the error, and the next file is read. Throws 'unreadable' for a named file that is not a recording and
   * 'unavailable' if the database cannot be written; committed batches stay.
   */
  async run(sources: readonly Source[]): Promise<ImportReport> {
    this.#startedMs = this.#options.clock();
    this.#files = sources.length;
    using _dryRun = this.#options.dryRun === true ? this.#archive.database.beginDryRun() : undefined;
    using copies = new DisposableStack();
    try {
      const found: RecognisedFile[] = [];
      for (const source of sources) found.push(...(await this.#recognise(source, copies)));
      const recognised = this.#withoutDerived(found);
      const sizes = recognised.map(({ source }) => storedSizeOf(source));
      this.#bytesTotal = sizes.includes(undefined) ? undefined : sizes.reduce<number>((sum, size) => sum + size!, 0);
      for (const input of marketsFirst(recognised)) await this.#readSource(input);
      for (const codec of this.#codecs) codec.finish?.(this);
      this.#addIntervals(true);
      this.#commit(true);
      if (this.#options.mirror === true) this.#mirror();
      this.#missingMarkets = this.markets.missing();
      this.#winnerNotes = winnerNotes(this.#archive, this.#stated);
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      this.#stopped = true;
      this.#addIntervals(true);
      this.#commit(true);
    }
    return this.report();
  }

  /** The results so far; if `run` threw, of the batches that were committed. */
  report(): ImportReport {
    const files = this.#tallies.map((tally) => tally.report());
    return {
      files,
      total: totalOf(files),
      records: { ...this.#records },
      mirrored: this.#mirrored,
      rejections: this.#rejections,
      reasons: this.#reasons.list(),
      skipped: this.#skipped,
      missingMarkets: this.#missingMarkets,
      notes: [
        ...this.#sourceNotes,
        ...correctionNotes(this.#corrected),
        ...this.#codecs.flatMap((codec) => codec.notes?.() ?? []),
        ...this.#books.checks.notes(),
        ...this.#winnerNotes,
      ],
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
    // Parquet is not read through `bytes`.
    if (this.#read % COLLECT_EVERY_ITEMS === 0) this.#garbage.collectIfGrown();
    return { file: this.#file, tally, line, open: parts, stored: false, contradicted: false, refused: false };
  }

  add(record: RecordedItem, items: Items): void {
    this.#batch.add(record, items);
    if (record.type === 'market') this.#stated.add(record.statement.conditionId);
    if (record.type === 'price' && record.kind === 'trade') {
      this.#books.noteTrade(record.conditionId, record.timestampMs, record.price);
    }
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
      this.#reasons.add(rejection);
      this.#options.onReject?.(rejection);
    }
    this.finish(item);
  }

  finish(item: CountedItem): void {
    item.open -= 1;
    if (item.open > 0) return;
    const result = resultOf(item);
    item.tally[result] += 1;
    if (result === 'stored') this.#stored += 1;
  }

  contradict(item: CountedItem): void {
    item.contradicted = true;
    this.finish(item);
  }

  ignore(kind: string): void {
    this.#file.kind(kind).ignored += 1;
  }

  take(kind: string, line: number, parse: () => Iterable<RecordedItem>): void {
    // One part for the item itself, so that it does not end before its last record.
    const item = this.item(kind, line);
    try {
      for (const record of parse()) {
        item.open += 1;
        this.#tryAdd(record, item);
      }
      this.finish(item);
    } catch (error) {
      const refused = refusal(error);
      if (refused instanceof UnknownMarket) this.markets.addMissing(refused.conditionId);
      this.reject(item, refused.message);
    }
  }

  store(item: CountedItem): void {
    item.stored = true;
    this.finish(item);
  }

  state(target: AssetTarget, event: AssetEvent): void {
    this.#books.add(target, event);
    this.#withBooks.add(target.conditionId);
    if (event.kind === 'book') this.#file.droppedLevels += event.message.droppedLevels;
    if (this.#books.events < BATCH_MESSAGES) return;
    this.#addIntervals(false);
    this.#commit();
  }

  /** With an interval: adds the snapshots of what messages state, which are not merged then. */
  #addIntervals(isLast: boolean): void {
    const { every = 'change' } = this.#options;
    if (every === 'change') return;
    for (const asset of this.#books.take(isLast)) {
      const { assetId } = asset.target;
      const known = this.#intervals.get(assetId) ?? new IntervalBooks(every, asset, this.#books.checks);
      known.add(asset.moments, false, this);
      this.#intervals.delete(assetId);
      this.#intervals.set(assetId, known);
    }
    for (const [assetId, intervals] of this.#intervals) {
      if (!isLast && this.#intervals.size <= INTERVAL_ASSETS_MAX) break;
      intervals.add([], true, this);
      this.#intervals.delete(assetId);
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

  /**
   * Called for all files before the first is read. Returns nothing for a file that is skipped. No closure here may live longer than
   * the call: it would hold the sample of its file until the import ends. `copies` removes copies when it does.
   */
  async #recognise(source: Source, copies: DisposableStack): Promise<readonly RecognisedFile[]> {
    const isMapped = this.#mapped !== undefined && source.named && source.byContent !== true;
    let opened: OpenedSource;
    try {
      opened = await openSource(source, { signal: this.#options.signal, onBytes: this.#onBytes });
    } catch (error) {
      return this.#unopened(source, error);
    }
    const { file, sample, copy } = opened;
    const container = containerKind(sample.head);
    if (container !== undefined && source.member === undefined) {
      return await this.#recogniseMembers(source, container, { isPiped: sample.piped, copies });
    }
    const binary = binaryKind(sample.head);
    const isFitting = isMapped || (binary !== undefined && this.#mapped?.recognises(sample) === true);
    if (binary !== undefined && !isFitting) return this.#otherKind(source, binary);
    const codec = isFitting ? this.#mapped : codecOf(sample, this.#codecs);
    this.#garbage.collectIfGrown();
    if (codec !== undefined) {
      const holdsMarkets = codec.holdsMarkets?.(sample) ?? false;
      return [{ source, codec, file: collecting(file, this.#garbage), copy, holdsMarkets }];
    }
    if (source.named) throw this.#unknown(`'${source.name}' is not a recording`);
    this.#skipped.push(source.name);
    return [];
  }

  /** Recognises the members of a container like the files in a directory. Throws 'unreadable' if a named one has no recording. */
  async #recogniseMembers(
    source: Source,
    kind: ContainerKind,
    { isPiped, copies }: { readonly isPiped: boolean; readonly copies: DisposableStack },
  ): Promise<readonly RecognisedFile[]> {
    const { signal } = this.#options;
    const found: RecognisedFile[] = [];
    try {
      if (isPiped)
        throw new DomainError('unreadable', `a ${kind} file cannot be read from a pipe: give the name of the file`);
      const { sources, ignored, otherKind, notes, problem } = await openContainer(source, kind, { signal, copies });
      if (otherKind !== undefined) return this.#otherKind(source, otherKind);
      this.#files += sources.length - 1;
      for (const member of sources) {
        await checkpoint(undefined);
        this.#throwIfStopped();
        found.push(...(await this.#recognise(member, copies)));
      }
      this.#skipped.push(...ignored);
      this.#sourceNotes.push(...notes);
      if (problem !== undefined && source.named && found.length === 0) throw new DomainError('unreadable', problem);
      if (problem !== undefined) this.#tallies.push(new FileTally(source.name, kind, problem));
    } catch (error) {
      this.#throwIfStopped();
      return this.#unopened(source, error);
    }
    if (source.named && found.length === 0) throw this.#unknown(`'${source.name}' has no member that is a recording`);
    return found;
  }

  /** A file that was found in a directory and cannot be opened does not stop the import. */
  #unopened(source: Source, error: unknown): readonly RecognisedFile[] {
    if (source.named) throw error;
    this.#throwIfStopped();
    this.#tallies.push(new FileTally(source.name, UNREAD, unreadable(error).message));
    return [];
  }

  /** A file of another format that is known is refused, or skipped with the same sentence. */
  #otherKind(source: Source, kind: string): readonly RecognisedFile[] {
    const sentence = `'${source.name}' cannot be imported as it is, because it is ${kind}`;
    if (source.named) throw new DomainError('unreadable', sentence);
    if (this.#sourceNotes.length < BINARY_NOTES_MAX) this.#sourceNotes.push(sentence);
    this.#skipped.push(source.name);
    return [];
  }

  #unknown(subject: string): DomainError {
    const formats = this.#codecs.map(({ format }) => format).join(', ');
    const remedy = "describe it with a mapping, 'bookreel inspect' prints one to start from";
    return new DomainError('unreadable', `${subject} in a known format (${formats}): ${remedy}`);
  }

  /** Leaves out files that a recorder derived from a capture in the same directory: their records are in the capture. */
  #withoutDerived(files: readonly RecognisedFile[]): readonly RecognisedFile[] {
    const isDerived = ({ source }: RecognisedFile) => !source.named && DERIVED.test(basename(source.path));
    const captures = files.filter((file) => !isDerived(file) && file.codec.statesMarkets !== true);
    const directories = new Set(captures.map(({ source }) => dirname(source.path)));
    const isSkipped = (file: RecognisedFile) => isDerived(file) && directories.has(dirname(file.source.path));
    const skipped = files.filter(isSkipped);
    const [first] = skipped;
    if (first === undefined) return files;
    const what =
      skipped.length === 1
        ? 'skipped, derived from the capture next to it'
        : `skipped, and ${skipped.length - 1} more, derived from the captures next to them`;
    this.#sourceNotes.push(`${first.source.name}: ${what}: name a file to import it`);
    return files.filter((file) => !isSkipped(file));
  }

  async #readSource({ source, codec, file, copy }: RecognisedFile): Promise<void> {
    this.#file = new FileTally(source.name, codec.format);
    this.#tallies.push(this.#file);
    try {
      await checkpoint(this.#options.signal);
      using copied = await copy?.();
      await codec.read(copied === undefined ? file : { ...file, copy: copied.path }, this);
    } catch (error) {
      const { message } = unreadable(error);
      // If the import was stopped, the error only says so.
      if (this.#options.signal?.aborted !== true) this.#file.error = message;
    }
    this.#throwIfStopped();
    this.#bytesDone += storedSizeOf(source) ?? 0;
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

  /** `isLast`: no message follows, so that none waits for further ones of its time. */
  #commit(isLast = false): void {
    const batch = this.#batch;
    const isMerged = (this.#options.every ?? 'change') === 'change';
    const books = isMerged ? this.#books.take(isLast) : [];
    if (batch.isEmpty && books.length === 0) return;
    this.#batch = new Batch(this.#archive, this.markets, this.#occurrences);
    this.#options.beforeBatch?.();
    for (const { source, type, stored, refusal } of batch.commit(this.#options.clock(), books, this.#books.checks)) {
      // Only mirrored books have no item.
      if (stored && type === 'snapshot' && source.length === 0) this.#mirrored += 1;
      else if (stored) this.#count(type, 1);
      if (stored && type === 'gap') source[0]!.file.gaps += 1;
      for (const item of source) {
        if (stored) item.stored = true;
        if (refusal === undefined) this.finish(item);
        else this.reject(item, refusal);
      }
    }
    for (const merged of batch.merged) this.#endMerged(merged);
    for (const [conditionId, count] of batch.corrected) {
      this.#corrected.set(conditionId, (this.#corrected.get(conditionId) ?? 0) + count);
    }
    this.markets.shrink();
    this.#garbage.collectIfGrown();
    this.#progress();
  }

  #count(type: string, records: number): void {
    if (records > 0) this.#records[type] = (this.#records[type] ?? 0) + records;
  }

  /** Ends the messages about the books of an asset. */
  #endMerged({ moments, gaps, added, traded, snapshots }: MergedAsset): void {
    this.#count('snapshot', snapshots);
    this.#count('lastTradePrice', traded.size);
    this.#count('gap', gaps.length);
    this.#file.gaps += gaps.length;
    const revealing = new Set(gaps.map(({ item }) => item));
    const sink: RecordSink = this;
    const isStored = (moment: StatedMoment, item: SourceItem) => {
      const stored = added.has(moment) || traded.has(item) || revealing.has(item);
      if (stored) sink.store(item);
      return stored;
    };
    endMessages(moments, isStored, this);
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

/** One sentence for each market whose stored snapshots were replaced; the first CORRECTION_NOTES_MAX markets. */
function correctionNotes(corrected: ReadonlyMap<string, number>): string[] {
  const notes = [...corrected].map(
    ([conditionId, count]) =>
      `${count} stored ${count === 1 ? 'snapshot' : 'snapshots'} of market ${conditionId} were wrong, as hashes prove, and are corrected`,
  );
  const omitted = notes.splice(CORRECTION_NOTES_MAX).length;
  return omitted === 0 ? notes : [...notes, `… and of ${omitted} more markets`];
}

function resultOf({
  refused,
  stored,
  contradicted,
}: CountedItem): 'rejected' | 'stored' | 'contradicted' | 'duplicate' {
  if (refused) return 'rejected';
  if (stored) return 'stored';
  return contradicted ? 'contradicted' : 'duplicate';
}

/** Files of market records, then files that also have some, then the others: records need their market, wherever its file is. */
function marketsFirst(files: readonly RecognisedFile[]): readonly RecognisedFile[] {
  const rank = ({ codec, holdsMarkets }: RecognisedFile) => (codec.statesMarkets ? 0 : holdsMarkets ? 1 : 2);
  return [...files].sort((a, b) => rank(a) - rank(b));
}

function codecOf(sample: Sample, codecs: readonly Codec[]): Codec | undefined {
  return codecs.find((codec) => codec.recognises(sample));
}

/** `file`, with collections of garbage while its bytes are read. */
function collecting(file: RecordingFile, garbage: GarbageCollection): RecordingFile {
  return { ...file, bytes: () => garbage.whileReading(file.bytes()) };
}

function shortened(reason: string): string {
  return reason.length <= REASON_CHARS_MAX ? reason : `${reason.slice(0, REASON_CHARS_MAX)}…`;
}

/** An error that ends one file only. Any other error is thrown again. */
function unreadable(error: unknown): DomainError {
  if (error instanceof DomainError && error.kind === 'unreadable') return error;
  throw error;
}
