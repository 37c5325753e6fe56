import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { until } from '../fault/served.ts';
import { freePort } from '../judges/free-port.ts';
import { API } from '../public/proxied.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { lackingFor, NODE_PROXIES, type NodeProxy, startNodeProxy } from './node-proxy.ts';

const KEYS = Array.from({ length: 60 }, (_, index) => `Bearer br_live_${index}`);

/** A server in place of a node, which says its number and the headers that it got. */
function startStub(number: number) {
  const state = { isReady: true };
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      await request.text();
      const { pathname } = new URL(request.url);
      if (pathname === '/readyz') return new Response('', { status: state.isReady ? 200 : 503 });
      if (pathname === '/refused') return new Response('no', { status: 503 });
      return Response.json({ number, headers: Object.fromEntries(request.headers) });
    },
  });
  return { server, state, address: `127.0.0.1:${server.port}` };
}

/** The status of an answer to a method that `fetch` may not send. */
async function statusOf(origin: string, method: string, authorization: string): Promise<number> {
  const socket = connect({ port: Number(new URL(origin).port), host: '127.0.0.1', rejectUnauthorized: false });
  socket.write(`${method} / HTTP/1.1\r\nhost: ${API}\r\nauthorization: ${authorization}\r\nconnection: close\r\n\r\n`);
  const [answer] = await once(socket, 'data');
  socket.destroy();
  return Number(String(answer).split(' ')[1]);
}

for (const name of NODE_PROXIES) {
  const lacks = lackingFor(name);
  describe.skipIf(lacks !== undefined)(`${name}${lacks === undefined ? '' : ` (needs ${lacks})`}`, () => {
    const directory = temporaryDirectory();
    const stubs = [1, 2, 3].map(startStub);
    let proxy: NodeProxy;
    beforeAll(async () => {
      const nodes = stubs.map(({ address }) => address);
      proxy = await startNodeProxy(name, { directory: directory.path, nodes, port: await freePort() });
    });
    afterAll(async () => {
      await proxy[Symbol.asyncDispose]();
      for (const { server } of stubs) await server.stop(true);
      directory[Symbol.dispose]();
    });
    const ask = async (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
      await fetch(`${proxy.origin}${path}`, {
        ...init,
        headers: { host: API, ...headers },
        tls: { rejectUnauthorized: false },
      });
    const nodeOf = async (authorization: string) => {
      const answer = await ask('/v1/btc/markets', { authorization });
      expect(answer.status).toBe(200);
      return ((await answer.json()) as { number: number }).number;
    };
    const nodesOf = async () => await Promise.all(KEYS.map(nodeOf));

    test('The configurations of nginx and HAProxy in the manual keep a key at one node.', async () => {
      const first = await nodesOf();
      expect(new Set(first)).toEqual(new Set([1, 2, 3]));
      expect(await nodesOf()).toEqual(first);
    });

    test('The proxy before nodes overwrites the address of the client, and refuses large bodies itself.', async () => {
      const forged = { 'x-forwarded-for': '192.0.2.6', 'x-request-id': 'forged' };
      const { headers } = (await (await ask('/', forged)).json()) as { headers: Record<string, string> };
      expect(headers).toMatchObject({ host: API, 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'https' });
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{32,36}$/);
      const large = await ask('/v1/billing', {}, { method: 'POST', body: 'a'.repeat(70_000) });
      expect(large.status).toBe(413);
      expect(large.headers.get('strict-transport-security')).toBe('max-age=31536000');
    });

    test('An answer of a node with 503 is the answer: the request is not sent to all others too.', async () => {
      const answer = await ask('/refused');
      expect([answer.status, await answer.text()]).toEqual([503, 'no']);
    });

    test('A method that no server knows is refused by the proxy, and takes no node from other clients.', async () => {
      const refused = await Promise.all(KEYS.map(async (key) => await statusOf(proxy.origin, 'FOO', key)));
      expect(new Set(refused)).toEqual(new Set([501]));
      expect(new Set(await nodesOf())).toEqual(new Set([1, 2, 3]));
    });

    test('When a node ends, its keys go to the others without an error, and all other keys stay.', async () => {
      const before = await nodesOf();
      const [gone] = before;
      await stubs[gone! - 1]!.server.stop(true);
      const after = await nodesOf();
      for (const [index, node] of after.entries()) {
        if (before[index] === gone) expect(node).not.toBe(gone!);
        else expect(node).toBe(before[index]!);
      }
      if (name === 'nginx') return;
      // It asks the nodes, and a node that drains gets no more requests.
      const [next] = after;
      stubs[next! - 1]!.state.isReady = false;
      const last = [1, 2, 3].find((node) => node !== gone && node !== next);
      await until('the last one gets all', async () => (await nodesOf()).every((node) => node === last));
    });
  });
}
