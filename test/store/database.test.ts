import { Database as Sqlite } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createKey } from '../../src/account/account-keys.ts';
import { DomainError } from '../../src/domain/errors.ts';
import { openActivity } from '../../src/store/activity.ts';
import { openArchive } from '../../src/store/archive.ts';
import { Database } from '../../src/store/database.ts';
import { explained } from '../../src/store/database-errors.ts';
import { RECORDINGS } from '../../src/store/database-file.ts';
import { openRegistry, type Registry } from '../../src/store/registry.ts';
import { NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { listMarkets } from '../support/markets.ts';
import { serviceOf } from '../support/service.ts';
import { thrownBy } from '../support/thrown-by.ts';

const CREATE = { create: true };

function pragma(database: Database, name: string): unknown {
  return Object.values(database.query<Record<string, unknown>, []>(`PRAGMA ${name}`).get()!)[0];
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

/** Runs statements on the file from outside the program. */
function tamper(directory: string, ...statements: string[]): void {
  const sqlite = new Sqlite(join(directory, RECORDINGS.name), { create: true, readwrite: true });
  for (const statement of statements) sqlite.run(statement);
  sqlite.close();
}

test.skipIf(!existsSync('/dev/full'))('a full disk is one sentence that names the file (needs /dev/full)', () => {
  const error = thrownBy(() => explained('/backups/copy', () => writeFileSync('/dev/full', 'x')));
  expect(error).toBeInstanceOf(DomainError);
  expect((error as DomainError).message).toStartWith("the disk is full, '/backups/copy' cannot grow: free some space");
});

describe('a new database', () => {
  test('has strict tables only, at this schema', () => {
    using held = temporaryArchive();
    const { database } = held.archive;
    const tables = database
      .query<{ name: string; strict: number }, []>(
        "SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_%' ORDER BY name",
      )
      .all();
    expect(tables.map(({ name }) => name)).toEqual([
      ...['archive', 'changed_markets', 'deleted_markets', 'gaps', 'given_ids', 'market_details', 'markets'],
      ...['publication', 'replica', 'sealed_markets', 'sealed_series', 'segments', 'series'],
    ]);
    expect(tables.filter(({ strict }) => strict !== 1)).toEqual([]);
    expect(pragma(database, 'user_version')).toBe(RECORDINGS.version);
    expect(pragma(database, 'application_id')).toBe(0x62_6b_72_6c);
  });

  test('uses a write-ahead log, syncs commits to disk, checks references, and waits for other writers', () => {
    using held = temporaryArchive();
    const { database } = held.archive;
    expect(pragma(database, 'journal_mode')).toBe('wal');
    expect(pragma(database, 'synchronous')).toBe(2);
    expect(pragma(database, 'foreign_keys')).toBe(1);
    expect(pragma(database, 'busy_timeout')).toBeGreaterThan(1000);
    expect(pragma(database, 'page_size')).toBe(8192);
    expect(pragma(database, 'integrity_check')).toBe('ok');
  });

  test('is for its owner only, whatever the umask', () => {
    const umask = process.umask(0);
    try {
      using parent = temporaryDirectory();
      const directory = join(parent.path, 'deep', 'data');
      const archive = openArchive(directory, NOW_MS, CREATE);
      const registry = openRegistry(directory, CREATE);
      const activity = openActivity(directory);
      expect(modeOf(directory)).toBe('700');
      const databases = ['accounts.db', 'activity.db', 'bookreel.db'];
      const files = databases.flatMap((name) => [name, `${name}-shm`, `${name}-wal`]);
      expect(readdirSync(directory).sort()).toEqual([...files, 'key-secret']);
      for (const name of readdirSync(directory)) expect([name, modeOf(join(directory, name))]).toEqual([name, '600']);
      for (const { database } of [archive, registry, activity]) database.close();
    } finally {
      process.umask(umask);
    }
  });

  test('is recognised when it is opened a second time', () => {
    using directory = temporaryDirectory();
    const ids = [1, 2].map(() => {
      const archive = openArchive(directory.path, NOW_MS, CREATE);
      archive.database.close();
      return archive.archiveId;
    });
    expect(ids[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(ids[1]).toBe(ids[0]!);
  });

  test('is not created without create: true', () => {
    using directory = temporaryDirectory();
    const error = thrownBy(() => openArchive(directory.path, NOW_MS, { create: false }));
    expect(error).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('bookreel import') });
    expect(readdirSync(directory.path)).toEqual([]);
  });
});

describe('a database that cannot be used is refused with what to do', () => {
  test.each<[string, string[], { kind: string; message: unknown }]>([
    [
      'a newer schema',
      [`PRAGMA user_version = ${RECORDINGS.version + 1}`],
      { kind: 'conflict', message: expect.stringContaining(`has schema ${RECORDINGS.version + 1}`) },
    ],
    ...[0, 1, 2, 3].map((version): [string, string[], { kind: string; message: unknown }] => [
      `schema ${version} of an earlier build`,
      [`PRAGMA user_version = ${version}`],
      {
        kind: 'conflict',
        message: expect.stringContaining(
          `has schema ${version}, of an earlier bookreel: export it with the bookreel that wrote it, and import that`,
        ),
      },
    ]),
    [
      'another program’s file',
      ['PRAGMA application_id = 1196444487'],
      { kind: 'unavailable', message: expect.stringContaining('another program') },
    ],
  ])('%s', (_, statements, expected) => {
    using directory = temporaryDirectory();
    openArchive(directory.path, NOW_MS, CREATE).database.close();
    tamper(directory.path, ...statements);
    const before = Bun.hash(readBytes(directory.path));
    const error = thrownBy(() => openArchive(directory.path, NOW_MS, CREATE));
    expect(error).toBeInstanceOf(DomainError);
    expect(error).toMatchObject(expected);
    expect(thrownBy(() => Database.openToRead(join(directory.path, RECORDINGS.name), RECORDINGS))).toMatchObject(
      expected,
    );
    expect(Bun.hash(readBytes(directory.path))).toBe(before);
  });

  test('a file that is not a database', () => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, RECORDINGS.name), 'this is a letter, not a database. '.repeat(500));
    const error = thrownBy(() => openArchive(directory.path, NOW_MS, CREATE));
    expect(error).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('not a SQLite database') });
  });

  test('a directory instead of the file, and a file instead of the directory', () => {
    using directory = temporaryDirectory();
    mkdirSync(join(directory.path, RECORDINGS.name));
    expect(thrownBy(() => openArchive(directory.path, NOW_MS, CREATE))).toMatchObject({ kind: 'unavailable' });
    const file = join(directory.path, 'file');
    writeFileSync(file, '');
    expect(thrownBy(() => openArchive(file, NOW_MS, CREATE))).toMatchObject({ kind: 'unavailable' });
    expect(thrownBy(() => openArchive(join(file, 'below'), NOW_MS, CREATE))).toMatchObject({ kind: 'unavailable' });
  });

  test.skipIf(process.getuid?.() === 0)('a directory that may not be written (not as root, who may)', () => {
    using directory = temporaryDirectory();
    const locked = join(directory.path, 'locked');
    mkdirSync(locked);
    chmodSync(locked, 0o500);
    const error = thrownBy(() => openArchive(join(locked, 'data'), NOW_MS, CREATE));
    expect(error).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('permissions') });
  });
});

