import { DomainError } from '../domain/errors.ts';
import { attempt, refusal } from '../record/fields.ts';
import type { RecordedItem } from '../record/record.ts';
import type { Archive } from '../store/archive.ts';
import { UnknownMarket } from '../venue/market-message-parser.ts';
import { Batch, type Entry, type MergedAsset } from './batch.ts';
import type { Codec } from './codec.ts';
import { codecsOf, type NamedFiles } from './codecs.ts';
import { Contradictions } from './contradictions.ts';
import { checkpoint } from './decompressed.ts';
import { GarbageCollection } from './garbage-collection.ts';
import { KnownMarkets } from './known-markets.ts';
import { LateMarkets, type Reading } from './late-markets.ts';
import { mirroredBooks } from './mirror.ts';
import { Occurrences } from './occurrences.ts';
import type { AssetEvent, AssetTarget } from './rebuild/asset-event.ts';
import type { RebuildChecks } from './rebuild/checks.ts';
import { IntervalBooks } from './rebuild/interval-books.ts';
import { endMessages } from './rebuild/merged-books.ts';
import type { SnapshotPace } from './rebuild/pace.ts';
import { StatedBooks } from './rebuild/stated-books.ts';
import type { StatedMoment } from './rebuild/stated-moments.ts';
import { type RecognisedFile, Recognition } from './recognition.ts';
import type { RecordSink } from './record-sink.ts';
import {
  FileTally,
  type ImportReport,
  type KindTally,
  REJECTIONS_SHOWN,
  type Rejection,
  RejectionGroups,
  totalOf,
} from './report.ts';
import { type Source, type SourcePart, storedSizeOf, unreadableOrThrow } from './source.ts';
import type { SourceItem } from './source-item.ts';
import { Stopped, throwIfStopped } from './stopped.ts';
import { StoredCounts } from './stored-counts.ts';
import { UnknownName } from './unknown-name.ts';
import { winnerNotes } from './winner-notes.ts';

export interface ImportOptions extends NamedFiles {
  readonly clock: () => number;
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Called with every rejection, even if the report only counts it. */
  readonly onReject?: (rejection: Rejection) => void;
  /** Stops the import; the records that were read before are stored. */
  readonly signal?: AbortSignal;
  /** Called before each batch is stored. An error that it throws ends the import. */
  readonly beforeBatch?: () => void;
  /** Validates without storing. */
  readonly dryRun?: boolean;
  /** Adds mirrored books of an outcome before its first recorded one, see `mirroredBooks`. */
  readonly mirror?: boolean;
  /** The pace at which recorded changes become snapshots; 'change' by default. */
  readonly every?: SnapshotPace;
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
  readonly reading: Reading;
  /** Its place among the items of its file. */
  readonly index: number;
  /** False for an item that the first reading has already counted. */
  readonly countsNow: boolean;
  open: number;
  stored: boolean;
  contradicted: boolean;
  refused: boolean;
  /** The reason why it waits for the second reading; undefined if it does not wait. */
  late: string | undefined;
}

/** Items that are read between two checks of the process's memory: about CHECK_EVERY_BYTES of books. */
const COLLECT_EVERY_ITEMS = 512;
/** Maximum number of assets with an open interval. With more, the interval of the asset with the oldest last message is closed. */
const INTERVAL_ASSETS_MAX = 4096;
/** Longer reasons are cut: they may quote text of the recording. */
const REASON_CHARS_MAX = 400;

type Items = readonly CountedItem[];

/**
 * Imports recordings into an archive in batches, each one transaction. Records that cannot be stored are reported and skipped.
 * Importing a file again stores nothing.
 */
