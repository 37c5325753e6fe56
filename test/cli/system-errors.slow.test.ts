import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { outputOf } from '../support/command.ts';
import { hasDisk, smallDisk } from '../support/disks.ts';
import { EXECUTABLE, finished } from '../support/executable.ts';
import { writeLightRecording } from '../support/light-recording.ts';
import { ORDINARY_USER } from '../support/ordinary-user.ts';

const directory = temporaryDirectory();
const at = (name: string) => join(directory.path, name);
const data = at('data');
const IS_ROOT = process.getuid?.() === 0;

beforeAll(async () => {
  chmodSync(directory.path, 0o755);
  writeFileSync(at('file'), 'text');
  symlinkSync(at('loop'), at('loop'));
  mkdirSync(at('hidden'), { mode: 0o700 });
  writeLightRecording(at('light.ndjson'), 5);
  await outputOf(['import', at('light.ndjson'), '--data', data]);
  await outputOf(['backup', at('backup'), '--data', data]);
});
afterAll(() => directory[Symbol.dispose]());

/** Commands that write to a path. */
const WRITING = (path: string): readonly (readonly string[])[] => [
  ['serve', '--port', '0', '--data', path],
  ['key', 'create', '--tier', 'pro', '--data', path],
  ['seed', '--data', path],
  ['import', at('light.ndjson'), '--data', path],
  ['import', at('light.ndjson'), '--rejects', path, '--data', data],
  ['backup', path, '--data', data],
  ['backup', path, '--keep', '2', '--data', data],
  ['restore', at('backup'), '--data', path],
  ['export', '-o', path, '--format', 'ndjson', '--data', data],
];

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function expectSentence({ code, stdout, stderr }: Ended, words: readonly string[]): void {
  const what = words.join(' ');
  expect({ what, stdout }).toEqual({ what, stdout: '' });
  expect({ what, stderr }).toEqual({ what, stderr: expect.stringMatching(/^(?:bookreel: [^\n]+\n)+$/) });
  expect({ what, stderr }).not.toEqual({ what, stderr: expect.stringMatching(/defect|SuppressedError/) });
  // The unit of the package is not started again.
  if (words[0] === 'serve') expect({ what, code }).toEqual({ what, code: 2 });
  expect({ what, isRefused: code === 1 || code === 2 }).toEqual({ what, isRefused: true });
}

async function inProcess(words: readonly string[]): Promise<Ended> {
  const terminal = captured();
  const code = await run([...words], terminal);
  return { code, stdout: terminal.stdout(), stderr: terminal.stderr() };
}

