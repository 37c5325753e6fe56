import {
  ARCHIVE_ROWS,
  type CatalogMarket,
  type CatalogObject,
  CatalogRows,
  type CatalogState,
  MARKET_TABLES,
  NO_STATE,
  type Row,
} from './catalog.ts';
import type { Database } from './database.ts';
import { HAS_CONDITION_ID } from './markets.ts';

/** Markets that are compared, or applied, in one step: a few milliseconds. */
const STEP_MARKETS = 500;
const STATE = 'SELECT number, digest FROM replica';
const SET_STATE = `INSERT INTO replica (only_row, number, digest) VALUES (1, ?, ?)
  ON CONFLICT (only_row) DO UPDATE SET number = excluded.number, digest = excluded.digest`;
/** Markets with their versions: every change of its records gives a market a new revision, and sealing it again a new seal. */
export const NEXT_VERSIONS = `SELECT market_key AS key, revision, seal FROM markets NOT INDEXED
  LEFT JOIN sealed_markets USING (market_key) WHERE market_key > ? ORDER BY market_key LIMIT ${STEP_MARKETS}`;
/** Each refers only to tables after it. */
const SERIES_OF_COINS = ARCHIVE_ROWS.findIndex(([table]) => table === 'series');
const DELETED_TABLES = MARKET_TABLES.toReversed();

interface Version {
  readonly key: number;
  readonly revision: number;
  readonly seal: string | null;
}

/** A copy of an archive's catalog, as of one published object: all tables but those of segments and given ids. */
export class CatalogReplica {
  readonly database: Database;
  readonly #sql;
  #state: CatalogState;

  /** `database` has the schema of bookreel.db, and is written by this class alone. */
  constructor(database: Database) {
    const insert = (table: string) => {
      const columns = database.query<Row, []>(`SELECT * FROM ${table} LIMIT 0`).columnNames.length;
      return database.query<never, Row>(`INSERT INTO ${table} VALUES (${Array(columns).fill('?').join(', ')})`);
    };
    this.database = database;
    // After a loss of power, lost changes are read from the bucket again.
    database.query('PRAGMA synchronous = NORMAL').run();
    this.#sql = {
      setState: database.query<never, [number, string]>(SET_STATE),
      deleteArchive: ARCHIVE_ROWS.map(([table, rows]) =>
        database.query<never, []>(`DELETE FROM ${table} WHERE ${rows}`),
      ),
      addArchive: ARCHIVE_ROWS.map(([table]) => insert(table)),
      delete: DELETED_TABLES.map((table) =>
        database.query<never, [number]>(`DELETE FROM ${table} WHERE market_key = ?`),
      ),
      add: MARKET_TABLES.map(insert),
      named: database.query<{ key: number }, [string]>(
        `SELECT market_key AS key FROM markets WHERE ${HAS_CONDITION_ID}`,
      ),
      ofSeries: database.query<{ key: number | null }, [number]>(
        'SELECT market_key AS key FROM series WHERE series_id = ?',
      ),
      archiveId: database.query<{ id: string }, []>('SELECT archive_id AS id FROM archive'),
    };
    this.#state = database.read(() => database.query<CatalogState, []>(STATE).get()) ?? NO_STATE;
  }

  get state(): CatalogState {
    return this.#state;
  }

  /** The id of the archive; undefined before the first rows. */
  get archiveId(): string | undefined {
    return this.database.read(() => this.#sql.archiveId.get()?.id);
  }

  /** Applies the rows of an object in one transaction. `state`: that of the object; left out: it stays. */
  apply({ archive, markets }: Pick<CatalogObject, 'archive' | 'markets'>, state: CatalogState = this.#state): void {
    const sql = this.#sql;
    this.database.write(() => {
      for (const { key } of markets) this.#delete(key);
      for (const statement of sql.deleteArchive) statement.run();
      for (const { rows } of markets) if (rows !== undefined) this.#add(rows);
      for (const [id] of archive[SERIES_OF_COINS] ?? []) this.#deleteOfSeries(Number(id));
      for (const [index, rows] of archive.entries()) for (const row of rows) sql.addArchive[index]!.run(...row);
      sql.setState.run(state.number, state.digest);
    });
    this.#state = state;
  }

  /**
   * Makes this a copy of another database, in steps that take a few milliseconds each.
   */
  *copyFrom(other: Database, state: CatalogState): Generator<void> {
    const rows = new CatalogRows(other);
    for (const keys of differences(this.database, other)) {
      if (keys.length > 0)
        this.apply(other.read(() => ({ archive: [], markets: keys.map((key) => rows.market(key)) })));
      yield;
    }
    this.apply(
      other.read(() => ({ archive: rows.archive(), markets: [] })),
      state,
    );
  }

  #deleteOfSeries(id: number): void {
    const other = this.#sql.ofSeries.get(id);
    if (other?.key != null) this.#delete(other.key);
  }

  #delete(key: number): void {
    for (const statement of this.#sql.delete) statement.run(key);
  }

  /** Also deletes another market that has its conditionId, or an id of its series: the change of that one is in a later object. */
  #add(rows: NonNullable<CatalogMarket['rows']>): void {
    const named = this.#sql.named.get(String(rows[0]![0]![1]));
    if (named !== null) this.#delete(named.key);
    for (const [id] of rows[MARKET_TABLES.indexOf('series')]!) this.#deleteOfSeries(Number(id));
    for (const [index, statement] of this.#sql.add.entries()) for (const row of rows[index]!) statement.run(...row);
  }
}

/** The keys of the markets in which two databases differ, ascending; a step may have none. */
export function* differences(one: Database, other: Database): Generator<number[]> {
  const walks = [one, other].map((database) => {
    const next = database.query<Version, [number]>(NEXT_VERSIONS);
    return (after: number) => database.read(() => next.all(after));
  });
  for (let after = 0; ; ) {
    const [left, right] = walks.map((walk) => walk(after));
    if (left!.length === 0 && right!.length === 0) return;
    // A whole step of one database ends here: the rows of the other after it are for the next step.
    const ends = [left!, right!].flatMap((step) => (step.length === STEP_MARKETS ? step.at(-1)!.key : []));
    const end = Math.min(...ends, Number.MAX_SAFE_INTEGER);
    const keys = new Map<number, string>();
    for (const { key, revision, seal } of left!) if (key <= end) keys.set(key, `${revision} ${seal}`);
    for (const { key, revision, seal } of right!) {
      if (key > end) continue;
      if (keys.get(key) === `${revision} ${seal}`) keys.delete(key);
      else keys.set(key, '');
    }
    yield [...keys.keys()].sort((a, b) => a - b);
    if (ends.length === 0) return;
    after = end;
  }
}
