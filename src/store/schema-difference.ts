import { Database as Sqlite } from 'bun:sqlite';
import type { Database } from './database.ts';

interface SchemaObject {
  readonly type: string;
  readonly name: string;
  readonly table: string;
  readonly sql: string | null;
}

const OBJECTS = 'SELECT type, name, tbl_name AS "table", sql FROM sqlite_schema';

/**
 * One sentence if a database's schema is not exactly that of its file, comments and white space aside: the triggers, views and
 * tables of a file from elsewhere would run with the queries of this program. Undefined if it is. Throws DomainError
 * 'unavailable' where the schema cannot be read.
 */
export function schemaDifference(database: Database): string | undefined {
  const expected = textsOf(objectsOf(database.file.schema));
  const found = textsOf(database.read(() => database.query<SchemaObject, []>(OBJECTS).all()));
  const strange = [...found].find(([name, text]) => expected.get(name) !== text);
  const missing = [...expected.keys()].find((name) => !found.has(name));
  if (strange === undefined && missing === undefined) return undefined;
  const difference = strange === undefined ? `lacks the ${missing}` : `has the ${strange[0]}`;
  return `'${database.path}' ${difference}, unlike an archive of this program: restore from a backup that nobody changed`;
}

function objectsOf(schema: string): SchemaObject[] {
  using memory = new Sqlite(':memory:');
  memory.run(schema);
  return memory.query<SchemaObject, []>(OBJECTS).all();
}

/** The SQL of each object, by its type and name. */
function textsOf(objects: readonly SchemaObject[]): ReadonlyMap<string, string> {
  // A comment becomes a blank: without one, the text before and after it could join into a statement of ours.
  const plain = (sql: string | null) => (sql ?? '').replaceAll(/--.*/g, ' ').replaceAll(/\s+/g, ' ');
  return new Map(
    objects.map(({ type, name, table, sql }) => [`${type} ${JSON.stringify(name)}`, `${table}: ${plain(sql)}`]),
  );
}
