import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { once } from 'node:events';
import { cpSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { deleteAccount } from '../../src/account/account-deletion.ts';
import { changeKey, revokeKey, rotateKey } from '../../src/account/account-keys.ts';
import { disableAccount, enableAccount, endGrant, grantTier } from '../../src/account/administration.ts';
import type { FeedLine } from '../../src/http/node/feed-line.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { becomes, type Home, SECRET, startHome, startNode } from './nodes.ts';

const AWAY = 'the service that knows the keys is not reached: try again later';
const KEYS = ['br_live_unknown'];

/** The tier of each key now and in an hour, as home finds it. */
function tiersAtHome({ registry: { database, keyDirectory } }: Home, keys: readonly string[]) {
  return keys.map((key) =>
    [NOW_MS, NOW_MS + 3_600_000].map((ms) => database.readShared(() => keyDirectory.find(key, ms))?.tier.id),
  );
}

test('after any changes a node finds for each key what home finds', async () => {
  using data = temporaryDirectory();
  await using home = startHome(data.path);
  await using node = startNode(home.origin);
  await node.link.ready;
  const { registry } = home;
  const keys = [...KEYS];
  const change = { registry, nowMs: NOW_MS };
  const accountOf = (id: string) => registry.apiKeys.find(id)!.accountId;
  const steps: ((id: string) => void)[] = [
    (id) => revokeKey(change, id),
    (id) => keys.push(rotateKey(change, id).key),
    (id) => void changeKey(change, id, { tier: 'enterprise' }),
    (id) => void changeKey(change, id, { expiresMs: NOW_MS + 1000 }),
    (id) => void grantTier(change, accountOf(id), 'pro', NOW_MS + 2000),
    (id) => void grantTier(change, accountOf(id), 'starter'),
    (id) => endGrant(change, accountOf(id), registry.grants.ofAccount(accountOf(id))[0]!.id),
    (id) => disableAccount(change, accountOf(id), () => undefined),
    (id) => enableAccount(change, accountOf(id)),
    (id) => deleteAccount(change, accountOf(id)),
    () => registry.database.write(() => registry.tiers.move('free', 3)),
  ];
  const found = () =>
    keys.map((key) =>
      [NOW_MS, NOW_MS + 3_600_000].map((ms) => {
        const { database, keyDirectory } = node.link.registry;
        return database.readShared(() => keyDirectory.find(key, ms))?.tier.id;
      }),
    );
  const step = fc.tuple(fc.nat(steps.length - 1), fc.nat(2));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (taken) => {
      const created = ['ann', 'ann', 'bob'].map((name) => home.key(`${name}${keys.length}@example.com`));
      keys.push(...created.map(({ key }) => key));
      for (const [at, of] of taken) {
        try {
          steps[at]!(created[of]!.apiKey.id);
        } catch {
          // Some changes are refused after others: a revoked key is not rotated.
        }
      }
      expect(await becomes(found, tiersAtHome(home, keys))).toEqual(tiersAtHome(home, keys));
    }),
    { numRuns: 15, seed: 7 },
  );
  expect(new Set(tiersAtHome(home, keys).flat()).size).toBeGreaterThan(3);
});

test('a revoked key is refused on every node: 200 of 200', async () => {
  using data = temporaryDirectory();
  await using home = startHome(data.path);
  const created = Array.from({ length: 200 }, (_, i) => home.key(`a${i}@example.com`));
  await using first = startNode(home.origin);
  await using second = startNode(home.origin);
  const nodes = [first, second];
  await Promise.all(nodes.map(({ link }) => link.ready));
  const known = () => nodes.map(({ tierOf }) => created.filter(({ key }) => tierOf(key) === 'free').length);
  expect(known()).toEqual([200, 200]);
  for (const [at, { apiKey }] of created.entries()) {
    revokeKey({ registry: home.registry, nowMs: NOW_MS }, apiKey.id);
    if (at % 50 === 49) expect(await becomes(known, [199 - at, 199 - at])).toEqual([199 - at, 199 - at]);
  }
});

