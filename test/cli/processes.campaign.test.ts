import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../fault/served.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { createCertificate, LACKS_OPENSSL } from '../support/certificates.ts';
import { issueKey, printed } from '../support/executable.ts';
import { writeLightRecording } from '../support/light-recording.ts';
import { serveInProcesses, statusOf } from '../support/processes.ts';
import { certificateName, startTlsClients } from '../support/tls-clients.ts';

const RENEWALS = 20;
const KILLS = 20;

describe.skipIf(process.platform !== 'linux')('servers of several processes', () => {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  beforeAll(async () => {
    const recording = join(directory.path, 'recording.ndjson');
    writeLightRecording(recording, 20);
    await printed(['import', recording, '--data', data]);
  });
  afterAll(() => directory[Symbol.dispose]());

  test.each([1, 2, 4])('1,000 requests at once are limited to the request. (%i processes)', async (processes) => {
    await using server = await serveInProcesses(data, processes);
    for (const limit of [1, 100, 999]) {
      const { key } = await issueKey(data, 'enterprise', limit);
      const statuses = await Promise.all(
        Array.from({ length: 1000 }, async () => await statusOf(`${server.origin}/v1/coins`, key)),
      );
      expect(statuses.filter((status) => status === 200)).toHaveLength(limit);
      expect(statuses.filter((status) => status === 429)).toHaveLength(1000 - limit);
    }
  });

  test.each([2, 4])(
    'No more than the limit are answered while a process is killed. (%i processes)',
    async (processes) => {
      await using server = await serveInProcesses(data, processes);
      for (let round = 0; round < 3; round += 1) {
        const { key } = await issueKey(data, 'enterprise', 500);
        const pids = server.pids();
        let answered = 0;
        let refused = 0;
        const ask = async () => {
          const status = await statusOf(`${server.origin}/v1/coins`, key).catch(() => 0);
          if (status === 200) answered += 1;
          else if (status === 429) refused += 1;
          if (answered === 200) process.kill(pids[0]!, 'SIGKILL');
        };
        await Promise.all(Array.from({ length: 1000 }, ask));
        await server.restarted(pids.slice(1));
        for (let i = 0; i < 50; i += 1) await ask();
        // A request whose answer was cut off counts too.
        expect(answered).toBeLessThanOrEqual(500);
        expect(answered).toBeGreaterThan(400);
        expect(refused).toBeGreaterThan(300);
      }
    },
  );

  test('A revoked key is refused by every process with the next request. (200 keys)', async () => {
    await using server = await serveInProcesses(data, 2);
    let refused = 0;
    for (let round = 0; round < 20; round += 1) {
      const { id, key } = await issueKey(data);
      for (let i = 0; i < 4; i += 1) expect(await statusOf(`${server.origin}/v1/coins`, key)).toBe(200);
      await printed(['key', 'revoke', id, '--data', data]);
      for (let i = 0; i < 10; i += 1) if ((await statusOf(`${server.origin}/v1/coins`, key)) === 401) refused += 1;
    }
    expect(refused).toBe(200);
  });

  test(`A process that is killed ${KILLS} times listens again each time, and the others answer meanwhile.`, async () => {
    await using server = await serveInProcesses(data, 2);
    const { key } = await issueKey(data);
    const pausesMs: number[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const [victim, other] = server.pids();
      const startedMs = performance.now();
      process.kill(victim!, 'SIGKILL');
      await server.restarted([other!]);
      pausesMs.push(performance.now() - startedMs);
      expect(await statusOf(`${server.origin}/v1/coins`, key)).toBe(200);
      // Otherwise the server ends.
      await Bun.sleep(2600);
    }
    console.log(`listening again after ${pausesMs.map((ms) => ms.toFixed(0)).join(', ')} ms`);
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
  });

  test.skipIf(LACKS_OPENSSL !== undefined)(
    `Certificates are renewed by new processes without a lost connection. (${RENEWALS} renewals under load; needs openssl)`,
    async () => {
      const pairs = [
        await createCertificate(directory.path, 'first'),
        await createCertificate(directory.path, 'second'),
      ];
      const [certPath, keyPath] = [join(directory.path, 'served.pem'), join(directory.path, 'served.key')];
      const use = (renewal: number) => {
        copyFileSync(pairs[renewal % 2]!.certPath, certPath);
        copyFileSync(pairs[renewal % 2]!.keyPath, keyPath);
      };
      use(0);
      await using server = await serveInProcesses(data, 2, ...['--tls-cert', certPath, '--tls-key', keyPath]);
      const port = Number(new URL(server.origin).port);
      const clients = startTlsClients(port, { keeping: 8, opening: 8 });
      const replaced = () =>
        server.messages().filter(({ message }) => message === 'all processes were replaced').length;
      for (let renewal = 1; renewal <= RENEWALS; renewal += 1) {
        use(renewal);
        server.kill('SIGHUP');
        await until('all processes were replaced', () => replaced() === renewal);
        for (let i = 0; i < 8; i += 1) expect(await certificateName(port)).toBe(renewal % 2 === 1 ? 'second' : 'first');
      }
      await clients.stop();
      expect(clients.seen.answers).toBeGreaterThan(RENEWALS * 20);
      expect(clients.seen.failures).toEqual([]);
      server.kill('SIGTERM');
      expect(await server.exited).toBe(0);
      expect(server.messages().filter(({ level }) => level !== 'info')).toEqual([]);
    },
    600_000,
  );
});