export class Importer implements RecordSink {
  readonly markets: KnownMarkets;
  readonly #archive: Archive;
  readonly #options: ImportOptions;
  readonly #late = new LateMarkets<CountedItem>();
  readonly #codecs: readonly Codec[];
  readonly #recognition: Recognition;
  #secondCodecs: readonly Codec[] = [];
  readonly #tallies: FileTally[] = [];
  readonly #rejections: Rejection[] = [];
  readonly #reasons = new RejectionGroups();
  readonly #counts = new StoredCounts();
  /** ConditionIds of the markets that the input stated: their winners are checked at the end. */
  readonly #stated = new Set<string>();
  /** ConditionIds of the markets with books in the input: their books are mirrored at the end. */
  readonly #withBooks = new Set<string>();
  readonly #garbage = new GarbageCollection();
  #occurrences = new Occurrences();
  readonly #onBytes = (bytes: number): void => {
    this.#bytesRead += bytes;
    this.#progress();
  };
  readonly #books = new StatedBooks();
  /** By asset id, the asset with the oldest last message first. */
  readonly #intervals = new Map<string, IntervalBooks>();
  readonly #contradictions = new Contradictions();
  /** The highest record id before the import. */
  #lastId = 0;
  #batch: Batch<Items>;
  #file = new FileTally('', '');
  /** The part of a file that is read; undefined for a whole file. */
  #part: SourcePart | undefined;
  /** Counts lines that were imported before: it is in no report. */
  readonly #repeated = new FileTally('', '');
  readonly #inputs = new Map<FileTally, RecognisedFile>();
  /** The number of items of the current file so far, including ignored ones. */
  #index = 0;
  #files = 0;
  #startedMs = 0;
  #read = 0;
  /** Items whose records are committed. */
  #stored = 0;
  #mirrored = 0;
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
    this.markets = new KnownMarkets(archive, this.#late);
    this.#codecs = codecsOf(options);
    this.#recognition = new Recognition({
      codecs: this.#codecs,
      mapped: options.mapping === undefined && options.codec === undefined ? undefined : this.#codecs[0],
      garbage: this.#garbage,
      signal: options.signal,
      onBytes: this.#onBytes,
    });
    this.#batch = this.#newBatch();
  }

  /**
   * Reads `sources` in their order, files of market records first. Files whose records come before their market record are read a
   * second time for these records, pipes excepted. If a file is damaged, the records before the damage are kept,
   * the report has the error, and the next file is read. Throws 'unreadable' for a named file that is not a recording and
   * 'unavailable' if the database cannot be written; committed batches stay.
   */
  async run(sources: readonly Source[]): Promise<ImportReport> {
    this.#startedMs = this.#options.clock();
    this.#lastId = this.#archive.givenIds.lastGiven();
    using _bulk = this.#archive.database.beginBulkChanges();
    using _dryRun = this.#options.dryRun === true ? this.#archive.database.beginDryRun() : undefined;
    using copies = new DisposableStack();
    try {
      const recognised = await this.#recognition.recordings(sources, copies);
      this.#files = recognised.length;
      const sizes = recognised.map(({ source }) => storedSizeOf(source));
      this.#bytesTotal = sizes.includes(undefined) ? undefined : sizes.reduce<number>((sum, size) => sum + size!, 0);
      for (const input of recognised) await this.#readSource(input);
      for (const codec of this.#codecs) codec.finish?.(this);
      this.#addIntervals(true);
      this.#commit(true);
      await this.#readLate();
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
    const files = [...this.#recognition.unread, ...this.#tallies].map((tally) => tally.report());
    const places = new Map(files.map(({ path }, index) => [path, index]));
    // Records whose market record never came are rejected last.
    const inOrder = (a: Rejection, b: Rejection) => places.get(a.path)! - places.get(b.path)! || a.line - b.line;
    return {
      files,
      total: totalOf(files),
      records: { ...this.#counts.records },
      mirrored: this.#mirrored,
      rejections: this.#rejections.toSorted(inOrder),
      reasons: this.#reasons.list().toSorted((a, b) => inOrder(a.examples[0]!, b.examples[0]!)),
      skipped: this.#recognition.skipped,
      missingMarkets: this.#missingMarkets,
      notes: [
        ...this.#recognition.notes,
        ...this.#counts.notes(),
        ...this.#contradictions.notes(),
        // A file that is read twice has its remarks once.
        ...new Set([...this.#codecs, ...this.#secondCodecs].flatMap((codec) => codec.notes?.() ?? [])),
        ...this.#books.checks.notes(),
        ...this.#winnerNotes,
      ],
      stopped: this.#stopped,
      dryRun: this.#options.dryRun === true,
      elapsedMs: this.#options.clock() - this.#startedMs,
    };
  }

  /** Assets of which the last messages are dropped, because changes before them are missing: a whole book is needed. */
  readonly doubtful = new Set<string>();

  /** ConditionIds and asset ids that records named, and that nothing has stated. */
  get unknownNames(): string[] {
    return [...this.#late.keys].filter((key) => !this.markets.hasName(key));
  }

  /** The comparisons of rebuilt books so far. */
  get checks(): RebuildChecks {
    return this.#books.checks;
  }

  item(kind: string, line: number, parts = 1): CountedItem {
    throwIfStopped(this.#options.signal);
    this.markets.takeMissed();
    const part = this.#part;
    const isRepeated = part !== undefined && line <= part.repeatedLines;
    const file = isRepeated ? this.#repeated : this.#file;
    const tally = file.kind(kind);
    const reading = isRepeated ? 'only' : this.#late.reading;
    const index = this.#index++;
    const countsNow = reading !== 'second' || this.#late.has(file, index);
    if (countsNow) tally.read += 1;
    if (countsNow) this.#read += 1;
    // Parquet is not read through `bytes`.
    if (index % COLLECT_EVERY_ITEMS === 0) this.#garbage.collectIfGrown();
    // Written out, because this is the busiest place of an import.
    return {
      file,
      tally,
      line: part === undefined ? line : line + part.linesBefore,
      reading,
      index,
      countsNow,
      open: parts,
      stored: false,
      contradicted: false,
      refused: false,
      late: undefined,
    };
  }

  add(record: RecordedItem, items: Items): void {
    // The first reading has already added the record.
    if (items.length > 0 && !items.some(({ countsNow }) => countsNow)) {
      for (const item of items) this.finish(item);
      return;
    }
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
    this.#end(item, reason, this.markets.takeMissed());
  }

  /** Ends one part that cannot be stored. `key`: the conditionId or asset id that no market record states, if that is the reason. */
  #end(item: CountedItem, reason: string, key: string | undefined): void {
    const isLate = item.reading === 'first' && !item.refused && key !== undefined && this.#late.add(key);
    if (isLate) item.late ??= reason;
    const isHidden = item.reading === 'second' && key !== undefined && this.#late.hides(key);
    const isRefused = item.countsNow && item.late === undefined && !isHidden && item.file !== this.#repeated;
    if (isRefused && !item.refused) {
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
    if (item.open > 0 || !item.countsNow) return;
    if (item.late !== undefined) {
      item.tally.read -= 1;
      this.#read -= 1;
      this.#late.put(item, item.file, item.index, item.late);
      return;
    }
    const result = resultOf(item);
    item.tally[result] += 1;
    if (result === 'stored') this.#stored += 1;
  }

  contradict(item: CountedItem): void {
    item.contradicted = true;
    this.finish(item);
  }

  ignore(kind: string): void {
    this.#index += 1;
    if (this.#late.reading !== 'second') this.#file.kind(kind).ignored += 1;
  }

  take(kind: string, line: number, parse: () => Iterable<RecordedItem>): void {
    // One part for the item itself, so that it does not end before its last record.
    const item = this.item(kind, line);
    try {
      for (const record of parse()) {
        item.open += 1;
        this.#addOrEnd(record, [item]);
      }
      this.finish(item);
    } catch (error) {
      const refused = refusal(error);
      if (refused instanceof UnknownMarket) this.markets.addMissing(refused.conditionId);
      this.#end(item, refused.message, this.#lateKeyOf(refused));
    }
  }

  store(item: CountedItem): void {
    item.stored = true;
    this.finish(item);
  }

  state(target: AssetTarget, event: AssetEvent & { readonly item: CountedItem }): void {
    // The first reading has already passed it on.
    if (!event.item.countsNow) {
      this.finish(event.item);
      return;
    }
    this.#books.add(target, event);
    this.#withBooks.add(target.conditionId);
    if (event.kind === 'book') this.#file.droppedLevels += event.message.droppedLevels;
    if (!this.#books.isFull) return;
    this.#addIntervals(false);
    this.#commit();
  }

  /** Adds one snapshot per interval from the messages, for an import with an interval, which does not merge them. */
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

  addFrom(items: Items, parse: () => RecordedItem): void {
    const record = attempt(parse);
    if (!(record instanceof DomainError)) this.#addOrEnd(record, items);
    else for (const item of items) this.#end(item, record.message, keyOf(record));
  }

  /** Adds a record. If it is refused, ends one part of each item. */
  #addOrEnd(record: RecordedItem, items: Items): void {
    const [item] = items;
    try {
      if (item!.reading === 'first' && 'conditionId' in record && this.#late.hides(record.conditionId))
        throw new UnknownMarket(record.conditionId);
      this.add(record, items);
    } catch (error) {
      const refused = refusal(error);
      const key = keyOf(refused);
      const isFinal = item!.countsNow && (key === undefined || item!.reading !== 'first');
      if (isFinal) item!.file.count(record.type, 'rejected');
      for (const one of items) this.#end(one, refused.message, key);
    }
  }

  /** The conditionId or asset id that no market record states, if a record is refused for that reason. */
  #lateKeyOf(refused: DomainError): string | undefined {
    const missed = this.markets.takeMissed();
    // An asset that is hidden is refused like an asset of another market.
    if (missed !== undefined && this.#late.hides(missed)) return missed;
    const key = keyOf(refused);
    return key === undefined ? undefined : (missed ?? key);
  }

  async #readSource(input: RecognisedFile): Promise<void> {
    const { source, codec, isPiped } = input;
    const tally = new FileTally(source.name, codec.format);
    this.#tallies.push(tally);
    this.#inputs.set(tally, input);
    await this.#readFile(tally, input, isPiped || codec.skipsUnknown ? 'only' : 'first');
    this.#bytesDone += storedSizeOf(source) ?? 0;
    this.#bytesRead = Math.max(this.#bytesRead, this.#bytesDone);
    this.#progress();
  }

  /** Reads the records whose market record came after them, or rejects them if none came. */
  async #readLate(): Promise<void> {
    const { kept, files } = this.#late;
    const isFound = [...this.#late.keys].some((key) => this.markets.hasName(key));
    if (kept !== undefined && !isFound) {
      for (const { item, reason } of kept) {
        item.tally.read += 1;
        this.#read += 1;
        Object.assign(item, { open: 1, late: undefined });
        this.#end(item, reason, undefined);
      }
      return;
    }
    this.#late.release();
    this.#secondCodecs = codecsOf(this.#options);
    this.#occurrences = new Occurrences();
    this.#batch = this.#newBatch();
    for (const [tally, input] of this.#inputs) {
      const codec = this.#secondCodecs[this.#codecs.indexOf(input.codec)]!;
      if (files.has(tally)) await this.#readFile(tally, { ...input, codec }, 'second');
    }
    for (const codec of this.#secondCodecs) codec.finish?.(this);
    this.#addIntervals(true);
    this.#commit(true);
  }

  async #readFile(tally: FileTally, { source, codec, file, copy }: RecognisedFile, reading: Reading): Promise<void> {
    this.#file = tally;
    this.#part = source.part;
    this.#index = 0;
    this.#late.reading = reading;
    this.#contradictions.begin(tally);
    try {
      await checkpoint(this.#options.signal);
      using copied = await copy?.();
      await codec.read(copied === undefined ? file : { ...file, copy: copied.path }, this);
    } catch (error) {
      const { message } = unreadableOrThrow(error);
      // If the import was stopped, the error only says so.
      if (this.#options.signal?.aborted !== true) this.#file.error = message;
    }
    throwIfStopped(this.#options.signal);
  }

  #mirror(): void {
    for (const conditionId of this.#withBooks) {
      const known = this.markets.byConditionId(conditionId);
      const market = known === undefined ? undefined : this.#archive.markets.findByConditionId(known.conditionId);
      for (const record of market === undefined ? [] : mirroredBooks(this.#archive, market)) {
        this.#batch.add(record, []);
        if (this.#batch.isFull) this.#commit();
      }
      throwIfStopped(this.#options.signal);
    }
    this.#commit();
  }

  #newBatch(): Batch<Items> {
    return new Batch(this.#archive, this.markets, this.#occurrences, this.#contradictions);
  }

  /** `isLast`: true if no more messages follow, so that no moment has to wait for more messages of its time. */
  #commit(isLast = false): void {
    const batch = this.#batch;
    const isMerged = (this.#options.every ?? 'change') === 'change';
    const books = isMerged ? this.#books.take(isLast) : [];
    if (batch.isEmpty && books.length === 0) return;
    this.#batch = this.#newBatch();
    this.#options.beforeBatch?.();
    const context = { checks: this.#books.checks, lastId: this.#lastId };
    const entries = batch.commit(this.#options.clock(), books, context);
    for (const entry of entries) this.#count(entry);
    for (const merged of batch.merged) this.#endMerged(merged, this);
    this.#counts.addCorrected(batch.corrected);
    this.markets.shrink();
    this.#garbage.collectIfGrown();
    this.#progress();
  }

  #count({ source, type, stored, contradicted, refusal }: Entry<Items>): void {
    // Only mirrored books have no item.
    const isMirrored = type === 'snapshot' && source.length === 0;
    const file = source[0]?.file ?? this.#file;
    const other = contradicted ? 'contradicted' : 'duplicate';
    if (!isMirrored) file.count(type, stored ? 'stored' : refusal === undefined ? other : 'rejected');
    else if (stored) this.#mirrored += 1;
    if (stored && !isMirrored) this.#counts.add(type, 1);
    if (stored && type === 'gap') file.gaps += 1;
    for (const item of source) {
      if (stored) item.stored = true;
      if (contradicted) item.contradicted = true;
      if (refusal === undefined) this.finish(item);
      else this.reject(item, refusal);
    }
  }

  /** Ends the messages about the books of an asset, and counts their results. */
  #endMerged(merged: MergedAsset, sink: RecordSink): void {
    const { moments, added, traded, assetId } = merged;
    if (assetId !== undefined && moments.at(-1)?.end === 'contradicted') this.doubtful.add(assetId);
    else if (assetId !== undefined) this.doubtful.delete(assetId);
    this.#counts.addMerged(merged, (item) => this.#fileOf(item), this.#tallies);
    const revealing = new Set(merged.gaps.map(({ item }) => item));
    const isStored = (moment: StatedMoment, item: SourceItem) => {
      const stored = added.has(moment) || traded.has(item) || revealing.has(item);
      if (stored) sink.store(item);
      return stored;
    };
    endMessages(moments, isStored, sink);
  }

  #fileOf(item: SourceItem | undefined): FileTally {
    // All items are made by `item`.
    return item === undefined ? this.#file : (item as CountedItem).file;
  }

  #progress(): void {
    this.#options.onProgress?.({
      file: this.#tallies.at(-1)?.path ?? '',
      fileNumber: this.#recognition.unread.length + this.#tallies.length,
      files: this.#recognition.unread.length + this.#files,
      read: this.#read,
      stored: this.#stored,
      bytesRead: this.#bytesRead,
      bytesTotal: this.#bytesTotal,
    });
  }
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

/** The conditionId or asset id that no market record states, if a record is refused for that reason. */
function keyOf(refused: DomainError): string | undefined {
  if (refused instanceof UnknownName) return refused.key;
  return refused instanceof UnknownMarket ? refused.conditionId : undefined;
}

function shortened(reason: string): string {
  return reason.length <= REASON_CHARS_MAX ? reason : `${reason.slice(0, REASON_CHARS_MAX)}…`;
}