test('The clock of home decides when a key expires on a node, whatever the clock of the node is.', async () => {
  using data = temporaryDirectory();
  await using home = startHome(data.path);
  const { key } = home.key('ann@example.com', { expiresMs: NOW_MS + 3_600_000 });
  for (const hours of [-1, 1]) {
    home.setClock(NOW_MS);
    await using node = startNode(home.origin, { clock: () => NOW_MS + hours * 3_600_000 });
    await node.link.ready;
    expect(node.tierOf(key)).toBe('free');
    home.setClock(NOW_MS + 3_600_000);
    expect(await becomes(() => node.tierOf(key), undefined)).toBeUndefined();
  }
});

test('Without home, a node accepts known keys for the grace, and calls no unknown key wrong.', async () => {
  using data = temporaryDirectory();
  const first = startHome(data.path);
  const { port } = first;
  const { key } = first.key();
  await using node = startNode(first.origin);
  await node.link.ready;
  await first[Symbol.asyncDispose]();
  expect(await becomes(() => node.link.isReached, false)).toBe(false);
  expect([node.tierOf(key), node.tierOf('br_live_unknown')]).toEqual(['free', AWAY]);
  node.passTime(29_000);
  expect([node.tierOf(key), node.tierOf('br_live_unknown')]).toEqual(['free', AWAY]);
  node.passTime(1500);
  expect([node.tierOf(key), node.tierOf('br_live_unknown')]).toEqual([AWAY, AWAY]);
  await using _ = startHome(data.path, { port });
  expect(await becomes(() => node.tierOf(key), 'free')).toBe('free');
  expect(node.tierOf('br_live_unknown')).toBeUndefined();
  expect(node.lines.at(-1)).toBe('home is reached again');
});

test('a node that never reached home calls no key wrong', async () => {
  await using node = startNode('http://127.0.0.1:1');
  expect(node.tierOf('br_live_any')).toBe(AWAY);
  expect(await becomes(() => node.lines.length, 1)).toBe(1);
  expect(node.lines).toEqual(['home is not reached: known keys are valid for 30 s without it']);
});

test('home is started again with other keys: none is lost, and none is kept that is not there', async () => {
  using data = temporaryDirectory();
  const change = (home: Home) => ({ registry: home.registry, nowMs: NOW_MS });
  const first = startHome(data.path);
  const keys = Array.from({ length: 1200 }, (_, i) => first.key(`a${i % 7}@example.com`));
  await using node = startNode(first.origin);
  await node.link.ready;
  const all = keys.map(({ key }) => key);
  await first[Symbol.asyncDispose]();
  await becomes(() => node.link.isReached, false);
  // Meanwhile, by commands.
  const offline = startHome(data.path);
  for (const { apiKey } of keys.slice(0, 600)) revokeKey(change(offline), apiKey.id);
  all.push(rotateKey(change(offline), keys[700]!.apiKey.id).key, offline.key('new@example.com').key);
  deleteAccount(change(offline), keys[1199]!.apiKey.accountId);
  // More than home remembers.
  offline.registry.database.write(() => {
    for (let i = 0; i < 11_000; i += 1) offline.registry.apiKeys.removeName(keys[0]!.apiKey.id);
  });
  await offline[Symbol.asyncDispose]();
  await using home = startHome(data.path, { port: first.port });
  const atHome = tiersAtHome(home, all).map(([tier]) => tier);
  expect(await becomes(() => node.link.isReached, true)).toBe(true);
  expect(all.map(node.tierOf)).toEqual(atHome);
  expect(atHome.filter((tier) => tier !== undefined).length).toBeGreaterThan(400);
});

test('a feed that misses more changes than home remembers begins again', async () => {
  using data = temporaryDirectory();
  await using home = startHome(data.path);
  const { key, apiKey } = home.key();
  const { apiKey: other } = home.key();
  await using node = startNode(home.origin);
  await node.link.ready;
  home.registry.database.write(() => {
    home.registry.apiKeys.revoke(apiKey.id, NOW_MS);
    for (let i = 0; i < 11_000; i += 1) home.registry.apiKeys.removeName(other.id);
  });
  expect(await becomes(() => node.tierOf(key), undefined)).toBeUndefined();
});

