import { expect, test } from 'bun:test';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { runExecutable, startServer } from '../support/executable.ts';

test('doctor and config check work while a server runs, leave its files alone, and see a demo that is public', async () => {
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  await using server = await startServer(data, ['--demo']);
  const files = () =>
    readdirSync(data).map((name) => [name, statSync(join(data, name)).ino, statSync(join(data, name)).mode]);
  const before = files();
  expect(before.map(([name]) => name)).toContain('bookreel.db-wal');
  const sound = await runExecutable(['doctor', '--data', data]);
  expect(sound).toMatchObject({ code: 0, stderr: '' });
  expect(sound.stdout).toEndWith('\nnothing was found\n');
  const checked = await runExecutable(['config', 'check', '--data', data]);
  expect(checked).toMatchObject({ code: 0, stderr: '' });
  const env = { BOOKREEL_PUBLIC_URL: 'https://data.example.com', BOOKREEL_TRUSTED_PROXIES: 'loopback' };
  const open = await runExecutable(['doctor', '--data', data], { env });
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