test('tables of another program in the file are not changed', () => {
  using directory = temporaryDirectory();
  openArchive(directory.path, NOW_MS, CREATE).database.close();
  tamper(directory.path, 'CREATE TABLE notes (text)', "INSERT INTO notes VALUES ('mine')");
  const archive = openArchive(directory.path, NOW_MS, CREATE);
  expect(archive.database.query<{ text: string }, []>('SELECT text FROM notes').all()).toEqual([{ text: 'mine' }]);
  archive.database.close();
});

describe('a write', () => {
  test('that fails changes nothing, and the next one works', () => {
    using held = temporaryArchive();
    const { database } = held.registry;
    const count = () => database.query<{ n: number }, []>('SELECT COUNT(*) AS n FROM accounts').get()!.n;
    const insert = (email: string) =>
      database.query<never, [string, number]>('INSERT INTO accounts (email, created_ms) VALUES (?, ?)').run(email, 1);
    expect(() =>
      database.write(() => {
        insert('a@example.com');
        throw new Error('stop');
      }),
    ).toThrow('stop');
    expect(count()).toBe(0);
    const refused = thrownBy(() =>
      database.write(() => {
        insert('a@example.com');
        insert('A@EXAMPLE.COM');
      }),
    );
    expect(refused).toMatchObject({ name: 'DomainError', kind: 'unavailable' });
    expect(count()).toBe(0);
    database.write(() => insert('a@example.com'));
    expect(count()).toBe(1);
    // References are checked: there is no market 99.
    const { gaps, markets } = held.archive;
    const adding = () => held.archive.database.write(() => gaps.add(99, { fromMs: 1, toMs: 2, reason: 'x' }));
    expect(thrownBy(adding)).toMatchObject({ kind: 'unavailable' });
    expect(listMarkets(markets, 'btc', undefined, 10, 0)).toEqual([]);
  });

  test('is seen by another connection once it has returned, not before', () => {
    using held = temporaryArchive();
    const other = openRegistry(held.path, { create: false });
    const { database, tiers } = held.registry;
    const free = tiers.find('free')!;
    database.write(() => {
      tiers.update({ ...free, requestsPerMinute: 11 });
      expect(other.tiers.find('free')!.requestsPerMinute).toBe(10);
    });
    expect(other.tiers.find('free')!.requestsPerMinute).toBe(11);
    other.database.close();
  });

  test('does not change the view of a read in progress', () => {
    using held = temporaryArchive();
    const other = openRegistry(held.path, { create: false });
    const { database, tiers } = held.registry;
    const free = tiers.find('free')!;
    other.database.read(() => {
      expect(other.tiers.find('free')!.requestsPerMinute).toBe(10);
      database.write(() => tiers.update({ ...free, requestsPerMinute: 11 }));
      expect(other.tiers.find('free')!.requestsPerMinute).toBe(10);
    });
    expect(other.tiers.find('free')!.requestsPerMinute).toBe(11);
    other.database.close();
  });
});

