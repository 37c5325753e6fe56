import { Database as Sqlite } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createKey } from '../../src/account/account-keys.ts';
import { openActivity } from '../../src/store/activity.ts';
import { openArchive } from '../../src/store/archive.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';

const REQUEST = { account: 'ann@example.com', name: undefined, tier: 'pro', requestsPerMinute: undefined };

/** A data directory with a key, a session and a row of usage of it, after a change of each of its files. */
async function problemsAfter(changes: Readonly<Record<'accounts' | 'activity', string>>) {
  using directory = temporaryDirectory();
  const { path } = directory;
  {
    using registry = openRegistry(path, { create: true });
    using activity = openActivity(path);
    const { apiKey } = createKey(registry, NOW_MS, REQUEST);
    const { database } = activity;
    database.write(() => {
      database
        .query<never, [number]>("INSERT INTO sessions VALUES ('s', x'00', ?, 'email', NULL, 1, 1, 1)")
        .run(apiKey.accountId);
      for (const keyId of [apiKey.id, 'deleted']) {
        database
          .query<never, [string]>("INSERT INTO usage VALUES (?, 3600000, 0, '/v1/coins', 1, 0, 0, 0, 9)")
          .run(keyId);
      }
      database.query<never, [string]>('INSERT INTO key_uses VALUES (?, 1)').run(apiKey.id);
    });
    registry.database.query('PRAGMA foreign_keys = OFF').run();
    registry.database.query(changes.accounts).run();
    database.query(changes.activity).run();
  }
  const { problems, ok, totals } = await verifyDirectory(path, { clock: () => NOW_MS });
  expect({ ok, count: totals.problems, damage: totals.damage }).toEqual({
    ok: problems.length === 0,
    count: problems.length,
    damage: problems.length,
  });
  return problems.map(({ kind, what }) => `${kind}: ${what.replace(path, '')}`);
}

const NOTHING = 'SELECT 1';

test.each<[string, string, string[]]>([
  [NOTHING, NOTHING, []],
  [
    'DELETE FROM accounts',
    NOTHING,
    [
      'reference: a row of table api_keys names a row of table accounts that does not exist',
      'reference: a row of table audit names a row of table accounts that does not exist',
      'reference: a row of table audit names a row of table accounts that does not exist',
      'reference: table sessions of activity.db names rows of table accounts that do not exist: 1',
    ],
  ],
  [
    "DELETE FROM tiers WHERE tier_id = 'pro'",
    NOTHING,
    ['reference: a row of table api_keys names a row of table tiers that does not exist'],
  ],
  [
    'DELETE FROM api_keys',
    'DELETE FROM key_uses',
    ['reference: table usage of activity.db names rows of table api_keys that do not exist: 1'],
  ],
  [
    NOTHING,
    "INSERT INTO key_uses VALUES ('key_other', 1), ('key_more', 1)",
    ['reference: table key_uses of activity.db names rows of table api_keys that do not exist: 2'],
  ],
  [
    'CREATE VIEW other AS SELECT 1',
    'DROP INDEX sessions_by_account',
    [
      `database: '/activity.db' lacks the index "sessions_by_account", unlike an archive of this program: restore from a backup that nobody changed`,
      `database: '/accounts.db' has the view "other", unlike an archive of this program: restore from a backup that nobody changed`,
    ],
  ],
])(
  'SQLite checks no reference between the databases: verify reports each broken one. (%p in accounts.db, %p in activity.db)',
  async (accounts, activity, expected) => {
    expect(await problemsAfter({ accounts, activity })).toEqual(expected);
  },
);

test('a missing key secret is a problem where there are keys', async () => {
  using directory = temporaryDirectory();
  const verified = async () => (await verifyDirectory(directory.path, { clock: () => NOW_MS })).problems;
  {
    using registry = openRegistry(directory.path, { create: true });
    rmSync(join(directory.path, 'key-secret'));
    expect(await verified()).toEqual([]);
    createKey(registry, NOW_MS, REQUEST);
  }
  expect(await verified()).toEqual([{ kind: 'database', what: expect.stringContaining("key-secret' is missing") }]);
});

test.each([0, 4096])(
  'A database whose creation was interrupted, of %d bytes, is no damage, and the next command creates it.',
  async (bytes) => {
    using directory = temporaryDirectory();
    const { path } = directory;
    // SQLite's first page without a table.
    using empty = new Sqlite(join(path, 'accounts.db'));
    if (bytes > 0) empty.run('PRAGMA journal_mode = WAL');
    empty.close();
    openArchive(path, NOW_MS, { create: true }).database.close();
    expect((await verifyDirectory(path, { clock: () => NOW_MS })).problems).toEqual([]);
    using registry = openRegistry(path, { create: true });
    createKey(registry, NOW_MS, REQUEST);
    expect((await verifyDirectory(path, { clock: () => NOW_MS })).problems).toEqual([]);
  },
);
