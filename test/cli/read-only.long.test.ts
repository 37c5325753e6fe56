import { describe, expect, test } from 'bun:test';
import { chmodSync, chownSync, cpSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { hasDisk, smallDisk } from '../support/disks.ts';
import { EXECUTABLE, finished, issueKey, printed } from '../support/executable.ts';
import { LIGHT_MARKET, lightNdjson } from '../support/light-recording.ts';
import { ORDINARY_USER } from '../support/ordinary-user.ts';

const NOBODY = 65_534;
const SNAPSHOTS = `/v1/btc/markets/${LIGHT_MARKET.slug}/snapshots?limit=3`;
const HAS_DISK = hasDisk((parent) => smallDisk(parent, '1m'));

/** An archive that can be read only. */
interface ReadOnly extends Disposable {
  readonly data: string;
  /** What a command begins with: another user, who has only the permissions of the modes. */
  readonly prefix: readonly string[];
}

/** A complete archive with one key. */
async function writable(directory: string): Promise<{ readonly data: string; readonly key: string }> {
  const data = join(directory, 'data');
  await printed(['import', '-', '--data', data], { stdin: lightNdjson(5) });
  const { key } = await issueKey(data);
  return { data, key };
}

/** Nobody may write to the files. */
function withMode444(data: string): ReadOnly {
  for (const name of readdirSync(data)) chmodSync(join(data, name), 0o444);
  return { data, prefix: [], [Symbol.dispose]: () => undefined };
}

/** The owner of the files, and no root, who may write neither to the files nor to their directory. */
function ofOrdinaryUser(data: string): ReadOnly {
  for (let path = join(data, '..'); path.startsWith(`${tmpdir()}/`); path = join(path, '..')) chmodSync(path, 0o755);
  for (const name of readdirSync(data)) {
    chownSync(join(data, name), NOBODY, NOBODY);
    chmodSync(join(data, name), 0o444);
  }
  chmodSync(data, 0o555);
  return { data, prefix: ORDINARY_USER!, [Symbol.dispose]: () => chmodSync(data, 0o755) };
}

function onMount(data: string): ReadOnly {
  const disk = smallDisk(join(data, '..'), '128m')!;
  cpSync(data, join(disk.path, 'data'), { recursive: true });
  disk.becomeReadOnly();
  return { data: join(disk.path, 'data'), prefix: [], [Symbol.dispose]: () => disk[Symbol.dispose]() };
}

const KINDS: readonly (readonly [name: string, make: (data: string) => ReadOnly, isPossible: boolean])[] = [
  ['with files of mode 444', withMode444, true],
  ['of another user, in a directory of mode 555 (needs root)', ofOrdinaryUser, (ORDINARY_USER ?? []).length > 0],
  ['on a file system that is mounted read-only (needs root)', onMount, HAS_DISK],
];

function filesOf(data: string) {
  return readdirSync(data)
    .filter((name) => name.endsWith('.db') || name === 'key-secret')
    .map((name) => {
      const path = join(data, name);
      return { name, mode: statSync(path).mode, content: Bun.hash(readFileSync(path)) };
    });
}

/** Starts a command, and waits until it prints its address. */
async function started({ prefix, data }: ReadOnly, command: string) {
  const args = [EXECUTABLE, command, '--data', data, '--port', '0', '--json'];
  const running = Bun.spawn([...prefix, ...args], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const log = new Response(running.stderr).text();
  let text = '';
  for await (const chunk of running.stdout) {
    text += Buffer.from(chunk).toString();
    if (text.trimEnd().endsWith('}')) break;
  }
  if (text === '') throw new Error(await log);
  const { address } = JSON.parse(text) as { address: string };
  return {
    address,
    stop: async () => {
      running.kill('SIGTERM');
      return { code: await running.exited, log: await log };
    },
    [Symbol.dispose]: () => running.kill('SIGKILL'),
  };
}

describe.each(KINDS)('an archive %s', (_, make, isPossible) => {
  test.skipIf(!isPossible)('A database that cannot be written is opened to read it, by all commands.', async () => {
    using directory = temporaryDirectory();
    const { data, key } = await writable(directory.path);
    const args = ['export', '--data', data];
    const exported = await outputOf(args);
    using archive = make(data);
    const before = filesOf(archive.data);
    const run = async (...words: string[]) => {
      const command = [...words, '--data', archive.data];
      if (archive.prefix.length === 0) return await runCommand(command);
      return await finished([...archive.prefix, EXECUTABLE, ...command], {});
    };

    expect((await run('export')).stdout).toBe(exported);
    for (const command of ['key list', 'tier list', 'account list', 'usage', 'audit', 'verify']) {
      expect({ command, ...(await run(...command.split(' '))) }).toMatchObject({ command, code: 0 });
    }
    expect((await run('key', 'list')).stdout).toContain('owner@localhost');
    const backup = join(directory.path, 'backup');
    expect(await runCommand(['backup', backup, '--data', archive.data])).toMatchObject({ code: 0 });
    for (const command of ['key create --tier free', 'seed']) {
      const { code, stderr } = await run(...command.split(' '));
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('cannot be written') });
    }
    {
      using server = await started(archive, 'serve');
      const headers = { authorization: `Bearer ${key}` };
      const page = await fetch(`${server.address}${SNAPSHOTS}`, { headers });
      expect([page.status, ((await page.json()) as { data: unknown[] }).data.length]).toEqual([200, 3]);
      const usage = await fetch(`${server.address}/v1/account/usage`, { headers });
      expect(await usage.text()).toContain('"requests":1');
      const { code, log } = await server.stop();
      expect(code).toBe(0);
      for (const name of ['bookreel.db', 'accounts.db']) expect(log).toContain(`${name}' cannot be written: `);
      expect(log).not.toContain('"level":"error"');
    }
    {
      using replay = await started(archive, 'replay');
      expect((await fetch(`${replay.address}${SNAPSHOTS}`)).status).toBe(200);
      expect((await replay.stop()).code).toBe(0);
    }
    expect(filesOf(archive.data).filter(({ name }) => name !== 'activity.db')).toEqual(before);
  });
});

describe('an archive that can be read only', () => {
  test.skipIf(!HAS_DISK)('is replayed without accounts.db too (needs root)', async () => {
    using directory = temporaryDirectory();
    const { data } = await writable(directory.path);
    for (const name of ['accounts.db', 'key-secret']) rmSync(join(data, name));
    using archive = onMount(data);
    using replay = await started(archive, 'replay');
    expect((await fetch(`${replay.address}${SNAPSHOTS}`)).status).toBe(200);
    expect((await replay.stop()).code).toBe(0);
  });

  test('has no accounts: the settings for them are refused', async () => {
    using directory = temporaryDirectory();
    const { data } = await writable(directory.path);
    using _ = withMode444(data);
    const accounts = ['--public-url', 'http://127.0.0.1:8080'];
    expect(await runCommand(['serve', '--data', data, '--port', '0', ...accounts])).toEqual({
      code: 1,
      stdout: '',
      stderr: `bookreel: '${data}' cannot be written, and accounts and payments must be: serve it without --public-url and --payments\n`,
    });
  });

  test('is not used by others who may replace its files', async () => {
    using directory = temporaryDirectory();
    const { data } = await writable(directory.path);
    using _ = withMode444(data);
    chmodSync(data, 0o777);
    const { code, stderr } = await runCommand(['key', 'list', '--data', data]);
    expect([code, stderr]).toEqual([
      2,
      `bookreel: other users may write to '${data}': run 'chmod 700 ${data}' first\n`,
    ]);
  });
});
