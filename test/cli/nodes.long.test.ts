import { afterAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKey, revokeKey } from '../../src/account/account-keys.ts';
import { openActivity } from '../../src/store/activity.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { becomes, SECRET, startNode } from '../http/nodes.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { runExecutable, startServer } from '../support/executable.ts';
import { serveInProcesses } from '../support/processes.ts';

const directory = temporaryDirectory();
afterAll(() => directory[Symbol.dispose]());
const DATA = join(directory.path, 'data');
const SECRET_FILE = join(directory.path, 'node-secret');
writeFileSync(SECRET_FILE, `${SECRET}\n`, { mode: 0o600 });
const ARGS = ['--node-secret-file', SECRET_FILE];
const CLOCK = { clock: Date.now };

function newKeys(data: string, count: number) {
  using registry = openRegistry(data, { create: true });
  const request = { account: 'ann@example.com', name: undefined, tier: 'pro', requestsPerMinute: 100_000 };
  return Array.from({ length: count }, () => createKey(registry, Date.now(), request));
}

describe('the file of the secret of nodes', () => {
  test.each<[string, string | undefined, number, string]>([
    [
      'too short',
      'a'.repeat(31),
      0o600,
      "must have 32 or more letters, digits or signs: 'openssl rand -hex 32' makes one",
    ],
    ['with a space', `${'a'.repeat(31)} b`, 0o600, 'must have 32 or more letters'],
    ['empty', '', 0o600, 'is empty'],
    ['missing', undefined, 0o600, 'cannot be read'],
    ['readable by others', SECRET, 0o644, 'other users may read'],
  ])('%s is refused before anything is created', async (name, text, mode, sentence) => {
    const path = join(directory.path, `secret ${name}`);
    if (text !== undefined) writeFileSync(path, text);
    if (text !== undefined) chmodSync(path, mode);
    const data = join(directory.path, `data ${name}`);
    for (const command of [['serve'], ['config', 'check']]) {
      const { code, stderr, stdout } = await runExecutable([...command, '--data', data, '--node-secret-file', path]);
      expect(code).toBe(2);
      expect(`${stderr}${stdout}`).toContain(sentence);
      expect(`${stderr}${stdout}`).not.toContain('aaaa');
    }
    expect(() => mkdirSync(data)).not.toThrow();
  });
});

