import { type Fields, rejected } from '../../record/fields.ts';
import { fieldReader, type MappedRow, rowTest, shown, textOf } from './mapped-value.ts';
import type { Mapping } from './mapping-schema.ts';

/** Maximum number of rows in memory; the oldest ones are forgotten. */
const ROWS_MAX = 20_000;

/** The rows of a file that later rows refer to: what a market is, for example, while the books name it by a number. */
export class ReferredRows {
  readonly #isStated: (row: MappedRow) => boolean;
  readonly #nameOf: (row: MappedRow) => string;
  readonly #referenceOf: (row: MappedRow) => string;
  readonly #stated = new Map<string, Fields>();

  constructor({ key, by = key, ...rows }: NonNullable<Mapping['refer']>) {
    this.#isStated = rowTest(rows);
    this.#nameOf = nameReader(key);
    this.#referenceOf = nameReader(by);
  }

  /**
   * The row with the fields of the row that it refers to, as far as it does not state them itself; undefined for a row that others refer
   * to. Throws 'rejected-record' for a reference that no row before it explains.
   */
  joined(row: MappedRow): MappedRow | undefined {
    if (this.#isStated(row)) {
      const name = this.#nameOf(row);
      this.#stated.delete(name);
      if (this.#stated.size >= ROWS_MAX) this.#stated.delete(this.#stated.keys().next().value!);
      this.#stated.set(name, row.fields as Fields);
      return undefined;
    }
    const reference = this.#referenceOf(row);
    const stated = this.#stated.get(reference);
    if (stated === undefined) throw rejected(`no row before it states what ${shown(reference)} is`);
    const own = Object.entries(row.fields).filter(([, value]) => value !== undefined && value !== null && value !== '');
    return { ...row, fields: { ...stated, ...Object.fromEntries(own) } };
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
