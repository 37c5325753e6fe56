import { Database as Sqlite } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError } from '../../src/domain/errors.ts';
import { openArchive } from '../../src/store/archive.ts';
import { Database } from '../../src/store/database.ts';
import { type DatabaseFile, type Migration, RECORDINGS } from '../../src/store/database-file.ts';
import { importBytes, NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { hasDisk, smallDisk } from '../support/disks.ts';
import { BUN } from '../support/executable.ts';
import { lightNdjson } from '../support/light-recording.ts';
import { thrownBy } from '../support/thrown-by.ts';
import { OPENED_TOGETHER } from './opened-together.ts';
import { laterRecordings, migrationsThat } from './upgraded-by-child.ts';

const { version: V, name: NAME } = RECORDINGS;
const CAN_MOUNT = hasDisk((parent) => smallDisk(parent, '64k'));
const ignored = () => undefined;
const LATER = laterRecordings(migrationsThat(ignored));
const open = (directory: string, file: DatabaseFile) => Database.open(directory, file, { create: false });

/** Everything in a database: version, schema and the digest of each table's rows. */
function contentOf(path: string) {
  using sqlite = new Sqlite(path, { readwrite: true });
  const tables = sqlite.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  return {
    version: Object.values(sqlite.query<Record<string, number>, []>('PRAGMA user_version').get()!)[0],
    integrity: Object.values(sqlite.query<Record<string, string>, []>('PRAGMA integrity_check').get()!)[0],
    rows: Object.fromEntries(
      tables.map(({ name }) => [name, Bun.hash(JSON.stringify(sqlite.query(`SELECT * FROM ${name}`).values()))]),
    ),
  };
}

/** A data directory with recordings of this version, closed. */
async function recordings() {
  const held = temporaryArchive();
  await importBytes(held.archive, lightNdjson(2000));
  held.archive.database.close();
  const path = join(held.path, NAME);
  return { path: held.path, file: path, content: contentOf(path), [Symbol.dispose]: () => held[Symbol.dispose]() };
}

describe('a database of an earlier version', () => {
  test('A database of an earlier release is copied to ….schema-N, and upgraded in one transaction by the first command that writes.', async () => {
    using old = await recordings();
    const order: number[] = [];
    const later = laterRecordings(migrationsThat((index) => order.push(index)));
    using database = open(old.path, later);
    const copy = `${old.file}.schema-${V}`;
    expect(database.upgraded).toEqual({ from: V, to: V + 3, copy });
    expect(order).toEqual([0, 1, 2]);
    expect(contentOf(copy)).toEqual(old.content);
    expect((statSync(copy).mode & 0o777).toString(8)).toBe('600');
    const content = contentOf(old.file);
    expect(content).toMatchObject({ version: V + 3, integrity: 'ok' });
    expect(Object.keys(content.rows)).toEqual(expect.arrayContaining(['step_one', 'step_two', 'step_three']));
    expect(content.rows.markets).toBe(old.content.rows.markets);
    expect(content.rows.segments).not.toBe(old.content.rows.segments);
    database.close();
    using again = open(old.path, later);
    expect(again.upgraded).toBeUndefined();
    expect(order).toEqual([0, 1, 2]);
    // Write-ahead log, references and syncs are as in a new database.
    expect(Object.values(again.query<Record<string, unknown>, []>('PRAGMA journal_mode').get()!)).toEqual(['wal']);
    again.close();
    expect(readdirSync(old.path).sort()).toEqual([NAME, `${NAME}.schema-${V}`]);
  });

  test('may skip versions: each earlier version becomes the same', async () => {
    using direct = await recordings();
    open(direct.path, LATER).close();
    using stepwise = await recordings();
    for (const count of [1, 2, 3]) {
      const some = laterRecordings(migrationsThat(ignored).slice(0, count));
      using database = open(stepwise.path, some);
      expect(database.upgraded).toMatchObject({ from: V + count - 1, to: V + count });
    }
    const schemaOf = (path: string) => {
      using sqlite = new Sqlite(path, { readwrite: true });
      return sqlite.query('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all();
    };
    expect(schemaOf(stepwise.file)).toEqual(schemaOf(direct.file));
    expect(readdirSync(stepwise.path).sort()).toEqual(
      [NAME, ...[V, V + 1, V + 2].map((n) => `${NAME}.schema-${n}`)].sort(),
    );
  });

  test('can be put back from its copy and upgraded again: the copy is replaced by the newer state', async () => {
    using old = await recordings();
    open(old.path, LATER).close();
    writeFileSync(old.file, readFileSync(`${old.file}.schema-${V}`));
    const archive = openArchive(old.path, NOW_MS, { create: false });
    await importBytes(archive, lightNdjson(2200));
    archive.database.close();
    const more = contentOf(old.file);
    expect(more.rows).not.toEqual(old.content.rows);
    open(old.path, LATER).close();
    expect(contentOf(`${old.file}.schema-${V}`)).toEqual(more);
  });

  test('verify and backup change nothing, so they refuse a database that is not upgraded yet, with what to do.', async () => {
    using old = await recordings();
    const error = thrownBy(() => Database.openToRead(old.file, LATER));
    expect(error).toMatchObject({ kind: 'conflict' });
    expect((error as DomainError).message).toBe(
      `'${old.file}' has schema ${V}, of an earlier bookreel: start 'bookreel serve', which upgrades it and keeps a copy, or use the bookreel that wrote it`,
    );
    expect(contentOf(old.file)).toEqual(old.content);
  });

  test('older than the first release, or newer than this program, is refused and not changed', async () => {
    using old = await recordings();
    for (const [version, part] of [
      [V - 1, `has schema ${V - 1}, of an earlier bookreel: export it with the bookreel that wrote it`],
      [V + 4, `has schema ${V + 4}, and this bookreel knows schemas up to ${V + 3}: use the newer bookreel`],
    ] as const) {
      using sqlite = new Sqlite(old.file, { readwrite: true });
      sqlite.run(`PRAGMA user_version = ${version}`);
      sqlite.close();
      const error = thrownBy(() => open(old.path, LATER));
      expect(error).toMatchObject({ kind: 'conflict', message: expect.stringContaining(part) });
      expect(contentOf(old.file)).toEqual({ ...old.content, version });
      expect(readdirSync(old.path)).toEqual([NAME]);
    }
  });

  test('A database that another process has open is not upgraded (exit code 4), until it is closed.', async () => {
    using old = await recordings();
    // This connection is idle, as that of a server without requests.
    const server = Bun.spawn(
      [
        ...BUN,
        '-e',
        `const { Database } = require('bun:sqlite'); const db = new Database(${JSON.stringify(old.file)});
         db.run('PRAGMA journal_mode = WAL'); db.query('SELECT COUNT(*) FROM markets').get(); console.log('open'); setInterval(() => 1, 1e6);`,
      ],
      { stdout: 'pipe' },
    );
    try {
      await server.stdout.getReader().read();
      using probe = new Sqlite(old.file, { readwrite: true });
      expect(thrownBy(() => probe.run('PRAGMA journal_mode = DELETE'))).toMatchObject({ code: 'SQLITE_BUSY' });
      probe.close();
      expect(thrownBy(() => open(old.path, LATER))).toMatchObject({
        kind: 'in-use',
        message: expect.stringContaining('another process has it open: stop that one, and run this again'),
      });
      expect(existsSync(`${old.file}.schema-${V}`)).toBe(false);
    } finally {
      server.kill('SIGKILL');
      await server.exited;
    }
    open(old.path, LATER).close();
    expect(contentOf(old.file).version).toBe(V + 3);
  });

  test('that two processes upgrade at the same time is upgraded once', async () => {
    using old = await recordings();
    const command = [...BUN, join(import.meta.dir, 'upgraded-by-child.ts'), old.path, 'none'];
    const children = [1, 2, 3].map(() => Bun.spawn(command, { stderr: 'inherit' }));
    expect(await Promise.all(children.map(({ exited }) => exited))).toEqual([0, 0, 0]);
    expect(contentOf(old.file)).toMatchObject({ version: V + 3, integrity: 'ok' });
    expect(contentOf(`${old.file}.schema-${V}`)).toEqual(old.content);
  });

  test('Processes that open a database without a write-ahead log, as an upgrade leaves it, at the same instant all open it.', async () => {
    using root = temporaryDirectory();
    const directories = Array.from({ length: 60 }, (_, index) => join(root.path, String(index)));
    for (const directory of directories) {
      Database.open(directory, RECORDINGS, { create: true }).close();
      Database.mergeLog(join(directory, NAME));
    }
    const command = [...BUN, OPENED_TOGETHER, String(Date.now() + 1500), ...directories];
    const children = [1, 2, 3, 4].map(() => Bun.spawn(command, { stderr: 'pipe' }));
    const errors = await Promise.all(children.map(({ stderr }) => new Response(stderr).text()));
    expect(errors).toEqual(['', '', '', '']);
  });

  test('in a copy, such as a backup that is restored, is upgraded without another copy', async () => {
    using old = await recordings();
    Database.upgradeCopy(old.file, LATER);
    expect(contentOf(old.file)).toMatchObject({ version: V + 3, integrity: 'ok' });
    expect(readdirSync(old.path)).toEqual([NAME]);
  });

  test('with rows that refer to missing ones stays as it was', async () => {
    using old = await recordings();
    const broken: Migration = { sql: 'DELETE FROM markets' };
    const error = thrownBy(() => open(old.path, laterRecordings([broken])));
    expect(error).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('is damaged and was not upgraded'),
    });
    expect(contentOf(old.file)).toEqual(old.content);
  });

  test('whose migration fails stays as it was, and works with the earlier program', async () => {
    using old = await recordings();
    const failing = laterRecordings([...migrationsThat(ignored), { sql: 'SELECT no_such_function()' }]);
    expect(thrownBy(() => open(old.path, failing))).toBeInstanceOf(DomainError);
    expect(contentOf(old.file)).toEqual(old.content);
    openArchive(old.path, NOW_MS, { create: false }).database.close();
    expect(contentOf(old.file)).toEqual(old.content);
  });
});