describe('an error of the system is a sentence that names path and reason, and cleaning up does not hide it', () => {
  test.each([
    ['ENOTDIR', 'file/below', 'a part of the path is a file'],
    ['ENAMETOOLONG', 'n'.repeat(300), 'its name is too long'],
    ['ELOOP', 'loop/below', 'its links lead in a circle'],
    ['ENOENT', '/proc/nothing/below', 'there is no such directory'],
  ])('%s', async (code, name, reason) => {
    const path = name.startsWith('/') ? name : at(name);
    for (const words of WRITING(path)) {
      const ended = await inProcess(words);
      expectSentence(ended, words);
      const said = /--rejects/.test(words.join(' ')) ? 'cannot be written' : `(${code}): ${reason}`;
      expect({ words, stderr: ended.stderr }).toEqual({ words, stderr: expect.stringContaining(said) });
    }
  });

  test.skipIf(!hasDisk((parent) => smallDisk(parent, '4m')))('EROFS and ENOSPC (needs root)', async () => {
    using full = smallDisk(directory.path, '4m')!;
    full.fill(true);
    for (const words of WRITING(join(full.path, 'below')).filter((each) => !each.includes('--rejects'))) {
      const { code, stderr } = await inProcess(words);
      expect({ words, stderr }).toEqual({
        words,
        stderr: expect.stringMatching(/disk is full|MB left|cannot be written/),
      });
      // With space again it succeeds.
      expect({ words, code }).toEqual({ words, code: 1 });
      rmSync(join(full.path, 'below'), { recursive: true, force: true });
    }
    full.becomeReadOnly();
    for (const words of WRITING(join(full.path, 'below'))) {
      const ended = await inProcess(words);
      if (words[0] !== 'backup') expectSentence(ended, words);
      expect({ words, stderr: ended.stderr }).toEqual({
        words,
        stderr: expect.stringMatching(/\(EROFS\): its file system is mounted read-only|MB left|cannot be written/),
      });
    }
  });

  test.skipIf(!IS_ROOT || ORDINARY_USER === undefined)('EACCES (needs root)', async () => {
    using own = temporaryDirectory();
    chmodSync(own.path, 0o777);
    const mine = join(own.path, 'data');
    const asUser = async (words: readonly string[]) =>
      await finished([...ORDINARY_USER!, EXECUTABLE, ...words], { cwd: own.path });
    expect((await asUser(['import', at('light.ndjson'), '--data', mine])).code).toBe(0);
    expect((await asUser(['backup', join(own.path, 'copy'), '--data', mine])).code).toBe(0);
    for (const words of WRITING(at('hidden/below'))) {
      const changed = words.map((word) =>
        word === data ? mine : word === at('backup') ? join(own.path, 'copy') : word,
      );
      const ended = await asUser(changed);
      expectSentence(ended, changed);
      expect({ words, stderr: ended.stderr }).toEqual({
        words,
        stderr: expect.stringMatching(/\(EACCES\): this user has no permission|cannot be written/),
      });
    }
  });
});

describe('serve ends with exit code 2 where a setting is wrong', () => {
  const mail = ['--public-url', 'https://x.example', '--smtp-url', 'smtp://h.example', '--smtp-sender', 'a@b.example'];
  test.each([
    [['--host', 'nosuch.invalid'], 'there is no host of this name; choose another with --port or --host'],
    [['--host', '203.0.113.1'], 'this machine does not have that address; choose another with --port or --host'],
    [
      ['--metrics-port', '0', '--metrics-host', 'nosuch.invalid'],
      'choose another with --metrics-port or --metrics-host',
    ],
    [['--tls-cert', 'nosuch', '--tls-key', 'nosuch'], "'nosuch' cannot be read"],
    [['--tls-cert', 'package.json', '--tls-key', 'package.json'], 'has no certificate in PEM'],
    [['--payments', 'nosuch'], "'nosuch' cannot be read"],
    [['--config', 'nosuch'], "'nosuch' cannot be read"],
    [[...mail, '--smtp-url', 'smtp://u@h.example', '--smtp-password-file', 'nosuch'], "'nosuch' cannot be read"],
    [[...mail, '--oidc-providers', 'a https://i.example client nosuch'], "'nosuch' cannot be read"],
    [['--new-account-tier', 'nosuch'], "there is no tier 'nosuch'"],
  ])('%p', async (args, sentence) => {
    const { code, stderr } = await inProcess(['serve', '--port', '0', '--data', data, ...args]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^bookreel: [^\n]+\n$/)]);
    expect(stderr).toContain(sentence);
  });

  test('but with 1 while another program uses the port, which the service waits for.', async () => {
    using other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('other') });
    const { code, stderr } = await inProcess(['serve', '--port', String(other.port), '--data', data]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('another program listens on it')]);
  });
});

test('The error that ended the work is shown, not one of closing what it had open.', async () => {
  const terminal = captured();
  const failing = {
    ...terminal,
    out: () => {
      using _open = {
        [Symbol.dispose]: () => {
          throw new Error('closing failed');
        },
      };
      throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO', syscall: 'write', path: '/disk/file' });
    },
  };
  expect(await run(['version'], failing)).toBe(1);
  expect(terminal.stderr()).toBe(
    "bookreel: '/disk/file' cannot be used (EIO): check the disk, and the log of the system\n",
  );
});
