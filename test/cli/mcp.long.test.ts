import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import {
  EXECUTABLE,
  issueKey,
  printed,
  type RunningServer,
  runExecutable,
  startServer,
} from '../support/executable.ts';
import { type Agent, connected, type Negotiation, overHttp, VERSIONS } from '../support/mcp-client.ts';

const ROOT = join(import.meta.dir, '../..');
const MARKET = { coin: 'btc', market: 'simulated-btc-updown-5m-1767868200' };
const AT = { ...MARKET, ts: '2026-01-08T10:31:40Z', depth: 3 };
const INITIALIZE = {
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

const directory = temporaryDirectory();
const data = join(directory.path, 'archive');
let server: RunningServer;
let off: RunningServer;
let key: string;

beforeAll(async () => {
  await printed(['seed', '--data', data]);
  ({ key } = await issueKey(data));
  server = await startServer(data, ['--mcp', 'on', '--access-log', 'on']);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

/** An agent that starts the executable. */
const starting = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  mode: Negotiation = 'legacy',
): Promise<Agent> =>
  connected(new StdioClientTransport({ command: EXECUTABLE, args: ['mcp', ...args], env, stderr: 'ignore' }), mode);

describe.each(VERSIONS)('with the official client of %s', (version, mode) => {
  test('An agent that starts bookreel gets the same answers from a data directory, from a server, and at /mcp.', async () => {
    await using local = await starting(['--data', data], {}, mode);
    await using remote = await starting(['--url', server.origin], { BOOKREEL_KEY: key }, mode);
    await using http = await overHttp(server.origin, key, mode);
    for (const { client } of [local, remote, http]) expect(client.getNegotiatedProtocolVersion()).toBe(version);
    for (const [name, given] of [
      ['find_markets', { coin: 'btc', limit: 3 }],
      ['market', MARKET],
      ['coverage', MARKET],
      ['book_at', AT],
      ['series', { ...MARKET, points: 20 }],
      ['summary', MARKET],
      ['market', { ...MARKET, market: 'x' }],
    ] as const) {
      const answers = await Promise.all([local, remote, http].map(({ call }) => call(name, given)));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    }
    const shown = JSON.parse(await printed(['show', MARKET.market, '--at', AT.ts, '--json', '--data', data]));
    const { value } = await local.call('book_at', AT);
    expect(value.books.up.id).toBe(shown.snapshot.id);
  });
});

test('Commands that the tools answer with work on the same recordings.', async () => {
  await using agent = await starting(['--data', data]);
  const { value } = await agent.call('export_link', { ...MARKET, format: 'csv', outcome: 'up', depth: 1 });
  expect(value.command).toStartWith('bookreel export --market ');
  const environment = { env: { PATH: `${dirname(EXECUTABLE)}:${process.env.PATH}` }, cwd: directory.path };
  expect(Bun.spawnSync(['sh', '-c', value.command], environment).exitCode).toBe(0);
  const file = join(directory.path, `${MARKET.market}.csv`);
  expect(existsSync(file)).toBe(true);
  const { url } = (
    await overHttp(server.origin, key).then(({ call }) =>
      call('export_link', { ...MARKET, format: 'csv', outcome: 'up', depth: 1 }),
    )
  ).value;
  const linked = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  expect(await linked.text()).toBe(readFileSync(file, 'utf8'));
});

test('The key is in the variable or in a file, and no answer, message or log has it.', async () => {
  const path = join(directory.path, 'key');
  writeFileSync(path, `${key}\n`);
  chmodSync(path, 0o600);
  await using filed = await starting(['--url', server.origin, '--key-file', path]);
  expect((await filed.call('market', MARKET)).isError).toBe(false);
  await using missing = await starting(['--url', server.origin]);
  const sentence = "a valid API key is needed: send the header 'Authorization: Bearer <API_KEY>'";
  expect(await missing.call('market', MARKET)).toMatchObject({ isError: true, text: sentence });
  const wrong = `br_live_${'z'.repeat(39)}`;
  await using unknown = await starting(['--url', server.origin], { BOOKREEL_KEY: wrong });
  expect(await unknown.call('market', MARKET)).toMatchObject({ isError: true, text: sentence });
  chmodSync(path, 0o644);
  const refused = await runExecutable(['mcp', '--url', server.origin, '--key-file', path], { stdin: '' });
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('chmod 600');
  const stopping = await startServer(data.replace('archive', 'other'), ['--mcp', 'on', '--access-log', 'on']);
  await fetch(`${stopping.origin}/mcp`, { method: 'POST', headers: { authorization: `Bearer ${key}` } });
  await stopping.stop();
  expect(await stopping.log).not.toContain(key);
  expect(refused.stderr).not.toContain(key);
});

test('Without a service at its address the tools say so, and another program is no service.', async () => {
  await using agent = await starting(['--url', 'http://127.0.0.1:1']);
  const { isError, text } = await agent.call('find_markets');
  expect({ isError, text }).toEqual({
    isError: true,
    text: 'no answer from http://127.0.0.1:1: is the address right, and does the service run?',
  });
  using other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('hello') });
  await using another = await starting(['--url', `http://127.0.0.1:${other.port}`]);
  expect((await another.call('find_markets')).text).toBe('the service answers with status 200: is it bookreel?');
});

