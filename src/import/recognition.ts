import { basename, dirname } from 'node:path';
import type { DomainError } from '../domain/errors.ts';
import type { Codec } from './codec.ts';
import { openContainer } from './containers/container.ts';
import { checkpoint } from './decompressed.ts';
import { binaryKind, type ContainerKind, containerKind, parquetKind } from './file-kind.ts';
import type { GarbageCollection } from './garbage-collection.ts';
import { type OpenedSource, openSource } from './opened-source.ts';
import type { RecordingFile } from './recording-file.ts';
import { FileTally } from './report.ts';
import type { Sample } from './sample.ts';
import { type Source, unreadable, unreadableOrThrow } from './source.ts';
import { throwIfStopped } from './stopped.ts';

/** A file, or a member of a container, and the codec that reads it. */
export interface RecognisedFile {
  readonly source: Source;
  readonly codec: Codec;
  readonly file: RecordingFile;
  readonly copy: OpenedSource['copy'];
  /** True if it has market records among others. */
  readonly holdsMarkets: boolean;
  /** True for a pipe, which cannot be read again. */
  readonly isPiped: boolean;
}

interface RecognitionOptions {
  readonly codecs: readonly Codec[];
  /** Reads the named files, and the files of directories that it recognises; undefined: every file is recognised by its content. */
  readonly mapped: Codec | undefined;
  readonly garbage: GarbageCollection;
  readonly signal: AbortSignal | undefined;
  readonly onBytes: (bytes: number) => void;
}

/** The names of files that recorders derive from their captures. */
const DERIVED = /^(?:normali[sz]ed|derived)[-_.]|[-_.](?:normali[sz]ed|derived)\./i;
/** The format of a file that could not be opened. */
const UNREAD = 'unknown';
/** Maximum number of notes about binary files in directories; further files are only counted as skipped. */
const BINARY_NOTES_MAX = 20;

/** Finds the codec of every file of an import, before the first one is read. */
export class Recognition {
  /** Files of directories that are not recordings. */
  readonly skipped: string[] = [];
  /** Remarks about files and containers, one sentence each. */
  readonly notes: string[] = [];
  /** Files of directories that cannot be opened, and containers that are damaged. */
  readonly unread: FileTally[] = [];
  readonly #options: RecognitionOptions;

  constructor(options: RecognitionOptions) {
    this.#options = options;
  }

