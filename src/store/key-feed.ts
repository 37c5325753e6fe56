import type { Database } from './database.ts';
import { KEY_ROW_KINDS, KEY_ROW_TABLES, type KeyRowKind } from './key-rows.ts';

/** Rows that are read at once: about 60 kB. */
const ROWS_MAX = 500;

interface TextRow {
  readonly id: string | number;
  /** The row as a JSON array, see KeyRow. */
  readonly text: string;
}

const pageOf = (kind: KeyRowKind) => {
  const { name, id, values, needed } = KEY_ROW_TABLES[kind];
  return `SELECT ${id} AS id, json_array('${kind}', ${id}, ${values}) AS text FROM ${name} WHERE ${id} > ? AND ${needed} ORDER BY ${id}
  LIMIT ${ROWS_MAX}`;
};
const rowOf = (kind: KeyRowKind) => {
  const { name, id, values, needed } = KEY_ROW_TABLES[kind];
  return `SELECT ${id} AS id, json_array('${kind}', ${id}, ${values}) AS text FROM ${name} WHERE ${id} = ? AND ${needed}`;
};
export const NEXT_KEY_ROWS = KEY_ROW_KINDS.map(pageOf);
export const FIND_KEY_ROW = KEY_ROW_KINDS.map(rowOf);
export const LAST_KEY_CHANGE = 'SELECT MAX(number) AS number, token FROM key_changes';
export const FIND_KEY_CHANGE = 'SELECT number, token FROM key_changes WHERE number = ? AND token = ?';
export const LIST_KEY_CHANGES = 'SELECT DISTINCT kind, id FROM key_changes WHERE number > ?';

/** Identifies a state of the rows by its last change. No two states have the same one, even after a restore. */
export interface KeyPosition {
  readonly number: number;
  readonly token: string;
}
/** No change has number 0. */
const NO_CHANGE: KeyPosition = { number: 0, token: '' };

/** The rows after a position, as JSON arrays that are joined by commas. */
interface Changes {
  readonly after: KeyPosition;
  readonly position: KeyPosition;
  readonly rows: string;
}

/** The rows of accounts.db that nodes need to check keys, and their changes. */
export class KeyFeed {
  readonly #database: Database;
  readonly #pages;
  readonly #finds;
  readonly #sql;
  /** Many nodes are at the same position. */
  #latest: Changes | undefined;

  constructor(database: Database) {
    this.#database = database;
    const statements = (texts: readonly string[]) =>
      KEY_ROW_KINDS.map((_, at) => database.query<TextRow, [string | number]>(texts[at]!));
    this.#pages = statements(NEXT_KEY_ROWS);
    this.#finds = statements(FIND_KEY_ROW);
    this.#sql = {
      last: database.query<KeyPosition | { number: null }, []>(LAST_KEY_CHANGE),
      find: database.query<KeyPosition, [number, string]>(FIND_KEY_CHANGE),
      changes: database.query<{ kind: KeyRowKind; id: string | number }, [number]>(LIST_KEY_CHANGES),
    };
  }

  /** The present position. */
  get position(): KeyPosition {
    return this.#database.readShared(() => this.#last());
  }

  /** The position, if `changesAfter` knows the changes after it. */
  known({ number, token }: KeyPosition): KeyPosition | undefined {
    return this.#database.read(() => this.#sql.find.get(number, token)) ?? undefined;
  }

  /**
   * All rows, as JSON arrays that are joined by commas. Each step has a view of its own: read the changes after the position before the first
   * step, too.
   */
  *rows(): Generator<string> {
    for (const [at, kind] of KEY_ROW_KINDS.entries()) {
      // Ids of accounts are positive numbers, all others texts.
      let after: string | number | undefined = kind === 'account' ? 0 : '';
      while (after !== undefined) {
        const from: string | number = after;
        const found: TextRow[] = this.#database.read(() => this.#pages[at]!.all(from));
        if (found.length > 0) yield found.map(({ text }) => text).join();
        after = found[ROWS_MAX - 1]?.id;
      }
    }
  }

  /** The rows that have changed after a position; undefined if these are not known any more: then all rows are needed again. */
  changesAfter(after: KeyPosition): Changes | undefined {
    return this.#database.read(() => {
      const position = this.#last();
      const latest = this.#latest;
      if (latest?.after.token === after.token && latest.position.token === position.token) return latest;
      if (this.#sql.find.get(after.number, after.token) === null) return undefined;
      const rows = this.#sql.changes.all(after.number).map(({ kind, id }) => {
        const found = this.#finds[KEY_ROW_KINDS.indexOf(kind)]!.get(id);
        return found?.text ?? JSON.stringify([kind, id]);
      });
      this.#latest = { after, position, rows: rows.join() };
      return this.#latest;
    });
  }

  #last(): KeyPosition {
    const last = this.#sql.last.get()!;
    return last.number === null ? NO_CHANGE : last;
  }
}
