import { attempt, attempted, isFields } from '../../record/fields.ts';
import { UnknownMarket } from '../../venue/market-message-parser.ts';
import { OtherMarket } from '../../venue/metadata-fields.ts';
import type { Codec } from '../codec.ts';
import { hasColumns } from '../parse/csv.ts';
import { isSqlite, type SqliteSelection } from '../parse/sqlite.ts';
import type { RecordSink } from '../record-sink.ts';
import type { RecordingFile } from '../recording-file.ts';
import type { Sample } from '../sample.ts';
import { recordMaker } from './mapped-records.ts';
import { fieldReader, textOf } from './mapped-value.ts';
import { columnsOfMapping } from './mapping-columns.ts';
import type { Mapping } from './mapping-schema.ts';
import { parquetRows } from './parquet-rows.ts';
import type { RowSource } from './row-source.ts';
import { sqliteRows } from './sqlite-rows.ts';
import { csvRows, jsonRows } from './text-rows.ts';

const ROW = 'row';
const OTHER_ROW = 'other row';
const EMPTY_ROW = 'row without values';
const ROW_OF_OTHER_MARKET = 'row of another kind of market';
const ROW_OF_UNKNOWN_MARKET = 'row of an unknown market';

/** Reads the rows of files as a mapping describes them. A row is stored completely or not at all. */
export function mappingCodec(mapping: Mapping): Codec {
  const { name, rows = {}, sections } = mapping;
  const columns = columnsOfMapping(mapping);
  const maker = recordMaker(mapping);
  const readKind = rows.only === undefined ? undefined : fieldReader(rows.only.field);
  const kinds = new Set(rows.only?.is);
  return {
    format: `mapping ${name}`,
    input: '',
    becomes: '',
    ...(sections.length === 0 ? { statesMarkets: true } : {}),
    recognises: (sample) => fits(sample, mapping, columns),
    read: async (file, sink) => {
      const counted = { read: 0, ignored: 0 };
      const ignore = (kind: string) => {
        counted.ignored += 1;
        sink.ignore(kind);
      };
      await rowsOf(file, mapping, sink).read(columns, ({ number, fields }) => {
        counted.read += 1;
        const items = attempt(() => {
          const row = { fields: fields(), file };
          if (readKind !== undefined && !kinds.has(textOf(readKind(row), rows.only!.field) ?? '')) return OTHER_ROW;
          return maker.records(row, number, sink.markets) ?? EMPTY_ROW;
        });
        if (items instanceof OtherMarket) ignore(ROW_OF_OTHER_MARKET);
        else if (items instanceof UnknownMarket && rows.unknown_markets === 'skip') ignore(ROW_OF_UNKNOWN_MARKET);
        else if (typeof items === 'string') ignore(items);
        else sink.take(ROW, number, () => attempted(items));
      });
      refuseNothing(counted, mapping, sink);
    },
  };
}

/** An import that stores nothing must not look like a success. */
function refuseNothing(
  { read, ignored }: { read: number; ignored: number },
  { name, rows = {} }: Mapping,
  sink: RecordSink,
): void {
  if (read === 0 || ignored < read) return;
  const advice =
    rows.unknown_markets === 'skip'
      ? ' of a known market: import the market records that you want first, or name a file with them (--markets)'
      : `: the mapping '${name}' does not fit the file`;
  sink.reject(sink.item('file', 1), `none of the ${read} rows has a record${advice}`);
}

function rowsOf(file: RecordingFile, { format, rows = {} }: Mapping, sink: RecordSink): RowSource {
  switch (format) {
    case 'csv':
      return csvRows(file, { delimiter: rows.delimiter, onHeader: () => sink.ignore('header') });
    case 'json':
      return jsonRows(file);
    case 'sqlite':
      return sqliteRows(file.path, selectionOf(rows));
    case 'parquet':
      return parquetRows(file.path);
  }
}

/** Whether the first objects have every member, one or the other of them: not every object has all. */
function hasMembers({ values }: Sample, members: readonly string[]): boolean {
  const objects = values.filter(isFields);
  return members.every((member) => {
    const [first = ''] = member.split('.');
    return objects.some((object) => Object.hasOwn(object, member) || Object.hasOwn(object, first));
  });
}

/** A mapping of SQLite states one of the two. */
function selectionOf({ table, query }: NonNullable<Mapping['rows']>): SqliteSelection {
  return query === undefined ? { table: table! } : { query };
}

/** Whether a file that was found in a directory is one of those that the mapping describes. */
function fits(sample: Sample, { format, rows = {} }: Mapping, columns: readonly string[]): boolean {
  switch (format) {
    case 'csv':
      return sample.columns === undefined && hasColumns(sample, columns, rows.delimiter);
    case 'json':
      return hasMembers(sample, columns);
    case 'parquet':
      return sample.columns !== undefined && columns.every((column) => sample.columns!.has(column));
    case 'sqlite':
      return isSqlite(sample.head);
  }
}
