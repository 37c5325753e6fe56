import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { writeRecorderStatus } from '../../src/store/recorder-file.ts';
import { writePaymentSettings } from '../billing/paid-service.ts';
import { until } from '../fault/served.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { createCertificate, LACKS_OPENSSL } from '../support/certificates.ts';
import { type Child, startChild } from '../support/child.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { blocksOf } from '../support/documented-commands.ts';
import { EXECUTABLE, finished, issueKey } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, LIGHT_START_MS, lightNdjson, lightSnapshot } from '../support/light-recording.ts';
import { messagesIn } from '../support/logged.ts';
import { recorderStatus } from '../support/recorder-status.ts';
import { scrapedFrom } from '../support/scraped.ts';

const SNAPSHOTS = 20;
/** Between the last two snapshots. */
const SILENCE_MS = 3_600_000;
const MARKET = `/v1/btc/markets/${LIGHT_CONDITION_ID}`;
/** Its second snapshot comes hours later. */
const SILENT_STREAM = `${MARKET}/stream?from=${LIGHT_START_MS + (SNAPSHOTS - 1) * 10}&speed=0.1`;
const LACKS_PROMTOOL = Bun.which('promtool') === null;
const METRICS_AT = /^metrics are at (http:\/\/\S+)$/;

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

/** Checks a text with promtool, and returns what it prints. */
async function promtool(args: readonly string[], text: string): Promise<string> {
  const { code, stdout, stderr } = await finished(['promtool', 'check', ...args], {
    env: { PATH: process.env.PATH ?? '' },
    stdin: text,
  });
  if (code !== 0) throw new Error(`promtool: ${stdout}${stderr}`);
  return stdout + stderr;
}

async function metricsUrl(server: Child): Promise<string> {
  const find = () => messagesIn(server.stderr()).flatMap(({ message }) => METRICS_AT.exec(message)?.[1] ?? []);
  await until('it says where the metrics are', () => find().length === 1);
  return find()[0]!;
}

