import { DomainError } from '../../domain/errors.ts';
import { attempt, attempted, rejected } from '../../record/fields.ts';
import type { RecordingFile } from '../recording-file.ts';
import type { Sample } from '../sample.ts';
import { unreadable } from '../source.ts';
import { visitLines } from './lines.ts';
import { type QuotedRow, QuotedRows } from './quoted-rows.ts';

/** CSV with a header (RFC 4180): a quoted field may have commas, doubled quotes and line breaks. */
const COLUMNS_MAX = 1000;
const COMMA = ',';

/** Returns true if a file begins with a header that has all `required` columns. */
export function hasColumns({ lines: [header] }: Sample, required: readonly string[], delimiter = COMMA): boolean {
  const names = header === undefined ? undefined : splitRow(header, delimiter);
  return names !== undefined && required.every((name) => names.includes(name));
}

/** The fields of the rows of a file that begins with these lines; undefined where the quotes are malformed. A row without its end is left out. */
export function rowsOfLines(lines: readonly string[], delimiter: string): readonly (readonly string[] | undefined)[] {
  const found: (readonly string[] | undefined)[] = [];
  const rows = new QuotedRows({
    split: (text) => splitRow(text, delimiter),
    isRow: (fields) => found.length === 0 || fields.length === found[0]?.length,
    visit: ({ fields }) => found.push(fields instanceof DomainError ? undefined : fields),
  });
  for (const [index, text] of lines.entries()) rows.push({ number: index + 1, text: () => text });
  return found;
}

interface CsvOptions {
  readonly required: readonly string[];
  /** One or two characters; a comma by default. */
  readonly delimiter?: string | undefined;
  /** Called for a header among the rows: concatenated files have the headers of their parts. */
  readonly onHeader?: (() => void) | undefined;
}

/**
 * Calls `take` for every row after the header, with the fields in the order of the header, whose names are `columns`. `fields` throws
 * 'rejected-record' for a malformed row. Throws 'unreadable' if the header lacks a required column or has one twice.
 */
export async function visitRows(
  file: RecordingFile,
  { required, delimiter = COMMA, onHeader }: CsvOptions,
  take: (line: number, fields: () => readonly string[], columns: readonly string[]) => void,
): Promise<void> {
  let columns: readonly string[] | undefined;
  const rows = new QuotedRows({
    split: (text) => splitRow(text, delimiter),
    isRow: (fields) => columns === undefined || fields.length === columns.length,
    visit: (row) => {
      if (columns === undefined) {
        columns = headerOf(file, row, required);
        return;
      }
      const names = columns;
      const fields = attempt(() => fieldsOf(row, names.length));
      const isHeader = !(fields instanceof DomainError) && fields.every((field, index) => field === names[index]);
      if (isHeader) onHeader?.();
      else take(row.number, () => attempted(fields), names);
    },
  });
  await visitLines(file.bytes(), (line) => rows.push(line), { hasBlank: true });
  rows.end();
}

function headerOf(file: RecordingFile, { fields: names }: QuotedRow, required: readonly string[]): readonly string[] {
  // Letters of UTF-16 are bytes of zero and of ASCII, which are UTF-8 too.
  if (names instanceof DomainError || names?.some((name) => name.includes('\0')))
    throw unreadable(`'${file.path}' is not a text in UTF-8: convert it, for example with iconv -f UTF-16 -t UTF-8`);
  if (names !== undefined && required.every((column) => names.filter((name) => name === column).length === 1))
    return names;
  throw unreadable(`'${file.path}' has no header with each of the columns ${required.join(', ')} once`);
}

function fieldsOf(row: QuotedRow, count: number): readonly string[] {
  const fields = attempted(row.fields);
  if (fields === undefined) throw rejected('the row has a quote that is not closed, or text next to a quoted field');
  if (fields.length !== count) throw rejected(`the row has ${fields.length} fields, but the header has ${count}`);
  return fields;
}

/** The fields of a row; undefined if its quotes are malformed. Fields beyond COLUMNS_MAX are left out. */
function splitRow(line: string, delimiter = COMMA): string[] | undefined {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  const fields: string[] = [];
  let at = 0;
  while (fields.length <= COLUMNS_MAX) {
    const isQuoted = text[at] === '"';
    const end = isQuoted ? closingQuote(text, at + 1) + 1 : nextDelimiter(text, at, delimiter);
    if (isQuoted && end === 0) return undefined;
    const field = text.slice(at, end);
    if (isQuoted) fields.push(field.slice(1, -1).replaceAll('""', '"'));
    else if (field.includes('"')) return undefined;
    else fields.push(field);
    if (end === text.length) return fields;
    // One that is not quoted ends where the delimiter was found.
    if (isQuoted && !text.startsWith(delimiter, end)) return undefined;
    at = end + delimiter.length;
  }
  return fields;
}

function nextDelimiter(text: string, from: number, delimiter: string): number {
  const next = text.indexOf(delimiter, from);
  return next < 0 ? text.length : next;
}

/** Index of the first quote that is not doubled; -1 if there is none. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at;
  }
  return -1;
}
