import { DomainError } from '../../domain/errors.ts';
import { parseFrameJson } from '../../record/exact-json.ts';
import { attempt, attempted, isFields, rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { UnknownMarket } from '../../venue/market-message-parser.ts';
import { OtherMarket } from '../../venue/metadata-fields.ts';
import type { Codec } from '../codec.ts';
import { takeFrames } from '../codecs/frame-reader.ts';
import { KalshiReader } from '../codecs/kalshi.ts';
import { hasColumns } from '../parse/csv.ts';
import { isSqlite, type SqliteSelection } from '../parse/sqlite.ts';
import type { RecordSink } from '../record-sink.ts';
import type { RecordingFile } from '../recording-file.ts';
import type { Sample } from '../sample.ts';
import { UnknownName } from '../unknown-name.ts';
import { LevelGroups } from './level-groups.ts';
import { type RowRecords, recordMaker } from './mapped-records.ts';
import { timeReader } from './mapped-time.ts';
import { fieldReader, fieldsOfPlace, type MappedRow, rowTest } from './mapped-value.ts';
import { columnsOfMapping, referredFields } from './mapping-columns.ts';
import type { Mapping } from './mapping-schema.ts';
import { parquetRows } from './parquet-rows.ts';
import { ReferredRows } from './referred-rows.ts';
import type { RowSource } from './row-source.ts';
import { sqliteRows } from './sqlite-rows.ts';
import { csvRows, jsonRows } from './text-rows.ts';

/** Matches the refusal of a figure with more digits than are kept. */
const NOISE = / -?[\d.]+(?:[eE][+-]?\d+)? is not a decimal of at most/;
const ROUND_ADVICE = ': if that is noise of floating point, state round in the mapping, for example round = 6';
/** Matches the refusal of a figure with a sign. */
const PERCENT = /\d ?%"? is not a decimal/;
const PERCENT_ADVICE = `: cut the sign off with pattern = '^(.+)%$', and state scale = 0.01 in the mapping`;
/** Files with a remark in the report, which is one for each. */
const REMARKS_MAX = 100;
const ROW = 'row';
const OTHER_ROW = 'other row';
const REFERRED_ROW = 'row that others refer to';
const EMPTY_ROW = 'row without values';
const ROW_OF_OTHER_MARKET = 'row of another kind of market';
const ROW_OF_UNKNOWN_MARKET = 'row of an unknown market';

/** Reads the rows of files as a mapping describes them. If a record of a row is refused, its other records are still stored. */
export function mappingCodec(mapping: Mapping): Codec {
  const { name, rows = {}, received, sections } = mapping;
  const columns = columnsOfMapping(mapping);
  const remarks = new Map<string, string>();
  const maker = recordMaker(mapping, (file, sentence) => {
    if (remarks.size < REMARKS_MAX && !remarks.has(file.path)) remarks.set(file.path, `'${file.name}': ${sentence}`);
  });
  const isRead = rows.only === undefined ? undefined : rowTest(rows.only);
  const isOther = (row: MappedRow) => isRead?.(row) === false;
  const levels = sections.flatMap((section) => (section.kind === 'levels' ? [section] : []));
  const hasChanges = levels.some(({ snapshot }) => snapshot !== undefined);
  const timeFields = [mapping.time ?? {}, received ?? {}].flatMap(fieldsOfPlace).map(fieldReader);
  const timeOf = (row: MappedRow | DomainError) =>
    row instanceof DomainError ? '' : timeFields.map((read) => String(read(row))).join(' ');
  const readFrames = mapping.frames === undefined ? undefined : frameReader(mapping.frames);
  const readArrival = received === undefined ? undefined : timeReader(received, 'received', mapping.time);
  let kalshi: KalshiReader | undefined;
  const arrivalOfRow = (row: MappedRow | DomainError) => {
    const receivedMs = row instanceof DomainError ? undefined : attempt(() => readArrival?.(row));
    return receivedMs instanceof DomainError ? undefined : receivedMs;
  };
  return {
    format: `mapping ${name}`,
    input: '',
    becomes: '',
    ...(sections.length === 0 && readFrames === undefined ? { statesMarkets: true } : {}),
    ...(rows.unknown_markets === 'skip' ? { skipsUnknown: true } : {}),
    ...linesOf(mapping),
    recognises: (sample) => fits(sample, mapping, columns),
    read: async (file, sink) => {
      const counted = { read: 0, ignored: 0 };
      const referred =
        mapping.refer === undefined ? undefined : new ReferredRows(mapping.refer, referredFields(mapping));
      if (mapping.frames?.venue === 'kalshi') kalshi ??= new KalshiReader(sink);
      kalshi?.begin(file);
      const groups = new LevelGroups(sink, { hasChanges, keepsRepeats: rows.repeats === 'keep' });
      const ignore = (kind: string) => {
        counted.ignored += 1;
        sink.ignore(kind);
      };
      await rowsOf(file, mapping, sink).read(columns, ({ number, fields }) => {
        counted.read += 1;
        let kind = OTHER_ROW;
        const row = attempt(() => {
          const given: MappedRow = { fields: fields(), file };
          if (referred?.keeps(given) === true) {
            kind = REFERRED_ROW;
            return undefined;
          }
          if (isOther(given)) return undefined;
          return referred === undefined ? given : referred.joined(given);
        });
        if (row === undefined) ignore(kind);
        else if (readFrames !== undefined) {
          const read = () => readFrames(attempted(row));
          if (kalshi === undefined) takeFrames(read, number, sink, arrivalOfRow(row));
          else kalshi.take(read, number, arrivalOfRow(row));
        } else {
          if (levels.length > 0) groups.startRow(timeOf(row));
          const found = attempt(() => maker.records(attempted(row), number, sink.markets));
          if (found === undefined) ignore(EMPTY_ROW);
          else if (found instanceof OtherMarket) ignore(ROW_OF_OTHER_MARKET);
          else if (found instanceof UnknownMarket && rows.unknown_markets === 'skip') ignore(ROW_OF_UNKNOWN_MARKET);
          else if (levels.length > 0) takeLevels(found, number, groups, sink);
          else sink.take(ROW, number, () => recordsThenRefusal(attempted(found)));
        }
      });
      groups.flush();
      if (file.isPart !== true) refuseNothing(counted, mapping, sink);
    },
    finish: () => kalshi?.end(),
    notes: () => [...remarks.values()],
  };
}

/** The frame of a row; what it does not state is in the fields that the mapping names. */
function frameReader({ field, venue: _venue, ...labels }: NonNullable<Mapping['frames']>): (row: MappedRow) => unknown {
  const read = fieldReader(field);
  const readers = Object.entries(labels).map(([label, name]) => [label, fieldReader(name)] as const);
  return (row) => {
    const value = read(row) ?? '';
    const frame = typeof value === 'string' && readers.length > 0 ? parsedFrame(value) : value;
    if (readers.length === 0 || !isFields(frame)) return value;
    const stated = readers.map(([label, readLabel]) => [label, readLabel(row)] as const);
    const known = stated.filter(([, one]) => one !== undefined && one !== null && one !== '');
    return { ...Object.fromEntries(known.map(([label, one]) => [label, String(one)])), ...frame };
  };
}

/** Undefined for a text that is not JSON, such as a heartbeat. */
function parsedFrame(text: string): unknown {
  try {
    return parseFrameJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Adds the levels of a row to their groups, after its market record. A row that is refused leaves the books unknown. */
function takeLevels(found: RowRecords | DomainError, number: number, groups: LevelGroups, sink: RecordSink): void {
  const refused = found instanceof DomainError ? found : found.refused;
  const { records, levels } = found instanceof DomainError ? { records: [], levels: [] } : found;
  const parts = records.length + (refused === undefined ? levels.length : 1);
  // One part for the item itself, so that it does not end before its last record.
  const item = sink.item(ROW, number, parts + 1);
  for (const record of records) sink.addFrom([item], () => record);
  if (refused === undefined) for (const row of levels) groups.add(row, item, number);
  else {
    const isOfMarket = refused instanceof UnknownMarket || refused instanceof UnknownName;
    if (!isOfMarket) groups.forget();
    sink.addFrom([item], () => {
      throw advised(refused);
    });
  }
  sink.finish(item);
}

function* recordsThenRefusal({ records, refused }: RowRecords): Generator<RecordedItem> {
  yield* records;
  if (refused !== undefined) throw advised(refused);
}

/** The refusal of a figure, with what to state in the mapping. */
function advised(refused: DomainError): DomainError {
  const { message } = refused;
  const advice = NOISE.test(message) ? ROUND_ADVICE : PERCENT.test(message) ? PERCENT_ADVICE : undefined;
  return advice === undefined ? refused : rejected(message + advice);
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
      return jsonRows(file, rows.list);
    case 'sqlite':
      return sqliteRows(file.path, selectionOf(rows), file.copy);
    case 'parquet':
      return parquetRows(file.path, file.copy);
  }
}

/** Returns true if each member, or the object around it, is in one of the first objects: not every object has all members. */
function hasMembers({ values }: Sample, members: readonly string[]): boolean {
  const objects = values.filter(isFields);
  return members.every((member) => {
    const [first = ''] = member.split('.');
    return objects.some((object) => Object.hasOwn(object, member) || Object.hasOwn(object, first));
  });
}

/** Rows that belong together, follow or refer to one another, are in files that are complete. */
function linesOf({ format, refer, frames, sections }: Mapping): Pick<Codec, 'lines'> {
  const isByRow = (refer ?? frames?.venue) === undefined && sections.every(({ kind }) => kind !== 'levels');
  return isByRow && (format === 'csv' || format === 'json') ? { lines: format } : {};
}

/** A mapping of SQLite states one of the two. A query may end like a statement. */
function selectionOf({ table, query }: NonNullable<Mapping['rows']>): SqliteSelection {
  return query === undefined ? { table: table! } : { query: query.replace(/[;\s]+$/, '') };
}

/** Returns true if a file that was found in a directory has the format and the columns of the mapping. */
function fits(sample: Sample, { format, rows = {} }: Mapping, columns: readonly string[]): boolean {
  switch (format) {
    case 'csv':
      return sample.columns === undefined && hasColumns(sample, columns, rows.delimiter);
    case 'json':
      return hasMembers(sample, rows.list === undefined ? columns : [rows.list]);
    case 'parquet':
      return sample.columns !== undefined && columns.every((column) => sample.columns!.has(column));
    case 'sqlite':
      return isSqlite(sample.head);
  }
}