describe.skipIf(LACKS_OPENSSL !== undefined)('a server with everything turned on (needs openssl)', () => {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  const node = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const { id, method } = (await request.json()) as { id: number; method: string };
      const result = { eth_getBalance: '0xde0b6b3a7640000', eth_gasPrice: '0x3b9aca00', eth_call: '0x' }[method];
      return result === undefined ? new Response('', { status: 400 }) : Response.json({ jsonrpc: '2.0', id, result });
    },
  });
  let server: Child;
  let url: string;
  let origin: string;
  let key: string;
  const scrape = async () => {
    const answer = await fetch(url);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
    return scrapedFrom(await answer.text());
  };
  const ask = (path: string) =>
    fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${key}` }, tls: { rejectUnauthorized: false } });

  beforeAll(async () => {
    const recording = join(directory.path, 'recording.ndjson');
    const late = JSON.stringify(lightSnapshot(SNAPSHOTS + 10, 2, SILENCE_MS));
    writeFileSync(recording, `${lightNdjson(SNAPSHOTS)}\n${late}\n`);
    await outputOf(['import', recording, '--data', data]);
    ({ key } = await issueKey(data));
    await outputOf(['backup', join(directory.path, 'kept'), '--data', data]);
    // It is published, but not by this server.
    using archive = new Database(join(data, 'bookreel.db'));
    archive.run("INSERT INTO publication (only_row, address) VALUES (1, 's3://books')");
    // It was written in the future, so that it is never too old.
    writeRecorderStatus(data, recorderStatus(Date.now() + 3_600_000));
    const { certPath, keyPath } = await createCertificate(directory.path, 'served');
    // It knows nothing but prices and balances: the service starts all the same.
    const asset = '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359';
    const payments = writePaymentSettings(directory.path, { rpcUrl: node.url.href, asset });
    const mail = ['--public-url', 'https://data.example.com', '--smtp-url', 'smtp://127.0.0.1:9'];
    server = startChild([
      ...[EXECUTABLE, 'serve', '--data', data, '--port', '0', '--metrics-port', '0', '--payments', payments],
      // Nothing listens there.
      ...['--windows', 'redis://127.0.0.1:9'],
      ...['--tls-cert', certPath, '--tls-key', keyPath, ...mail, '--smtp-sender', 'bookreel@example.com'],
    ]);
    origin = (await server.said(/ on (https:\/\/\S+) /))[1]!;
    url = await metricsUrl(server);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await node.stop(true);
    directory[Symbol.dispose]();
  });

  test('shows streams that are open, and snapshots that an import adds', async () => {
    const reading = new AbortController();
    const stream = await fetch(`${origin}${SILENT_STREAM}`, {
      ...{ headers: { authorization: `Bearer ${key}` }, tls: { rejectUnauthorized: false }, signal: reading.signal },
    });
    expect(stream.status).toBe(200);
    // fetch closes the connection of an answer that nothing refers to any more, as soon as memory is collected.
    const body = stream.body!.getReader();
    await body.read();
    Bun.gc(true);
    const route = { route: '/v1/{coin}/markets/{conditionId}/stream' };
    const open = async () => (await scrape()).sum('bookreel_http_streamed_responses', route);
    expect(await open()).toBe(1);
    expect((await scrape()).sum('bookreel_http_requests_pending')).toBe(1);
    const stored = async () => (await scrape()).sum('bookreel_snapshots', { coin: 'btc' });
    expect(await stored()).toBe(SNAPSHOTS + 1);
    const more = join(directory.path, 'more.ndjson');
    writeFileSync(more, lightNdjson(5, SNAPSHOTS));
    await outputOf(['import', more, '--data', data]);
    expect(await stored()).toBe(SNAPSHOTS + 1 + 5);
    reading.abort();
    await expect(body.read()).rejects.toThrow('aborted');
    await until('the stream is over', async () => (await open()) === 0);
  });

  test('has sizes, times and counts that agree with what is outside', async () => {
    const scraped = await scrape();
    expect(scraped.sum('bookreel_database_bytes', { database: 'bookreel.db' })).toBe(
      Bun.file(join(data, 'bookreel.db')).size,
    );
    expect(scraped.sum('bookreel_markets')).toBe(1);
    expect(scraped.sum('bookreel_disk_free_bytes')).toBeWithin(1, scraped.sum('bookreel_disk_size_bytes'));
    expect(Math.abs(scraped.sum('process_start_time_seconds') - Date.now() / 1000)).toBeLessThan(600);
    const expiresIn = scraped.sum('bookreel_tls_certificate_expiry_timestamp_seconds') - Date.now() / 1000;
    expect(expiresIn).toBeWithin(86_400, 2 * 86_400 + 1);
    expect(scraped.sum('bookreel_backup_age_seconds')).toBeWithin(0, 600);
    const backedUp = scraped.sum('bookreel_backup_last_success_timestamp_seconds') - Date.now() / 1000;
    expect([scraped.sum('bookreel_backup_last_failure_timestamp_seconds'), Math.abs(backedUp) < 600]).toEqual([
      0,
      true,
    ]);
    expect(scraped.sum('bookreel_log_messages_total', { level: 'error' })).toBeGreaterThan(0);
    await until('the event loop was measured', async () => {
      return (await scrape()).sum('bookreel_event_loop_delay_seconds_count') > 2;
    });
  });

  test('Every metric of the dashboard and of the rules is in a scrape.', async () => {
    await (await ask(SILENT_STREAM.replace('speed=0.1', 'speed=max'))).text();
    expect((await ask('/v1/nothing')).status).toBe(404);
    await until('the gas was asked for', async () => (await scrape()).names.has('bookreel_gas_balance'));
    const { names, sum } = await scrape();
    expect([sum('bookreel_gas_balance'), sum('bookreel_gas_transfers')]).toEqual([1, 10_000]);
    const rules = Bun.YAML.parse(await outputOf(['metrics', 'alerts'])) as Rules;
    const dashboard = await outputOf(['metrics', 'dashboard']);
    const panels = (JSON.parse(dashboard) as { panels: { targets: { expr: string }[] }[] }).panels;
    const used = [
      ...rules.groups.flatMap((group) => group.rules.map(({ expr }) => expr)),
      ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ].flatMap((expr) => expr.match(/\b(?:bookreel|process)_(?!node_|process_)\w+/g) ?? []);
    expect(used.length).toBeGreaterThan(30);
    for (const name of used) expect([...names]).toContain(name);
    // And the dashboard shows all that there is to see.
    const shown = new Set(used.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')));
    const described = [...names].filter((name) => !/_(?:bucket|sum|count)$/.test(name));
    expect(described.filter((name) => !shown.has(name))).toEqual([]);
  });

  test.skipIf(LACKS_PROMTOOL)(
    'promtool accepts the scrape, the rules and the configuration in the manual (needs promtool)',
    async () => {
      expect(await promtool(['metrics'], (await scrape()).text)).toBe('');
      const path = join(directory.path, 'alerts.yml');
      writeFileSync(path, await outputOf(['metrics', 'alerts']));
      expect(await promtool(['rules', path], '')).toContain('SUCCESS');
      // The configuration in the manual, with this file of rules.
      const written = blocksOf(await outputOf(['manual', 'operations'])).find(
        ({ language }) => language === 'yaml',
      )!.text;
      const configuration = join(directory.path, 'prometheus.yml');
      writeFileSync(configuration, written.replace('/etc/prometheus/bookreel.yml', path));
      expect(await promtool(['config', configuration], '')).toContain('SUCCESS: 1 rule files found');
    },
  );

  test('the manual describes every metric', async () => {
    const page = await outputOf(['manual', 'operations']);
    // Those of a node: serve-node.long.test.ts; of several processes: processes.long.test.ts.
    const described = new Set(page.match(/`(?:bookreel|process)_(?!node_|process_)\w+`/g));
    const names = [...(await scrape()).names].filter((name) => !/_(?:bucket|sum|count)$/.test(name));
    expect([...described].map((name) => name.slice(1, -1)).toSorted()).toEqual(names.toSorted());
  });

  test('a page whose name resolves to this machine cannot read them (DNS rebinding)', async () => {
    const { port } = new URL(url);
    const statusAs = async (host: string) => (await fetch(url, { headers: { host } })).status;
    for (const host of [`evil.example:${port}`, 'evil.example', `localhost.evil.example:${port}`, '10.0.0.1', '']) {
      expect([host, await statusAs(host)]).toEqual([host, 400]);
    }
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, 'LOCALHOST', `[::1]:${port}`]) {
      expect([host, await statusAs(host)]).toEqual([host, 200]);
    }
  });

  test('has only /metrics there, and it is not at the address of the service', async () => {
    const { origin: metrics } = new URL(url);
    expect((await fetch(`${metrics}/`)).status).toBe(404);
    expect((await fetch(`${metrics}/v1/coins`)).status).toBe(404);
    expect((await fetch(url, { method: 'POST' })).status).toBe(405);
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
    expect((await ask('/metrics')).status).toBe(404);
    const others = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    const outside = others.find(({ internal, family }) => !internal && family === 'IPv4');
    if (outside === undefined) return;
    await expect(fetch(`http://${outside.address}:${new URL(url).port}/metrics`)).rejects.toThrow();
  });
});

