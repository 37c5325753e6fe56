import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { connect } from 'node:net';
import { temporaryDirectory } from '../support/archive.ts';
import { issueKey, type RunningServer, startServer } from '../support/executable.ts';

setDefaultTimeout(300_000);

/** Connections of an attack on several processes, so that each process gets some. */
const CONNECTIONS = 8;
/** Requests that are sent together. */
const BATCH = 500;
const PATH = '/v1/billing/tiers';
const PREFLIGHT = { origin: 'https://a.example', 'access-control-request-method': 'GET' };

describe.each(process.platform === 'linux' ? [1, 2] : [1])('a server of %i processes', (processes) => {
  let directory: ReturnType<typeof temporaryDirectory>;
  let server: RunningServer;
  let key: string;

  beforeAll(async () => {
    directory = temporaryDirectory();
    ({ key } = await issueKey(directory.path));
    const settings = ['--trusted-proxies', 'loopback', '--cors-origins', '*'];
    server = await startServer(directory.path, ['--processes', String(processes), ...settings]);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  /** Sends a request of each address; returns the number of answers with each status. */
  async function attack(addresses: readonly string[]): Promise<Readonly<Record<string, number>>> {
    const counts: Record<string, number> = {};
    const connections = processes === 1 ? 1 : CONNECTIONS;
    const size = Math.ceil(addresses.length / connections);
    const parts = Array.from({ length: connections }, (_, index) => addresses.slice(index * size, (index + 1) * size));
    await Promise.all(parts.map((part) => attackOnConnection(part, counts)));
    return counts;
  }

  /** Sends a request of each address on one connection, and adds the answers to `counts`. */
  async function attackOnConnection(addresses: readonly string[], counts: Record<string, number>): Promise<void> {
    const { hostname, port } = new URL(server.origin);
    let answers = 0;
    let sent = 0;
    let rest = '';
    await new Promise<void>((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port) });
      const sendBatch = () => {
        const batch = addresses.slice(sent, sent + BATCH);
        sent += batch.length;
        const requests = batch.map(
          (address) => `HEAD ${PATH} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n\r\n`,
        );
        socket.write(requests.join(''));
      };
      socket.setEncoding('latin1');
      socket.on('connect', sendBatch);
      socket.on('error', reject);
      socket.on('close', () => reject(new Error(`the connection was closed after ${answers} answers`)));
      socket.on('data', (text: string) => {
        // An answer to HEAD ends with an empty line.
        const heads = `${rest}${text}`.split('\r\n\r\n');
        rest = heads.pop()!;
        for (const head of heads) {
          const status = head.slice('HTTP/1.1 '.length, 'HTTP/1.1 '.length + 3);
          counts[status] = (counts[status] ?? 0) + 1;
        }
        answers += heads.length;
        if (answers === addresses.length) {
          socket.removeAllListeners('close');
          socket.destroy();
          resolve();
        } else if (answers === sent) sendBatch();
      });
    });
  }

  /** Status and remaining requests of one more request of an address. */
  async function ask(address: string, init: RequestInit = {}): Promise<readonly [number, number]> {
    const headers = { 'x-forwarded-for': address, ...(init.headers as Record<string, string>) };
    const answer = await fetch(`${server.origin}${PATH}`, { ...init, headers });
    await answer.arrayBuffer();
    return [answer.status, Number(answer.headers.get('x-ratelimit-remaining'))];
  }
  const askPreflight = (address: string) => ask(address, { method: 'OPTIONS', headers: PREFLIGHT });

  const hex = (value: number) => value.toString(16);
  const addresses = (count: number, addressOf: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => addressOf(index));

  test('10,000 clients of one /48 get 2,400 requests, and no other address is refused', async () => {
    const addressOf = (index: number) => `2001:db8:1:${hex(index & 0xffff)}::1`;
    expect(await attack(addresses(10_000, addressOf))).toEqual({ 401: 2400, 429: 7600 });
    expect((await ask(addressOf(20_000)))[0]).toBe(429);
    expect(await askPreflight(addressOf(20_000))).toEqual([204, 599]);
    expect((await ask(addressOf(20_000), { headers: { authorization: `Bearer ${key}` } }))[0]).toBe(200);
    for (const address of ['2001:db8:2::1', '192.0.2.1']) {
      expect(await ask(address)).toEqual([401, 599]);
      expect(await askPreflight(address)).toEqual([204, 599]);
    }
  });

  test('66,700 clients of different networks change the limit of no other address', async () => {
    const [usedUp, used, ofPreflights, ipv4] = ['2a00:1::1', '2a00:2::1', '2a00:3::1', '198.51.100.1'] as const;
    expect(await attack(addresses(700, (index) => (index < 600 ? usedUp : used)))).toEqual({ 401: 700 });
    for (const address of [ofPreflights, ipv4]) expect(await askPreflight(address)).toEqual([204, 599]);
    expect(await ask(ipv4)).toEqual([401, 599]);

    const addressOf = (index: number) => `2002:${hex(index & 0xffff)}:${hex(index >> 16)}::1`;
    expect(await attack(addresses(66_700, addressOf))).toEqual({ 401: 66_700 });
    expect(await ask(usedUp)).toEqual([429, 0]);
    expect(await ask(used)).toEqual([401, 499]);
    for (const address of [ofPreflights, ipv4]) expect(await askPreflight(address)).toEqual([204, 598]);
    expect(await ask(ipv4)).toEqual([401, 598]);
    expect(await ask('2a00:4::1')).toEqual([401, 599]);
    expect(await askPreflight('2a00:4::1')).toEqual([204, 599]);
  });
});
