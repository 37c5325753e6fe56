/** What became of the items of one kind in one file. read = stored + duplicate + rejected once an import has ended. */
interface KindReport {
  /** What the items are in their format: `snapshot`, `price_change`, `row`. */
  readonly kind: string;
  readonly read: number;
  /** A record made of the item is new in the archive and committed. */
  readonly stored: number;
  /** It said nothing that is not there already (or was repeated within the import). */
  readonly duplicate: number;
  readonly rejected: number;
  /** Holds no record by its nature (`PONG`): not among those read. */
  readonly ignored: number;
}

type Counts = Omit<KindReport, 'kind'>;

/** What became of one file of an import. */
export interface FileReport extends Counts {
  readonly path: string;
  readonly format: string;
  readonly kinds: readonly KindReport[];
  /** Gap records that are new in the archive. */
  readonly gaps: number;
  /** Levels of size 0 left out of snapshots. */
  readonly droppedLevels: number;
  /** Why the file was not read to its end, if it was not. */
  readonly error: string | undefined;
}

export interface Rejection {
  readonly path: string;
  /** Line, or row of a Parquet file; counted from 1. */
  readonly line: number;
  readonly kind: string;
  readonly reason: string;
}

export interface ImportReport {
  readonly files: readonly FileReport[];
  readonly total: Counts & Pick<FileReport, 'gaps' | 'droppedLevels'>;
  /** Records new in the archive, by their type in bookreel's own format. */
  readonly records: Readonly<Record<string, number>>;
  /** Snapshots made for outcomes that nobody recorded, from the other outcome's. */
  readonly mirrored: number;
  /** The first REJECTIONS_SHOWN of them. */
  readonly rejections: readonly Rejection[];
  /** Files found in directories that are no recordings. */
  readonly skipped: readonly string[];
  /** What is odd about what was imported, one sentence each. */
  readonly notes: readonly string[];
  /** It was stopped before everything was read. */
  readonly stopped: boolean;
  readonly dryRun: boolean;
  readonly elapsedMs: number;
}

/** Beyond this a report only counts: it has to stay readable, and in memory. */
export const REJECTIONS_SHOWN = 1000;

/** The running count of one kind. What a batch stores is counted when the batch is committed, not before. */
export type KindTally = { -readonly [Field in keyof KindReport]: KindReport[Field] };

/** The running count of one file. */
export class FileTally {
  readonly path: string;
  readonly format: string;
  readonly #kinds = new Map<string, KindTally>();
  gaps = 0;
  droppedLevels = 0;
  error: string | undefined;

  constructor(path: string, format: string, error?: string) {
    this.path = path;
    this.format = format;
    this.error = error;
  }

  kind(name: string): KindTally {
    const known = this.#kinds.get(name);
    if (known !== undefined) return known;
    const tally = { kind: name, read: 0, stored: 0, duplicate: 0, rejected: 0, ignored: 0 };
    this.#kinds.set(name, tally);
    return tally;
  }

  report(): FileReport {
    const { path, format, gaps, droppedLevels, error } = this;
    const kinds = [...this.#kinds.values()].map((kind) => ({ ...kind }));
    return { path, format, ...sumOf(kinds), kinds, gaps, droppedLevels, error };
  }
}

export function totalOf(files: readonly FileReport[]): ImportReport['total'] {
  return { ...sumOf(files), gaps: sum(files, 'gaps'), droppedLevels: sum(files, 'droppedLevels') };
}

function sumOf(counts: readonly Counts[]): Counts {
  const [read, stored, duplicate] = [sum(counts, 'read'), sum(counts, 'stored'), sum(counts, 'duplicate')];
  return { read, stored, duplicate, rejected: sum(counts, 'rejected'), ignored: sum(counts, 'ignored') };
}

function sum<Field extends string>(counts: readonly Readonly<Record<Field, number>>[], field: Field): number {
  return counts.reduce((total, count) => total + count[field], 0);
}
