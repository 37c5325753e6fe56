import { expect, test } from 'bun:test';
import { createAccount } from '../../src/account/administration.ts';
import { run } from '../../src/cli/program.ts';
import { Passkeys } from '../../src/store/passkeys.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';

const ADA = 'ada@example.com';

test('The operator lists and removes the passkeys of an account, and the audit has it', async () => {
  using directory = temporaryDirectory();
  const ids = addPasskeys(directory.path, 3);
  const passkeys = async (...args: string[]) => {
    const terminal = captured();
    const code = await run(['account', 'passkeys', ADA, '--data', directory.path, ...args], terminal);
    return { code, stdout: terminal.stdout() };
  };
  const listed = async () => (JSON.parse((await passkeys('--json')).stdout) as { id: string }[]).map(({ id }) => id);
  expect((await passkeys()).stdout).toMatch(/^PASSKEY +NAME +ADDED +LAST USED\npk_\w+ +key 0 +2026-/);
  expect(await listed()).toEqual(ids);
  expect(await passkeys('--remove', ids[1]!)).toMatchObject({ code: 0 });
  expect(await passkeys('--remove', ids[1]!)).toMatchObject({ code: 1 });
  expect(await passkeys('--remove', ids[0]!, '--remove-all')).toMatchObject({ code: 2 });
  expect(await listed()).toEqual([ids[0]!, ids[2]!]);
  // A person removed it: the link in the email about that would give it back.
  {
    using registry = openRegistry(directory.path, { create: false });
    const { database, secret } = registry;
    const accountId = registry.accounts.findByEmail(ADA)!.id;
    database.write(() => new Passkeys(database, secret).remove(accountId, ids[2]!, NOW_MS));
  }
  expect(await passkeys('--remove-all')).toMatchObject({ code: 0 });
  expect(await listed()).toEqual([]);
  using registry = openRegistry(directory.path, { create: false });
  const removed = registry.audit
    .list(9, { action: 'passkey.remove' })
    .map(({ actorId, detail }) => [actorId, detail.passkey]);
  expect(removed).toEqual([ids[0]!, ids[1]!].map((id) => [undefined, id]));
  for (const table of ['passkeys', 'recovery_codes']) {
    expect(registry.database.query(`SELECT * FROM ${table}`).all()).toEqual([]);
  }
});

function addPasskeys(directory: string, count: number): string[] {
  using registry = openRegistry(directory, { create: true });
  const passkeys = new Passkeys(registry.database, registry.secret);
  return registry.database.write(() => {
    const { id: accountId } = createAccount({ registry, nowMs: NOW_MS }, { email: ADA });
    passkeys.newCodes(accountId);
    const known = { publicKey: new Uint8Array(), counter: 0, transports: 'usb' };
    return Array.from({ length: count }, (_, at) => {
      const named = { credentialId: `id${at}`, name: `key ${at}`, createdMs: NOW_MS + at };
      return passkeys.add({ accountId, ...known, ...named })!;
    });
  });
}
