import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { until } from '../fault/served.ts';
import { RawSocket } from '../http/replay/raw-socket.ts';
import { LIGHT_CONDITION_ID, LIGHT_MARKET, LIGHT_START_MS } from '../support/light-recording.ts';
import { API, lacking, PROXIES, type Proxied, REPLAY, startProxied } from './proxied.ts';

const SNAPSHOTS = 20;
const MARKET = `/v1/btc/markets/${LIGHT_CONDITION_ID}`;
/** One snapshot comes at once, the next one ten hours later. */
const SILENT_STREAM = `${MARKET}/stream?from=${LIGHT_START_MS + (SNAPSHOTS - 1) * 10}&speed=0.1`;
const STREAMS_PER_KEY_MAX = 32;
const PER_ADDRESS_MAX = 64;

for (const name of PROXIES) {
  const lacks = lacking(name);
  describe.skipIf(lacks !== undefined)(
    `with ${name} as in the manual${lacks === undefined ? '' : ` (needs ${lacks})`}`,
    () => {
      let proxied: Proxied;
      beforeAll(async () => {
        proxied = await startProxied(name, { snapshots: SNAPSHOTS, replayArguments: ['--paused'] });
      });
      afterAll(async () => await proxied[Symbol.asyncDispose]());

      test.each(['1.1', '2'] as const)(
        'The configurations of nginx and Caddy in the manual work as they are printed. (HTTP/%s, with the proxy’s id in the log)',
        async (http) => {
          const from = `127.0.0.${http === '2' ? 2 : 1}1`;
          const forged = ['X-Forwarded-For: 192.0.2.6', 'Forwarded: for=192.0.2.7', 'X-Request-Id: forged'];
          const answer = await proxied.ask('/v1/btc/markets', { http, from, headers: forged });
          expect({ http: answer.http, status: answer.status }).toEqual({ http, status: 200 });
          const id = answer.headers.get('x-request-id')!;
          expect(id).toMatch(name === 'nginx' ? /^[0-9a-f]{32}$/ : /^[0-9a-f-]{36}$/);
          const lineOf = () =>
            proxied.server
              .stderr()
              .split('\n')
              .find((line) => line.includes(id));
          await until('the line is written', () => lineOf() !== undefined);
          expect(JSON.parse(lineOf()!)).toMatchObject({ id, address: from, status: 200 });
        },
      );

      test('the page at / has https addresses, and another host name is refused', async () => {
        const page = await proxied.ask('/', { headers: ['Accept: text/html'] });
        expect(page.body).toContain(`https://${API}`);
        const other = await proxied.ask('/', { headers: ['Host: other.example.com'] });
        // Caddy answers for the hosts of its own file alone, with an empty 200.
        expect([other.status, other.body]).toEqual(
          name === 'nginx' ? [400, expect.stringContaining('host')] : [200, ''],
        );
      });

      test('long headers and a large body are refused by the proxy', async () => {
        const before = proxied.server.stderr();
        const long = 'a'.repeat(9000);
        const inHeaders = await proxied.ask('/healthz', { headers: [`X-A: ${long}`, `X-B: ${long}`, `X-C: ${long}`] });
        expect(inHeaders.status).toBe(name === 'nginx' ? 400 : 431);
        const inLine = await proxied.ask(`/healthz?${long.repeat(3)}`);
        expect(inLine.status).toBe(name === 'nginx' ? 414 : 431);
        const body = await proxied.ask('/v1/btc/markets', { data: 'a'.repeat(70_000) });
        expect(body.status).toBe(413);
        for (const { body: text } of [inHeaders, inLine, body]) expect(text).not.toContain('urn:bookreel');
        expect((await proxied.ask('/healthz')).status).toBe(200);
        await until('the last one is logged', () => proxied.server.stderr().length > before.length);
        // An id has 32 hex digits.
        expect(proxied.server.stderr().slice(before.length)).not.toContain('a'.repeat(33));
      });

      test('Every answer through nginx and Caddy as in the manual has one HSTS header, also one of the proxy itself.', async () => {
        const answers = [
          ...[await proxied.ask('/v1/btc/markets'), await proxied.ask('/nowhere'), await proxied.ask('/')],
          ...[await proxied.ask('/time', { host: REPLAY }), await proxied.ask('/healthz', { http: '2' })],
          // Refused by the proxy: bodies of more than it lets through.
          await proxied.ask('/v1/btc/markets', { data: 'a'.repeat(70_000) }),
        ];
        if (name === 'nginx') answers.push(await proxied.ask(`/healthz?${'a'.repeat(9000)}`));
        await using broken = await startProxied(name);
        broken.server.kill('SIGKILL');
        await broken.server.exited;
        answers.push(await broken.ask('/healthz'));
        expect(answers.map(({ status, headers }) => [status, headers.get('strict-transport-security')])).toEqual(
          [200, 404, 200, 200, 200, 413, ...(name === 'nginx' ? [414] : []), 502].map((status) => [
            status,
            'max-age=31536000',
          ]),
        );
      });

      test('a stream’s first event comes at once, though the next one comes much later', async () => {
        const client = await proxied.sent(get(SILENT_STREAM, proxied.key));
        await until('the event has come', () => client.text.includes('event: snapshot'));
        expect(client.text).toStartWith('HTTP/1.1 200 ');
        expect(client.isOpen).toBe(true);
        client.socket.destroy();
      });

      test('an export is whole', async () => {
        const { status, body } = await proxied.ask(`${MARKET}/export`);
        expect(status).toBe(200);
        expect(
          body
            .trimEnd()
            .split('\n')
            .filter((line) => line.includes('"snapshot"')),
        ).toHaveLength(SNAPSHOTS + 1);
      });

      // Caddy 2.6 ends such an answer as if it were complete, as the page says.
      const cutsAnswersOff = name === 'nginx' ? test : undefined;
      cutsAnswersOff?.('an answer that bookreel breaks off is incomplete for the client', async () => {
        await using other = await startProxied(name, { snapshots: SNAPSHOTS, replayArguments: ['--paused'] });
        const client = await other.sent(get(SILENT_STREAM, other.key));
        await until('it has begun', () => client.text.includes('event: snapshot'));
        other.server.kill('SIGKILL');
        await until('it is closed', () => !client.isOpen);
        expect(client.text.endsWith('\r\n0\r\n\r\n')).toBe(false);
      });

      test('a WebSocket of a replay gets its books, and none without a key', async () => {
        const url = `wss://${REPLAY}/ws/market`;
        const connected = async () => await proxied.connected({ host: REPLAY });
        await expect(RawSocket.open(url, [], await connected())).rejects.toThrow('401');
        const client = await RawSocket.open(url, [`Authorization: Bearer ${proxied.key}`], await connected());
        client.send(JSON.stringify({ type: 'market', assets_ids: LIGHT_MARKET.clobTokenIds }));
        await until('a book has come', () => client.messages.texts.some((text) => text.includes('"book"')));
        client.leave();
      });

      // The standard Caddy counts no connections per address.
      const limitsAddresses = name === 'nginx' ? test : undefined;
      limitsAddresses?.('an address with too many requests under way gets a 429, others are served', async () => {
        const keys = await Promise.all(Array.from({ length: PER_ADDRESS_MAX / STREAMS_PER_KEY_MAX }, proxied.keyOf));
        const clients = [];
        for (const key of keys) {
          const opening = Array.from({ length: STREAMS_PER_KEY_MAX }, () => proxied.sent(get(SILENT_STREAM, key)));
          clients.push(...(await Promise.all(opening)));
        }
        for (const client of clients) await until('it has begun', () => client.text.startsWith('HTTP/1.1 200 '));
        const refused = await proxied.ask('/healthz');
        expect([refused.status, refused.headers.get('content-type')]).toEqual([429, 'text/html']);
        expect((await proxied.ask('/healthz', { from: '127.0.0.2' })).status).toBe(200);
        expect((await fetch(`${proxied.origin}/healthz`)).status).toBe(200);
        for (const { socket } of clients) socket.destroy();
        await until('it is served again', async () => (await proxied.ask('/healthz')).status === 200);
      });
    },
  );
}

function get(path: string, key: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: ${API}\r\nAuthorization: Bearer ${key}\r\n\r\n`;
}
