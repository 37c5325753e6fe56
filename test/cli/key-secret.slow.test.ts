import { Database as Sqlite } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { runCommand } from '../support/command.ts';
import { EXECUTABLE, finished } from '../support/executable.ts';
import { lightNdjson } from '../support/light-recording.ts';
import { ORDINARY_USER } from '../support/ordinary-user.ts';

const NOBODY = 65_534;
const COMMANDS = ['serve --port 0', 'serve --demo --port 0', 'key create --tier free', 'seed', 'replay --port 0'];

/** A data directory with books and without a key secret. */
async function place() {
  const directory = temporaryDirectory();
  const cwd = directory.path;
  writeFileSync(join(cwd, 'light.ndjson'), lightNdjson(3));
  const run = async (command: string) => await runCommand([...command.split(' '), '--data', 'data'], { cwd });
  expect(await run('import light.ndjson')).toMatchObject({ code: 0 });
  const secret = join(cwd, 'data', 'key-secret');
  rmSync(secret, { force: true });
  const keys = () => {
    const path = join(cwd, 'data', 'accounts.db');
    if (!existsSync(path)) return 0;
    using database = new Sqlite(path, { readonly: true });
    return database.query<{ n: number }, []>('SELECT COUNT(*) AS n FROM api_keys').get()!.n;
  };
  return { cwd, run, secret, keys, [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

describe('A key secret that cannot be read or created ends the start, and no key is stored', () => {
  test.each<[string, string, (path: string) => void]>([
    [
      'a link to a missing file',
      "'data/key-secret' is a link to a file that is missing: put that file back, or remove the link if no key exists yet",
      (path) => symlinkSync('elsewhere', path),
    ],
    [
      'a link to a directory',
      "'data/key-secret' is not a file: move it away, and restore the file from a backup of this directory",
      (path) => symlinkSync('.', path),
    ],
    ['a pipe', "'data/key-secret' is not a file", (path) => void Bun.spawnSync(['mkfifo', path])],
    ['an empty file', "'data/key-secret' is damaged", (path) => writeFileSync(path, '', { mode: 0o600 })],
    [
      'a file that others may read',
      "other users may read or write 'data/key-secret': run 'chmod 600 data/key-secret'",
      (path) => writeFileSync(path, `${'ab'.repeat(32)}\n`, { mode: 0o644 }),
    ],
  ])('%s', async (_, sentence, make) => {
    using archive = await place();
    make(archive.secret);
    for (const command of COMMANDS) {
      // The second start is refused as the first one is.
      for (let start = 0; start < 2; start += 1) {
        const { code, stdout, stderr } = await archive.run(command);
        expect({ command, code, stdout }).toEqual({ command, code: 1, stdout: '' });
        expect(stderr).toContain(sentence);
        expect(stderr).toMatch(/^bookreel: [^\n]+\n$/);
      }
    }
    expect(archive.keys()).toBe(0);
    expect(readdirSync(join(archive.cwd, 'data')).filter((name) => name.startsWith('key-secret'))).toEqual([
      'key-secret',
    ]);
    expect(existsSync(join(archive.cwd, 'data', 'elsewhere'))).toBe(false);
    // A restore puts the secret of the backup into its place.
    using other = await place();
    expect(await other.run('key create --tier free')).toMatchObject({ code: 0 });
    expect(await other.run(`backup ${join(archive.cwd, 'copy')}`)).toMatchObject({ code: 0 });
    expect(await archive.run('restore copy --force')).toMatchObject({ code: 0 });
    expect(await archive.run('key list')).toMatchObject({ code: 0 });
  });

  test.skipIf(ORDINARY_USER === undefined || process.getuid?.() !== 0)(
    'one of another user, and a directory that cannot be written (needs root)',
    async () => {
      using archive = await place();
      const asUser = async (command: string) =>
        await finished([...ORDINARY_USER!, EXECUTABLE, ...command.split(' '), '--data', 'data'], { cwd: archive.cwd });
      chmodSync(archive.cwd, 0o755);
      const data = join(archive.cwd, 'data');
      for (const path of [data, ...readdirSync(data).map((name) => join(data, name))]) chownSync(path, NOBODY, NOBODY);
      writeFileSync(archive.secret, `${'ab'.repeat(32)}\n`, { mode: 0o600 });
      for (const command of COMMANDS) {
        expect({ command, ...(await asUser(command)) }).toEqual({
          ...{ command, code: 1, stdout: '' },
          stderr: "bookreel: 'data/key-secret' cannot be read: check its permissions\n",
        });
      }
      rmSync(archive.secret);
      chmodSync(data, 0o500);
      const { code, stderr } = await asUser('key create --tier free');
      expect(code).toBe(1);
      expect(stderr).toMatch(/^bookreel: '[^\n]+\n$/);
      expect(stderr).not.toContain('defect');
      chmodSync(data, 0o700);
      expect(archive.keys()).toBe(0);
      mkdirSync(archive.secret);
      expect((await asUser('key create --tier free')).stderr).toContain('is not a file');
    },
  );
});
