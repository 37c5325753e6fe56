import { expect, test } from 'bun:test';
import { chmodSync, chownSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { EXECUTABLE, finished, issueKey, startServer } from '../support/executable.ts';
import { ORDINARY_USER } from '../support/ordinary-user.ts';

const NOBODY = 65534;

test('doctor and config check work while a server runs, leave its files alone, and see a demo that is public', async () => {
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  await using server = await startServer(data, ['--demo']);
  await outputOf(['backup', join(directory.path, 'kept'), '--data', data]);
  const files = () =>
    readdirSync(data).map((name) => [name, statSync(join(data, name)).ino, statSync(join(data, name)).mode]);
  const before = files();
  expect(before.map(([name]) => name)).toContain('bookreel.db-wal');
  const sound = await runCommand(['doctor', '--data', data]);
  expect(sound).toMatchObject({ code: 0, stderr: '' });
  expect(sound.stdout).toEndWith('\nnothing was found\n');
  const checked = await runCommand(['config', 'check', '--data', data]);
  expect(checked).toMatchObject({ code: 0, stderr: '' });
  const env = { BOOKREEL_PUBLIC_URL: 'https://data.example.com', BOOKREEL_TRUSTED_PROXIES: 'loopback' };
  const open = await runCommand(['doctor', '--data', data], { env });
  expect(open.code).toBe(3);
  expect(open.stdout).toMatch(
    /^demo: key_\w+, a key of 'serve --demo', is valid in a public service: run 'bookreel key revoke key_\w+'$/m,
  );
  expect(open.stdout).toMatch(/^demo: demo@localhost, .* is an admin/m);
  expect(open.stdout).toEndWith('\n2 findings\n');
  expect(files()).toEqual(before);
  expect((await fetch(`${server.origin}/readyz`)).status).toBe(200);
  expect(await server.stop()).toBe(0);
  expect(await server.log).not.toContain('defect');
});

test.skipIf(ORDINARY_USER === undefined || process.getuid?.() !== 0)(
  'a secret that root left, and one in a directory that cannot be entered, are findings for the user of the server (needs root)',
  async () => {
    using directory = temporaryDirectory();
    chmodSync(directory.path, 0o755);
    const data = join(directory.path, 'data');
    await issueKey(data);
    await outputOf(['backup', join(directory.path, 'kept'), '--data', data]);
    const names = readdirSync(data);
    for (const path of [data, ...names.filter((name) => name !== 'key-secret').map((name) => join(data, name))]) {
      chownSync(path, NOBODY, NOBODY);
    }
    using hidden = temporaryDirectory();
    const secret = join(hidden.path, 'secret');
    writeFileSync(secret, 'hunter2');
    const asUser = [...ORDINARY_USER!, EXECUTABLE, 'doctor', '--data', data, '--key-file', secret];
    const { code, stdout, stderr } = await finished(asUser, { cwd: directory.path });
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
    const path = join(data, 'key-secret');
    expect(stdout.split('\n').filter((line) => line !== '' && !line.endsWith(': ok'))).toEqual([
      `permissions: '${path}' belongs to the user 0, and the archive to ${NOBODY}: run 'chown ${NOBODY} ${path}'`,
      `secrets: '${secret}' cannot be read: check its path and permissions`,
      `secrets: '${path}' cannot be read: check its permissions`,
      '3 findings',
    ]);
  },
);
