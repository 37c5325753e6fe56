import type { Fields } from '../../record/fields.ts';

/** One row of a table, or one value of JSON. */
interface Row {
  /** Line of a text, row of a table or of the result of a query; from 1. */
  readonly number: number;
  /**
   * The values by column, exact: a number is one that a double keeps unchanged, any other number is its text (as `parseFrameJson`
   * gives those of JSON), bytes that are not a text are a Uint8Array, and instants with a type of their own are ISO 8601, with `Z` if the
   * file says that they are UTC. A value that is missing is null or undefined. Throws DomainError 'rejected-record' if the row
   * cannot be read.
   */
  readonly fields: () => Fields;
}

/** The rows of a file. Each call opens the file and closes it. */
export interface RowSource {
  /**
   * Calls `take` for each row, in the order of the file, with the values of at least `columns`; what `take` throws ends it. Throws
   * DomainError 'unreadable', in one sentence, if the file lacks one of `columns` or has it twice, and where it is damaged. CSV and
   * Parquet may lack those that are `optional` too.
   */
  read(columns: readonly string[], take: (row: Row) => void, optional?: readonly string[]): Promise<void>;
}
