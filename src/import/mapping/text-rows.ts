import { DomainError } from '../../domain/errors.ts';
import { parseJsonTexts } from '../../record/exact-json.ts';
import { attempt, attempted, type Fields, isFields, rejected } from '../../record/fields.ts';
import { visitRows } from '../parse/csv.ts';
import { visitJsonValues } from '../parse/json-values.ts';
import type { RecordingFile } from '../recording-file.ts';
import { fieldReader } from './mapped-value.ts';
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

/**
 * The objects of JSON: one a line, in arrays, or one after the other over many lines. Each has the number of its first line. With `list`
 * the rows are the elements of that list in each object.
 */
export function jsonRows(file: RecordingFile, list?: string): RowSource {
  return {
    read: (_columns, take) =>
      visitJsonValues(file, ({ number, text }) => {
        const value = attempt(() => parseJsonTexts(text()));
        for (const element of Array.isArray(value) ? value : [value]) {
          const row = attempt(() => objectOf(attempted(element)));
          const rows = list === undefined || row instanceof DomainError ? [row] : elementsOf(row, list);
          for (const one of rows) take({ number, fields: () => attempted(one) });
        }
      }),
  };
}

/** The elements of a list, each with the members of the object around the list that it does not have itself. */
export function elementsOf(object: Fields, list: string): readonly (Fields | DomainError)[] {
  const elements = fieldReader(list)({ fields: object });
  if (!Array.isArray(elements)) return [rejected(`${list} is not a list`)];
  const [first = ''] = list.split('.');
  const { [Object.hasOwn(object, list) ? list : first]: _list, ...around } = object;
  return elements.map((element: unknown) =>
    isFields(element) ? { ...around, ...element } : rejected(`${list} has an element that is no object`),
  );
}

function objectOf(value: unknown): Fields {
  if (!isFields(value)) throw rejected('the value is not a JSON object');
  return value;
}
