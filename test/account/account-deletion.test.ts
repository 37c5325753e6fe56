import { Database as Sqlite } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DeletedAccounts, deleteAccount, deleteOwnAccount } from '../../src/account/account-deletion.ts';
import { createOwnKey, revokeKey } from '../../src/account/account-keys.ts';
import { endGrant, grantTier, setEmail, setRole } from '../../src/account/administration.ts';
import { RECENT_SIGN_IN_MS } from '../../src/account/recent-sign-in.ts';
import { openActivity } from '../../src/store/activity.ts';
import { Identities } from '../../src/store/identities.ts';
import { Passkeys } from '../../src/store/passkeys.ts';
import { Sessions } from '../../src/store/sessions.ts';
import { DELETED_KEYS } from '../../src/store/usage.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { NOW_MS, type TemporaryArchive, temporaryArchive } from '../support/archive.ts';
import { runCommand } from '../support/command.ts';
import { lastEntry, person } from './persons.ts';

const HOUR_MS = 3_600_000;
const EMAIL = 'ada@example.com';
const KEY_NAME = "Ada's laptop";

/** An account with everything that an account can have. */
function inhabited(held: TemporaryArchive) {
  const { registry, activity } = held;
  const ada = person(held, EMAIL, { role: 'admin' });
  const { account } = ada.actor;
  const { id } = account;
  person(held, 'root@example.com', { role: 'admin' });
  const keys = [createOwnKey(ada, { name: KEY_NAME }), createOwnKey(ada, { name: KEY_NAME })];
  revokeKey(ada, keys[1]!.apiKey.id);
  const identity = { issuer: 'https://corp.example', subject: 'ada-subject' };
  registry.database.write(() => new Identities(registry.database).link(identity, id, NOW_MS));
  const known = { credentialId: 'AA', publicKey: new Uint8Array(), counter: 0, transports: 'usb', name: KEY_NAME };
  registry.database.write(() => {
    const passkeys = new Passkeys(registry.database, registry.secret);
    passkeys.add({ accountId: id, ...known, createdMs: NOW_MS });
    passkeys.newCodes(id);
  });
  const past = grantTier(ada, id, 'starter');
  endGrant(ada, id, past.id);
  grantTier(ada, id, 'pro');
  registry.database.write(() => {
    registry.grants.add(
      { accountId: id, tier: 'pro', source: 'operator', startsMs: NOW_MS + 5, endsMs: NOW_MS + 9 },
      NOW_MS,
    );
  });
  for (const { apiKey } of keys) activity.usage.count(apiKey.id, '/v1/coins', 200, 10, NOW_MS);
  activity.usage.flush(NOW_MS);
  return { ada, account, keys, identity };
}

const usageOf = ({ activity }: TemporaryArchive, keyId: string) =>
  activity.usage.list([keyId], 0, NOW_MS, HOUR_MS).reduce((sum, { requests }) => sum + requests, 0);
const sessionsOf = ({ registry, activity }: TemporaryArchive, id: number) =>
  new Sessions(activity.database, registry.secret).list(id, NOW_MS).length;