async function statusOf(origin: string, path: string, init: RequestInit = {}): Promise<number> {
  const answer = await fetch(`${origin}${path}`, init);
  await answer.body?.cancel();
  return answer.status;
}

test.each(['GET /node/feed', 'POST /node/usage'])('%s takes the secret of nodes only', async (route) => {
  const [method, path] = route.split(' ') as [string, string];
  using data = temporaryDirectory();
  await using home = startHome(data.path);
  const { key } = home.key();
  const status = (authorization?: string, to = path) =>
    statusOf(home.origin, to, { method, headers: authorization === undefined ? {} : { authorization } });
  expect(await status(`Bearer ${key}`)).toBe(403);
  expect(await status(`bearer ${SECRET}`)).toBe(403);
  for (const wrong of [undefined, `Node ${SECRET}x`, 'Node ', 'Node', `Basic ${SECRET}`, SECRET]) {
    expect(await status(wrong)).toBe(401);
  }
  expect(await status(undefined, `${path}?access_token=${key}`)).toBe(401);
  // In every other place the secret is no key.
  expect(await statusOf(home.origin, '/v1/coins', { headers: { authorization: `Node ${SECRET}` } })).toBe(401);
  expect(
    await statusOf(home.origin, `/v1/coins?access_token=${key}`, { headers: { authorization: `Node ${SECRET}` } }),
  ).toBe(401);
  // 600 a minute are allowed.
  const statuses = new Set<number>();
  for (let i = 0; i < 620; i += 1) statuses.add(await status('Node wrong'));
  expect([...statuses]).toEqual([401, 429]);
  // A node behind the same address goes on.
  expect(await status(`Node ${SECRET}`)).toBe(method === 'GET' ? 200 : 400);
  expect(await home.log()).not.toContain(SECRET);
});

test('without the setting there are no routes for nodes', async () => {
  using data = temporaryDirectory();
  await using home = startHome(data.path, { hasNodes: false });
  expect(await statusOf(home.origin, '/node/feed', { headers: { authorization: `Node ${SECRET}` } })).toBe(404);
  await using node = startNode(home.origin);
  expect(await becomes(() => node.lines.length, 1)).toBe(1);
  expect(node.lines[0]).toStartWith('home has no feed of keys (serve it with --node-secret-file)');
});

test('a node with another secret says so, and learns nothing', async () => {
  using data = temporaryDirectory();
  await using home = startHome(data.path);
  const { key } = home.key();
  await using node = startNode(home.origin, { secret: `${SECRET}x` });
  expect(await becomes(() => node.lines.length, 1)).toBe(1);
  expect(node.lines[0]).toStartWith('home refuses the secret of --node-secret-file');
  expect(node.tierOf(key)).toBe(AWAY);
});

test('A node has no address and no name of a person, and no key.', async () => {
  using data = temporaryDirectory();
  await using home = startHome(data.path);
  const { key } = home.key('ann@example.com');
  await using node = startNode(home.origin);
  await node.link.ready;
  const { database } = node.link.registry;
  const tables = database.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const all = JSON.stringify(tables.map(({ name }) => database.query(`SELECT * FROM ${name}`).all()));
  expect(all).toContain('key_');
  for (const secret of ['ann@example.com', key, key.slice(0, 12)]) expect(all).not.toContain(secret);
});

/** The lines of a feed up to `ready`. */
async function feedOf(origin: string, after = ''): Promise<FeedLine[]> {
  const leaving = new AbortController();
  const headers = { authorization: `Node ${SECRET}` };
  const answer = await fetch(`${origin}/node/feed?after=${encodeURIComponent(after)}`, {
    headers,
    signal: leaving.signal,
  });
  const lines: FeedLine[] = [];
  let rest = '';
  for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) {
    const parts = `${rest}${text}`.split('\n');
    rest = parts.pop()!;
    lines.push(...parts.map((part) => JSON.parse(part) as FeedLine));
    if (lines.at(-1)?.ready === true) break;
  }
  leaving.abort();
  return lines;
}