describe('reads in one shared view', () => {
  const rpmOf = ({ tiers }: Registry) => tiers.find('free')!.requestsPerMinute;
  const lookAt = (registry: Registry) => () =>
    registry.database.readShared(() => ({ rpm: rpmOf(registry), state: registry.database.state }));

  test('have one state until another process writes, which the next view has', async () => {
    using held = temporaryArchive();
    const other = openRegistry(held.path, { create: false });
    const free = other.tiers.find('free')!;
    const look = lookAt(held.registry);
    const first = look();
    expect(look()).toEqual(first);
    other.database.write(() => other.tiers.update({ ...free, requestsPerMinute: 11 }));
    await nextTurn();
    const second = look();
    expect(second.rpm).toBe(11);
    expect(second.state).not.toBe(first.state);
    await nextTurn();
    expect(look()).toEqual(second);
    other.database.close();
  });

  test('end with any other use of the connection, and errors leave it usable', () => {
    using held = temporaryArchive();
    const { database, tiers } = held.registry;
    const free = tiers.find('free')!;
    const look = lookAt(held.registry);
    const first = look();
    database.write(() => tiers.update({ ...free, requestsPerMinute: 12 }));
    const second = look();
    expect(second.rpm).toBe(12);
    expect(second.state).not.toBe(first.state);
    expect(() =>
      database.readShared(() => {
        throw new Error('stop');
      }),
    ).toThrow('stop');
    expect(look()).toEqual(second);
    expect(database.read(() => rpmOf(held.registry))).toBe(12);
    using dryRun = database.beginDryRun();
    database.write(() => tiers.update({ ...free, requestsPerMinute: 13 }));
    dryRun[Symbol.dispose]();
    expect(look().rpm).toBe(12);
    expect(look().state).not.toBe(second.state);
    database.checkpoint();
    look();
  });

  test('share it briefly: within a long tick of the event loop, writes of other processes become visible', () => {
    using held = temporaryArchive();
    const other = openRegistry(held.path, { create: false });
    const { database } = held.registry;
    const free = other.tiers.find('free')!;
    const look = lookAt(held.registry);
    const first = look();
    other.database.write(() => other.tiers.update({ ...free, requestsPerMinute: 11 }));
    Bun.sleepSync(2);
    const second = look();
    expect(second.rpm).toBe(11);
    expect(second.state).not.toBe(first.state);
    // A long read leaves no view open, which would keep the log from starting again.
    database.readShared(() => Bun.sleepSync(2));
    other.database.write(() => other.tiers.update({ ...free, requestsPerMinute: 12 }));
    expect(look().rpm).toBe(12);
    other.database.close();
  });

  test('continue in a new view after an error has ended the old one', () => {
    using held = temporaryArchive();
    const other = openRegistry(held.path, { create: false });
    const { database } = held.registry;
    const free = other.tiers.find('free')!;
    const look = lookAt(held.registry);
    const first = look();
    // As SQLite does by itself when a disk fails.
    database.readShared(() => database.query('ROLLBACK').run());
    other.database.write(() => other.tiers.update({ ...free, requestsPerMinute: 11 }));
    const second = look();
    expect(second.rpm).toBe(11);
    expect(second.state).not.toBe(first.state);
    other.database.close();
  });

  test('over sockets: a key is refused by the first request after its revocation, whatever process revoked it', async () => {
    using held = temporaryArchive();
    const other = openRegistry(held.path, { create: false });
    const { app } = serviceOf(held.archive, held.registry);
    app.listen({ hostname: '127.0.0.1', port: 0, reusePort: false });
    const ask = async (key: string) => {
      const headers = { authorization: `Bearer ${key}` };
      return (await fetch(`http://127.0.0.1:${app.server!.port}/v1/billing/tiers`, { headers })).status;
    };
    const request = { account: 'a@example.com', name: undefined, tier: 'free', requestsPerMinute: 1_000_000 };
    for (let i = 0; i < 30; i += 1) {
      const { apiKey, key } = createKey(other, NOW_MS, request);
      expect(await Promise.all([ask(key), ask(key), ask(key)])).toEqual([200, 200, 200]);
      other.database.write(() => other.apiKeys.revoke(apiKey.id, NOW_MS));
      expect(await Promise.all([ask(key), ask(key), ask(key)])).toEqual([401, 401, 401]);
    }
    await app.stop(true);
    other.database.close();
  });
});