test('Metrics are off unless --metrics-port names a port, and then listen on 127.0.0.1.', async () => {
  using directory = temporaryDirectory();
  await using server = startChild([EXECUTABLE, 'serve', '--data', directory.path, '--port', '0']);
  await server.said(/ on (http:\/\/\S+) /);
  server.kill('SIGTERM');
  expect(await server.exited).toBe(0);
  expect(server.stderr()).not.toContain('metrics');
});

test('a metrics port that is in use is refused in one sentence', async () => {
  using directory = temporaryDirectory();
  using other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('other') });
  const port = String(other.port);
  const args = ['serve', '--data', directory.path, '--port', '0', '--metrics-port', port];
  const { code, stdout, stderr } = await runCommand(args);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toBe(
    `bookreel: cannot listen on 127.0.0.1 port ${port}: another program listens on it; choose another with --metrics-port or --metrics-host\n`,
  );
});

test.each([
  ['--metrics-port', '65536'],
  ['--metrics-port', 'on'],
  ['--metrics-host', ''],
  ['--log-level', 'debug'],
])('serve %s %p is wrong usage', async (flag, value) => {
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  mkdirSync(data, { mode: 0o700 });
  const { code, stderr } = await runCommand(['serve', '--port', '0', '--data', data, flag, value]);
  expect([code, stderr.trimEnd().split('\n').length]).toEqual([2, 1]);
  expect(stderr).toContain(flag);
});

test('bookreel metrics without a file says which there are', async () => {
  for (const args of [['metrics'], ['metrics', 'nothing']]) {
    const { code, stderr } = await runCommand(args);
    expect(code).toBe(2);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  }
});
