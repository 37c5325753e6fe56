/** The results for the items of one kind in one file. After an import read = stored + duplicate + contradicted + rejected. */
interface KindReport {
  /** The name of the items in their format: `snapshot`, `price_change`, `row`. */
  readonly kind: string;
  readonly read: number;
  /** At least one record of the item is new in the archive and committed. */
  readonly stored: number;
  /** The archive, or the import so far, already had all records of the item. */
  readonly duplicate: number;
  /** Messages that hashes contradict as changes before them are missing (a gap says when), and books that contradict other sources. */
  readonly contradicted: number;
  readonly rejected: number;
  /** Items that never have a record (`PONG`). Not counted in `read`. */
  readonly ignored: number;
}

type Counts = Omit<KindReport, 'kind'>;

/** The results for the records of one type. After an import made = stored + duplicate + contradicted + rejected. */
interface TypeReport {
  /** The type in bookreel's own format: `snapshot`, `price`. */
  readonly type: string;
  readonly made: number;
  /** New in the archive. */
  readonly stored: number;
  /** Equal to a record of the archive, or of the import so far. */
  readonly duplicate: number;
  /** Books that differ from those that the archive has at the same instant. */
  readonly contradicted: number;
  /** Refused because of what they state about their market. */
  readonly rejected: number;
}

/** The results for one file of an import. */
export interface FileReport extends Counts {
  readonly path: string;
  readonly format: string;
  readonly kinds: readonly KindReport[];
  /** The results for the records that were made of the items, by their type. One item may give several, and several items one. */
  readonly types: readonly TypeReport[];
  /** Gap records that are new in the archive. */
  readonly gaps: number;
  /** Levels of size 0 left out of snapshots. */
  readonly droppedLevels: number;
  /** One sentence that says why the file was not read to its end; undefined if it was. */
  readonly error: string | undefined;
}

export interface Rejection {
  readonly path: string;
  /** Line, or row of a Parquet file, from 1. */
  readonly line: number;
  readonly kind: string;
  readonly reason: string;
}

/** Rejections for the same reason, apart from the ids and numbers in it. */
export interface RejectionGroup {
  /** The reason of the first. */
  readonly reason: string;
  readonly count: number;
  /** The first EXAMPLES_SHOWN of them. */
  readonly examples: readonly Rejection[];
}

export interface ImportReport {
  readonly files: readonly FileReport[];
  readonly total: Counts & Pick<FileReport, 'types' | 'gaps' | 'droppedLevels'>;
  /** Records that are new in the archive, by their type in bookreel's own format. */
  readonly records: Readonly<Record<string, number>>;
  /** Snapshots made for outcomes without recorded books, from the other outcome's books. */
  readonly mirrored: number;
  /** The first REJECTIONS_SHOWN rejections. */
  readonly rejections: readonly Rejection[];
  /** All rejections by reason, the first GROUPS_MAX reasons. */
  readonly reasons: readonly RejectionGroup[];
  /** Files in directories that are not recordings. */
  readonly skipped: readonly string[];
  /** ConditionIds of markets that records named and no market record stated. */
  readonly missingMarkets: readonly string[];
  /** Remarks about the recordings, one sentence each. */
  readonly notes: readonly string[];
  /** True if the import was stopped before all files were read. */
  readonly stopped: boolean;
  readonly dryRun: boolean;
  readonly elapsedMs: number;
}

/** Further rejections are only counted, to keep the report readable and in memory. */
export const REJECTIONS_SHOWN = 1000;

const EXAMPLES_SHOWN = 3;
/** Rejections for further reasons are only counted in the total. */
const GROUPS_MAX = 200;
/** The ids, numbers and quoted texts in which two rejections for the same reason may differ. */
const PARTICULARS = /0x[0-9a-f]+|\d+(?:\.\d+)?|"[^"]*"/gi;

export class RejectionGroups {
  readonly #groups = new Map<string, { reason: string; count: number; examples: Rejection[] }>();

