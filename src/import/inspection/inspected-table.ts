import type { Fields } from '../../record/fields.ts';
import type { FieldSummary } from './field-tally.ts';

/** A summary of the first rows of a table. */
export interface InspectedTable {
  /** Undefined for a format in which a file has only one table. */
  readonly name: string | undefined;
  /** Set if the rows are the elements of this list in the rows of the file. */
  readonly list?: string;
  /** The text between the fields of CSV; undefined for other formats. */
  readonly delimiter: string | undefined;
  /** The number of rows; undefined if counting them would take as long as an import. */
  readonly rows: number | undefined;
  /** The number of rows that were read. */
  readonly inspected: number;
  /** The number of rows among these that cannot be read; `problem` says why the first of them cannot. */
  readonly unreadable: number;
  readonly problem: string | undefined;
  readonly fields: readonly FieldSummary[];
  /** The first rows that can be read, on which mappings are tried. */
  readonly firstRows: readonly { readonly number: number; readonly fields: Fields }[];
  /** The names of the shipped mappings that fit. */
  readonly mappings: readonly string[];
}