test('A URL with a password and a key that no header can have are refused; a key that others can read is warned of.', async () => {
  const run = (url: string, sent: string) =>
    runExecutable(['mcp', '--url', url], { stdin: '{}\n', env: { BOOKREEL_KEY: sent } });
  const ignored = 'bookreel: a line on standard input is no message of MCP: it is ignored\n';
  const plain = 'bookreel: anyone on the network can read the key on its way to http://192.0.2.1: use https\n';
  for (const [url, sent, code, stderr] of [
    ['http://user:secret@127.0.0.1:1', key, 2, 'bookreel: the URL has a name or a password: leave them out\n'],
    [server.origin, 'é', 2, 'bookreel: the key has characters that no key has: copy it again\n'],
    ['http://192.0.2.1', key, 0, `${plain}${ignored}`],
    ['http://192.0.2.1', '', 0, ignored],
    ['https://192.0.2.1', key, 0, ignored],
    [server.origin, key, 0, ignored],
  ] as const)
    expect(await run(url, sent)).toEqual({ code, stdout: '', stderr });
});

test('An answer that is cut off is no defect of the command.', async () => {
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"data":';
  using service = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: (socket) => void socket.end(answer) } });
  await using agent = await starting(['--url', `http://127.0.0.1:${service.port}`]);
  expect((await agent.call('find_markets')).text).toStartWith('no answer from http://127.0.0.1:');
});

test('A redirected request does not take the key elsewhere.', async () => {
  const seen: (string | null)[] = [];
  using elsewhere = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    fetch: ({ headers }) => {
      seen.push(headers.get('authorization'));
      return Response.json({ data: [] });
    },
  });
  using service = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    fetch: () => Response.redirect(`http://127.0.0.1:${elsewhere.port}/`),
  });
  await using agent = await starting(['--url', `http://127.0.0.1:${service.port}`], { BOOKREEL_KEY: key });
  expect((await agent.call('find_markets')).isError).toBe(true);
  expect(seen).toEqual([]);
});

test('replay_create creates a replay where the service replays.', async () => {
  await using replaying = startChild(
    [EXECUTABLE, 'replay', '--coin', 'btc', '--port', '0', '--data', data, '--json'],
    {},
  );
  const [, origin] = await replaying.said(/"address": "(.+)"/);
  await using agent = await starting(['--url', origin!]);
  const { value } = await agent.call('replay_create', { ...MARKET, speed: 10, paused: true });
  expect(value.replay).toMatchObject({ state: 'paused', speed: 10, markets: 1, coins: ['btc'] });
  const { data: replays } = (await (await fetch(`${origin}/v1/replays`)).json()) as { data: { id: string }[] };
  expect(replays.map(({ id }) => id)).toContain(value.replay.id);
  const refused = await agent.call('replay_create', { ...MARKET, speed: -1 });
  expect(refused.isError).toBe(true);
  expect(refused.text).toContain('speed');
});

test('The command ends with its input, and at a signal.', async () => {
  const ended = await runExecutable(['mcp', '--data', data], { stdin: '' });
  expect(ended).toEqual({ code: 0, stdout: '', stderr: '' });
  const child = Bun.spawn([EXECUTABLE, 'mcp', '--data', data], { stdin: 'pipe', stdout: 'pipe', stderr: 'ignore' });
  child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
  child.stdin.flush();
  const { value } = await child.stdout.getReader().read();
  expect(JSON.parse(Buffer.from(value!).toString()).result.protocolVersion).toBe('2025-11-25');
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
});

test('A data directory that does not exist is an error of the command, and is not created.', async () => {
  const missing = join(directory.path, 'missing');
  const { code, stdout, stderr } = await runExecutable(['mcp', '--data', missing], { stdin: '' });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toStartWith('bookreel: ');
  expect(existsSync(missing)).toBe(false);
});

describe('A server without --mcp on has no /mcp, and loads nothing for it.', () => {
  test('the path is a 404', async () => {
    off = await startServer(join(directory.path, 'off'));
    const answer = await fetch(`${off.origin}/mcp`, { method: 'POST', body: JSON.stringify(INITIALIZE) });
    expect(answer.status).toBe(404);
    expect(((await answer.json()) as { detail: string }).detail).toContain('there is no such path');
    await off.stop();
  });

  test('no file that starts imports the library, or a file that does', () => {
    const transpilers = { '.ts': new Bun.Transpiler({ loader: 'ts' }), '.tsx': new Bun.Transpiler({ loader: 'tsx' }) };
    const started = new Map<string, readonly string[]>();
    const visit = (path: string) => {
      if (started.has(path)) return;
      const transpiler = transpilers[extname(path) as keyof typeof transpilers];
      const found = transpiler.scanImports(readFileSync(path, 'utf8'));
      const stated = found.filter(({ kind }) => kind === 'import-statement').map((each) => each.path);
      started.set(path, stated);
      for (const target of stated) if (/^\..*\.tsx?$/.test(target)) visit(join(dirname(path), target));
    };
    // A start of 'serve' loads both.
    for (const path of ['src/main.ts', 'src/cli/serve.ts']) visit(join(ROOT, path));
    expect(started.size).toBeGreaterThan(300);
    const packages = [...started.values()].flat();
    expect(packages).toContain('elysia');
    expect(packages.filter((name) => name.startsWith('@modelcontextprotocol') || name === 'zod')).toEqual([]);
  });
});
