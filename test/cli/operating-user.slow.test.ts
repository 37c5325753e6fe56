import { expect, test } from 'bun:test';
import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, finished, runExecutable } from '../support/executable.ts';

const OWN = execFileSync('id', ['-un'], { encoding: 'utf8' }).trim();

test.each([
  [{}, OWN],
  [{ SUDO_USER: 'ada.lovelace' }, OWN === 'root' ? 'ada.lovelace' : OWN],
  [{ USER: 'mallory' }, OWN],
  [{ SUDO_USER: 'CORP\\ada <b>' }, OWN],
  [{ SUDO_USER: `${'a'.repeat(65)}` }, OWN],
])('the audit names the user of a command (%j)', async (env, user) => {
  using directory = temporaryDirectory();
  const data = ['--data', directory.path];
  expect((await runExecutable(['account', 'create', 'ada@example.com', ...data], { env })).code).toBe(0);
  expect((await runExecutable(['key', 'create', '--account', 'ada@example.com', ...data], { env })).code).toBe(0);
  const links = ['--public-url', 'http://127.0.0.1:1'];
  expect((await runExecutable(['account', 'link', 'ada@example.com', ...links, ...data], { env })).code).toBe(0);
  const { stdout } = await runExecutable(['audit', '--json', ...data]);
  const entries = JSON.parse(stdout) as { action: string; operatingUser: string; actor: null; client: null }[];
  expect(entries.map(({ action }) => action)).toEqual(['account.link', 'key.create', 'account.create']);
  for (const entry of entries) expect(entry).toMatchObject({ operatingUser: user, actor: null, client: null });
  expect((await runExecutable(['audit', ...data])).stdout).toContain(`${user} (command)`);
});

test.skipIf(process.getuid?.() !== 0)('a user without a name is a number (needs root)', async () => {
  using directory = temporaryDirectory();
  chmodSync(directory.path, 0o777);
  const command = ['setpriv', '--reuid', '54321', '--regid', '54321', '--clear-groups', EXECUTABLE];
  const data = ['--data', `${directory.path}/data`];
  expect(await finished([...command, 'account', 'create', 'ada@example.com', ...data], {})).toMatchObject({ code: 0 });
  expect((await finished([...command, 'audit', ...data], {})).stdout).toContain('uid 54321 (command)');
});
