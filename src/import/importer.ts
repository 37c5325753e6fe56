import { setImmediate } from 'node:timers/promises';
import { DomainError } from '../domain/errors.ts';
import { refusal } from '../record/fields.ts';
import type { RecordedItem } from '../record/record.ts';
import type { Archive } from '../store/archive.ts';
import { Batch } from './batch.ts';
import type { Codec, RecordingFile } from './codec.ts';
import { codecsFor } from './codecs.ts';
import { KnownMarkets } from './known-markets.ts';
import { MemoryRelief } from './memory-relief.ts';
import { completeMirror } from './mirror.ts';
import type { SnapshotPace } from './rebuild/pace.ts';
import type { RecordSink, SourceItem } from './record-sink.ts';
import { FileTally, type ImportReport, type KindTally, REJECTIONS_SHOWN, type Rejection, totalOf } from './report.ts';
import { type OpenedSource, openSource, type Source, sizeOf } from './source.ts';
import { winnerNotes } from './winner-notes.ts';

export interface ImportOptions {
  readonly clock: () => number;
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Told of every rejection, also of those that the report only counts. */
  readonly onReject?: (rejection: Rejection) => void;
  /** Ends the import at the next batch edge; what was read until then is stored. */
  readonly signal?: AbortSignal;
  /** Does everything but store. */
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
  /** Bytes as they lie in the files. */
  readonly bytesRead: number;
  /** Undefined where an input has no size, as a pipe. */
  readonly bytesTotal: number | undefined;
}

/** A unit and how many of its parts are open. */
class CountedUnit implements SourceItem {
  readonly file: FileTally;
  readonly tally: KindTally;
  readonly line: number;
  open: number;
  stored = false;
  refused = false;

  constructor(file: FileTally, tally: KindTally, line: number, parts: number) {
    this.file = file;
    this.tally = tally;
    this.line = line;
    this.open = parts;
  }
}

/** The format of a file that could not be opened. */
const UNREAD = 'unknown';
/** A reason is a sentence, whatever a recording makes it quote. */
const REASON_CHARS_MAX = 400;

/** Thrown through the codecs when the import was told to stop. */
class Stopped extends Error {}

