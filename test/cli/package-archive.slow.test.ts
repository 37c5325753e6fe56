import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { startChild } from '../support/child.ts';
import { runCommand } from '../support/command.ts';
import { EXECUTABLE, finished, HAS_EXECUTABLE } from '../support/executable.ts';
import { lightNdjson } from '../support/light-recording.ts';

const NOBODY = 65_534;
const IS_ROOT = process.getuid?.() === 0;

describe.skipIf(!HAS_EXECUTABLE)('the program of a package', () => {
  const root = temporaryDirectory();
  const program = join(root.path, 'usr/bin/bookreel');
  const data = join(root.path, 'var/lib/bookreel');
  const config = join(root.path, 'etc/bookreel/bookreel.toml');

  beforeAll(() => {
    for (const name of ['usr/bin', 'etc/bookreel', 'var/lib', 'work'])
      mkdirSync(join(root.path, name), { recursive: true });
    mkdirSync(data, { mode: 0o700 });
    for (const path of ['.', 'usr', 'usr/bin', 'etc', 'etc/bookreel', 'var', 'var/lib', 'work'])
      chmodSync(join(root.path, path), 0o755);
    cpSync(EXECUTABLE, program);
    writeFileSync(config, `data = "${data}"\nport = 0\nnew-account-tier = "pro"\n`);
    // As the package gives them, whatever the umask is here.
    chmodSync(program, 0o755);
    chmodSync(config, 0o644);
    if (IS_ROOT) chownSync(data, NOBODY, NOBODY);
  });
  afterAll(() => root[Symbol.dispose]());

  const ran = async (args: string, env: Readonly<Record<string, string>> = {}, stdin?: string) =>
    await finished([program, ...args.split(' ')], {
      cwd: join(root.path, 'work'),
      env,
      ...(stdin === undefined ? {} : { stdin }),
    });

  test('Where the package is installed, commands read its settings, unless --config or --data name others.', async () => {
    const shown = async (args: string, env = {}) =>
      Object.fromEntries(
        (
          JSON.parse((await ran(`config show --json ${args}`.trim(), env)).stdout) as {
            setting: string;
            value: string;
          }[]
        ).map(({ setting, value }) => [setting, value]),
      );
    const ofPackage = { config, data, 'new-account-tier': 'pro' };
    const others = { config: 'none', data: 'mine', 'new-account-tier': 'free' };
    expect(await shown('')).toMatchObject(ofPackage);
    expect(await shown('--data mine')).toMatchObject(others);
    expect(await shown('', { BOOKREEL_DATA: 'mine' })).toMatchObject(others);
    expect(await shown('--config none')).toMatchObject({ ...others, data: 'bookreel-data' });
    // The same executable elsewhere.
    const { stdout } = await finished([EXECUTABLE, 'config', 'show', '--json'], { cwd: root.path });
    expect(stdout).not.toContain(config);
  });

  test.skipIf(!IS_ROOT)(
    'Root becomes the owner of the data directory: the service uses what root creates. (needs root)',
    async () => {
      const created = await ran('key create --tier pro', { SUDO_USER: 'ada' });
      expect(created.stdout).toStartWith('br_live_');
      expect(created.stderr).toContain(`a new archive was created in '${data}'\n`);
      expect(await ran('import -', {}, lightNdjson(3))).toMatchObject({ code: 0 });
      for (const name of readdirSync(data))
        expect({ name, uid: statSync(join(data, name)).uid }).toEqual({ name, uid: NOBODY });
      expect((await ran('audit --json')).stdout).toContain('"operatingUser": "ada"');
      await using server = startChild(
        ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', program, 'serve'],
        { cwd: root.path },
      );
      const [, origin] = await server.said(/ on (http:\/\/\S+)/);
      const again = await ran('key create --tier pro');
      expect(again.stderr).not.toContain('no server');
      for (const { stdout: key } of [created, again]) {
        const answer = await fetch(`${origin}/v1/btc/markets`, { headers: { authorization: `Bearer ${key.trim()}` } });
        expect(answer.status).toBe(200);
      }
      const secret = join(root.path, 'work/secret.ndjson');
      writeFileSync(secret, lightNdjson(3), { mode: 0o600 });
      const refused = await ran(`import ${secret}`);
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain(` (this ran as the user ${NOBODY}, who owns the data directory)\n`);
    },
  );

  test.skipIf(!IS_ROOT)(
    'A user who may not read the settings of the package is told so, and gets no other archive. (needs root)',
    async () => {
      const { path } = root;
      chmodSync(join(path, 'etc/bookreel'), 0o700);
      const asNobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', program];
      const { code, stderr } = await finished([...asNobody, 'status'], { cwd: join(path, 'work') });
      chmodSync(join(path, 'etc/bookreel'), 0o755);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: `bookreel: '${config}' cannot be read: check its path and permissions\n`,
      });
    },
  );

  test.skipIf(!IS_ROOT)('Root does not serve the data of another user. (needs root)', async () => {
    expect(await ran('serve')).toEqual({
      code: 2,
      stdout: '',
      stderr: `bookreel: '${data}' belongs to the user ${NOBODY}: run this as that user (sudo -u '#${NOBODY}'), or name another directory with --data\n`,
    });
  });
});

test.each([
  'key create --tier pro',
  'import light.ndjson',
  'seed --fixtures .',
  'account create ada@example.com',
  'tier add desk --name Desk --rpm 5',
])('On a terminal a command that creates an archive names it: %s.', async (command) => {
  using directory = temporaryDirectory();
  const cwd = directory.path;
  writeFileSync(join(cwd, 'light.ndjson'), lightNdjson(3));
  const note = `a new archive was created in '${join(cwd, 'data')}'\n`;
  for (const isNamed of [true, false]) {
    const terminal = { ...captured(), errIsTerminal: true };
    const words = command
      .replace('light.ndjson', join(cwd, 'light.ndjson'))
      .replace('--fixtures .', `--fixtures ${cwd}`);
    await run([...words.split(' '), '--data', join(cwd, 'data')], terminal);
    expect({ stderr: terminal.stderr(), isNamed: terminal.stderr().includes(note) }).toMatchObject({ isNamed });
  }
});

test('A key for data that no server uses is created with a warning.', async () => {
  using directory = temporaryDirectory();
  const cwd = directory.path;
  const { stderr, stdout } = await runCommand(['key', 'create', '--tier', 'pro'], { cwd });
  expect(stdout).toStartWith('br_live_');
  expect(stderr).toContain(`no server uses '${join(cwd, 'bookreel-data')}' now; one with other data refuses the key\n`);
});

test('a dry run of an import creates no archive, and names none', async () => {
  using directory = temporaryDirectory();
  const cwd = directory.path;
  writeFileSync(join(cwd, 'light.ndjson'), lightNdjson(3));
  const { stderr } = await runCommand(['import', 'light.ndjson', '--dry-run'], { cwd });
  expect(stderr).not.toContain('new archive');
  expect(readdirSync(cwd)).toEqual(['light.ndjson']);
});
