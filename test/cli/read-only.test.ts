import { describe, expect, test } from 'bun:test';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import { openArchive } from '../../src/store/archive.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';

const ACCOUNT = 'a@example.com';

/** A data directory that nobody may write to, after some commands. */
async function readOnly(commands: readonly string[]) {
  const directory = temporaryDirectory();
  openArchive(directory.path, NOW_MS, { create: true }).database.close();
  const command = async (words: string) => {
    const terminal = captured(() => NOW_MS);
    const code = await run([...words.split(' '), '--data', directory.path], terminal);
    return { code, stdout: terminal.stdout(), stderr: terminal.stderr() };
  };
  for (const words of commands) expect((await command(words)).code).toBe(0);
  chmodSync(directory.path, 0o555);
  const dispose = () => {
    chmodSync(directory.path, 0o700);
    directory[Symbol.dispose]();
  };
  return { command, path: directory.path, [Symbol.dispose]: dispose };
}

describe('a data directory that cannot be written', () => {
  test.each(['key create --tier free', `account create ${ACCOUNT}`, 'tier add gold --name Gold --rpm 5'])(
    'without accounts.db refuses %p: nothing would be stored',
    async (words) => {
      using place = await readOnly([]);
      const { code, stdout, stderr } = await place.command(words);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toBe(
        `bookreel: '${place.path}/accounts.db' cannot be written: check its permissions and its file system\n`,
      );
      for (const reading of ['key list', 'tier list', 'account list', 'usage', 'audit']) {
        expect(await place.command(reading)).toMatchObject({ code: 0, stderr: '' });
      }
      expect(readdirSync(place.path)).toEqual(['bookreel.db']);
    },
  );

  test('In a directory that cannot be written, a command that would create a key, an account or a link is refused.', async () => {
    using place = await readOnly([`account create ${ACCOUNT}`]);
    const refused = await place.command(`account link ${ACCOUNT} --public-url http://127.0.0.1:8080`);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toContain(`'${place.path}/activity.db' cannot be written`);
    expect(await place.command(`account sessions ${ACCOUNT}`)).toMatchObject({ code: 0, stderr: '' });
  });
});

test('a server refuses a directory below a file in one sentence', async () => {
  using directory = temporaryDirectory();
  const file = join(directory.path, 'file');
  writeFileSync(file, '');
  const terminal = captured(() => NOW_MS);
  expect(await run(['serve', '--port', '0', '--data', `${file}/data`], terminal)).toBe(2);
  expect(terminal.stderr()).toBe(
    `bookreel: '${file}/data' cannot be opened (ENOTDIR): a part of the path is a file, not a directory: name another path\n`,
  );
});
