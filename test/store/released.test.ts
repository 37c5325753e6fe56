import { Database as Sqlite } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { openActivity } from '../../src/store/activity.ts';
import { openArchive } from '../../src/store/archive.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { restore } from '../../src/store/restore.ts';
import { schemaDifference } from '../../src/store/schema-difference.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';

const RELEASED = join(import.meta.dir, '../../fixtures/released');
const VERSIONS = readdirSync(RELEASED);
const KEEP = { create: false };

/** Writes the files of a release, a backup, into `directory`. */
function unpack(version: string, directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(join(RELEASED, version))) {
    const bytes = Bun.zstdDecompressSync(readFileSync(join(RELEASED, version, name)));
    writeFileSync(join(directory, name.replace(/\.zst$/, '')), bytes, { mode: 0o600 });
  }
}

async function expectWhole(directory: string): Promise<void> {
  const archive = openArchive(directory, NOW_MS, KEEP);
  const registry = openRegistry(directory, KEEP);
  const activity = openActivity(directory);
  try {
    for (const { database } of [archive, registry, activity]) expect(schemaDifference(database)).toBeUndefined();
    const count = (table: string) =>
      registry.database.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM ${table}`).get()!.n;
    expect({ keys: count('api_keys'), grants: count('grants'), audit: count('audit') > 3 }).toEqual({
      keys: 2,
      grants: 1,
      audit: true,
    });
    expect(registry.tiers.list().map(({ id }) => id)).toContain('desk');
    const market = archive.markets.afterKey(0)!;
    const times = OUTCOMES.flatMap((outcome) =>
      archive.snapshots.timesBetween(market, outcome, market.startMs, market.endMs),
    );
    const missedMs = archive.gaps.list(market.key).reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
    // None of its books is more than a minute after the one before it.
    expect(archive.recordedTimes.ofMarket(market.key)).toBe(Math.max(...times) - Math.min(...times) - missedMs);
    expect(times.length).toBeGreaterThan(200);
    const usage = activity.database.query<{ n: number }, []>('SELECT SUM(requests) AS n FROM usage').get();
    expect(usage?.n).toBe(2);
  } finally {
    for (const { database } of [archive, registry, activity]) database.close();
  }
  const { totals, problems } = await verifyDirectory(directory, { clock: () => NOW_MS });
  expect({ problems, markets: totals.markets, snapshots: totals.snapshots }).toEqual({
    problems: [],
    markets: 1,
    snapshots: 300,
  });
}

test('the first release, and the last one with a new schema, are here', () => {
  expect(VERSIONS).toEqual(expect.arrayContaining(['0.2.0', '0.3.0']));
});

describe.each(VERSIONS)('the data directory of version %s', (version) => {
  test('is upgraded to the schema of this program, with all that it has', async () => {
    using parent = temporaryDirectory();
    const directory = join(parent.path, 'data');
    unpack(version, directory);
    await expectWhole(directory);
  });

  test('is upgraded when it is restored from its backup, which stays as it is', async () => {
    using parent = temporaryDirectory();
    const [backup, directory] = [join(parent.path, 'backup'), join(parent.path, 'data')];
    unpack(version, backup);
    const bytes = () => readdirSync(backup).map((name) => Bun.hash(readFileSync(join(backup, name))));
    const before = bytes();
    await restore(backup, directory, { force: false, check: async () => undefined });
    expect(bytes()).toEqual(before);
    await expectWhole(directory);
  });
});

test('an upgrade replaces the addresses of accounts that an earlier version deleted', () => {
  using parent = temporaryDirectory();
  unpack('0.3.0', parent.path);
  const path = join(parent.path, 'accounts.db');
  {
    using earlier = new Sqlite(path);
    earlier.run(`INSERT INTO accounts (account_id, email, created_ms, disabled_ms, deleted_ms)
      VALUES (77, 'account-77@deleted.invalid', 1, 2, 2), (78, 'kept@example.com', 1, NULL, NULL)`);
    const append = earlier.query('INSERT INTO audit (at_ms, action, account_id, detail) VALUES (1, ?, ?, ?)');
    for (const [id, name] of [
      [77, 'gone'],
      [78, 'kept'],
    ] as const) {
      append.run('account.email', id, JSON.stringify({ from: `${name}@example.com`, to: `${name}@example.org` }));
      append.run(
        'identity.link',
        id,
        JSON.stringify({ provider: 'corp', issuer: 'https://i', subject: `${name}-sub` }),
      );
      append.run('key.create', id, JSON.stringify({ key: 'key_1', tier: null }));
    }
  }
  using registry = openRegistry(parent.path, KEEP);
  expect(registry.audit.list(9, { accountId: 77 }).map(({ detail }) => detail)).toEqual([
    { key: 'key_1', tier: null },
    { provider: 'corp', issuer: 'https://i', subject: null },
    { from: 'account-77@deleted.invalid', to: 'account-77@deleted.invalid' },
  ]);
  registry.database.checkpoint();
  const bytes = readFileSync(path, 'latin1');
  expect(['gone@example', 'gone-sub', 'kept@example.org', 'kept-sub'].map((text) => bytes.includes(text))).toEqual([
    false,
    false,
    true,
    true,
  ]);
});
