import { expect, test } from 'bun:test';
import { openActivity } from '../../src/store/activity.ts';
import type { Nodes } from '../../src/store/nodes.ts';
import type { Usage } from '../../src/store/usage.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { SECRET, startHome, startNode } from './nodes.ts';

const HOUR_MS = 3_600_000;
const KEYS = Array.from({ length: 40 }, (_, i) => `key_${i}`);

/** The sums of all keys. */
function sumsOf(usage: Usage): { requests: number; bytes: number; failed: number } {
  const rows = usage.list(KEYS, 0, NOW_MS + 24 * HOUR_MS, HOUR_MS);
  const sum = (of: 'requests' | 'bytes' | 'failed') => rows.reduce((total, row) => total + row[of], 0);
  return { requests: sum('requests'), bytes: sum('bytes'), failed: sum('failed') };
}

/** The same numbers at each run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

test('Each request on a node is counted once at home, whatever reports, answers or starts of home are lost.', async () => {
  using data = temporaryDirectory();
  const random = seeded(7);
  let home = startHome(data.path);
  const lost = { reports: 0, answers: 0 };
  // Loses a third of the reports, and a third of the answers to the others.
  await using between = Bun.serve({
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      if (new URL(request.url).pathname !== '/node/usage') return new Response(null, { status: 503 });
      if (random() < 0.33) {
        lost.reports += 1;
        return new Response(null, { status: 502 });
      }
      const body = await request.text();
      const answer = await fetch(`${home.origin}/node/usage`, { method: 'POST', headers: request.headers, body });
      if (answer.ok && random() < 0.33) {
        lost.answers += 1;
        return new Response(null, { status: 502 });
      }
      return new Response(await answer.arrayBuffer(), { status: answer.status });
    },
  });
  const origin = `http://127.0.0.1:${between.port}`;
  const sent = { requests: 0, bytes: 0, failed: 0 };
  for (let run = 0; run < 2; run += 1) {
    // Another node, as after a restart.
    await using first = startNode(origin);
    await using second = startNode(origin);
    for (let step = 0; step < 60; step += 1) {
      for (const { activity, link } of [first, second]) {
        for (let i = 0; i < 30; i += 1) {
          const bytes = Math.floor(random() * 1000);
          const key = KEYS[Math.floor(random() * KEYS.length)]!;
          activity.usage.count(key, `/v1/${step % 20}`, step % 3 === 0 ? 404 : 200, bytes, NOW_MS + step * 600_000);
          sent.requests += 1;
          sent.bytes += bytes;
          sent.failed += Number(step % 3 === 0);
        }
        await link.sendUsage();
      }
      if (step % 20 !== 10) continue;
      await home[Symbol.asyncDispose]();
      home = startHome(data.path, { port: home.port });
    }
    // Until nothing is left: no reports are lost any more.
    for (const { link } of [first, second]) for (let i = 0; i < 20; i += 1) await link.sendUsage();
  }
  expect(sumsOf(home.activity.usage)).toEqual(sent);
  expect(Math.min(lost.reports, lost.answers)).toBeGreaterThan(20);
  expect(home.activity.nodes.list(0)).toHaveLength(4);
  const [lastUse] = home.activity.usage.lastUses(KEYS).values();
  expect(lastUse).toBeGreaterThanOrEqual(NOW_MS);
  await home[Symbol.asyncDispose]();
});

test('a node says once that home refuses its reports, and keeps their counts', async () => {
  using data = temporaryDirectory();
  let status = 400;
  await using refusing = Bun.serve({ port: 0, fetch: () => new Response(null, { status }) });
  const port = refusing.port!;
  await using node = startNode(`http://127.0.0.1:${port}`);
  node.activity.usage.count(KEYS[0]!, '/v1/coins', 200, 1, NOW_MS);
  await node.link.sendUsage();
  await node.link.sendUsage();
  status = 503;
  await node.link.sendUsage();
  const refusals = node.lines.filter((line) => line.startsWith('home refuses'));
  expect(refusals).toEqual(['home refuses reports of usage with 400: they are kept']);
  await refusing.stop(true);
  await using home = startHome(data.path, { port });
  await node.link.sendUsage();
  expect(sumsOf(home.activity.usage).requests).toBe(1);
});

test('more counts than one report takes are sent in several, and a node that stops sends its last ones', async () => {
  using data = temporaryDirectory();
  await using home = startHome(data.path);
  {
    await using node = startNode(home.origin);
    for (let i = 0; i < 4000; i += 1) {
      node.activity.usage.count(KEYS[i % 40]!, `/v1/{route-${i % 97}}`, 200, 1, NOW_MS);
    }
    expect(sumsOf(node.activity.usage).requests).toBe(4000);
  }
  expect(sumsOf(home.activity.usage)).toEqual({ requests: 4000, bytes: 4000, failed: 0 });
});

test('a batch is stored once, by its number, and its counts and number together', () => {
  using data = temporaryDirectory();
  const activity = openActivity(data.path);
  const { nodes, usage } = activity;
  const row = { keyId: 'key_1', route: '/v1/coins', startMs: NOW_MS, requests: 1 };
  const report = (batch: number): Parameters<Nodes['store']>[0] => ({
    ...{ id: 'a', batch, status: { position: batch }, uses: [['key_1', NOW_MS]] },
    rows: [{ ...row, forbidden: 0, limited: 0, failed: 0, bytes: 10 }],
  });
  for (const batch of [1, 1, 2, 1, 2, 3, 3]) nodes.store(report(batch), NOW_MS + batch);
  expect(sumsOf(usage)).toEqual({ requests: 3, bytes: 30, failed: 0 });
  nodes.store({ ...report(1), id: 'b' }, NOW_MS);
  expect(sumsOf(usage).requests).toBe(4);
  expect(nodes.list(NOW_MS + 1)).toEqual([{ id: 'a', seenMs: NOW_MS + 3, status: '{"position":3}' }]);
  // A report that cannot be stored as a whole leaves nothing.
  const damaged = { ...report(4), rows: [...report(4).rows, { ...report(4).rows[0]!, requests: 0.5 }] };
  expect(() => nodes.store(damaged, NOW_MS)).toThrow();
  nodes.store(report(4), NOW_MS);
  expect(sumsOf(usage).requests).toBe(5);
  // A node that was last seen so long ago is forgotten when another one comes.
  nodes.store({ ...report(1), id: 'c' }, NOW_MS + 31 * 24 * HOUR_MS);
  expect(nodes.list(0).map(({ id }) => id)).toEqual(['c']);
  activity.database.close();
});

test.each([
  ['no JSON', 'a'],
  ['a number', '1'],
  ['no id', '{"batch":1,"status":{},"rows":[],"uses":[]}'],
  ['a negative count', report({ rows: [{ ...rowOf(), requests: -1 }] })],
  ['half a request', report({ rows: [{ ...rowOf(), requests: 0.5 }] })],
  ['a key without a name', report({ rows: [{ ...rowOf(), keyId: '' }] })],
  ['a use without a time', report({ uses: [['key_1']] })],
])('a report with %s is refused, and nothing of it is stored', async (_, body) => {
  using data = temporaryDirectory();
  await using home = startHome(data.path);
  const headers = { authorization: `Node ${SECRET}` };
  const send = (text: string) => fetch(`${home.origin}/node/usage`, { method: 'POST', headers, body: text });
  expect((await send(body)).status).toBe(400);
  expect(home.activity.nodes.list(0)).toEqual([]);
  expect((await send(report({}))).status).toBe(200);
});

function rowOf() {
  return {
    ...{ keyId: 'key_1', route: '/v1', startMs: 0, requests: 1 },
    forbidden: 0,
    limited: 0,
    failed: 0,
    bytes: 0,
  };
}

function report(more: object): string {
  return JSON.stringify({ id: '0123456789abcdef', batch: 1, status: {}, rows: [rowOf()], uses: [], ...more });
}