test('A deleted account keeps its number and nothing that names a person, and its address is free at once.', async () => {
  using held = temporaryArchive();
  const { registry, activity } = held;
  const { ada, account, keys, identity } = inhabited(held);
  // Counts that are not stored yet are added as well.
  activity.usage.count(keys[0]!.apiKey.id, '/v1/coins', 200, 10, NOW_MS);
  deleteOwnAccount(ada, activity);
  for (const table of ['passkeys', 'recovery_codes']) {
    expect(registry.database.query<object, []>(`SELECT * FROM ${table}`).all()).toEqual([]);
  }
  expect(registry.accounts.findByEmail(EMAIL)).toBeUndefined();
  expect(registry.accounts.find(account.id)).toMatchObject({
    role: 'user',
    name: undefined,
    deletedMs: NOW_MS,
    disabledMs: NOW_MS,
  });
  expect(registry.apiKeys.ofAccount(account.id).map(({ name, revokedMs }) => [name, revokedMs])).toEqual([
    [undefined, NOW_MS],
    [undefined, NOW_MS],
  ]);
  expect(registry.apiKeys.authenticate(keys[0]!.key)).toBeUndefined();
  expect(new Identities(registry.database).find(identity)).toBeUndefined();
  for (const nowMs of [NOW_MS, NOW_MS + 7]) expect(registry.accountTiers.at(account.id, nowMs).tier.id).toBe('free');
  expect(sessionsOf(held, account.id)).toBe(0);
  expect(keys.map(({ apiKey }) => usageOf(held, apiKey.id))).toEqual([0, 0]);
  expect(usageOf(held, DELETED_KEYS)).toBe(3);
  expect(lastEntry(held)).toEqual({ action: 'account.delete', actorId: account.id, accountId: account.id, detail: {} });
  activity.usage.flush(NOW_MS);
  expect(usageOf(held, DELETED_KEYS)).toBe(3);
  expect(activity.usage.lastUses(keys.map(({ apiKey }) => apiKey.id)).size).toBe(0);
  expect((await verifyDirectory(held.path, { clock: () => NOW_MS })).problems).toEqual([]);

  const again = person(held, EMAIL.toUpperCase()).actor.account;
  expect(again.id).not.toBe(account.id);
  expect([again.role, registry.accountTiers.at(again.id, NOW_MS).tier.id]).toEqual(['user', 'free']);
});

test('no row of a deleted account has its address, its subject, or the name of a key', () => {
  using held = temporaryArchive();
  const { ada } = inhabited(held);
  deleteOwnAccount(ada, held.activity);
  held.activity.usage.flush(NOW_MS);
  for (const file of ['accounts.db', 'activity.db']) {
    using database = new Sqlite(join(held.path, file), { readonly: true });
    const tables = database.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const rows = tables.flatMap(({ name }) => database.query(`SELECT * FROM "${name}"`).all());
    const text = JSON.stringify(rows).toLowerCase();
    for (const secret of [EMAIL, KEY_NAME.toLowerCase(), 'ada-subject']) expect(text).not.toContain(secret);
  }
});

test.each(['the person', 'a command'])(
  'No address of an account that %s deleted is in the audit, or in a byte of accounts.db and its log after a checkpoint.',
  async (by) => {
    using held = temporaryArchive();
    const { registry, activity } = held;
    const { audit, database } = registry;
    const [first, second] = ['ada.first@example.com', 'Ada.Second@example.org'];
    const ada = person(held, first);
    const root = person(held, 'root@example.com', { role: 'admin' });
    const eve = person(held, 'eve@example.com');
    const { account } = ada.actor;
    const [from, rootFrom] = ['192.0.2.77', '198.51.100.1'];
    const sent = { ...ada, actor: { ...ada.actor, clientAddress: from, requestId: 'r-ada' } };
    const byRoot = { ...root, actor: { ...root.actor, clientAddress: rootFrom, requestId: 'r-root' } };
    setEmail({ registry, nowMs: NOW_MS, operatingUser: 'operator' }, account.id, second);
    createOwnKey({ ...sent, actor: { ...sent.actor, account: { ...account, email: second } } }, { name: KEY_NAME });
    setRole(byRoot, account.id, 'admin');
    grantTier(sent, eve.actor.account.id, 'pro');
    const detail = { provider: 'corp', issuer: 'https://corp.example', subject: 'subject-of-ada' };
    database.write(() =>
      audit.append({ atMs: NOW_MS, by: sent.actor, action: 'identity.link', accountId: account.id, detail }),
    );
    const bytes = () =>
      ['accounts.db', 'accounts.db-wal']
        .map((name) => join(held.path, name))
        .filter((path) => existsSync(path))
        .map((path) => readFileSync(path, 'latin1').toLowerCase())
        .join();
    const personal = [first, second, from, 'subject-of-ada'].map((text) => text.toLowerCase());
    database.checkpoint();
    expect(personal.filter((text) => bytes().includes(text))).toEqual(personal);
    if (by === 'the person') deleteOwnAccount(sent, activity);
    else expect((await runCommand(['account', 'delete', second, '--data', held.path])).code).toBe(0);
    database.checkpoint();
    expect(personal.filter((text) => bytes().includes(text))).toEqual([]);
    // Those of others stay.
    expect(bytes()).toContain(rootFrom);
    const email = registry.accounts.find(account.id)!.email;
    const [change] = audit.list(1, { action: 'account.email' });
    expect(change).toMatchObject({ operatingUser: 'operator', detail: { from: email, to: email } });
    const [link] = audit.list(1, { action: 'identity.link' });
    expect(link!.detail).toEqual({ ...detail, subject: null });
  },
);

