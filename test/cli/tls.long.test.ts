import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { until } from '../fault/served.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { BunSocket } from '../support/bun-socket.ts';
import { type CertificatePair, createCertificate, expire, LACKS_OPENSSL } from '../support/certificates.ts';
import { type Child, startChild } from '../support/child.ts';
import { certificateName, startClients } from '../support/clients.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { blocksOf } from '../support/documented-commands.ts';
import { EXECUTABLE } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, LIGHT_MARKET, LIGHT_START_MS, lightNdjson } from '../support/light-recording.ts';
import { messagesIn } from '../support/logged.ts';

const RENEWALS = 20;
const RENEWED = 'new connections get the certificate that expires at ';

describe.skipIf(LACKS_OPENSSL !== undefined)('TLS (needs openssl)', () => {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  /** The files that servers are started with. */
  const certPath = join(directory.path, 'served.pem');
  const keyPath = join(directory.path, 'served.key');
  const pairs: CertificatePair[] = [];

  beforeAll(async () => {
    pairs.push(await createCertificate(directory.path, 'first'), await createCertificate(directory.path, 'second'));
    const recording = join(directory.path, 'recording.ndjson');
    writeFileSync(recording, lightNdjson(20));
    await outputOf(['import', recording, '--data', data]);
  });
  afterAll(() => directory[Symbol.dispose]());

  const use = ({ certPath: cert, keyPath: key }: CertificatePair) => {
    copyFileSync(cert, certPath);
    copyFileSync(key, keyPath);
  };
  const serve = async (...args: string[]) => {
    use(pairs[0]!);
    const tls = ['--tls-cert', certPath, '--tls-key', keyPath];
    const server = startChild([EXECUTABLE, 'serve', '--data', data, '--port', '0', ...tls, ...args]);
    const [, origin] = await server.said(/serves '.*' on (https:\/\/\S+) /);
    return { server, origin: origin!, port: Number(new URL(origin!).port) };
  };
  const messagesOf = (server: Child) => messagesIn(server.stderr());
  const renewed = async (server: Child, times: number) => {
    const count = () => messagesOf(server).filter(({ message }) => message.startsWith(RENEWED)).length;
    await until(`it has read the files ${times} times`, () => count() === times);
  };

  test('is answered with the certificate, plain HTTP is not', async () => {
    const { server, origin, port } = await serve();
    await using _ = server;
    // Paths of every kind: the router finds them after https:// too.
    for (const [path, status] of [
      ['/healthz', 200],
      ['/docs/limits', 200],
      ['/v1/btc/markets', 401],
      ['/v1/nothing', 401],
      ['/nothing', 404],
    ] as const) {
      const found = await fetch(`${origin}${path}`, { tls: { ca: pairs[0]!.cert } });
      expect({ path, status: found.status }).toEqual({ path, status });
    }
    const answer = await fetch(`${origin}/`, { tls: { ca: pairs[0]!.cert }, headers: { accept: 'text/html' } });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain(`${origin}/v1`);
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow();
    const old = new Promise((resolve, reject) => {
      const options = { port, host: '127.0.0.1', rejectUnauthorized: false, maxVersion: 'TLSv1.1' } as const;
      connect(options, () => resolve('connected')).once('error', reject);
    });
    await expect(old).rejects.toThrow();
  });

  test('is turned on as in the manual', async () => {
    use(pairs[0]!);
    const block = blocksOf(await outputOf(['manual', 'operations'])).find(({ text }) => text.includes('--tls-cert'))!;
    const command = [
      ['--host 0.0.0.0 --port 443', '--port 0'],
      ['/var/lib/bookreel', data],
      ['/etc/ssl/bookreel/fullchain.pem', certPath],
      ['/etc/ssl/bookreel/privkey.pem', keyPath],
      ['bookreel serve', `${EXECUTABLE} serve`],
    ].reduce((text, [from, to]) => {
      expect(text).toContain(from!);
      return text.replace(from!, to!);
    }, block.text);
    await using server = startChild(['sh', '-c', `exec ${command}`]);
    const [, origin] = await server.said(/ on (https:\/\/\S+) /);
    expect((await fetch(`${origin}/healthz`, { tls: { ca: pairs[0]!.cert } })).status).toBe(200);
  });

  test(`A certificate is replaced without a lost connection. (${RENEWALS} renewals under load)`, async () => {
    const { server, port } = await serve();
    await using _ = server;
    const clients = startClients({ port, keeping: 8, opening: 8 });
    for (let renewal = 1; renewal <= RENEWALS; renewal += 1) {
      const pair = renewal % 2;
      use(pairs[pair]!);
      const before = clients.seen.answers;
      server.kill('SIGHUP');
      await renewed(server, renewal);
      expect(await certificateName(port)).toBe(pair === 1 ? 'second' : 'first');
      await until('clients were answered since', () => clients.seen.answers > before + 20);
    }
    await clients.stop();
    expect(clients.seen.failures).toEqual([]);
    expect(clients.seen.names.toSorted()).toEqual(['first', 'second']);
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(messagesOf(server).filter(({ level }) => level !== 'info')).toEqual([]);
  });

  test('A new certificate is shown to new connections; open ones continue with the earlier one, and their next answer ends them.', async () => {
    const { server, origin, port } = await serve();
    await using _ = server;
    const { key } = JSON.parse(await outputOf(['key', 'create', '--tier', 'enterprise', '--json', '--data', data])) as {
      key: string;
    };
    const tls = { rejectUnauthorized: false };
    const stream = await fetch(
      `${origin}/v1/btc/markets/${LIGHT_CONDITION_ID}/stream?from=${LIGHT_START_MS}&speed=0.1`,
      {
        ...{ tls, headers: { authorization: `Bearer ${key}` } },
      },
    );
    const silent = connect({ port, host: '127.0.0.1', ...tls });
    await new Promise((resolve) => silent.once('secureConnect', resolve));
    use(pairs[1]!);
    server.kill('SIGHUP');
    await renewed(server, 1);
    let text = '';
    silent.on('data', (chunk: Buffer) => {
      text += String(chunk);
    });
    silent.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await until('it is answered', () => text.endsWith('{"status":"ok"}'));
    // The client opens another connection for its next request, with the new certificate.
    expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n/i);
    silent.destroy();
    expect(await stream.text()).toContain('event: end');
  });

  test('SIGHUP during the start does not end a server with TLS, which begins with the new certificate.', async () => {
    use(pairs[0]!);
    const demo = join(directory.path, 'demo');
    const args = ['--data', demo, '--port', '0', '--tls-cert', certPath, '--tls-key', keyPath];
    await using server = startChild([EXECUTABLE, 'serve', '--demo', ...args]);
    // Then it imports the simulated recordings.
    await until('it has read the certificate', () => existsSync(join(demo, 'serve.lock')));
    use(pairs[1]!);
    server.kill('SIGHUP');
    const [, port] = await server.said(/serves '.*' on https:\/\/127\.0\.0\.1:(\d+) /);
    await renewed(server, 1);
    expect(await certificateName(Number(port))).toBe('second');
  });

  test('files that do not fit on SIGHUP leave the certificate as it was, and the log says why', async () => {
    const { server, port } = await serve();
    await using _ = server;
    const reasons: readonly (readonly [() => void, RegExp])[] = [
      [() => copyFileSync(pairs[1]!.keyPath, keyPath), /'.*served\.key' is not the key of the first certificate in/],
      [() => writeFileSync(keyPath, 'nothing'), /'.*served\.key' has no private key in PEM/],
      [() => writeFileSync(certPath, 'nothing'), /'.*served\.pem' has no certificate in PEM/],
    ];
    for (const [index, [spoil, reason]] of reasons.entries()) {
      spoil();
      server.kill('SIGHUP');
      const errors = () => messagesOf(server).filter(({ level }) => level === 'error');
      await until('the log says why', () => errors().length === index + 1);
      expect(errors().at(-1)!.message).toMatch(/^the certificate was not replaced: /);
      expect(errors().at(-1)!.message).toMatch(reason);
      expect(await certificateName(port)).toBe('first');
    }
    use(pairs[1]!);
    server.kill('SIGHUP');
    await renewed(server, 1);
    expect(await certificateName(port)).toBe('second');
    for (const { key } of pairs) expect(server.stderr()).not.toContain(key.split('\n')[1]!);
  });

  test('SIGHUP keeps a certificate that clients accept rather than take one that they refuse.', async () => {
    const { server, port } = await serve('--public-url', 'https://localhost');
    await using _ = server;
    const expired = await createCertificate(directory.path, 'expired');
    await expire(expired);
    const foreign = await createCertificate(directory.path, 'foreign', ['-days', '2'], 'DNS:other');
    const refused = [
      [expired, / expired at /],
      [foreign, /is not for localhost, the host of --public-url/],
    ] as const;
    const errors = () => messagesOf(server).filter(({ level }) => level === 'error');
    for (const [index, [pair, reason]] of refused.entries()) {
      use(pair);
      server.kill('SIGHUP');
      await until('the log says why', () => errors().length === index + 1);
      expect(errors().at(-1)!.message).toMatch(/^the certificate was not replaced, and the earlier one stays: /);
      expect(errors().at(-1)!.message).toMatch(reason);
      expect(await certificateName(port)).toBe('first');
    }
    use(pairs[1]!);
    server.kill('SIGHUP');
    await renewed(server, 1);
    expect(await certificateName(port)).toBe('second');
  });

  test('With TLS the port is shared by sockets of one process only: another program is refused.', async () => {
    const { server, port } = await serve();
    await using _ = server;
    const other = join(directory.path, 'other');
    const tls = ['--tls-cert', certPath, '--tls-key', keyPath];
    for (const args of [tls, []]) {
      const run = await runCommand(['serve', '--data', other, '--port', String(port), ...args]);
      expect(run.code).toBe(1);
      expect(run.stderr).toContain('another program listens on it; choose another with --port or --host');
    }
  });

  test.each<[string, () => string[], number, RegExp]>([
    ['without a key', () => ['--tls-cert', pairs[0]!.certPath], 2, /--tls-cert and --tls-key need each other/],
    ['without a certificate', () => ['--tls-key', pairs[0]!.keyPath], 2, /--tls-cert and --tls-key need each other/],
    [
      'with the key of another certificate',
      () => ['--tls-cert', pairs[0]!.certPath, '--tls-key', pairs[1]!.keyPath],
      2,
      /second\.key' is not the key of the first certificate in '.*first\.pem': name two files of one pair/,
    ],
    [
      'with a missing file',
      () => ['--tls-cert', pairs[0]!.certPath, '--tls-key', join(directory.path, 'none')],
      2,
      /none' cannot be read: check its path and permissions/,
    ],
    [
      'with the files in the wrong order',
      () => ['--tls-cert', pairs[0]!.keyPath, '--tls-key', pairs[0]!.certPath],
      2,
      /first\.key' has no certificate in PEM/,
    ],
  ])('serve %s is refused in one sentence, and creates nothing', async (_, args, code, sentence) => {
    for (const command of ['serve', 'replay']) {
      const missing = join(directory.path, 'missing');
      const run = await runCommand([command, '--data', missing, '--port', '0', ...args()]);
      expect({ command, code: run.code, lines: run.stderr.trimEnd().split('\n').length }).toEqual({
        command,
        code,
        lines: 1,
      });
      expect(run.stderr).toMatch(sentence);
      for (const { key } of pairs) expect(run.stderr).not.toContain(key.split('\n')[1]!);
      expect(await Bun.file(join(missing, 'bookreel.db')).exists()).toBe(false);
    }
  });

  test('an encrypted key is refused with what to do', async () => {
    const locked = join(directory.path, 'locked.key');
    const command = ['openssl', 'pkcs8', '-topk8', '-in', pairs[0]!.keyPath, '-out', locked, '-passout', 'pass:secret'];
    expect(await Bun.spawn(command, { stdout: 'ignore', stderr: 'ignore' }).exited).toBe(0);
    chmodSync(locked, 0o600);
    const args = ['serve', '--data', data, '--port', '0', '--tls-cert', pairs[0]!.certPath, '--tls-key', locked];
    const { code, stderr } = await runCommand(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/locked\.key' is encrypted: write the key without a passphrase/);
  });

  test('a replay has it too: REST and sockets with wss, also after a renewal', async () => {
    use(pairs[0]!);
    const tls = ['--tls-cert', certPath, '--tls-key', keyPath];
    await using replay = startChild([EXECUTABLE, 'replay', '--data', data, '--port', '0', '--paused', ...tls]);
    const [, socketUrl, port] = await replay.said(/^WebSocket +(wss:\/\/127\.0\.0\.1:(\d+)\/ws\/market)$/m);
    const bookOf = async () => {
      const socket = new BunSocket(socketUrl!, { tls: { rejectUnauthorized: false } });
      const message = new Promise<string>((resolve, reject) => {
        socket.addEventListener('message', ({ data: text }) => resolve(String(text)));
        socket.addEventListener('error', () => reject(new Error('the socket failed')));
      });
      await new Promise((resolve) => socket.addEventListener('open', resolve));
      socket.send(JSON.stringify({ type: 'market', assets_ids: LIGHT_MARKET.clobTokenIds }));
      return { text: await message, close: () => socket.close() };
    };
    const before = await bookOf();
    use(pairs[1]!);
    replay.kill('SIGHUP');
    await renewed(replay, 1);
    expect(await certificateName(Number(port))).toBe('second');
    const after = await bookOf();
    expect(after.text).toBe(before.text);
    before.close();
    after.close();
  });
});

test('Without TLS, SIGHUP ends a server on a terminal only.', async () => {
  using directory = temporaryDirectory();
  await using server = startChild([EXECUTABLE, 'serve', '--data', directory.path, '--port', '0']);
  const [, origin] = await server.said(/ on (http:\/\/\S+) /);
  server.kill('SIGHUP');
  await until('it says so', () => server.stderr().includes('SIGHUP: there is no certificate to read again'));
  expect((await fetch(`${origin}/healthz`)).status).toBe(200);
});
