import { type Fields, rejected } from '../../record/fields.ts';
import { fieldReader, type MappedRow, rowTest, shown, textOf } from './mapped-value.ts';
import type { Mapping } from './mapping-schema.ts';

/** Maximum number of rows of which the named fields are in memory; the oldest ones are forgotten. */
const ROWS_MAX = 20_000;
/** Longer texts name no market and no outcome. */
const TEXT_CHARS_MAX = 1000;

/** The rows of a file that later rows refer to: what a market is, for example, while the books name it by a number. */
export class ReferredRows {
  readonly #isStated: (row: MappedRow) => boolean;
  readonly #nameOf: (row: MappedRow) => string;
  readonly #referenceOf: (row: MappedRow) => string;
  readonly #fields: readonly (readonly [name: string, read: (row: MappedRow) => unknown])[];
  readonly #stated = new Map<string, Fields>();

  /** `fields`: those that name the market and the outcome, which are all that rows take from others. */
  constructor({ key, by = key, ...rows }: NonNullable<Mapping['refer']>, fields: readonly string[]) {
    this.#isStated = rowTest(rows);
    this.#nameOf = nameReader(key);
    this.#referenceOf = nameReader(by);
    this.#fields = fields.map((name) => [name, fieldReader(name)]);
  }

  /** Keeps what a row states if others refer to it; false for any other row. */
  keeps(row: MappedRow): boolean {
    if (!this.#isStated(row)) return false;
    const name = this.#nameOf(row);
    const stated = this.#fields.flatMap(([field, read]) => {
      const value = read(row);
      const isText = typeof value === 'string' && value.length <= TEXT_CHARS_MAX;
      return isText || typeof value === 'number' || typeof value === 'boolean' ? [[field, value] as const] : [];
    });
    this.#stated.delete(name);
    if (this.#stated.size >= ROWS_MAX) this.#stated.delete(this.#stated.keys().next().value!);
    this.#stated.set(name, Object.fromEntries(stated));
    return true;
  }

  /**
   * The row with the fields that name its market and outcome in the row that it refers to, as far as it does not state them itself. Throws
   * 'rejected-record' for a reference that no row before it explains.
   */
  joined(row: MappedRow): MappedRow {
    const reference = this.#referenceOf(row);
    const stated = this.#stated.get(reference);
    if (stated === undefined) throw rejected(`no row before it states what ${shown(reference)} is`);
    const missing = this.#fields.filter(([field, read]) => field in stated && read(row) === undefined);
    if (missing.length === 0) return row;
    return {
      ...row,
      fields: { ...row.fields, ...Object.fromEntries(missing.map(([field]) => [field, stated[field]])) },
    };
  }
}

/** Without a field, all rows refer to the latest of those that are referred to. */
function nameReader(field: string | undefined): (row: MappedRow) => string {
  if (field === undefined) return () => 'the file';
  const read = fieldReader(field);
  return (row) => {
    const name = textOf(read(row), field);
    if (name === undefined) throw rejected(`${field} is missing, which says what the row refers to`);
    return name;
  };
}
