import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { createCertificate, LACKS_OPENSSL } from '../support/certificates.ts';
import { startChild } from '../support/child.ts';
import { runCommand } from '../support/command.ts';
import { EXECUTABLE } from '../support/executable.ts';

/** Starts a server that chooses its port, and returns the settings that name it. */
async function serve(data: string, env: Record<string, string> = {}) {
  const server = startChild([EXECUTABLE, 'serve', '--data', data, '--port', '0'], { env });
  const [, origin] = await server.said(/ on (https?:\/\/\S+) /);
  return { server, origin: origin!, env: { ...env, BOOKREEL_PORT: new URL(origin!).port } };
}

test.each(['127.0.0.1', '0.0.0.0', '::', 'localhost'])('health of a server on %s is 0', async (host) => {
  using directory = temporaryDirectory();
  const { server, origin, env } = await serve(directory.path, { BOOKREEL_HOST: host });
  await using _ = server;
  const expected = { code: 0, stdout: `the server at ${origin} is ready\n`, stderr: '' };
  expect(await runCommand(['health'], { env })).toEqual(expected);
  expect(await runCommand(['health', '--url', origin])).toEqual(expected);
  const asJson = await runCommand(['health', '--json'], { env });
  expect(JSON.parse(asJson.stdout)).toEqual({ address: origin, status: 'ready', processes: [] });
});

test('health sends a host that the server serves.', async () => {
  using directory = temporaryDirectory();
  const allowed = { BOOKREEL_ALLOWED_HOSTS: 'api.example.com' };
  const { server, origin, env } = await serve(directory.path, allowed);
  await using _ = server;
  expect((await fetch(`${origin}/readyz`)).status).toBe(400);
  expect((await runCommand(['health'], { env })).code).toBe(0);
  const other = await runCommand(['health', '--url', origin]);
  expect([other.code, other.stderr]).toEqual([
    1,
    `bookreel: the server at ${origin} answers with status 400: is it bookreel?\n`,
  ]);
});

test.skipIf(LACKS_OPENSSL !== undefined)('health trusts any certificate of this machine. (needs openssl)', async () => {
  using directory = temporaryDirectory();
  const { certPath, keyPath } = await createCertificate(directory.path, 'served');
  const tls = { BOOKREEL_TLS_CERT: certPath, BOOKREEL_TLS_KEY: keyPath };
  const { server, origin, env } = await serve(join(directory.path, 'data'), tls);
  await using _ = server;
  expect(origin).toStartWith('https://');
  expect(await runCommand(['health'], { env })).toEqual({
    code: 0,
    stdout: `the server at ${origin} is ready\n`,
    stderr: '',
  });
  // An address that was given may be anywhere: its certificate must be valid.
  for (const [url, why] of [
    [origin, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    [origin.replace('https:', 'http:'), 'ECONNRESET'],
  ]) {
    const { code, stderr } = await runCommand(['health', '--url', url!]);
    expect([code, stderr]).toEqual([
      1,
      `bookreel: the server at ${url} gives no answer (${why}): check whether it is http or https, its name and its certificate\n`,
    ]);
  }
});

test('health is 1 without a server, and of something else', async () => {
  using other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('hello') });
  const { port } = other;
  const notOurs = await runCommand(['health', '--url', `http://127.0.0.1:${port}`]);
  expect([notOurs.code, notOurs.stdout]).toEqual([1, '']);
  expect(notOurs.stderr).toBe(
    `bookreel: the server at http://127.0.0.1:${port} answers with status 200: is it bookreel?\n`,
  );
  await other.stop(true);
  const none = await runCommand(['health', '--port', String(port)]);
  expect([none.code, none.stdout]).toEqual([1, '']);
  expect(none.stderr).toMatch(/^bookreel: no server answers at http:\S+: start it with 'bookreel serve', or .*\n$/);
});

test('health is 1 of a server that cannot read its database, and says why.', async () => {
  using directory = temporaryDirectory();
  const { server, env } = await serve(directory.path);
  await using _ = server;
  for (const name of ['bookreel.db', 'bookreel.db-wal', 'bookreel.db-shm']) {
    await Bun.file(join(directory.path, name))
      .delete()
      .catch(() => undefined);
  }
  // Files that were replaced are noticed within 100 ms.
  for (let code = 0; code === 0; ) ({ code } = await runCommand(['health'], { env }));
  const { code, stderr } = await runCommand(['health'], { env });
  expect([code, stderr]).toEqual([1, expect.stringContaining('is not ready: database unavailable')]);
});

test.each([
  [['--port', '0'], 'name the one that the server listens on with --port or --url'],
  [['--url', 'nowhere'], 'it must be a URL like http://127.0.0.1:8000'],
])('health %j is wrong usage', async (args, sentence) => {
  const { code, stderr } = await runCommand(['health', ...args]);
  expect(code).toBe(2);
  expect(stderr).toContain(sentence);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});
