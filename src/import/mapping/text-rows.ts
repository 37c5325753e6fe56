import { parseJsonTexts } from '../../record/exact-json.ts';
import { attempt, attempted, type Fields, isFields, rejected } from '../../record/fields.ts';
import { visitRows } from '../parse/csv.ts';
import { visitJsonValues } from '../parse/json-values.ts';
import type { RecordingFile } from '../recording-file.ts';
import type { RowSource } from './row-source.ts';

interface CsvRowOptions {
  readonly delimiter?: string | undefined;
  /** Called for each header among the rows. */
  readonly onHeader?: (() => void) | undefined;
}

/** The rows of CSV. All values are texts. */
export function csvRows(file: RecordingFile, { delimiter, onHeader }: CsvRowOptions = {}): RowSource {
  return {
    read: async (columns, take, optional = []) => {
      let indexes: readonly number[] | undefined;
      const required = columns.filter((column) => !optional.includes(column));
      await visitRows(file, { required, delimiter, onHeader }, (number, fields, names) => {
        indexes ??= columns.map((column) => names.indexOf(column));
        const places = indexes;
        take({
          number,
          fields: () => {
            const values = fields();
            const row: Record<string, string | undefined> = {};
            for (let i = 0; i < columns.length; i += 1) row[columns[i]!] = values[places[i]!];
            return row;
          },
        });
      });
    },
  };
}

/** The objects of JSON: one a line, in arrays, or one after the other over many lines. Each has the number of its first line. */
export function jsonRows(file: RecordingFile): RowSource {
  return {
    read: (_columns, take) =>
      visitJsonValues(file, ({ number, text }) => {
        const value = attempt(() => parseJsonTexts(text()));
        for (const element of Array.isArray(value) ? value : [value]) {
          take({ number, fields: () => objectOf(attempted(element)) });
        }
      }),
  };
}

function objectOf(value: unknown): Fields {
  if (!isFields(value)) throw rejected('the value is not a JSON object');
  return value;
}
