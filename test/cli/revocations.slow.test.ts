import { afterAll, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import type { Revocations } from '../../src/account/revocations.ts';
import { Identities } from '../../src/store/identities.ts';
import { Passkeys } from '../../src/store/passkeys.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { NOW_MS } from '../support/archive.ts';
import { BackupWorkspaces, type Workspace } from '../support/backup-workspaces.ts';
import { runCommand } from '../support/command.ts';
import { startServer } from '../support/executable.ts';
import { PlainBrowser } from '../web/browser.ts';

const workspaces = new BackupWorkspaces();
afterAll(async () => await workspaces[Symbol.asyncDispose]());

const [STAYS, REVOKED, ROTATED, OFF, GONE] = ['stays', 'revoked', 'rotated', 'off', 'gone'] as const;
const addressOf = (name: string) => `${name}@example.com`;

/** Commands on the data directory of a workspace. */
function commandsOn(workspace: Workspace) {
  const run = async (...args: string[]) => {
    const finished = await runCommand([...args, '--data', 'data'], { cwd: workspace.path });
    if (finished.code !== 0) throw new Error(finished.stderr);
    return finished;
  };
  const issued = async (...args: string[]) =>
    JSON.parse((await run(...args, '--json')).stdout) as { readonly id: string; readonly key: string };
  return { run, issued };
}

/** A workspace with a backup, and what was revoked after it. */
async function revokedSince() {
  const workspace = await workspaces.archiveOf(3);
  const { run, issued } = commandsOn(workspace);
  const keys = new Map<string, { readonly id: string; readonly key: string }>();
  for (const name of [STAYS, REVOKED, ROTATED, OFF, GONE]) {
    keys.set(name, await issued('key', 'create', '--account', addressOf(name)));
  }
  // A session and an unused link that the backup has.
  const port = '--public-url http://127.0.0.1:1'.split(' ');
  const link = (await run('account', 'link', addressOf(STAYS), ...port)).stdout.trim();
  const browser = await signIn(workspace, (await run('account', 'link', addressOf(STAYS), ...port)).stdout.trim());
  await run('backup', 'copy');
  await run('key', 'revoke', keys.get(REVOKED)!.id);
  const present = await issued('key', 'rotate', keys.get(ROTATED)!.id);
  await run('account', 'disable', addressOf(OFF));
  await run('account', 'delete', addressOf(GONE));
  return { workspace, run, keys, present, link, browser };
}

const SITE = ['--public-url', 'http://127.0.0.1:1'];

async function signIn(workspace: Workspace, link: string): Promise<ReadonlyMap<string, string>> {
  await using server = await startServer(workspace.file('data'), SITE);
  const browser = new PlainBrowser(server.origin);
  const token = new URL(link).searchParams.get('token')!;
  const { status } = await browser.post('/sign-in/link', { token }, { origin: 'http://127.0.0.1:1' });
  expect(status).toBe(303);
  return browser.cookies;
}

interface Circumstance extends Awaited<ReturnType<typeof revokedSince>> {}

/** The statuses of the keys, of a page with the session, and of the link, in the data directory as it is. */
async function statusesOf({ workspace, keys, present, link, browser }: Circumstance) {
  await using server = await startServer(workspace.file('data'), SITE);
  const statusOf = async (path: string, headers: Record<string, string>) =>
    (await fetch(`${server.origin}${path}`, { headers, redirect: 'manual' })).status;
  const statuses: Record<string, number> = {};
  for (const [name, { key }] of [...keys, ['present', present] as const]) {
    statuses[name] = await statusOf('/v1/account', { authorization: `Bearer ${key}` });
  }
  const cookie = [...browser].map(([name, value]) => `${name}=${value}`).join('; ');
  statuses.session = await statusOf('/account', { cookie });
  statuses.link = await statusOf(`/sign-in/link${new URL(link).search}`, {});
  return statuses;
}

const REFUSED = { [REVOKED]: 401, [ROTATED]: 401, [OFF]: 401, [GONE]: 401, session: 303, link: 403 };

test('A restored backup refuses what was revoked since, by the archive that it replaces, and ends sessions and links.', async () => {
  const given = await revokedSince();
  using workspace = given.workspace;
  // A lost secret is a reason to restore.
  rmSync(workspace.file('data/key-secret'));
  const restored = await given.run('restore', 'copy', '--force');
  expect(restored.stderr).toMatch(
    /verified; refused since the backup: 5 keys, accounts and ways to sign in; the previous archive is now/,
  );
  expect(await statusesOf(given)).toEqual({ [STAYS]: 200, present: 200, ...REFUSED });
  expect((await given.run('account', 'list')).stdout).not.toContain(addressOf(GONE));
  expect((await given.run('verify')).code).toBe(0);
  const entries = JSON.parse((await given.run('audit', '--limit', '5', '--json')).stdout) as { action: string }[];
  expect(entries.map(({ action }) => action)).toEqual([
    ...['account.delete', 'account.disable', 'key.rotate', 'key.revoke', 'key.revoke'],
  ]);
  // Nothing is left to do the second time.
  const again = JSON.parse((await given.run('restore', 'copy', '--force', '--json')).stdout) as { refused: number };
  expect(again.refused).toBe(5);
  expect(workspace.names('copy')).toContain('manifest.json');
});

test('Without that archive they are refused by the output of key revoked; without both, restore says that they are not.', async () => {
  const given = await revokedSince();
  using workspace = given.workspace;
  const { stdout } = await given.run('key', 'revoked');
  for (const { key } of [...given.keys.values(), given.present]) expect(stdout).not.toContain(key);
  const list = JSON.parse(stdout) as Revocations;
  expect(list.revokedKeys).toEqual([REVOKED, GONE].map((name) => given.keys.get(name)!.id));
  writeFileSync(workspace.file('revoked.json'), stdout);
  rmSync(workspace.file('data'), { recursive: true });

  const unknown = await given.run('restore', 'copy');
  expect(unknown.stderr).toContain('keys and accounts that were revoked since the backup are accepted again');
  const lost = await statusesOf(given);
  // The present form of the rotated key is not in the backup.
  expect(lost).toEqual({
    [STAYS]: 200,
    [REVOKED]: 200,
    [ROTATED]: 200,
    [OFF]: 200,
    [GONE]: 200,
    present: 401,
    session: 303,
    link: 403,
  });

  rmSync(workspace.file('data'), { recursive: true });
  const restored = await given.run('restore', 'copy', '--revoked', 'revoked.json');
  expect(restored.stderr).toContain('refused since the backup: 5 keys, accounts and ways to sign in');
  expect(await statusesOf(given)).toEqual({ [STAYS]: 200, present: 200, ...REFUSED });

  // A list of another archive, whose accounts have the same numbers, refuses nothing here.
  const other = { ...list, revokedKeys: ['key_aaaaaaaaaa'], rotatedKeys: [] };
  const createdAt = '2020-01-01T00:00:00.000Z';
  const shifted = list.disabledAccounts.map((account) => ({ ...account, createdAt }));
  writeFileSync(workspace.file('other.json'), JSON.stringify({ ...other, disabledAccounts: shifted }));
  rmSync(workspace.file('data'), { recursive: true });
  expect((await given.run('restore', 'copy', '--revoked', 'other.json')).stderr).toContain('backup: 0 keys');
  for (const text of ['', '{}', stdout.slice(0, -20)]) {
    writeFileSync(workspace.file('bad.json'), text);
    const { code, stderr } = await runCommand(
      ['restore', 'copy', '--force', '--revoked', 'bad.json', '--data', 'data'],
      {
        cwd: workspace.path,
      },
    );
    expect([code, stderr]).toEqual([2, expect.stringContaining("is not the whole output of 'bookreel key revoked'")]);
  }
});

test('Removed passkeys, unlinked identities and former admins stay what they became after the backup, by either list.', async () => {
  using workspace = await workspaces.archiveOf(3);
  const { run, issued } = commandsOn(workspace);
  const ada = addressOf('ada');
  await issued('key', 'create', '--account', ada);
  await run('account', 'role', ada, 'admin');
  const issuer = 'https://login.example.com';
  {
    using registry = openRegistry(workspace.file('data'), { create: false });
    const { database, secret, accounts } = registry;
    const { id: accountId } = accounts.findByEmail(ada)!;
    const known = { accountId, publicKey: new Uint8Array(), counter: 0, transports: 'usb', createdMs: NOW_MS };
    database.write(() => {
      for (const name of ['lost', 'kept']) new Passkeys(database, secret).add({ ...known, credentialId: name, name });
      for (const subject of ['lost', 'kept']) new Identities(database).link({ issuer, subject }, accountId, NOW_MS);
    });
  }
  await run('backup', 'copy');
  const shown = async () => JSON.parse((await run('account', 'show', ada, '--json')).stdout);
  const passkeys = JSON.parse((await run('account', 'passkeys', ada, '--json')).stdout);
  await run('account', 'passkeys', ada, '--remove', passkeys.find(({ name }: { name: string }) => name === 'lost').id);
  await run('account', 'unlink', ada, issuer);
  {
    using registry = openRegistry(workspace.file('data'), { create: false });
    const { database, accounts } = registry;
    // Linked again: it signs in now, so it does after the restore.
    database.write(() =>
      new Identities(database).link({ issuer, subject: 'kept' }, accounts.findByEmail(ada)!.id, NOW_MS),
    );
  }
  await run('account', 'role', ada, 'user');
  writeFileSync(workspace.file('revoked.json'), (await run('key', 'revoked')).stdout);
  const now = { role: 'user', passkeys: 1, identities: [expect.objectContaining({ subject: 'kept' })] };
  expect(await shown()).toMatchObject(now);
  expect((await run('restore', 'copy', '--force')).stderr).toContain('refused since the backup: 3 ');
  expect(await shown()).toMatchObject(now);
  rmSync(workspace.file('data'), { recursive: true });
  expect((await run('restore', 'copy', '--revoked', 'revoked.json')).stderr).toContain('refused since the backup: 3 ');
  expect(await shown()).toMatchObject(now);
});

test('A damaged archive is replaced, and its revocations are asked for.', async () => {
  const given = await revokedSince();
  using workspace = given.workspace;
  writeFileSync(workspace.file('data/accounts.db'), 'damaged');
  const { stderr } = await given.run('restore', 'copy', '--force');
  expect(stderr).toContain("unless --revoked names the output of 'bookreel key revoked'");
});
