import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type processResource, SERVER_FILE } from '../../src/domain/server-status.ts';
import { until } from '../fault/served.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { issueKey, printed, runExecutable } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, LIGHT_START_MS, lightNdjson, lightSnapshot } from '../support/light-recording.ts';
import { type ProcessServer, serveInProcesses, sharedFilesOf, statusOf } from '../support/processes.ts';
import { scrapedFrom } from '../support/scraped.ts';

const STREAM = `/v1/btc/markets/${LIGHT_CONDITION_ID}/stream?from=${LIGHT_START_MS}&speed=0.1`;
const STREAMS_PER_KEY_MAX = 32;

/** A process in the output of commands. */
type Shown = ReturnType<typeof processResource>;

describe.skipIf(process.platform !== 'linux')('a server of two processes', () => {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  let server: ProcessServer;

  beforeAll(async () => {
    const recording = join(directory.path, 'recording.ndjson');
    // The last one an hour later: no stream ends by itself.
    writeFileSync(recording, `${lightNdjson(20)}${JSON.stringify(lightSnapshot(20, 2, 3_600_000))}\n`);
    await printed(['import', recording, '--data', data]);
    server = await serveInProcesses(data, 2, '--metrics-port', '0', '--access-log', 'on');
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const scraped = async () => scrapedFrom(await (await fetch(server.metricsUrl!)).text());

  test('A key has its limit in all processes together, also while one is killed; metrics are the sum.', async () => {
    const { key } = await issueKey(data, 'enterprise', 100);
    const counted = async () => (await scraped()).sum('bookreel_http_requests_total', { route: '/v1/coins' });
    const before = await counted();
    const pids = server.pids();
    const statuses = await Promise.all(
      Array.from({ length: 400 }, async () => await statusOf(`${server.origin}/v1/coins`, key)),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(100);
    expect(statuses.filter((status) => status === 429)).toHaveLength(300);
    // A scrape has the last counts of a process that does not answer in time.
    await until('a scrape has all requests', async () => (await counted()) - before === 400);
    const after = await scraped();
    expect(after.sum('bookreel_limit_overflows_total')).toBe(0);
    for (const process of ['1', '2', 'parent'])
      expect(after.sum('process_resident_memory_bytes', { process })).toBeGreaterThan(0);
    process.kill(pids[0]!, 'SIGKILL');
    await server.restarted(pids[0]!);
    for (let i = 0; i < 20; i += 1) expect(await statusOf(`${server.origin}/v1/coins`, key)).toBe(429);
    // The process that starts the others has said it.
    expect((await scraped()).sum('bookreel_log_messages_total', { level: 'error' })).toBe(1);
    // What was counted before it was killed remains.
    await until('a scrape has all requests', async () => (await counted()) - before === 420);
  });

  test('A revoked key is refused by every process with the next request.', async () => {
    const { id, key } = await issueKey(data);
    for (let i = 0; i < 20; i += 1) expect(await statusOf(`${server.origin}/v1/coins`, key)).toBe(200);
    await printed(['key', 'revoke', id, '--data', data]);
    for (let i = 0; i < 20; i += 1) expect(await statusOf(`${server.origin}/v1/coins`, key)).toBe(401);
  });

  test('The streams of a process that was killed count no longer, and those of others do.', async () => {
    const { key } = await issueKey(data);
    const leaving = new AbortController();
    const open = async () => {
      const headers = { authorization: `Bearer ${key}` };
      return await fetch(`${server.origin}${STREAM}`, { headers, keepalive: false, signal: leaving.signal });
    };
    const answers = await Promise.all(Array.from({ length: STREAMS_PER_KEY_MAX + 4 }, open));
    const streams = answers.filter(({ status }) => status === 200);
    expect(streams).toHaveLength(STREAMS_PER_KEY_MAX);
    const ended: unknown[] = [];
    for (const stream of streams) stream.text().then(undefined, (error: unknown) => ended.push(error));
    const pids = server.pids();
    process.kill(pids[0]!, 'SIGKILL');
    await server.restarted(pids[0]!);
    await until('its streams have ended', () => ended.length > 0);
    const again: Response[] = [];
    // Some ends are seen later than others.
    await until('as many begin as have ended, and the next one is refused', async () => {
      const answer = await open();
      if (answer.status === 200) again.push(answer);
      return answer.status === 429 && again.length === ended.length;
    });
    expect(again.length).toBeLessThan(STREAMS_PER_KEY_MAX);
    leaving.abort();
  });

  test('Usage has the requests of all processes at once.', async () => {
    const { key } = await issueKey(data);
    for (let i = 0; i < 20; i += 1) await statusOf(`${server.origin}/v1/coins`, key);
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(`${server.origin}/v1/account/usage`, { headers, keepalive: false });
    const { data: usage } = (await answer.json()) as { data: { routes: { route: string; requests: number }[] } };
    expect(usage.routes.find(({ route }) => route === '/v1/coins')?.requests).toBe(20);
  });

  test('status, health and metrics show the processes, with their connections, requests and restarts; answers show none.', async () => {
    const status = async () => {
      const printedStatus = await printed(['status', '--json', '--data', data]);
      return (JSON.parse(printedStatus) as { server: { processes: readonly Shown[] } }).server.processes;
    };
    const sum = (processes: readonly Shown[], field: 'connections' | 'requests' | 'restarts') =>
      processes.reduce((total, process) => total + process[field], 0);
    await until('it shows both as running', async () => (await status()).every(({ state }) => state === 'running'));
    // The file may have been written before the last requests of other tests.
    await until('it shows the requests of other tests', async () => {
      const counted = (await scraped()).sum('bookreel_process_requests_total');
      return sum(await status(), 'requests') === counted;
    });
    const before = await status();
    expect(before.map(({ number, state }) => [number, state])).toEqual([
      [1, 'running'],
      [2, 'running'],
    ]);
    expect(before.map(({ processId }) => processId).toSorted()).toEqual(server.pids().toSorted());
    const { hostname, port } = new URL(server.origin);
    const sockets = Array.from({ length: 6 }, () => connect({ host: hostname, port: Number(port) }));
    for (let i = 0; i < 20; i += 1) expect(await statusOf(`${server.origin}/healthz`)).toBe(200);
    await until('it shows them', async () => {
      const now = await status();
      return sum(now, 'connections') === sockets.length && sum(now, 'requests') === sum(before, 'requests') + 20;
    });
    for (const socket of sockets) socket.destroy();
    const [, survivor] = before;
    process.kill(before[0]!.processId!, 'SIGKILL');
    await until('it shows the end and the start', async () => {
      const [first] = await status();
      return first!.restarts === before[0]!.restarts + 1 && first!.state === 'running';
    });
    const [first, second] = await status();
    expect(first!.startedAt! > before[0]!.startedAt!).toBe(true);
    expect(second).toMatchObject({ processId: survivor!.processId, startedAt: survivor!.startedAt });
    const metrics = await scraped();
    for (const { number, restarts } of [first!, second!]) {
      expect(metrics.sum('bookreel_process_restarts_total', { process: String(number) })).toBe(restarts);
    }
    expect(metrics.sum('bookreel_process_requests_total', { process: '2' })).toBeGreaterThanOrEqual(second!.requests);
    expect(metrics.sum('bookreel_process_connections')).toBe(0);
    const text = await printed(['status', '--data', data]);
    expect(text).toMatch(/; a server is running\n2 of 2 processes running\nPROCESS +PID +STATE +SINCE +RESTARTS +CONN/);
    const healthy = await printed(['health', '--port', port, '--data', data]);
    expect(healthy).toBe(`the server at ${server.origin} is ready: 2 of 2 processes running\n`);
    const asJson = JSON.parse(await printed(['health', '--json', '--port', port, '--data', data])) as object;
    expect(asJson).toMatchObject({ status: 'ready', processes: [{ number: 1 }, { number: 2 }] });
    // Another server, or another machine, has other processes.
    expect(await printed(['health', '--url', server.origin, '--data', data])).not.toContain('processes');
    for (const path of ['/healthz', '/readyz', '/']) {
      const answer = await (await fetch(`${server.origin}${path}`, { keepalive: false })).text();
      expect(answer).not.toContain(String(second!.processId));
      expect(answer).not.toContain('restarts');
    }
  });

  test('Each line of the log is whole, and those of requests have the number of a process.', async () => {
    const lines = () => server.stderr().trimEnd().split('\n');
    await until('both processes have written lines', () =>
      [1, 2].every((number) => lines().some((line) => line.includes(`"process":${number}}`))),
    );
    const entries = lines().map((line) => JSON.parse(line) as { process?: number; path?: string });
    expect(entries.filter(({ path, process }) => path !== undefined && process === undefined)).toEqual([]);
  });

  test('The memory that processes share is a file without a name, and all of it ends with them, also by kill -9.', async () => {
    await using other = await serveInProcesses(join(directory.path, 'other'), 2);
    const pids = other.pids();
    const files = pids.flatMap(sharedFilesOf);
    expect(files).toHaveLength(2);
    for (const file of files) expect(existsSync(file)).toBe(false);
    other.kill('SIGKILL');
    await until('the processes have ended without the one that started them', () =>
      pids.every((pid) => !existsSync(`/proc/${pid}`)),
    );
    const ownedBy = async () =>
      JSON.parse(await printed(['status', '--json', '--data', join(directory.path, 'other')]));
    expect((await ownedBy()).server).toEqual({ running: false, processes: [] });
    // Another server gets the directory and the port.
    await using next = await serveInProcesses(join(directory.path, 'other'), 2, '--port', new URL(other.origin).port);
    expect(next.origin).toBe(other.origin);
    await until('its state is written', async () => (await ownedBy()).server.processes.length === 2);
    next.kill('SIGTERM');
    expect(await next.exited).toBe(0);
    expect(existsSync(join(directory.path, 'other', SERVER_FILE))).toBe(false);
  });

  test('SIGHUP replaces the processes by new ones, which read settings again; wrong ones change nothing.', async () => {
    const config = join(directory.path, 'bookreel.toml');
    const settings = `data = "${join(directory.path, 'reloaded')}"\nidle-seconds = 1\n`;
    writeFileSync(config, settings);
    await using other = await serveInProcesses(join(directory.path, 'reloaded'), 2, '--config', config);
    const before = other.pids();
    const said = (text: string) => other.messages().filter(({ message }) => message.includes(text)).length;
    const allowed = async () => {
      const answer = await fetch(`${other.origin}/healthz`, {
        headers: { origin: 'https://app.example' },
        keepalive: false,
      });
      return answer.headers.get('access-control-allow-origin');
    };
    expect(await allowed()).toBeNull();
    const fixed = 'metrics-port = 1\npayments = "payments.json"\n';
    const changed = `${settings.replace('seconds = 1', 'seconds = 2')}cors-origins = ["https://app.example"]\n${fixed}`;
    writeFileSync(config, changed);
    other.kill('SIGHUP');
    await until('all are replaced', () => said('all processes were replaced') === 1);
    expect(other.pids().filter((pid) => before.includes(pid))).toEqual([]);
    for (let i = 0; i < 10; i += 1) expect(await allowed()).toBe('https://app.example');
    for (const key of ['metrics-port', 'idle-seconds', 'payments'])
      expect(said(`start the server again to change ${key}`)).toBe(1);
    const good = other.pids();
    writeFileSync(config, `${settings}cors-origins = 1\n`);
    other.kill('SIGHUP');
    await until('the log says why', () => said('process 1 was not replaced') === 1);
    expect(said('cors-origins = 1 is invalid')).toBe(1);
    expect(other.pids()).toEqual(good);
    for (let i = 0; i < 10; i += 1) expect(await allowed()).toBe('https://app.example');
  });

  test('A process that ends 5 times in 10 s ends the server, with exit code 1.', async () => {
    await using other = await serveInProcesses(join(directory.path, 'dying'), 2);
    const [, second] = other.pids();
    for (let end = 1; end <= 5; end += 1) {
      const victim = other.pids().find((pid) => pid !== second)!;
      process.kill(victim, 'SIGKILL');
      if (end < 5)
        await until('it was started again', () => other.pids().some((pid) => pid !== second && pid !== victim));
    }
    expect(await other.exited).toBe(1);
    const errors = other.messages().filter(({ level }) => level === 'error');
    expect(errors.at(-1)?.message).toBe('process 1 ended 5 times in 10 s: the server stops');
  });

  test.each<[string, string[], number, string]>([
    ['a port that is in use', [], 1, 'another program listens on it; choose another with --port or --host'],
    ['a setting that does not fit', ['--smtp-url', 'smtp://a.example'], 2, '--smtp-url needs --public-url'],
    ['a demo', ['--demo'], 2, '--demo is served by one process: leave --processes 2 out'],
    [
      'a server with payments',
      ['--payments', 'p.json'],
      2,
      '--payments are served by one process: leave --processes 2',
    ],
  ])('%s is refused as by one process', async (_, args, code, sentence) => {
    const { port } = new URL(server.origin);
    const taken = join(directory.path, 'refused');
    const run = await runExecutable(['serve', '--data', taken, '--processes', '2', '--port', port, ...args]);
    expect(run.code).toBe(code);
    expect(run.stderr).toContain(sentence);
    expect(run.stderr.trimEnd().split('\n')).toHaveLength(1);
  });
});
