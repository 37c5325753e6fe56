/** The columns of an object under the names of its fields, as SQLite returns them: NULL where the object has undefined. */
export type Row<T> = {
  readonly [Field in keyof T]-?: undefined extends T[Field] ? Exclude<T[Field], undefined> | null : T[Field];
};

/** The object of a row, with undefined where that has NULL. */
export function fromRow<T extends object>(row: Row<T>): T {
  const found: Record<string, unknown> = { ...row };
  for (const field in found) found[field] ??= undefined;
  // Only types differ: a field that may be NULL may be undefined.
  return found as T;
}
