import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { copyFileSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { proportionalBytes, residentBytes } from '../fault/machine.ts';
import { until } from '../fault/served.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { createCertificate, LACKS_OPENSSL } from '../support/certificates.ts';
import { startChild } from '../support/child.ts';
import { circumstances } from '../support/circumstances.ts';
import { certificateName, startClients } from '../support/clients.ts';
import { EXECUTABLE, issueKey, printed } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, writeLightRecording } from '../support/light-recording.ts';
import { childrenOf, type ProcessServer, serveInProcesses, socketsOf, statusOf } from '../support/processes.ts';

/** A short run by default; `make processes-campaign` has the whole one, and writes RESULTS.md. */
const count = (name: string, short: number) => Number(process.env[`PROCESSES_${name}`] ?? short);
const RENEWALS = count('RENEWALS', 2);
const KILLS = count('KILLS', 2);
const STOPS = count('STOPS', 2);
const KILLED_LIMITS = count('KILLED_LIMITS', 1);
const REVOCATIONS = count('REVOCATIONS', 20);
const LOADED_MS = count('LOADED_MS', 2000);
/** Otherwise ends so close together end the server. */
const BETWEEN_KILLS_MS = 2600;

const rows: string[][] = [];

function note(what: string, result: string): void {
  rows.push([what, result]);
  console.log(`${what}: ${result}`);
}