const rowsOf = (lines: readonly FeedLine[]) => lines.flatMap(({ rows }) => rows ?? []);
const isResumed = (lines: readonly FeedLine[]) => lines[0]!.hello!.isResumed;

/** Ends home, changes its files, and starts it again on the same port. */
async function restarted(
  home: Home,
  change: (offline: Home) => void,
  prepare: () => void = () => undefined,
): Promise<Home> {
  await home[Symbol.asyncDispose]();
  prepare();
  const offline = startHome(home.path);
  change(offline);
  await offline[Symbol.asyncDispose]();
  return startHome(home.path, { port: home.port });
}

test('A node that connects again gets the rows that have changed since, also from another process or after a restart of home.', async () => {
  using data = temporaryDirectory();
  const first = startHome(data.path);
  const keys = Array.from({ length: 600 }, () => first.key());
  const all = await feedOf(first.origin);
  expect([isResumed(all), rowsOf(all).length > 600]).toEqual([false, true]);
  const { position } = all.at(-1)!;
  const none = await feedOf(first.origin, position);
  expect([isResumed(none), rowsOf(none), none.at(-1)!.position]).toEqual([true, [], position]);
  const [revoked, deleted] = [keys[3]!.apiKey, first.key('bob@example.com').apiKey];
  await using home = await restarted(first, ({ registry }) => {
    revokeKey({ registry, nowMs: NOW_MS }, revoked.id);
    deleteAccount({ registry, nowMs: NOW_MS }, deleted.accountId);
  });
  await using other = startHome(data.path, { serverSecret: home.serverSecret });
  for (const { origin } of [home, other]) {
    const changed = await feedOf(origin, position);
    expect(isResumed(changed)).toBe(true);
    const names = rowsOf(changed).map(([kind, id, ...values]) => [kind, id, values.length > 0]);
    expect(names.length).toBeLessThan(10);
    expect(names).toContainEqual(['key', revoked.id, false]);
    expect(names).toContainEqual(['key', deleted.id, false]);
    expect(rowsOf(await feedOf(origin, changed.at(-1)!.position))).toEqual([]);
  }
});

test('home sends all rows after a position that it cannot know', async () => {
  using data = temporaryDirectory();
  await using home = startHome(data.path);
  home.key();
  const { position } = (await feedOf(home.origin)).at(-1)!;
  const [version, number, token] = position!.split(':') as [string, string, string];
  const wrong = [
    `0.0.1:${number}:${token}`,
    `${version}:${number}:${token.replace(/./, (first) => (first === '0' ? '1' : '0'))}`,
    `${version}:${Number(number) + 1}:${token}`,
    `${version}:${Number(number) - 1}:${token}`,
    ...[`${version}:0:`, `${version}:${number}:`, `${version}:${number}`, '::', 'x', "' OR 1=1 --"],
  ];
  for (const after of wrong) expect([after, isResumed(await feedOf(home.origin, after))]).toEqual([after, false]);
  expect(isResumed(await feedOf(home.origin, position))).toBe(true);
});

test('After a restore of home, no node keeps a key that home does not have, although as many changes were made since.', async () => {
  using data = temporaryDirectory();
  const first = startHome(data.path);
  const stays = first.key();
  const isRevokedLater = first.key();
  await using node = startNode(first.origin);
  await node.link.ready;
  const path = join(data.path, 'accounts.db');
  const backup = `${path}.backup`;
  {
    using source = new Database(path);
    source.run('VACUUM INTO ?', [backup]);
  }
  const changesAfter = (home: Home, account: string) => {
    const { key } = home.key(account);
    revokeKey({ registry: home.registry, nowMs: NOW_MS }, isRevokedLater.apiKey.id);
    return key;
  };
  const isLost = changesAfter(first, 'cat@example.com');
  expect(await becomes(() => [node.tierOf(isLost), node.tierOf(isRevokedLater.key)], ['free', undefined])).toEqual([
    'free',
    undefined,
  ]);
  const { position } = (await feedOf(first.origin)).at(-1)!;
  let isNew = '';
  await using home = await restarted(
    first,
    (offline) => {
      isNew = changesAfter(offline, 'dog@example.com');
    },
    () => {
      for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
      cpSync(backup, path);
    },
  );
  const again = await feedOf(home.origin, position);
  expect(again.at(-1)!.position!.split(':')[1]).toBe(position!.split(':')[1]);
  expect(isResumed(again)).toBe(false);
  const found = () => [isLost, isRevokedLater.key, isNew, stays.key].map(node.tierOf);
  expect(await becomes(found, [undefined, undefined, 'free', 'free'])).toEqual([undefined, undefined, 'free', 'free']);
});