test('A deletion of an account is decided in accounts.db, and the next start of a server finishes its step in activity.db.', async () => {
  using held = temporaryArchive();
  const { registry, activity } = held;
  const { ada, account, keys } = inhabited(held);
  activity.database
    .query("CREATE TRIGGER ended BEFORE DELETE ON key_uses BEGIN SELECT RAISE(ABORT, 'ended'); END")
    .run();
  expect(() => deleteOwnAccount(ada, activity)).toThrow('ended');
  activity.database.query('DROP TRIGGER ended').run();
  expect(registry.accounts.findByEmail(EMAIL)).toBeUndefined();
  expect(registry.apiKeys.authenticate(keys[0]!.key)).toBeUndefined();
  expect([sessionsOf(held, account.id), usageOf(held, keys[0]!.apiKey.id)]).toEqual([1, 1]);
  const verified = async () => (await verifyDirectory(held.path, { clock: () => NOW_MS })).problems;
  expect(await verified()).toEqual([]);

  using started = openActivity(held.path);
  new DeletedAccounts(registry, started).forget(NOW_MS + 1000 * HOUR_MS);
  expect([sessionsOf(held, account.id), usageOf(held, keys[0]!.apiKey.id), usageOf(held, DELETED_KEYS)]).toEqual([
    0, 0, 2,
  ]);
  expect(await verified()).toEqual([]);
});

test('a server forgets the counts of an account that a command deleted, also those of requests under way', () => {
  using held = temporaryArchive();
  const { registry, activity } = held;
  const { account, keys } = inhabited(held);
  const { id } = keys[0]!.apiKey;
  const deleted = new DeletedAccounts(registry, activity);
  deleted.forget(NOW_MS);
  activity.usage.count(id, '/v1/coins', 200, 10, NOW_MS);
  {
    using other = openActivity(held.path);
    deleteAccount({ registry, nowMs: NOW_MS + 1 }, account.id, other);
  }
  for (let minute = 1; minute < 4; minute += 1) {
    const nowMs = NOW_MS + minute * 60_000;
    activity.usage.flush(nowMs);
    deleted.forget(nowMs);
    expect([usageOf(held, id), usageOf(held, DELETED_KEYS)]).toEqual([0, 2 + minute]);
    expect(activity.usage.lastUses([id]).size).toBe(0);
    activity.usage.count(id, '/v1/coins', 401, 10, NOW_MS);
  }
});

test('deleting the own account needs a recent sign-in, and another admin if it is an admin', () => {
  using held = temporaryArchive();
  const ada = person(held, EMAIL);
  const admin = person(held, 'root@example.com', { role: 'admin' });
  const late = { ...ada, nowMs: NOW_MS + RECENT_SIGN_IN_MS };
  expect(() => deleteOwnAccount(late, held.activity)).toThrow('sign in again');
  expect(() => deleteOwnAccount(admin, held.activity)).toThrow('this is the last admin');
  expect(held.registry.accounts.list(9).map(({ email }) => email)).toEqual([EMAIL, 'root@example.com']);
  deleteOwnAccount(ada, held.activity);
  expect(held.registry.accounts.list(9).map(({ email }) => email)).toEqual(['root@example.com']);
});
