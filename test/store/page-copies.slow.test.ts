import { Database as Sqlite } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { closeSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyPages } from '../../src/store/database-connection.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { BUN } from '../support/executable.ts';

const PAGE_BYTES = 8192;

/** A database of 500 pages, and copies of it. */
function place() {
  const directory = temporaryDirectory();
  const path = join(directory.path, 'from.db');
  const sqlite = new Sqlite(path, { create: true });
  sqlite.run(`PRAGMA page_size = ${PAGE_BYTES}`);
  sqlite.run('PRAGMA journal_mode = WAL');
  sqlite.run('CREATE TABLE a (id INTEGER PRIMARY KEY, value INTEGER, text BLOB)');
  sqlite.run('CREATE TABLE b (id INTEGER PRIMARY KEY, value INTEGER)');
  sqlite.run(
    'WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO a SELECT i, 0, randomblob(1900) FROM n',
  );
  sqlite.run('INSERT INTO b SELECT id, value FROM a');
  const copied = (name: string): Buffer | undefined => {
    const target = join(directory.path, name);
    writeFileSync(target, '');
    const source = openSync(path, 'r');
    try {
      return copyPages(path, source, target) ? readFileSync(target) : undefined;
    } finally {
      closeSync(source);
    }
  };
  const dispose = () => {
    sqlite.close();
    directory[Symbol.dispose]();
  };
  return { directory: directory.path, path, sqlite, copied, [Symbol.dispose]: dispose };
}

test('Copies of pages are of one state each while another process writes, and have every change that was committed before.', async () => {
  using held = place();
  const script = join(held.directory, 'writer.ts');
  writeFileSync(
    script,
    `import { Database } from 'bun:sqlite';
    const database = new Database(${JSON.stringify(held.path)});
    database.run('PRAGMA busy_timeout = 10000');
    database.run('PRAGMA wal_autocheckpoint = 20');
    for (let value = 1; ; value += 1) {
      database.transaction(() => {
        database.run('UPDATE a SET value = ' + value + ', text = randomblob(1900) WHERE id % 50 = ' + (value % 50));
        database.run('UPDATE b SET value = ' + value + ' WHERE id % 50 = ' + (value % 50));
      })();
      if (value % 20 === 0) process.stdout.write(value + ';');
    }`,
  );
  await using writer = startChild([...BUN, script]);
  let last = 0;
  for (let copies = 0; copies < 4; ) {
    await writer.said(/;$/);
    const before = Number(/(\d+);$/.exec(writer.stdout())?.[1] ?? 0);
    const bytes = held.copied('copy.db');
    // The writer was too quick for this one.
    if (bytes === undefined) continue;
    copies += 1;
    using copy = new Sqlite(join(held.directory, 'copy.db'), { readonly: true });
    const one = <T>(sql: string) => copy.query<{ found: T }, []>(sql).get()!.found;
    expect(one<string>('SELECT integrity_check AS found FROM pragma_integrity_check')).toBe('ok');
    expect(one<number>('SELECT COUNT(*) AS found FROM a JOIN b USING (id) WHERE a.value <> b.value')).toBe(0);
    const newest = one<number>('SELECT MAX(value) AS found FROM a');
    expect(newest).toBeGreaterThanOrEqual(Math.max(before, last));
    last = newest;
  }
  expect(last).toBeGreaterThan(0);
});

test('A copy of pages differs from the one before where the database does, and its pages are where the database has them.', () => {
  using held = place();
  const first = held.copied('first.db')!;
  held.sqlite.run('UPDATE a SET value = 7 WHERE id IN (5, 900, 1500)');
  held.sqlite.run('INSERT INTO b VALUES (5000, 1)');
  const second = held.copied('second.db')!;
  const changed = Array.from({ length: second.length / PAGE_BYTES }, (_, page) => page * PAGE_BYTES).filter(
    (at) => !first.subarray(at, at + PAGE_BYTES).equals(second.subarray(at, at + PAGE_BYTES)),
  );
  expect(changed).toHaveLength(4);
  held.sqlite.run('PRAGMA wal_checkpoint(TRUNCATE)');
  const original = readFileSync(held.path);
  original.set([1, 1], 18);
  expect(second.equals(original)).toBe(true);
});

test('Nothing is copied by page while a reader keeps the log from being merged.', () => {
  using held = place();
  using reader = new Sqlite(held.path, { readonly: true });
  held.sqlite.run('PRAGMA busy_timeout = 0');
  reader.run('BEGIN');
  reader.query('SELECT COUNT(*) FROM a').get();
  held.sqlite.run('UPDATE a SET value = 1');
  expect(held.copied('copy.db')).toBeUndefined();
  expect(statSync(join(held.directory, 'copy.db')).size).toBe(0);
  reader.run('COMMIT');
  expect(held.copied('copy.db')).toBeDefined();
});
