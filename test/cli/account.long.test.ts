import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Identities } from '../../src/store/identities.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { runCommand } from '../support/command.ts';
import { type Finished, startServer } from '../support/executable.ts';

/** The archive has no coins. */
const GRANTED = 404;
const EMAIL = 'desk@example.com';

interface AccountDocument {
  readonly email: string;
  readonly name: string | null;
  readonly role: string;
  readonly tier: string;
  readonly tierEndsAt: string | null;
  readonly disabledAt: string | null;
  readonly grants: readonly { readonly id: string; readonly tier: string; readonly endsAt: string | null }[];
  readonly identities: readonly { readonly issuer: string; readonly subject: string; readonly linkedAt: string }[];
  readonly audit: readonly { readonly action: string; readonly detail: object }[];
}

/** Commands on one data directory. */
function commandsOn(data: string) {
  const run = (...args: string[]): Promise<Finished> => runCommand([...args, '--data', data]);
  const json = async <T>(...args: string[]): Promise<T> => JSON.parse((await run(...args, '--json')).stdout) as T;
  return { run, json };
}

test('in a running server each change of an account applies to the next request', async () => {
  using directory = temporaryDirectory();
  const { run, json } = commandsOn(directory.path);
  expect((await run('account', 'create', EMAIL, '--name', 'Trading desk')).code).toBe(0);
  const key = (await run('key', 'create', '--account', EMAIL, '--rpm', '100000')).stdout.trim();
  await using server = await startServer(directory.path);
  const status = async (path = '/v1/sol/markets') => {
    const answer = await fetch(`${server.origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
    await answer.arrayBuffer();
    return answer.status;
  };
  const after = async (...args: string[]) => {
    expect((await run(...args)).code).toBe(0);
    return await status();
  };
  const { id } = (await json<{ id: string }[]>('key', 'list'))[0]!;
  expect(await status('/v1/btc/markets')).toBe(GRANTED);
  expect(await status()).toBe(403);
  expect(await after('account', 'grant', EMAIL, '--tier', 'pro', '--until', '2100-01-01')).toBe(GRANTED);
  expect(await after('account', 'grant', EMAIL, '--tier', 'starter')).toBe(GRANTED);
  expect(await after('account', 'disable', EMAIL.toUpperCase())).toBe(401);
  expect(await after('account', 'enable', EMAIL)).toBe(GRANTED);
  expect(await after('key', 'set', id, '--tier', 'free')).toBe(403);
  expect(await after('key', 'set', id, '--tier', 'account')).toBe(GRANTED);
  const { grants } = await json<AccountDocument>('account', 'show', EMAIL);
  expect(await after('account', 'grant', EMAIL, '--end', grants[0]!.id)).toBe(403);
  expect(await status('/v1/eth/markets')).toBe(GRANTED);
  expect(await after('account', 'role', EMAIL, 'admin')).toBe(403);
  const shown = await json<AccountDocument>('account', 'show', EMAIL);
  expect(shown).toMatchObject({ email: EMAIL, name: 'Trading desk', role: 'admin', tier: 'starter', disabledAt: null });
  expect(shown.audit.map(({ action }) => action).reverse()).toEqual([
    ...['account.create', 'key.create', 'grant.create', 'grant.create', 'account.disable', 'account.enable'],
    ...['key.set', 'key.set', 'grant.end', 'account.role'],
  ]);
});

describe('account', () => {
  test('list shows all accounts, or those with a text', async () => {
    using directory = temporaryDirectory();
    const { run, json } = commandsOn(directory.path);
    await run('account', 'create', 'you@example.com', '--admin');
    await run('key', 'create', '--tier', 'pro');
    const all = await json<AccountDocument[]>('account', 'list');
    expect(all.map(({ email, role, tier }) => [email, role, tier])).toEqual([
      ['you@example.com', 'admin', 'free'],
      ['owner@localhost', 'user', 'free'],
    ]);
    expect(await json<AccountDocument[]>('account', 'list', '--search', 'OWNER')).toEqual([all[1]!]);
    const { stdout } = await run('account', 'list', '--new-account-tier', 'starter');
    expect(stdout.split('\n').map((line) => line.split(/ +/).slice(0, 3))).toEqual([
      ['EMAIL', 'NAME', 'ROLE'],
      ['you@example.com', 'admin', 'starter'],
      ['owner@localhost', 'user', 'starter'],
      [''],
    ]);
  });

  test('addresses are stored in canonical spelling', async () => {
    using directory = temporaryDirectory();
    const { run, json } = commandsOn(directory.path);
    await run('account', 'create', ' You@Example.COM ');
    await run('key', 'create', '--tier', 'pro', '--account', ' Desk@EXAMPLE.com');
    const emails = (await json<AccountDocument[]>('account', 'list')).map(({ email }) => email);
    expect(emails).toEqual(['You@example.com', 'Desk@example.com']);
  });

  test('An account keeps keys, tier and audit when its address changes, and owner@localhost keeps its address.', async () => {
    using directory = temporaryDirectory();
    const { run, json } = commandsOn(directory.path);
    await run('account', 'create', EMAIL, '--name', 'Trading desk');
    await run('account', 'create', 'taken@example.com');
    await run('key', 'create', '--account', EMAIL);
    expect(await json<AccountDocument>('account', 'email', EMAIL.toUpperCase(), ' New@Example.ORG ')).toMatchObject({
      email: 'New@example.org',
      name: 'Trading desk',
    });
    const { keys, audit } = await json<AccountDocument & { keys: object[] }>('account', 'show', 'new@example.org');
    expect([keys.length, audit[0]]).toEqual([
      1,
      expect.objectContaining({
        action: 'account.email',
        actor: null,
        detail: { from: EMAIL, to: 'New@example.org' },
      }),
    ]);
    const taken = await run('account', 'email', 'new@example.org', 'TAKEN@example.com');
    expect([taken.code, taken.stderr]).toEqual([
      1,
      "bookreel: 'TAKEN@example.com' has an account already: choose another address\n",
    ]);
    for (const [from, to] of [
      ['new@example.org', 'owner@localhost'],
      ['owner@localhost', 'free@example.com'],
    ] as const) {
      if (from === 'owner@localhost') await run('key', 'create', '--tier', 'free');
      const refused = await run('account', 'email', from, to);
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('its address does not change')]);
    }
    expect((await run('account', 'email', 'new@example.org', 'no address')).code).toBe(2);
    const emails = (await json<AccountDocument[]>('account', 'list')).map(({ email }) => email);
    expect(emails).toEqual(['New@example.org', 'taken@example.com', 'owner@localhost']);
  });

  test('show lists the linked identities, and unlink removes those of an issuer', async () => {
    using directory = temporaryDirectory();
    const { run, json } = commandsOn(directory.path);
    await run('account', 'create', EMAIL);
    const [corp, other] = ['https://corp.example', 'https://other.example'];
    {
      using registry = openRegistry(directory.path, { create: false });
      const identities = new Identities(registry.database);
      const { id } = registry.accounts.findByEmail(EMAIL)!;
      registry.database.write(() => {
        for (const subject of ['1', '2']) identities.link({ issuer: corp, subject }, id, 0);
        identities.link({ issuer: other, subject: '1' }, id, 0);
      });
    }
    const linkedAt = '1970-01-01T00:00:00.000Z';
    const left = [{ issuer: other, subject: '1', linkedAt }];
    expect((await json<AccountDocument>('account', 'show', EMAIL)).identities).toEqual([
      { issuer: corp, subject: '1', linkedAt },
      { issuer: corp, subject: '2', linkedAt },
      ...left,
    ]);
    expect((await run('account', 'show', EMAIL)).stdout).toContain(corp);
    expect((await json<AccountDocument>('account', 'unlink', EMAIL, corp)).identities).toEqual(left);
    const { identities, audit } = await json<AccountDocument>('account', 'show', EMAIL);
    expect([identities, audit.slice(0, 2)]).toEqual([
      left,
      ['2', '1'].map((subject) =>
        expect.objectContaining({ action: 'identity.unlink', detail: { issuer: corp, subject } }),
      ),
    ]);
  });
});

describe('a command for one account', () => {
  let directory: ReturnType<typeof temporaryDirectory>;
  let desk: ReturnType<typeof commandsOn> & { readonly before: AccountDocument };

  beforeAll(async () => {
    directory = temporaryDirectory();
    const commands = commandsOn(directory.path);
    await commands.run('account', 'create', EMAIL);
    desk = { ...commands, before: await commands.json<AccountDocument>('account', 'show', EMAIL) };
  });
  afterAll(() => directory[Symbol.dispose]());

  test.each<[string[], number, string]>([
    [['account', 'unlink', EMAIL, 'https://corp.example'], 1, "has no identity of 'https://corp.example'"],
    [['account', 'create', 'nobody'], 2, 'is not an email address'],
    [['account', 'create', EMAIL, '--name', 'two\nlines'], 2, 'this name has a character'],
    [['account', 'create', 'DESK@example.com'], 1, 'has an account already'],
    [['account', 'show', 'other@example.com'], 1, "there is no account 'other@example.com'"],
    [['account', 'role', EMAIL, 'owner'], 2, 'allowed choices are user, admin'],
    [['account', 'grant', EMAIL], 2, 'name the tier to grant with --tier'],
    [['account', 'grant', EMAIL, '--tier', 'pro', '--end', 'x'], 2, 'name the tier to grant with --tier'],
    [['account', 'grant', EMAIL, '--tier', 'gold'], 2, "there is no tier 'gold'"],
    [['account', 'grant', EMAIL, '--tier', 'pro', '--until', '2020-01-01'], 2, 'the end of the grant is in the past'],
    [['account', 'grant', EMAIL, '--end', 'grant_00'], 1, "has no grant 'grant_00'"],
    [['account', 'list', '--new-account-tier', 'gold'], 2, "there is no tier 'gold'"],
    [['key', 'create'], 2, 'name a tier with --tier, or an account'],
    [['key', 'create', '--tier', 'pro', '--expires', '2020-01-01'], 2, 'a key cannot expire in the past'],
    [['key', 'set', 'key_none', '--tier', 'account'], 1, "there is no key 'key_none'"],
    [['key', 'set', 'key_none'], 2, '--tier'],
    [['account', 'delete', 'other@example.com'], 1, "there is no account 'other@example.com'"],
    [['audit', '--account', 'other@example.com'], 1, "there is no account 'other@example.com'"],
    [['audit', '--limit', '0'], 2, 'integer from 1 to 10000'],
    [['usage', '--by', 'route'], 2, 'allowed choices are account, tier'],
  ])('%j is refused', async (args, code, reason) => {
    const { run, json, before } = desk;
    const refused = await run(...args);
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code, stdout: '' });
    expect(refused.stderr).toContain(reason);
    expect(await json<AccountDocument>('account', 'show', EMAIL)).toEqual(before);
  });
});

test('A key is rotated, changed and revoked while activity.db, which only has its last use, is damaged.', async () => {
  using directory = temporaryDirectory();
  const { run, json } = commandsOn(directory.path);
  await run('key', 'create', '--tier', 'pro');
  const { id } = (await json<{ id: string }[]>('key', 'list'))[0]!;
  writeFileSync(join(directory.path, 'activity.db'), 'a letter '.repeat(3000));
  expect((await run('key', 'rotate', id)).stdout).toMatch(/^br_live_\w+\n$/);
  const rotated = await json<object>('key', 'rotate', id);
  expect(rotated).toMatchObject({ id, tier: 'pro', key: expect.stringMatching(/^br_live_/) });
  expect(rotated).not.toHaveProperty('lastUsedAt');
  expect((await run('key', 'set', id, '--tier', 'free')).code).toBe(0);
  expect(await json<object>('key', 'revoke', id)).toMatchObject({ id, revokedAt: expect.any(String) });
  expect((await run('key', 'list')).stderr).toContain('activity.db');
});

test('An account may have ten valid keys, or as many as --keys-per-account allows; keys without an account are not limited.', async () => {
  using directory = temporaryDirectory();
  const { run, json } = commandsOn(directory.path);
  const create = async (...args: string[]) => (await run('key', 'create', '--account', EMAIL, ...args)).code;
  for (let i = 0; i < 10; i += 1) expect(await create()).toBe(0);
  const refused = await run('key', 'create', '--account', EMAIL.toUpperCase());
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain('may not have more than 10 valid keys');
  expect(await create('--keys-per-account', '11')).toBe(0);
  for (const { id } of (await json<{ id: string }[]>('key', 'list')).slice(0, 2)) await run('key', 'revoke', id);
  expect(await create()).toBe(0);
  expect(await create()).toBe(1);
  // Keys without an account have no common owner.
  const owned = ['--tier', 'free', '--keys-per-account', '1'];
  for (let i = 0; i < 2; i += 1) expect((await run('key', 'create', ...owned)).code).toBe(0);
});

test('If accounts.db is missing and activity.db is not, no empty accounts.db is created.', async () => {
  using directory = temporaryDirectory();
  const { run } = commandsOn(directory.path);
  await run('key', 'create', '--account', EMAIL);
  await (await startServer(directory.path))[Symbol.asyncDispose]();
  rmSync(join(directory.path, 'accounts.db'));
  for (const args of [
    ['serve', '--port', '0'],
    ['key', 'create', '--tier', 'free'],
    ['account', 'list'],
  ]) {
    const refused = await run(...args);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain("accounts.db' is missing, and activity.db has the usage of its keys");
  }
  expect(existsSync(join(directory.path, 'accounts.db'))).toBe(false);
});

test('Keys of a disabled account are listed as such, and it gets no new ones.', async () => {
  using directory = temporaryDirectory();
  const { run } = commandsOn(directory.path);
  await run('key', 'create', '--account', EMAIL);
  await run('account', 'disable', EMAIL);
  const refused = await run('key', 'create', '--account', EMAIL);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain(`'${EMAIL}' is disabled: enable it first`);
  expect((await run('key', 'list')).stdout).toContain('account disabled 20');
  await run('account', 'enable', EMAIL);
  expect((await run('key', 'create', '--account', EMAIL)).code).toBe(0);
  expect((await run('key', 'list')).stdout).not.toContain('disabled');
});

test('a server stores usage when it stops, and key list shows the last use', async () => {
  using directory = temporaryDirectory();
  const { run, json } = commandsOn(directory.path);
  const key = (await run('key', 'create', '--tier', 'pro')).stdout.trim();
  const listed = async () => (await json<{ lastUsedAt: string | null }[]>('key', 'list'))[0]!;
  expect(await listed()).toMatchObject({ lastUsedAt: null });
  const requestsIn = async (origin: string) => {
    const answer = await fetch(`${origin}/v1/account/usage`, { headers: { authorization: `Bearer ${key}` } });
    const { data } = (await answer.json()) as { data: { keys: { requests: number }[] } };
    return data.keys[0]?.requests ?? 0;
  };
  {
    await using server = await startServer(directory.path);
    for (let i = 0; i < 3; i += 1) expect(await requestsIn(server.origin)).toBe(i);
    expect(await server.stop()).toBe(0);
  }
  const { lastUsedAt } = await listed();
  expect(Date.now() - Date.parse(lastUsedAt!)).toBeLessThan(60_000);
  await using server = await startServer(directory.path);
  expect(await requestsIn(server.origin)).toBe(3);
  expect((await run('verify')).code).toBe(0);
});

test('delete frees the address, and ends the keys and sessions in a running server', async () => {
  using directory = temporaryDirectory();
  const { run, json } = commandsOn(directory.path);
  const key = (await run('key', 'create', '--account', EMAIL, '--name', 'laptop')).stdout.trim();
  {
    await using server = await startServer(directory.path);
    const status = async () => {
      const answer = await fetch(`${server.origin}/v1/account`, { headers: { authorization: `Bearer ${key}` } });
      await answer.arrayBuffer();
      return answer.status;
    };
    expect(await status()).toBe(200);
    const deleted = await json<object>('account', 'delete', EMAIL);
    expect(deleted).toEqual({ email: EMAIL, deletedAt: expect.any(String) });
    expect(await status()).toBe(401);
    expect(await server.stop()).toBe(0);
  }
  expect(await json<object[]>('account', 'list')).toEqual([]);
  expect((await run('account', 'create', EMAIL)).code).toBe(0);
  expect((await json<{ accountDisabledAt: string | null; name: string | null }[]>('key', 'list'))[0]).toMatchObject({
    name: null,
    accountDisabledAt: expect.any(String),
  });
  // The server had counted the request when the command deleted the account.
  const { sums } = await json<{ sums: readonly object[] }>('usage');
  expect(sums).toEqual([expect.objectContaining({ account: null, requests: 1 })]);
  expect((await run('usage', '--by', 'tier')).stdout).toContain('(deleted accounts)');
  expect((await run('verify')).code).toBe(0);
});

test('usage sums requests by account and by the tier that their keys have now', async () => {
  using directory = temporaryDirectory();
  const { run, json } = commandsOn(directory.path);
  const own = (await run('key', 'create', '--account', EMAIL)).stdout.trim();
  const pinned = (await run('key', 'create', '--account', EMAIL, '--tier', 'pro')).stdout.trim();
  {
    await using server = await startServer(directory.path);
    for (const key of [own, own, pinned]) {
      await fetch(`${server.origin}/v1/sol/markets`, { headers: { authorization: `Bearer ${key}` } });
    }
    expect(await server.stop()).toBe(0);
  }
  const sums = async (...args: string[]) => (await json<{ sums: readonly object[] }>('usage', ...args)).sums;
  expect(await sums()).toEqual([expect.objectContaining({ account: EMAIL, requests: 3, forbidden: 2 })]);
  expect(await sums('--by', 'tier')).toEqual([
    expect.objectContaining({ tier: 'free', requests: 2, forbidden: 2 }),
    expect.objectContaining({ tier: 'pro', requests: 1, forbidden: 0 }),
  ]);
  expect(await sums('--to', '2020-01-01')).toEqual([]);
});

test('audit lists pages of all changes, or of those of an account', async () => {
  using directory = temporaryDirectory();
  const { run, json } = commandsOn(directory.path);
  await run('account', 'create', EMAIL);
  await run('tier', 'set', 'pro', '--rpm', '7');
  await run('account', 'disable', EMAIL);
  const page = (...args: string[]) => json<{ id: number; action: string; account: string | null }[]>('audit', ...args);
  const [disabled, changed, created] = await page();
  expect([disabled, changed, created]).toMatchObject([
    { action: 'account.disable', actor: null, account: EMAIL },
    { action: 'tier.set', account: null, detail: { tier: 'pro', requestsPerMinute: 7 } },
    { action: 'account.create', account: EMAIL },
  ]);
  expect(await page('--limit', '1')).toEqual([disabled!]);
  expect(await page('--limit', '1', '--before', String(disabled!.id))).toEqual([changed!]);
  expect(await page('--account', EMAIL)).toEqual([disabled!, created!]);
  expect((await run('audit')).stdout).toContain('tier.set');
});
