/** A format of files that contain files. */
export type ContainerKind = 'zip' | 'tar';

/** A format that is not text, and what to do with a file of it. */
interface FileKind {
  readonly name: string;
  /** Set if its members are read, unless it is itself in a container or comes from a pipe. */
  readonly container?: ContainerKind;
  readonly remedy: string;
  /** The bytes at `at`, as Latin-1. */
  readonly magic: string;
  readonly at?: number;
}

const UNPACK = 'unpack it, and import the files in it';
const CONVERT = 'convert it to Parquet, CSV or lines of JSON';
const TO_UTF_8 = 'convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8';
const DECOMPRESS = 'decompress it first, or use gzip, zstd or xz';

const KINDS: readonly FileKind[] = [
  {
    name: 'a SQLite database',
    remedy: "describe it with a mapping, 'bookreel inspect' prints one to start from",
    magic: 'SQLite format 3\0',
  },
  { name: 'a zip file', remedy: UNPACK, container: 'zip', magic: 'PK\u0003\u0004' },
  { name: 'a zip file', remedy: UNPACK, container: 'zip', magic: 'PK\u0005\u0006' },
  { name: 'a tar file', remedy: UNPACK, container: 'tar', magic: 'ustar', at: 257 },
  { name: 'a 7z file', remedy: UNPACK, magic: '7z\u00bc\u00af\u0027\u001c' },
  { name: 'compressed with bzip2', remedy: DECOMPRESS, magic: 'BZh' },
  { name: 'an Arrow stream', remedy: CONVERT, magic: '\u00ff\u00ff\u00ff\u00ff' },
  { name: 'an Arrow file', remedy: CONVERT, magic: 'ARROW1' },
  { name: 'a NumPy array', remedy: CONVERT, magic: '\u0093NUMPY' },
  { name: 'an HDF5 file', remedy: CONVERT, magic: '\u0089HDF\r\n' },
  { name: 'a pickle', remedy: CONVERT, magic: '\u0080\u0004\u0095' },
  { name: 'a pickle', remedy: CONVERT, magic: '\u0080\u0005\u0095' },
  // Windows PowerShell redirects output so.
  { name: 'a text in UTF-16', remedy: TO_UTF_8, magic: '\u00ff\u00fe' },
  { name: 'a text in UTF-16', remedy: TO_UTF_8, magic: '\u00fe\u00ff' },
];

/** The members that show that a zip file belongs to another program. */
const ZIP_KINDS: readonly (readonly [string, (names: readonly string[]) => boolean])[] = [
  [`an Office file (xlsx): ${CONVERT}`, (names) => names.includes('[Content_Types].xml')],
  [
    `an archive of NumPy (npz), such as those of hftbacktest, which do not say of which market they are: ${CONVERT}`,
    (names) => names.length > 0 && names.every((name) => name.endsWith('.npy')),
  ],
];

/** The columns that every table of a catalog of NautilusTrader has (https://nautilustrader.io/docs/latest/concepts/data/). */
const NAUTILUS_COLUMNS = ['ts_event', 'ts_init'];

/** The columns of a table of one type (export/table-shape.ts), which the table of all records has too, with `type`. */
const TABLE_COLUMNS = ['timeframe', 'slug', 'conditionId', 'outcome', 'timestamp', 'receivedAt', 'id'];

/** The kind of a Parquet file with these columns, and what to do with it; undefined if it is none that is known. */
export function parquetKind(columns: ReadonlySet<string> | undefined): string | undefined {
  const has = (names: readonly string[]) => names.every((name) => columns?.has(name) === true);
  if (has(TABLE_COLUMNS))
    return 'a table of one type of records, without their markets: export it without --shape and --type';
  return has(NAUTILUS_COLUMNS) ? `part of a catalog of NautilusTrader, whose prices are binary: ${CONVERT}` : undefined;
}

/** The container format of a file with these first bytes, decompressed; undefined if it has none. */
export function containerKind(head: Uint8Array): ContainerKind | undefined {
  return kindOf(head)?.container;
}

/** The format of a zip file with these members, and what to do with it; undefined if it is only a container. */
export function zipKind(names: readonly string[]): string | undefined {
  return ZIP_KINDS.find(([, has]) => has(names))?.[0];
}

/**
 * The format of a file with these first bytes, decompressed, and what to do with it; undefined if it may be a text or a format of ours.
 * A binary file must not be searched for text: frames in the pages of a database would be read as books that nobody recorded.
 */
export function binaryKind(head: Uint8Array): string | undefined {
  const kind = kindOf(head);
  return kind === undefined ? undefined : `${kind.name}: ${kind.remedy}`;
}

function kindOf(head: Uint8Array): FileKind | undefined {
  return KINDS.find(({ magic, at = 0 }) => [...magic].every((byte, i) => head[at + i] === byte.charCodeAt(0)));
}