test('the log is empty after a checkpoint, and all data is still there', () => {
  using directory = temporaryDirectory();
  const { database, tiers } = openRegistry(directory.path, CREATE);
  expect(statSync(`${database.path}-wal`).size).toBeGreaterThan(0);
  database.checkpoint();
  expect(statSync(`${database.path}-wal`).size).toBe(0);
  expect(tiers.list().length).toBe(4);
  database.close();
});

function readBytes(directory: string): Buffer {
  return readFileSync(join(directory, RECORDINGS.name));
}

test('Damage of the database is reported; damage of a file that is read within its view is not.', () => {
  using directory = temporaryDirectory();
  const { database } = openArchive(directory.path, NOW_MS, CREATE);
  let reports = 0;
  database.onCorruption = () => {
    reports += 1;
  };
  const other = join(directory.path, 'other.db');
  writeFileSync(other, 'no database, and longer than the header of one: '.repeat(10));
  const readIt = () => {
    using sqlite = new Sqlite(other, { readonly: true });
    return sqlite.query('SELECT * FROM sqlite_schema').all();
  };
  expect(thrownBy(() => database.read(() => explained(other, readIt)))).toBeInstanceOf(DomainError);
  expect(reports).toBe(0);
  expect(thrownBy(() => database.read(readIt))).toBeInstanceOf(DomainError);
  expect(reports).toBe(1);
  database.close();
});
