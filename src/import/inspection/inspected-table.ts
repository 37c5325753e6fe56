import type { FieldSummary } from './field-tally.ts';

/** What the first rows of a table have. */
export interface InspectedTable {
  /** Undefined where a file has one. */
  readonly name: string | undefined;
  /** Of CSV. */
  readonly delimiter: string | undefined;
  /** The number of rows; undefined if counting them would take as long as an import. */
  readonly rows: number | undefined;
  /** The number of rows that were read. */
  readonly inspected: number;
  /** Rows among these that cannot be read, and why the first of them cannot. */
  readonly unreadable: number;
  readonly problem: string | undefined;
  readonly fields: readonly FieldSummary[];
  /** The names of the shipped mappings that fit. */
  readonly mappings: readonly string[];
}
