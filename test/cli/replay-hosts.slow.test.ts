import { describe, expect, test } from 'bun:test';
import {
  chmodSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { tlsRecipe } from '../../src/cli/tls-recipe.ts';
import { RawSocket } from '../http/replay/raw-socket.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { outputOf } from '../support/command.ts';
import { blocksOf } from '../support/documented-commands.ts';
import { BUN, EXECUTABLE, finished, runExecutable } from '../support/executable.ts';
import { START_MS, sampleCoinPrice, sampleMarket, sampleSnapshot, UP_ASSET } from '../support/sample-records.ts';

const RTDS_REQUEST = {
  action: 'subscribe',
  subscriptions: [{ topic: 'crypto_prices_chainlink', type: '*', filters: 'btc/usd' }],
};
const price = (source: string, value: number, more: object = {}) =>
  sampleCoinPrice({ source, timestamp: START_MS + 60_000, price: value, ...more });
const RECORDS = [
  sampleMarket(),
  sampleSnapshot(),
  price('chainlink', 76_211.8),
  price('binance', 76_177.85, { size: 0.5, side: 'buy' }),
];

/** A request of each program for the CLOB's time, which resolves the name to this machine and trusts the authority as the manual says. */
const PROGRAMS: Readonly<Record<string, (caPath: string, port: number) => readonly string[]>> = {
  curl: (caPath, port) => [
    ...['env', `SSL_CERT_FILE=${caPath}`, 'curl', '-sS', '--resolve', `clob.polymarket.com:${port}:127.0.0.1`],
    `https://clob.polymarket.com:${port}/time`,
  ],
  node: (caPath, port) => [...['env', `NODE_EXTRA_CA_CERTS=${caPath}`, 'node', '-e'], inJavaScript(port)],
  bun: (caPath, port) => [...['env', `NODE_EXTRA_CA_CERTS=${caPath}`, ...BUN, '-e'], inJavaScript(port)],
  // Python 3.13 verifies strictly by default.
  python3: (caPath, port) => [...['env', `SSL_CERT_FILE=${caPath}`, 'python3', '-c'], inPython(port)],
};

function inJavaScript(port: number): string {
  return `require('node:https').get({ port: ${port}, path: '/time', servername: 'clob.polymarket.com',
    host: '127.0.0.1', headers: { host: 'clob.polymarket.com' } }, (answer) => answer.pipe(process.stdout));`;
}

function inPython(port: number): string {
  return `
import ssl, socket
context = ssl.create_default_context()
context.verify_flags |= ssl.VERIFY_X509_STRICT
tls = context.wrap_socket(socket.create_connection(('127.0.0.1', ${port})), server_hostname='clob.polymarket.com')
tls.sendall(b'GET /time HTTP/1.1\\r\\nHost: clob.polymarket.com\\r\\nConnection: close\\r\\n\\r\\n')
print(b''.join(iter(lambda: tls.recv(65536), b'')).decode().split('\\r\\n\\r\\n')[1])`;
}

describe('a bot with fixed addresses', () => {
  test('finds all of them on a replay, with the recipe and the hosts of the manual', async () => {
    using directory = temporaryDirectory();
    const inDirectory = (name: string) => join(directory.path, name);
    writeFileSync(inDirectory('recording.ndjson'), RECORDS.map((record) => JSON.stringify(record)).join('\n'));
    const data = inDirectory('data');
    await outputOf(['import', inDirectory('recording.ndjson'), '--data', data]);
    const blocks = blocksOf(await outputOf(['manual', 'bots']));
    const [command] = blocks.map(({ text }) => text).filter((text) => text.includes('--tls-recipe'));
    const end = new Date(START_MS + 60_000).toISOString();
    const ours = `exec ${EXECUTABLE} replay --data ${data} --port 0 --to ${end} --speed max --paused`;
    const script = command!.replace('bookreel replay --coin btc --rebase now --port 443', ours);
    expect(script).toContain(ours);
    const start = () => startChild(['sh', '-e', '-c', `cd ${directory.path}\n${script}`]);
    await using replay = start();
    const port = Number(new URL((await replay.said(/^REST +(\S+)$/m))[1]!).port);
    const caPath = inDirectory('recipe/ca.pem');
    const ca = readFileSync(caPath, 'utf8');
    const [hosts] = blocks.map(({ text }) => text).filter((text) => text.startsWith('127.0.0.1 '));
    expect(readFileSync(inDirectory('recipe/hosts'), 'utf8')).toBe(hosts!);
    expect(readdirSync(inDirectory('recipe')).sort()).toEqual(['ca.pem', 'hosts', 'replay.key', 'replay.pem']);
    expect(statSync(inDirectory('recipe/replay.key')).mode & 0o777).toBe(0o600);
    const names = hosts!.trim().split(' ').slice(1);

    /** As a program whose /etc/hosts has the line of the manual: it checks the certificate for the name. */
    const opened = (name: string) =>
      new Promise<TLSSocket>((resolve, reject) => {
        expect(names).toContain(name);
        const socket = connect({ host: '127.0.0.1', port, servername: name, ca }, () => resolve(socket));
        socket.once('error', reject);
      });
    const got = async (name: string, path: string, host = name, method = 'GET', sent = '') => {
      const socket = await opened(name);
      let text = '';
      socket.on('data', (chunk) => {
        text += String(chunk);
      });
      const head = `Host: ${host}\r\nConnection: close\r\nContent-Length: ${sent.length}`;
      socket.write(`${method} ${path} HTTP/1.1\r\n${head}\r\n\r\n${sent}`);
      await new Promise((resolve) => socket.once('close', resolve));
      return { status: Number(text.split(' ')[1]), body: text.slice(text.indexOf('\r\n\r\n')) };
    };
    const socketOf = async (name: string, path: string, host = name) =>
      await RawSocket.open(`wss://${name}${path}`, [`Host: ${host}`], await opened(name));
    const firstOf = async (socket: RawSocket) => {
      while (socket.messages.texts.length === 0) await Bun.sleep(1);
      socket.leave();
      return socket.messages.texts[0]!;
    };

    const trades = await socketOf('stream.binance.com', '/ws/btcusdt@trade', 'stream.binance.com:9443');
    const prices = await socketOf('ws-live-data.polymarket.com', '/');
    prices.send(JSON.stringify(RTDS_REQUEST));
    const books = await socketOf('ws-subscriptions-clob.polymarket.com', '/ws/market');
    books.send(JSON.stringify({ type: 'market', assets_ids: [UP_ASSET] }));
    const [, id] = /"id":"(\w+)"/.exec((await got('clob.polymarket.com', '/v1/replays')).body)!;
    const resumed = await got('clob.polymarket.com', `/v1/replays/${id}`, undefined, 'PATCH', '{"paused":false}');
    expect(resumed.status).toBe(200);
    const [trade, rtds, book] = await Promise.all([trades, prices, books].map(firstOf));
    expect(rtds).toContain('"symbol":"btc/usd"');
    expect(trade).toContain('"p":"76177.85000000","q":"0.50000000"');
    expect(book).toContain(UP_ASSET);
    expect(await got('clob.polymarket.com', `/book?token_id=${UP_ASSET}`)).toMatchObject({ status: 200 });
    expect((await got('gamma-api.polymarket.com', '/markets?closed=true')).status).toBe(200);
    expect((await got('api.binance.com', '/api/v3/ticker/price?symbol=BTCUSDT')).body).toContain('76177.85000000');
    expect((await got('data-api.polymarket.com', '/time')).status).toBe(200);
    expect((await got('clob.polymarket.com', '/time', 'another.example')).status).toBe(400);
    expect((await got('polymarket.com', '/event/none')).status).toBe(404);
    expect((await got('clob.polymarket.com', '/markets')).body).toContain('next_cursor');
    expect((await got('gamma-api.polymarket.com', '/markets?next_cursor=')).body).not.toContain('next_cursor');
    // The venue has no such socket; at Binance's name it has.
    await expect(socketOf('clob.polymarket.com', '/ws')).rejects.toThrow('404');
    (await socketOf('stream.binance.com', '/ws')).leave();
    const orders = await socketOf('ws-subscriptions-clob.polymarket.com', '/ws/user');
    orders.send('{"auth":{},"type":"user","markets":[]}');
    orders.send('PING');
    expect(await firstOf(orders)).toBe('PONG');
    for (const [program, commandOf] of Object.entries(PROGRAMS)) {
      if (Bun.which(program) === null) continue;
      const { stdout, stderr } = await finished(commandOf(caPath, port), { env: { PATH: process.env.PATH ?? '' } });
      expect([program, stdout.trim(), stderr]).toEqual([program, String(Math.floor((START_MS + 60_000) / 1000)), '']);
    }
    // Without the authority nobody trusts it.
    const { stderr } = await finished(PROGRAMS.curl!('/dev/null', port), { env: { PATH: process.env.PATH ?? '' } });
    expect(stderr).toContain('certificate');
    // The next start has the same recipe, so that a bot need not be told.
    await using again = start();
    await again.said(/^REST/m);
    expect(readFileSync(caPath, 'utf8')).toBe(ca);
  });

  test('A recipe whose files do not belong together is made anew, a link is replaced, and a directory of others is refused.', async () => {
    using directory = temporaryDirectory();
    const [one, other, victim] = ['one', 'other', 'victim'].map((name) => join(directory.path, name)) as [
      string,
      string,
      string,
    ];
    const recipe = await tlsRecipe(one, START_MS);
    const foreign = await tlsRecipe(other, START_MS);
    const certOf = (path: string) => readFileSync(path, 'utf8');
    const before = certOf(recipe.certPath);
    expect(certOf((await tlsRecipe(one, START_MS)).certPath)).toBe(before);
    // Somebody's authority beside our certificate: programs would trust what that person signs.
    copyFileSync(foreign.authorityPath, recipe.authorityPath);
    await tlsRecipe(one, START_MS);
    expect(certOf(recipe.certPath)).not.toBe(before);
    expect(certOf(recipe.authorityPath)).not.toBe(certOf(foreign.authorityPath));
    writeFileSync(victim, 'not to be written');
    rmSync(recipe.keyPath);
    symlinkSync(victim, recipe.keyPath);
    await tlsRecipe(one, START_MS);
    expect([readFileSync(victim, 'utf8'), statSync(recipe.keyPath).mode & 0o777]).toEqual(['not to be written', 0o600]);
    // A day before its end there is a new one.
    const last = certOf(recipe.certPath);
    await tlsRecipe(one, START_MS + 89.1 * 86_400_000);
    expect(certOf(recipe.certPath)).not.toBe(last);
    chmodSync(one, 0o777);
    expect(tlsRecipe(one, START_MS)).rejects.toThrow('other users may write to');
  });

  test('--tls-recipe and --tls-cert exclude each other', async () => {
    using directory = temporaryDirectory();
    const args = [
      'replay',
      '--data',
      directory.path,
      '--tls-recipe',
      directory.path,
      '--tls-cert',
      'a',
      '--tls-key',
      'b',
    ];
    expect(await runExecutable(args)).toMatchObject({
      ...{
        code: 2,
        stderr: expect.stringContaining('--tls-recipe makes a certificate of its own: leave --tls-cert out'),
      },
    });
  });
});