const percentile = (values: readonly number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!;

describe.skipIf(process.platform !== 'linux')('servers of several processes', () => {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  beforeAll(async () => {
    const recording = join(directory.path, 'recording.ndjson');
    writeLightRecording(recording, 2000);
    await printed(['import', recording, '--data', data]);
  });
  afterAll(async () => {
    if (process.env.PROCESSES_RESULTS !== undefined) {
      const table = ['| what | result |', '|---|---|', ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n');
      const text = `# Servers of several processes\n\n${await circumstances('`make processes-campaign`')}\n\n${table}\n`;
      writeFileSync(join(import.meta.dir, 'RESULTS.md'), text);
    }
    directory[Symbol.dispose]();
  });

  const portOf = ({ origin }: ProcessServer) => Number(new URL(origin).port);

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
    note(`limits of 1, 100 and 999 with 1,000 requests at once, ${processes} processes`, 'exact');
  });

  test.each([2, 4])(
    'A limit is exact while a process is killed: a request whose answer was cut off counts too. (%i processes)',
    async (processes) => {
      await using server = await serveInProcesses(data, processes);
      let cut = 0;
      for (let round = 0; round < KILLED_LIMITS; round += 1) {
        const { key } = await issueKey(data, 'enterprise', 500);
        const pids = server.pids();
        const statuses: number[] = [];
        const number = (status: number) => statuses.filter((each) => each === status).length;
        const ask = async () => {
          statuses.push(await statusOf(`${server.origin}/v1/coins`, key).catch(() => 0));
          if (number(200) === 200 && statuses.at(-1) === 200) process.kill(pids[0]!, 'SIGKILL');
        };
        await Promise.all(Array.from({ length: 1000 }, ask));
        await server.restarted(pids[0]!);
        for (let i = 0; i < 50; i += 1) await ask();
        expect(number(200)).toBeLessThanOrEqual(500);
        expect(number(200) + number(0)).toBeGreaterThanOrEqual(500);
        expect(number(200) + number(0) + number(429)).toBe(1050);
        cut += number(0);
      }
      note(
        `a limit of 500 with 1,000 requests at once, a process killed, ${processes} processes, ${KILLED_LIMITS} times`,
        `exact; ${cut} requests were cut off`,
      );
    },
  );

  test.each([2, 4])(
    'A revoked key is refused by every process with the next request. (%i processes)',
    async (processes) => {
      await using server = await serveInProcesses(data, processes);
      let refused = 0;
      for (let asked = 0; asked < REVOCATIONS; asked += 10) {
        const { id, key } = await issueKey(data);
        for (let i = 0; i < 2 * processes; i += 1) expect(await statusOf(`${server.origin}/v1/coins`, key)).toBe(200);
        await printed(['key', 'revoke', id, '--data', data]);
        for (let i = 0; i < 10; i += 1) if ((await statusOf(`${server.origin}/v1/coins`, key)) === 401) refused += 1;
      }
      expect(refused).toBe(REVOCATIONS);
      note(`requests with a revoked key, ${processes} processes`, `${refused} of ${REVOCATIONS} refused`);
    },
  );

  test(`A process that is killed ${KILLS} times listens again each time; its answers under way are cut off, and no others.`, async () => {
    await using server = await serveInProcesses(data, 2);
    const port = portOf(server);
    const pausesMs: number[] = [];
    let cut = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const clients = startClients({ port, keeping: 16, opening: 0, isPlain: true });
      await until('all clients have asked', () => clients.seen.answers > 100);
      const [victim] = server.pids();
      const own = socketsOf(victim!, port).flatMap(({ client, isListening }) => (isListening ? [] : [client]));
      const startedMs = performance.now();
      process.kill(victim!, 'SIGKILL');
      await server.restarted(victim!);
      pausesMs.push(performance.now() - startedMs);
      await clients.stop();
      const { failedPorts } = clients.seen;
      expect(failedPorts.filter((each) => !own.includes(each))).toEqual([]);
      expect(new Set(failedPorts).size).toBe(failedPorts.length);
      cut += failedPorts.length;
      // Otherwise the server ends.
      await Bun.sleep(BETWEEN_KILLS_MS);
    }
    const [half, all] = [percentile(pausesMs, 0.5), Math.max(...pausesMs)];
    note(
      `a process of 2 killed ${KILLS} times, 16 connections without a pause`,
      `${cut} answers cut off, all of it connections of that process; listens again after ${half.toFixed(0)} ms (median), ${all.toFixed(0)} ms (longest)`,
    );
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
  });

  test.each([1, 2])(
    `SIGTERM under load cuts off no request on an open connection. (%i processes, ${STOPS} times)`,
    async (processes) => {
      let answers = 0;
      for (let stop = 0; stop < STOPS; stop += 1) {
        await using server = await serveInProcesses(data, processes);
        const clients = startClients({ port: portOf(server), keeping: 16, opening: 0, isPlain: true });
        await until('all clients have asked', () => clients.seen.answers > 200);
        server.kill('SIGTERM');
        expect(await server.exited).toBe(0);
        await clients.stop();
        // A connection that is opened meanwhile may be refused, or reset if nobody has accepted it yet.
        expect(clients.seen.later).toBe(0);
        answers += clients.seen.answers;
        expect(server.messages().filter(({ level }) => level !== 'info')).toEqual([]);
      }
      note(
        `SIGTERM to ${processes} processes ${STOPS} times, 16 connections without a pause`,
        `0 of ${answers} answers cut off`,
      );
    },
  );

  test.each([2, 4])('the memory of %i processes after load', async (processes) => {
    await using server = await serveInProcesses(data, processes);
    const { key } = await issueKey(data);
    const path = `/v1/btc/markets/${LIGHT_CONDITION_ID}/snapshots?limit=100`;
    const untilMs = performance.now() + LOADED_MS;
    const client = async () => {
      while (performance.now() < untilMs) expect(await statusOf(`${server.origin}${path}`, key)).toBe(200);
    };
    await Promise.all(Array.from({ length: 32 }, client));
    const pids = [server.pid, ...server.pids()];
    const [resident, shared] = [residentBytes, proportionalBytes].map((bytes) =>
      pids.reduce((sum, pid) => sum + bytes(pid), 0),
    );
    const bound = 60 + 60 * processes;
    expect(shared! / 1e6).toBeLessThan(bound);
    note(
      `memory of ${processes} processes and their parent after ${LOADED_MS / 1000} s of pages of 100`,
      `${(shared! / 1e6).toFixed(0)} MB, of at most ${bound} MB; ${(resident! / 1e6).toFixed(0)} MB if pages that they share are counted for each`,
    );
  });

  test('No file is left by servers that are killed while they start, all processes at once.', async () => {
    const left = () => ['/dev/shm', tmpdir()].flatMap((place) => readdirSync(place).filter(isShared));
    const before = left();
    for (let round = 0; round < KILLS; round += 1) {
      const child = startChild([
        EXECUTABLE,
        'serve',
        '--port',
        '0',
        '--processes',
        '2',
        '--data',
        join(directory.path, 'killed'),
      ]);
      await Bun.sleep(100 + (round % 10) * 100);
      for (const pid of [child.pid, ...childrenOf(child.pid)]) process.kill(pid, 'SIGKILL');
      await child[Symbol.asyncDispose]();
    }
    expect(left()).toEqual(before);
    await using server = await serveInProcesses(join(directory.path, 'killed'), 2);
    expect(await statusOf(`${server.origin}/readyz`)).toBe(200);
    note(`all processes killed while they start, ${KILLS} times`, 'no file is left, and a server starts after it');
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
      const port = portOf(server);
      const clients = startClients({ port, keeping: 8, opening: 8 });
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
      note(`${RENEWALS} renewals of a certificate, 16 clients`, `0 of ${clients.seen.answers} answers lost`);
      server.kill('SIGTERM');
      expect(await server.exited).toBe(0);
      expect(server.messages().filter(({ level }) => level !== 'info')).toEqual([]);
    },
    600_000,
  );
});

/** The name of shared memory where the file system needs one for a moment. */
function isShared(name: string): boolean {
  return /^bookreel-[0-9a-f]{16}$/.test(name);
}