type Units = readonly CountedUnit[];

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
  #batch: Batch<Units>;
  #file = new FileTally('', '');
  #files = 0;
  #startedMs = 0;
  #read = 0;
  /** Committed. */
  #stored = 0;
  #mirrored = 0;
  #winnerNotes: readonly string[] = [];
  #bytesRead = 0;
  /** Of the files that are done: some readers do not tell of the bytes they take. */
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
   * report, and the next one is read; what stood in front of the damage is kept. Throws what makes going on senseless: a
   * named file that is no recording ('unreadable'), a database that cannot be written ('unavailable'); what was committed
   * before stays.
   */
  async run(sources: readonly Source[]): Promise<ImportReport> {
    this.#startedMs = this.#options.clock();
    this.#files = sources.length;
    using _rehearsal = this.#options.dryRun === true ? this.#archive.database.rehearse() : undefined;
    const recognised = await this.#recognise(sources);
    try {
      for (const input of recognised) await this.#readSource(input);
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

  unit(kind: string, line: number, parts = 1): CountedUnit {
    if (this.#options.signal?.aborted === true) throw new Stopped();
    const tally = this.#file.kind(kind);
    tally.read += 1;
    this.#read += 1;
    return new CountedUnit(this.#file, tally, line, parts);
  }

  add(item: RecordedItem, units: Units): void {
    this.#batch.add(item, units);
    if (item.type === 'market') this.#stated.add(item.statement.conditionId);
    if (item.type === 'snapshot') {
      this.#withBooks.add(item.conditionId);
      units[0]!.file.droppedLevels += item.droppedLevels;
    }
    if (this.#batch.isFull) this.#commit();
  }

  reject(unit: CountedUnit, reason: string): void {
    if (!unit.refused) {
      unit.refused = true;
      this.#say({ path: unit.file.path, line: unit.line, kind: unit.tally.kind, reason: shortened(reason) });
    }
    this.#end(unit);
  }

  settle(unit: CountedUnit): void {
    this.#end(unit);
  }

  ignore(kind: string): void {
    this.#file.kind(kind).ignored += 1;
  }

  take(kind: string, line: number, parse: () => readonly RecordedItem[]): void {
    // One part for the unit as a whole, so that it does not end between two of its records.
    const unit = this.unit(kind, line);
    try {
      for (const item of parse()) {
        unit.open += 1;
        this.#tryAdd(item, unit);
      }
      this.#end(unit);
    } catch (error) {
      this.reject(unit, refusal(error).message);
    }
  }

  #tryAdd(item: RecordedItem, unit: CountedUnit): void {
    try {
      this.add(item, [unit]);
    } catch (error) {
      this.reject(unit, refusal(error).message);
    }
  }

  /** Named files that are no recordings are found out before anything is read. */
  async #recognise(sources: readonly Source[]): Promise<Recognised[]> {
    const recognised: Recognised[] = [];
    for (const source of sources) {
      const found = await this.#codecOf(source);
      if (found !== undefined) recognised.push(found);
    }
    for (const { source } of recognised) {
      const bytes = sizeOf(source.path);
      this.#bytesTotal = bytes === undefined || this.#bytesTotal === undefined ? undefined : this.#bytesTotal + bytes;
    }
    return [
      ...recognised.filter(({ codec }) => codec.statesMarkets),
      ...recognised.filter(({ codec }) => !codec.statesMarkets),
    ];
  }

  async #codecOf(source: Source): Promise<Recognised | undefined> {
    const onBytes = (bytes: number) => {
      this.#bytesRead += bytes;
      this.#progress();
    };
    const opened = await this.#opened(source, onBytes);
    if (opened === undefined) return undefined;
    const { sample, file } = opened;
    const codec = this.#codecs.find((candidate) => candidate.recognises(sample));
    this.#relief.relieve();
    if (codec !== undefined) {
      return { source, codec, file: { ...file, bytes: () => this.#relief.beside(file.bytes()) } };
    }
    if (source.named) throw unrecognised(source, this.#codecs);
    this.#skipped.push(source.name);
    return undefined;
  }

  /** Undefined for a file that was found and cannot be read: the others can. */
  async #opened(source: Source, onBytes: (bytes: number) => void): Promise<OpenedSource | undefined> {
    try {
      return await openSource(source, { signal: this.#options.signal, onBytes });
    } catch (error) {
      if (source.named || !(error instanceof DomainError) || error.kind !== 'unreadable') throw error;
      const tally = new FileTally(source.name, UNREAD);
      tally.error = error.message;
      this.#tallies.push(tally);
      return undefined;
    }
  }

  async #readSource({ source, codec, file }: Recognised): Promise<void> {
    this.#file = new FileTally(source.name, codec.format);
    this.#tallies.push(this.#file);
    // Whoever told the import to stop is heard between files too, see source.ts.
    await setImmediate();
    try {
      await codec.read(file, this);
    } catch (error) {
      if (!(error instanceof DomainError) || error.kind !== 'unreadable') throw error;
      // Bytes end with an error when the import is told to stop.
      if (this.#options.signal?.aborted !== true) this.#file.error = error.message;
    }
    if (this.#options.signal?.aborted === true) throw new Stopped();
    this.#bytesDone += sizeOf(source.path) ?? 0;
    this.#bytesRead = Math.max(this.#bytesRead, this.#bytesDone);
    this.#progress();
  }

  #mirror(): void {
    for (const conditionId of this.#withBooks) {
      const known = this.markets.byConditionId(conditionId);
      const market = known === undefined ? undefined : this.#archive.markets.findByConditionId(known.conditionId);
      if (market !== undefined) this.#mirrored += completeMirror(this.#archive, market);
      if (this.#options.signal?.aborted === true) throw new Stopped();
    }
  }

  #commit(): void {
    const batch = this.#batch;
    this.#batch = new Batch(this.#archive, this.markets);
    if (batch.isEmpty) return;
    for (const { source, type, stored, refusal } of batch.commit(this.#options.clock())) {
      if (stored) this.#records[type] = (this.#records[type] ?? 0) + 1;
      // A gap may be found where no unit is at hand.
      if (stored && type === 'gap') (source[0]?.file ?? this.#file).gaps += 1;
      for (const unit of source) {
        if (stored) unit.stored = true;
        if (refusal === undefined) this.#end(unit);
        else this.reject(unit, refusal);
      }
    }
    this.markets.settle();
    this.#relief.relieve();
    this.#progress();
  }

  /** Ends one part of a unit; with the last one its fate is known. */
  #end(unit: CountedUnit): void {
    unit.open -= 1;
    if (unit.open > 0) return;
    if (unit.refused) {
      unit.tally.rejected += 1;
    } else if (unit.stored) {
      unit.tally.stored += 1;
      this.#stored += 1;
    } else {
      unit.tally.duplicate += 1;
    }
  }

  #say(rejection: Rejection): void {
    if (this.#rejections.length < REJECTIONS_SHOWN) this.#rejections.push(rejection);
    this.#options.onReject?.(rejection);
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

function unrecognised({ name }: Source, codecs: readonly Codec[]): DomainError {
  const formats = codecs.map(({ format }) => format).join(', ');
  return new DomainError('unreadable', `'${name}' is not a recording that is known here (${formats})`);
}