test('each request is counted once at home, which is killed again and again', async () => {
  const data = `${DATA}-killed`;
  const [issued] = newKeys(data, 1);
  let home = await startServer(data, ARGS);
  const port = new URL(home.origin).port;
  await using node = startNode(home.origin, CLOCK);
  await node.link.ready;
  let counted = 0;
  for (let kill = 0; kill < 5; kill += 1) {
    const killed = Bun.sleep(40 + 30 * kill).then(() => home.stop('SIGKILL'));
    for (let isAlive = true; isAlive; ) {
      for (let i = 0; i < 20; i += 1) {
        node.activity.usage.count(issued!.apiKey.id, `/v1/{r${i}}`, 200, 7, node.link.nowMs());
        counted += 1;
      }
      isAlive = await Promise.race([killed.then(() => false), node.link.sendUsage().then(() => true)]);
    }
    await killed;
    home = await startServer(data, [...ARGS, '--port', port]);
    expect(await becomes(() => node.link.isReached, true)).toBe(true);
  }
  // The first call may join one that has begun before the last counts.
  for (let i = 0; i < 2; i += 1) await node.link.sendUsage();
  await home.stop();
  const activity = openActivity(data);
  const rows = activity.usage.list([issued!.apiKey.id], 0, Date.now() + 3_600_000, 3_600_000);
  expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(counted);
  expect(rows.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(7 * counted);
  activity.database.close();
  const log = await home.log;
  for (const secret of [SECRET, issued!.key]) expect(log).not.toContain(secret);
});

test.skipIf(process.platform !== 'linux')(
  'all processes of home serve nodes, and one of them may be killed',
  async () => {
    const data = `${DATA}-processes`;
    const keys = newKeys(data, 40);
    await using home = await serveInProcesses(data, 2, ...ARGS, '--access-log', 'on');
    // Two feeds, of one process or of both.
    await using first = startNode(home.origin, CLOCK);
    await using second = startNode(home.origin, CLOCK);
    const nodes = [first, second];
    await Promise.all(nodes.map(({ link }) => link.ready));
    const { id } = keys[0]!.apiKey;
    const statuses = async () => {
      const asked = nodes.flatMap(({ link }) =>
        Array.from({ length: 100 }, async () => {
          await becomes(() => link.isReached, true);
          const request = new Request('http://data.example.com/v1/coins');
          const asked = link.forward(request, { keyId: id, address: '203.0.113.7' });
          return await asked.then(
            ({ status }) => status,
            () => 'away',
          );
        }),
      );
      return new Set(await Promise.all(asked));
    };
    expect(await statuses()).toEqual(new Set([200]));
    const known = () => nodes.map(({ tierOf }) => keys.filter(({ key }) => tierOf(key) === 'pro').length);
    expect(known()).toEqual([40, 40]);
    using registry = openRegistry(data, { create: false });
    for (const { apiKey } of keys.slice(20)) revokeKey({ registry, nowMs: Date.now() }, apiKey.id);
    expect(await becomes(known, [20, 20])).toEqual([20, 20]);
    // Both processes are killed, one after the other: keys stay, and nodes find a process again.
    for (const pid of home.pids()) {
      process.kill(pid, 'SIGKILL');
      await home.restarted(pid);
    }
    expect(await becomes(() => nodes.map(({ link }) => link.isReached), [true, true])).toEqual([true, true]);
    expect(known()).toEqual([20, 20]);
    let later = await statuses();
    for (let i = 0; i < 20 && !later.has(200); i += 1) later = await statuses();
    expect([...later]).toContain(200);
    const activity = openActivity(data);
    expect(activity.usage.list([id], 0, Date.now() + 3_600_000, 3_600_000)).toEqual([]);
    for (const { activity: own, link } of nodes) {
      own.usage.count(id, '/v1/coins', 200, 1, link.nowMs());
      await link.sendUsage();
    }
    expect(activity.usage.list([id], 0, Date.now() + 3_600_000, 3_600_000)).toMatchObject([{ requests: 2 }]);
    activity.database.close();
  },
);

test('A home that does not answer is away: requests under way end, new ones at once.', async () => {
  const data = `${DATA}-still`;
  const [issued] = newKeys(data, 1);
  await using home = await startServer(data, ARGS);
  await using node = startNode(home.origin, CLOCK);
  await node.link.ready;
  const get = async () => {
    const request = new Request('http://data.example.com/v1/coins');
    const asked = node.link.forward(request, { keyId: issued!.apiKey.id, address: '203.0.113.7' });
    return await asked.then(
      ({ status }) => status,
      (error: Error) => error.message,
    );
  };
  expect(await get()).toBe(200);
  process.kill(home.pid, 'SIGSTOP');
  const away = 'the service that answers this request is not reached: try again later';
  expect(await get()).toBe(away);
  expect(await becomes(() => node.link.isReached, false)).toBe(false);
  expect(await get()).toBe(away);
  expect(node.tierOf(issued!.key)).toBe('pro');
  process.kill(home.pid, 'SIGCONT');
  expect(await becomes(() => node.link.isReached, true)).toBe(true);
  expect(await get()).toBe(200);
});

test('a server that stops ends the feeds of its nodes', async () => {
  const data = `${DATA}-stopped`;
  newKeys(data, 1);
  const home = await startServer(data, [...ARGS, '--drain-seconds', '600']);
  await using node = startNode(home.origin, CLOCK);
  await node.link.ready;
  expect(await home.stop('SIGTERM')).toBe(0);
  expect(await becomes(() => node.link.isReached, false)).toBe(false);
  expect(node.lines).toContain('home has ended the feed of keys: known keys are valid for 30 s without it');
});
