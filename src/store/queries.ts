import type { Database as Sqlite } from 'bun:sqlite';

type Value = string | number | Uint8Array | null;

/** A source of prepared statements: a Database, or a connection to one that is being upgraded. */
export interface Queries {
  query<Row, Params extends Value[]>(sql: string): ReturnType<typeof Sqlite.prototype.query<Row, Params>>;
}

export function queriesOf(sqlite: Sqlite): Queries {
  return { query: <Row, Params extends Value[]>(sql: string) => sqlite.query<Row, Params>(sql) };
}