  add(rejection: Rejection): void {
    const { reason } = rejection;
    const name = reason.replace(PARTICULARS, '');
    const group = this.#groups.get(name);
    if (group !== undefined) {
      group.count += 1;
      if (group.examples.length < EXAMPLES_SHOWN) group.examples.push(rejection);
    } else if (this.#groups.size < GROUPS_MAX) this.#groups.set(name, { reason, count: 1, examples: [rejection] });
  }

  list(): readonly RejectionGroup[] {
    return [...this.#groups.values()].map((group) => ({ ...group, examples: [...group.examples] }));
  }
}

/** The running count of one kind. Records count as stored once their batch is committed. */
export type KindTally = { -readonly [Field in keyof KindReport]: KindReport[Field] };
type TypeTally = { -readonly [Field in keyof TypeReport]: TypeReport[Field] };
/** The ways in which a record ends. */
export type RecordResult = Exclude<keyof TypeReport, 'type' | 'made'>;

/** The running count of one file. */
export class FileTally {
  readonly path: string;
  readonly format: string;
  readonly #kinds = new Map<string, KindTally>();
  readonly #types = new Map<string, TypeTally>();
  #type: TypeTally | undefined;
  gaps = 0;
  droppedLevels = 0;
  error: string | undefined;

  constructor(path: string, format: string, error?: string) {
    this.path = path;
    this.format = format;
    this.error = error;
  }

  kind(name: string): KindTally {
    return this.#kinds.getOrInsertComputed(name, emptyTally);
  }

  count(type: string, result: RecordResult): void {
    // Records of one type mostly follow each other.
    const tally = this.#type?.type === type ? this.#type : this.#types.getOrInsertComputed(type, emptyTypeTally);
    this.#type = tally;
    tally.made += 1;
    tally[result] += 1;
  }

  /** Takes back records that were stored, of which the archive has none any more. Returns how many there were, at most `records`. */
  takeBack(type: string, records: number): number {
    const tally = this.#types.get(type);
    const taken = Math.min(records, tally?.stored ?? 0);
    if (tally === undefined) return 0;
    tally.made -= taken;
    tally.stored -= taken;
    return taken;
  }

  report(): FileReport {
    const { path, format, gaps, droppedLevels, error } = this;
    // Of kinds without counts all items wait for their market.
    const kinds = [...this.#kinds.values()].filter(isCounted).map((kind) => ({ ...kind }));
    const types = [...this.#types.values()].map((type) => ({ ...type }));
    return { path, format, ...sumsOf(kinds, COUNTS), kinds, types, gaps, droppedLevels, error };
  }
}

function isCounted({ read, ignored }: KindTally): boolean {
  return read + ignored > 0;
}

const COUNTS = ['read', 'stored', 'duplicate', 'contradicted', 'rejected', 'ignored'] as const;
const TYPE_COUNTS = ['made', 'stored', 'duplicate', 'contradicted', 'rejected'] as const;
const ALSO_SUMMED = ['gaps', 'droppedLevels'] as const;

function emptyTypeTally(type: string): TypeTally {
  return { type, ...sumsOf([], TYPE_COUNTS) };
}

function emptyTally(kind: string): KindTally {
  return { kind, ...sumsOf([], COUNTS) };
}

export function totalOf(files: readonly FileReport[]): ImportReport['total'] {
  const byType = Map.groupBy(
    files.flatMap(({ types }) => types),
    ({ type }) => type,
  );
  const types = [...byType].map(([type, counts]) => ({ type, ...sumsOf(counts, TYPE_COUNTS) }));
  return { ...sumsOf(files, COUNTS), types, ...sumsOf(files, ALSO_SUMMED) };
}

/** The sums of files, by kind and by type. */
export function summedUp(files: readonly FileReport[]): Omit<FileReport, 'path' | 'format' | 'error'> {
  const byKind = Map.groupBy(
    files.flatMap(({ kinds }) => kinds),
    ({ kind }) => kind,
  );
  return { ...totalOf(files), kinds: [...byKind].map(([kind, counts]) => ({ kind, ...sumsOf(counts, COUNTS) })) };
}

function sumsOf<Field extends string>(
  counts: readonly Readonly<Record<Field, number>>[],
  fields: readonly Field[],
): Record<Field, number> {
  const sums = fields.map((field) => [field, counts.reduce((total, count) => total + count[field], 0)]);
  return Object.fromEntries(sums);
}