describe('after kill -9', () => {
  test.each([
    ['between the copy and the first migration', 0],
    ['in the middle of the migrations', 2],
  ])('After kill -9 a database has its earlier schema or the newest one. (%s)', async (_, index) => {
    using old = await recordings();
    const child = Bun.spawn([...BUN, join(import.meta.dir, 'upgraded-by-child.ts'), old.path, String(index)], {
      stderr: 'inherit',
    });
    await child.exited;
    expect(child.signalCode).toBe('SIGKILL');
    // Of the migrations, a part is on disk.
    expect(existsSync(`${old.file}-journal`)).toBe(index > 0);
    expect(contentOf(`${old.file}.schema-${V}`)).toEqual(old.content);
    openArchive(old.path, NOW_MS, { create: false }).database.close();
    expect(contentOf(old.file)).toEqual(old.content);
    open(old.path, LATER).close();
    expect(contentOf(old.file)).toMatchObject({ version: V + 3, integrity: 'ok' });
    expect(readdirSync(old.path).sort()).toEqual([NAME, `${NAME}.schema-${V}`]);
  });

  test('during the copy nothing has changed, and the next upgrade removes the rest', async () => {
    using old = await recordings();
    writeFileSync(`${old.file}.schema-${V}.partial`, 'half a copy');
    open(old.path, LATER).close();
    expect(contentOf(`${old.file}.schema-${V}`)).toEqual(old.content);
    expect(readdirSync(old.path).sort()).toEqual([NAME, `${NAME}.schema-${V}`]);
  });
});

describe('a full disk', () => {
  test.skipIf(!CAN_MOUNT).each([
    ['the copy', 1.5, `.schema-${V}`],
    ['the migrations', 3, ''],
  ])(
    'during %s leaves the database as it was, and says what to do (needs to mount a tmpfs)',
    async (_, times, named) => {
      using old = await recordings();
      using directory = temporaryDirectory();
      using disk = smallDisk(directory.path, '64m');
      const file = join(disk!.path, NAME);
      const bytes = readFileSync(old.file);
      writeFileSync(file, bytes);
      const wide: Migration = { sql: 'CREATE TABLE wide AS SELECT zeroblob(1000000) FROM segments' };
      disk!.resize(`${Math.ceil((bytes.length * times) / 4096) * 4}k`);
      const error = thrownBy(() => open(disk!.path, laterRecordings([wide])));
      expect((error as DomainError).message).toMatch(
        new RegExp(`^the disk is full, '${file}${named}[a-z.]*' cannot grow: free some space and run this again`),
      );
      expect(contentOf(file)).toEqual(old.content);
      disk!.resize('64m');
      open(disk!.path, LATER).close();
      expect(contentOf(file)).toMatchObject({ version: V + 3, integrity: 'ok' });
    },
  );
});