test.each([
  ['all rows', false],
  ['the changes', true],
])('a node whose feed was cut before %s had arrived asks for all rows', async (_, isResumed) => {
  using data = temporaryDirectory();
  await using home = startHome(data.path);
  const { key } = home.key();
  const lines = await feedOf(home.origin);
  const { position } = lines.at(-1)!;
  const asked: (string | null)[] = [];
  const later = { rows: [], position: position!.replace(/\w+$/, 'F'.repeat(16)) };
  const hello = { ...lines[0]!.hello!, isResumed };
  // All rows; then those of another state, but not to their end.
  const feeds: FeedLine[][] = [lines, [{ ...lines[0]!, hello }, later], []];
  using server = Bun.serve({
    port: 0,
    fetch: (request) => {
      asked.push(new URL(request.url).searchParams.get('after'));
      const feed = feeds[asked.length - 1] ?? [];
      return new Response(feed.map((line) => `${JSON.stringify(line)}\n`).join(''));
    },
  });
  await using node = startNode(server.url.origin);
  expect(await becomes(() => asked.length > 2, true)).toBe(true);
  expect(asked.slice(0, 3)).toEqual([null, position!, null]);
  expect(node.tierOf(key)).toBe('free');
});

test('whatever changes while a node is cut off, it finds what home finds', async () => {
  using data = temporaryDirectory();
  await using home = startHome(data.path);
  await using other = startHome(data.path, { serverSecret: home.serverSecret });
  using relay = await startRelay([home.port, other.port]);
  await using node = startNode(relay.origin);
  await node.link.ready;
  const { registry } = home;
  const keys = [...KEYS];
  const found = () => keys.map(node.tierOf);
  const atHome = () => tiersAtHome(home, keys).map(([tier]) => tier);
  const steps = [
    (id: string) => revokeKey({ registry, nowMs: NOW_MS }, id),
    (id: string) => keys.push(rotateKey({ registry, nowMs: NOW_MS }, id).key),
    (id: string) => deleteAccount({ registry, nowMs: NOW_MS }, registry.apiKeys.find(id)!.accountId),
    () => relay.cut(),
    () => void keys.push(home.key().key),
  ];
  const step = fc.tuple(fc.nat(steps.length - 1), fc.nat(2), fc.nat(30));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (taken) => {
      const created = ['ann', 'ann', 'bob'].map((name) => home.key(`${name}${keys.length}@example.com`));
      keys.push(...created.map(({ key }) => key));
      for (const [at, of, pauseMs] of taken) {
        try {
          steps[at]!(created[of]!.apiKey.id);
        } catch {
          // As above.
        }
        await Bun.sleep(pauseMs);
      }
      relay.cut();
      expect(await becomes(found, atHome())).toEqual(atHome());
    }),
    { numRuns: 10, seed: 7 },
  );
  expect(relay.connections).toBeGreaterThan(10);
});

/** A port that leads to each of other ports in turn. */
async function startRelay(ports: readonly number[]) {
  const open = new Set<Socket>();
  let connections = 0;
  const server = createServer((client) => {
    const home = connect(ports[connections % ports.length]!, '127.0.0.1');
    connections += 1;
    open.add(client);
    for (const [from, to] of [
      [client, home],
      [home, client],
    ] as const) {
      from.pipe(to);
      from.on('error', () => undefined);
      from.on('close', () => to.destroy());
    }
    client.on('close', () => open.delete(client));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => {
      for (const client of open) client.destroy();
    },
    get connections() {
      return connections;
    },
    [Symbol.dispose]: () => {
      for (const client of open) client.destroy();
      server.close();
    },
  };
}
