import { DomainError } from '../../domain/errors.ts';
import { attempt } from '../../record/fields.ts';
import type { Codec } from '../codec.ts';
import { allCodecs } from '../codecs.ts';
import { type Compression, compressionOf } from '../compression.ts';
import { firstBytesOf } from '../decompressed.ts';
import { binaryKind } from '../file-kind.ts';
import type { Mapping } from '../mapping/mapping-schema.ts';
import { columnNames, parquetRows } from '../mapping/parquet-rows.ts';
import type { RowSource } from '../mapping/row-source.ts';
import { sqliteRows } from '../mapping/sqlite-rows.ts';
import { csvRows, jsonRows } from '../mapping/text-rows.ts';
import { type OpenedSource, openSource } from '../opened-source.ts';
import { rowsOfLines } from '../parse/csv.ts';
import { ParquetFile } from '../parse/parquet.ts';
import { isSqlite, SqliteFile } from '../parse/sqlite.ts';
import { Sample } from '../sample.ts';
import { type Source, unreadable } from '../source.ts';
import { FIELDS_MAX, FieldTally, tallyFields } from './field-tally.ts';
import { fittingMappings } from './fitting-mappings.ts';
import type { InspectedTable } from './inspected-table.ts';

/** Maximum number of rows of a table that are read, from its first row on. */
const INSPECTED_ROWS = 100_000;
/** Maximum number of rows that are kept, to try mappings on them. */
const TRIED_ROWS = 200;
/** The first one is taken of those that divide lines into as many fields. */
const DELIMITERS = [', ', ',', ';', '\t', '|'];

/** The format of a file, and its tables. */
export interface Inspection {
  /** `-` for standard input. */
  readonly path: string;
  /** The path to name in an import: for a member of a container, the path of the container. */
  readonly importPath: string;
  /** The file name without directory, `.gz`, `.zst` and `.xz`. */
  readonly name: string;
  /** The format of its rows; undefined if it has none that a mapping could describe. */
  readonly format: Mapping['format'] | undefined;
  readonly compression: Compression | undefined;
  /** The name of the format that an import reads the file as; undefined if it recognises none. */
  readonly recording: string | undefined;
  readonly tables: readonly InspectedTable[];
}

type ReadTable = Omit<InspectedTable, 'mappings'>;

/** Ends the reading of rows. */
class Enough extends Error {}

/** Reads the beginning of a file: at most INSPECTED_ROWS rows of each table. Throws 'unreadable'. */
export async function inspect(source: Source): Promise<Inspection> {
  const opened = await openSource(source, {});
  const { sample } = opened;
  using copied = await opened.copy?.();
  const file = copied === undefined ? opened.file : { ...opened.file, copy: copied.path };
  // One of the formats recognises every pipe.
  const content = sample.piped ? new Sample(sample.name, sample.head) : sample;
  const binary = isSqlite(sample.head) ? undefined : binaryKind(sample.head);
  if (binary !== undefined) throw unreadable(`'${source.name}' is ${binary}`);
  // Frames in the pages of a database are not lines.
  const codecs = allCodecs().filter(({ readsBinary }) => readsBinary === true || !isSqlite(sample.head));
  const recording = codecs.find((codec) => codec.recognises(content));
  const stated = formatOf(opened, recording, source.name);
  const { path, member } = source;
  // A container decompresses its members itself.
  const compression = sample.piped || member !== undefined ? undefined : compressionOf(await firstBytesOf(path));
  const found =
    stated === undefined
      ? []
      : (await tablesOf({ sample, file }, stated)).map((table) => ({
          ...table,
          mappings: fittingMappings(stated, table),
        }));
  // Brackets alone do not make a text JSON.
  const isOther =
    recording === undefined && found.every(({ inspected, unreadable }) => inspected > 0 && unreadable === inspected);
  const [format, tables] = isOther ? [undefined, []] : [stated, found];
  const importPath = member === undefined ? path : path.slice(0, -member.name.length - 1);
  return { path, importPath, name: file.name, format, compression, recording: recording?.format, tables };
}

function formatOf({ sample }: OpenedSource, recording: Codec | undefined, name: string): Mapping['format'] | undefined {
  if (sample.columns !== undefined) return 'parquet';
  if (isSqlite(sample.head)) return 'sqlite';
  if (sample.values.length > 0 || sample.elementsOfLongValue.length > 0) return 'json';
  // Other formats may also have lines.
  if (delimiterOf(sample.lines) !== undefined) return 'csv';
  if (recording !== undefined || sample.head.length > 0) return undefined;
  throw unreadable(`'${name}' is empty: there is nothing to inspect`);
}

/** The text that divides the first lines into the same number of fields, two or more. */
function delimiterOf(lines: readonly string[]): string | undefined {
  const counts = (delimiter: string) => rowsOfLines(lines, delimiter).map((row) => row?.length);
  const most = DELIMITERS.map((delimiter) => [delimiter, counts(delimiter)] as const)
    // A single row may be part of any text.
    .filter(([, [first = 0, ...others]]) => first > 1 && others.length > 0 && others.every((count) => count === first))
    .toSorted(([, [a = 0]], [, [b = 0]]) => b - a)[0];
  return most?.[0];
}

async function tablesOf({ sample, file }: OpenedSource, format: Mapping['format']): Promise<ReadTable[]> {
  if (format === 'sqlite') {
    using database = SqliteFile.open(file.path, file.copy);
    const tables: ReadTable[] = [];
    for (const { name, columns } of database.tables()) {
      const names = columns.map((column) => column.name);
      const rows = database.countOf(name);
      tables.push({ ...(await tableOf(sqliteRows(file.path, { table: name }, file.copy), names)), name, rows });
    }
    return tables;
  }
  if (format === 'parquet') {
    const { num_rows, schema } = (await ParquetFile.open(file.path, file.copy)).metadata;
    return [{ ...(await tableOf(parquetRows(file.path, file.copy), columnNames(schema))), rows: Number(num_rows) }];
  }
  if (format === 'json') return [await tableOf(jsonRows(file), [])];
  const delimiter = delimiterOf(sample.lines)!;
  const columns = rowsOfLines(sample.lines, delimiter)[0]!;
  return [{ ...(await tableOf(csvRows(file, { delimiter }), [...new Set(columns)])), delimiter }];
}

/** The table without the name and delimiter, which only its source knows. The number of rows is known if all of them were read. */
async function tableOf(source: RowSource, columns: readonly string[]): Promise<ReadTable> {
  const firstRows: InspectedTable['firstRows'][number][] = [];
  const fields = new Map(columns.slice(0, FIELDS_MAX).map((name) => [name, new FieldTally(name)]));
  let [inspected, unreadable] = [0, 0];
  let problem: string | undefined;
  let isWhole = true;
  try {
    await source.read([...fields.keys()], (row) => {
      if (inspected >= INSPECTED_ROWS) throw new Enough();
      inspected += 1;
      const values = attempt(() => row.fields());
      if (!(values instanceof DomainError)) {
        tallyFields(fields, values);
        if (firstRows.length < TRIED_ROWS) firstRows.push({ number: row.number, fields: values });
      } else {
        unreadable += 1;
        problem ??= `row ${row.number}: ${values.message}`;
      }
    });
  } catch (error) {
    if (!(error instanceof Enough)) throw error;
    isWhole = false;
  }
  const rows = isWhole ? inspected : undefined;
  const summaries = [...fields.values()].map((field) => field.summary());
  return { name: undefined, delimiter: undefined, rows, inspected, unreadable, problem, fields: summaries, firstRows };
}
