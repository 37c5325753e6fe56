import type { InstantMs } from '../domain/instant.ts';
import { Database } from './database.ts';
import { ACCOUNTS } from './database-file.ts';
import { KeyDirectory, type KeyHolder } from './key-directory.ts';
import { KEY_ROW_KINDS, KEY_ROW_TABLES, type KeyRow } from './key-rows.ts';
import { KeySecret } from './key-secret.ts';
import { type Registry, registryOf } from './registry.ts';
import { Tiers } from './tiers.ts';

/** The keys of another machine, in memory: rows of its accounts.db, in the same tables. */
export class KeyReplica {
  readonly registry: Registry;
  readonly #database: Database;
  readonly #secret = KeySecret.random();
  readonly #sql;
  /** The rows since `begin`, by kind; undefined unless all rows are being stored. */
  #seen: ReadonlyMap<string, Set<string | number>> | undefined;

  /** `check` is called at each look-up of a key, with true if the key is known; it may throw. */
  constructor(directory: string, check: (isKnown: boolean) => void) {
    const database = Database.inMemory(directory, ACCOUNTS);
    this.#database = database;
    // Rows arrive in any order, and a node feeds no keys.
    database.query('PRAGMA foreign_keys = OFF').run();
    for (const { name } of database.query<{ name: string }, []>(TRIGGERS).all()) {
      database.query(`DROP TRIGGER ${name}`).run();
    }
    database.write(() => new Tiers(database).addDefaults());
    this.registry = registryOf(database, this.#secret, {
      directoryOf: (...given) => new CheckedKeys(check, ...given),
    });
    this.#sql = Object.fromEntries(
      KEY_ROW_KINDS.map((kind) => {
        const { name, id, store } = KEY_ROW_TABLES[kind];
        const statements = {
          store: database.query<never, (string | number | null)[]>(store),
          remove: database.query<never, [string | number]>(`DELETE FROM ${name} WHERE ${id} = ?`),
          ids: database.query<{ id: string | number }, []>(`SELECT ${id} AS id FROM ${name}`),
        };
        return [kind, statements];
      }),
    );
  }

  /** Begins to store all rows, or only changes. Earlier rows stay until `end`. `secret`: that of the digests of the keys. */
  begin(secret: Uint8Array, of: 'all' | 'changes'): void {
    this.#seen = of === 'all' ? new Map(KEY_ROW_KINDS.map((kind) => [kind, new Set()])) : undefined;
    // The write ends the caches of look-ups.
    this.#database.write(() => this.#secret.become(secret));
  }

  /** Stores rows in one transaction. */
  store(rows: readonly KeyRow[]): void {
    this.#database.write(() => {
      for (const [kind, id, ...values] of rows) {
        const { store, remove } = this.#sql[kind]!;
        if (values.length === 0) remove.run(id);
        else {
          store.run(id, ...values);
          this.#seen?.get(kind)?.add(id);
        }
      }
    });
  }

  /** Removes the rows that have not arrived since `begin`, if it was called for all rows. `newAccountTier`: that of accounts without a grant. */
  end(newAccountTier: string): void {
    const seen = this.#seen;
    this.#seen = undefined;
    this.#database.write(() => {
      this.registry.accountTiers.ungranted = newAccountTier;
      for (const [kind, present] of seen ?? []) {
        const { ids, remove } = this.#sql[kind]!;
        for (const { id } of ids.all()) if (!present.has(id)) remove.run(id);
      }
    });
  }
}

const TRIGGERS = "SELECT name FROM sqlite_schema WHERE type = 'trigger'";

class CheckedKeys extends KeyDirectory {
  readonly #check: (isKnown: boolean) => void;

  constructor(check: (isKnown: boolean) => void, ...given: ConstructorParameters<typeof KeyDirectory>) {
    super(...given);
    this.#check = check;
  }

  override find(presented: string, nowMs: InstantMs): KeyHolder | undefined {
    return this.#checked(super.find(presented, nowMs));
  }

  override findById(id: string, nowMs: InstantMs): KeyHolder | undefined {
    return this.#checked(super.findById(id, nowMs));
  }

  #checked(holder: KeyHolder | undefined): KeyHolder | undefined {
    this.#check(holder !== undefined);
    return holder;
  }
}