  /**
   * The recordings among `sources`, in the order in which they are read. Containers give their members, whose copies `copies` removes. Throws
   * 'unreadable' for a named file that is not a recording, and Stopped.
   */
  async recordings(sources: readonly Source[], copies: DisposableStack): Promise<readonly RecognisedFile[]> {
    const found: RecognisedFile[] = [];
    for (const source of sources) found.push(...(await this.#recognise(source, copies)));
    return marketsFirst(this.#withoutDerived(found));
  }

  /**
   * Finds the codec of a file, or of each member of a container. Called for all files before the first one is read. Returns an empty
   * list for a skipped file. No closure here may outlive the call: it would keep the file's sample in memory until the import ends.
   */
  async #recognise(source: Source, copies: DisposableStack): Promise<readonly RecognisedFile[]> {
    const { codecs, mapped, garbage, signal, onBytes } = this.#options;
    const isMapped = mapped !== undefined && source.named && source.byContent !== true;
    let opened: OpenedSource;
    try {
      opened = await openSource(source, { signal, onBytes });
    } catch (error) {
      return this.#unopened(source, error);
    }
    const { file, sample, copy } = opened;
    if (source.part !== undefined) {
      const { format } = source.part;
      const codec = codecs.find((one) => one.format === format)!;
      const part = { ...collecting(file, garbage), isPart: true, isJsonLines: codec.lines === 'json' } as const;
      return [{ source, codec, file: part, copy, holdsMarkets: codec.holdsMarkets?.(sample) ?? false, isPiped: false }];
    }
    const container = containerKind(sample.head);
    if (container !== undefined && source.member === undefined) {
      return await this.#recogniseMembers(source, container, { isPiped: sample.piped, copies });
    }
    const binary = binaryKind(sample.head);
    const isFitting = isMapped || (binary !== undefined && mapped?.recognises(sample) === true);
    const own = isMapped || binary === undefined ? undefined : codecOf(sample, codecs.filter(readsBinary));
    if (binary !== undefined && !isFitting && own === undefined) return this.#otherKind(source, binary);
    const codec = isFitting ? mapped : (own ?? codecOf(sample, codecs));
    garbage.collectIfGrown();
    if (codec !== undefined) {
      const holdsMarkets = codec.holdsMarkets?.(sample) ?? false;
      const isPiped = sample.piped;
      return [{ source, codec, file: collecting(file, garbage), copy, holdsMarkets, isPiped }];
    }
    const program = parquetKind(sample.columns);
    if (program !== undefined) return this.#otherKind(source, program);
    if (source.named) throw this.#unknown(`'${source.name}' is not a recording`);
    this.skipped.push(source.name);
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
      if (isPiped) throw unreadable(`a ${kind} file cannot be read from a pipe: give the name of the file`);
      const { sources, ignored, otherKind, notes, problem } = await openContainer(source, kind, { signal, copies });
      if (otherKind !== undefined) return this.#otherKind(source, otherKind);
      for (const member of sources) {
        await checkpoint(undefined);
        throwIfStopped(this.#options.signal);
        found.push(...(await this.#recognise(member, copies)));
      }
      this.skipped.push(...ignored);
      this.notes.push(...notes);
      if (problem !== undefined && source.named && found.length === 0) throw unreadable(problem);
      if (problem !== undefined) this.unread.push(new FileTally(source.name, kind, problem));
    } catch (error) {
      throwIfStopped(this.#options.signal);
      return this.#unopened(source, error);
    }
    if (source.named && found.length === 0) throw this.#unknown(`'${source.name}' has no member that is a recording`);
    return found;
  }

  /** Reports a file that was found in a directory and cannot be opened, without stopping the import. */
  #unopened(source: Source, error: unknown): readonly RecognisedFile[] {
    if (source.named) throw error;
    throwIfStopped(this.#options.signal);
    this.unread.push(new FileTally(source.name, UNREAD, unreadableOrThrow(error).message));
    return [];
  }

  /** Refuses a file of another known format, or skips it with the same sentence if it was found in a directory. */
  #otherKind(source: Source, kind: string): readonly RecognisedFile[] {
    const sentence = `'${source.name}' cannot be imported as it is, because it is ${kind}`;
    if (source.named) throw unreadable(sentence);
    if (this.notes.length < BINARY_NOTES_MAX) this.notes.push(sentence);
    this.skipped.push(source.name);
    return [];
  }

  #unknown(subject: string): DomainError {
    const formats = this.#options.codecs.map(({ format }) => format).join(', ');
    const remedy = "describe it with a mapping, 'bookreel inspect' prints one to start from";
    return unreadable(`${subject} in a known format (${formats}): ${remedy}`);
  }

  /** Leaves out files that a recorder derived from a capture in the same directory: their records are in the capture. */
  #withoutDerived(files: readonly RecognisedFile[]): readonly RecognisedFile[] {
    const isFoundDerived = ({ source }: RecognisedFile) => !source.named && isDerived(source.path);
    const captures = files.filter((file) => !isFoundDerived(file) && file.codec.statesMarkets !== true);
    const directories = new Set(captures.map(({ source }) => dirname(source.path)));
    const isSkipped = (file: RecognisedFile) => isFoundDerived(file) && directories.has(dirname(file.source.path));
    const skipped = files.filter(isSkipped);
    const [first] = skipped;
    if (first === undefined) return files;
    const what =
      skipped.length === 1
        ? 'skipped, derived from the capture next to it'
        : `skipped, and ${skipped.length - 1} more, derived from the captures next to them`;
    this.notes.push(`${first.source.name}: ${what}: name a file to import it`);
    return files.filter((file) => !isSkipped(file));
  }
}

/**
 * Files of market records, then files that begin with some, then the others, so that few files are read a second time; files whose
 * records of unknown markets are left out come last.
 */
function marketsFirst(files: readonly RecognisedFile[]): readonly RecognisedFile[] {
  const rank = ({ codec, holdsMarkets }: RecognisedFile) =>
    codec.statesMarkets ? 0 : holdsMarkets ? 1 : codec.skipsUnknown ? 3 : 2;
  return [...files].sort((a, b) => rank(a) - rank(b));
}

/** Returns true for the name of a file that a recorder derives from its capture. */
export function isDerived(path: string): boolean {
  return DERIVED.test(basename(path));
}

function readsBinary(codec: Codec): boolean {
  return codec.readsBinary === true;
}

/** The codec that reads files that begin like this. */
export function codecOf(sample: Sample, codecs: readonly Codec[]): Codec | undefined {
  return codecs.find((codec) => codec.recognises(sample));
}

/** The same file, whose reading also collects garbage. */
function collecting(file: RecordingFile, garbage: GarbageCollection): RecordingFile {
  return { ...file, bytes: () => garbage.whileReading(file.bytes()) };
}
