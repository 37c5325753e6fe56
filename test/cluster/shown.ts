import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../judges/free-port.ts';
import { startCeph } from '../support/ceph.ts';
import { ask, questionsAbout } from './answers.ts';
import { type Cluster, type Member, makeBucket, startCluster } from './cluster.ts';
import { homeData } from './clustered.ts';
import { lackingFor, startNodeProxy } from './node-proxy.ts';
import { HAS_NETWORK, LOOPBACK, startNetwork } from './places.ts';

const NODES = 3;
const SEALED = 60;
const CLIENTS = 4;
const SHOW_MS = 1000;

/**
 * `make cluster`: Ceph, Redis, home, three nodes and a proxy, each in a network namespace of its own if root starts it. Clients ask at random; each
 * second a table shows what every program does. Keys: 1 to 3 kill a node or start it again, h and r do so with home and Redis, q ends all.
 */
async function main(): Promise<number> {
  const print = (text: string) => process.stdout.write(`${text}\n`);
  await using stack = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), 'bookreel-cluster-'));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const network = HAS_NETWORK ? stack.use(startNetwork()) : undefined;
  const placeOf = (name: string) => network?.place(name) ?? LOOPBACK;

  print('importing recordings, and starting Ceph, Redis, home and the nodes …');
  const [data, ceph] = [await homeData(directory, SEALED), stack.use(await startCeph(placeOf('ceph')))];
  const storage = await makeBucket(ceph.origin);
  const options = { directory, data: data.data, nodes: NODES, storage, placeOf, redis: true };
  const cluster = stack.use(await startCluster(options));
  const nodes = cluster.nodes.map(({ address }) => address);
  const kind = lackingFor('haproxy') === undefined ? 'haproxy' : 'nginx';
  const port = await freePort();
  const proxy = stack.use(await startNodeProxy(kind, { directory, nodes, port, place: placeOf('proxy'), plain: true }));
  const { key } = await data.keyOf();
  const at = (member: { readonly origin: string }) => member.origin.replace('http://', '');
  print(`${kind} ${at(proxy)}, home ${at(cluster.home)}, Ceph ${at(ceph)}, Redis ${cluster.redis!.url}`);
  print(`curl -H 'Host: api.example.com' -H 'Authorization: Bearer ${key}' '${proxy.origin}/v1/btc/markets?limit=2'`);

  const keys = await Promise.all(Array.from({ length: CLIENTS * NODES }, async () => (await data.keyOf()).key));
  const asked = { answers: 0, failures: 0 };
  let isOver = false;
  const clients = keys.map(async (each, index) => {
    for (const question of questionsAbout([...data.sealed, ...data.open], index)) {
      if (isOver) return;
      const headers = { ...question.headers, host: 'api.example.com' };
      const status = await ask(proxy.origin, each, { ...question, headers }).then(
        async (answer) => {
          await answer.arrayBuffer();
          return answer.status;
        },
        () => 0,
      );
      asked[status === 0 || status >= 500 ? 'failures' : 'answers'] += 1;
    }
  });
  const shown = setInterval(() => void show(cluster, asked).then(print), SHOW_MS);
  await keysPressed(cluster);
  isOver = true;
  clearInterval(shown);
  await Promise.all(clients);
  return 0;
}

/** Until q, Ctrl-C or SIGTERM. */
async function keysPressed({ home, nodes, redis }: Cluster): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, resolve);
  // One after another: a key that is pressed twice starts again what it has killed.
  let toggled: Promise<unknown> = Promise.resolve();
  const toggle = (member: Pick<Member, 'child' | 'start' | 'end'>) => {
    toggled = toggled.then(async () => await (member.child.code === undefined ? member.end() : member.start()));
  };
  process.stdin.setRawMode?.(true);
  process.stdin.on('data', (pressed) => {
    const text = pressed.toString();
    if (text === 'q' || text === '\u0003') resolve();
    if (text === 'h') toggle(home);
    if (text === 'r') toggle(redis!);
    const node = nodes[Number(text) - 1];
    if (node !== undefined) toggle(node);
  });
  await promise;
  await toggled;
  process.stdin.setRawMode?.(false);
  process.stdin.pause();
}

/** A line for each program, with the values of its metrics. */
async function show({ home, nodes, redis }: Cluster, asked: { answers: number; failures: number }): Promise<string> {
  const lines = await Promise.all(
    [home, ...nodes].map(async (member) => {
      const metrics = await member.scrape().catch(() => undefined);
      if (metrics === undefined) return `${member.name.padEnd(6)} does not run`;
      const requests = metrics.sum('bookreel_http_requests_total');
      const own = [...metrics.names].filter((name) => name.startsWith('bookreel_node_'));
      const values = own.map(
        (name) => `${name.slice('bookreel_node_'.length)} ${Number(metrics.sum(name).toFixed(1))}`,
      );
      return [member.name.padEnd(6), `requests ${requests}`, ...values].join('  ');
    }),
  );
  lines.push(`redis  ${redis!.child.code === undefined ? 'runs' : 'does not run'}`);
  return `\n${asked.answers} answers, ${asked.failures} failures\n${lines.join('\n')}`;
}

process.exit(await main());
