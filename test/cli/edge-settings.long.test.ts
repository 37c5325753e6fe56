import { describe, expect, test } from 'bun:test';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { runCommand } from '../support/command.ts';
import { EXECUTABLE } from '../support/executable.ts';

const LISTENING = / on (http:\/\/\S+) /;
/** Number of requests, each with a log line of 320 bytes: more than fits into a pipe and the log's own buffer. */
const MANY = 8000;

describe('serve refuses as usage', () => {
  test.each([
    ['--access-log', 'yes', 'on or off'],
    ['--trusted-proxies', '10.0.0.1/8', '10.0.0.0/8'],
    ['--trusted-proxies', '10.0.0.0/8,', "''"],
    ['--trusted-proxies', 'proxy.example', 'loopback'],
    ['--cors-origins', 'https://app.example/', 'https://app.example:8443'],
    ['--cors-origins', 'https://APP.example', 'as browsers send it'],
    ['--cors-origins', 'app.example', 'as browsers send it'],
    ['--cors-origins', 'https://app.example:443', 'as browsers send it'],
    ['--cors-origins', '*,https://app.example', 'as browsers send it'],
    ['--cors-origins', 'null', 'as browsers send it'],
    ['--allowed-hosts', 'api.example:80', 'without a port'],
    ['--allowed-hosts', '', 'without a port'],
  ])('%s %p', async (flag, value, hint) => {
    using directory = temporaryDirectory();
    const data = join(directory.path, 'data');
    const { code, stderr } = await runCommand(['serve', '--port', '0', '--data', data, flag, value]);
    expect(code).toBe(2);
    expect(stderr).toContain(flag);
    expect(stderr).toContain(hint);
  });
});

describe('serve', () => {
  test('takes proxies, origins and hosts from the environment', async () => {
    using directory = temporaryDirectory();
    const env = {
      BOOKREEL_TRUSTED_PROXIES: 'loopback, 10.0.0.0/8',
      BOOKREEL_CORS_ORIGINS: 'https://a.example,https://b.example',
      BOOKREEL_ALLOWED_HOSTS: 'api.example, localhost, 127.0.0.1',
      BOOKREEL_ACCESS_LOG: 'on',
    };
    await using server = startChild([EXECUTABLE, 'serve', '--port', '0', '--data', directory.path], { env });
    const [, origin] = await server.said(LISTENING);
    const headers = { origin: 'https://b.example', 'x-forwarded-for': '192.0.2.1', 'x-request-id': 'abc' };
    const answer = await fetch(`${origin}/`, { headers });
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://b.example');
    expect(answer.headers.get('x-request-id')).toBe('abc');
    expect((await fetch(`${origin}/`, { headers: { host: 'other.example' } })).status).toBe(400);
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    const lines = requestsIn(server.stderr());
    expect(lines.map(({ id, address, status }) => [id === 'abc', address, status])).toEqual([
      [true, '192.0.2.1', 200],
      [false, '127.0.0.1', 400],
    ]);
  });

  test('logs no request unless --access-log is on', async () => {
    using directory = temporaryDirectory();
    await using server = startChild([EXECUTABLE, 'serve', '--port', '0', '--data', directory.path]);
    const [, origin] = await server.said(LISTENING);
    await fetch(`${origin}/nothing`);
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(requestsIn(server.stderr())).toEqual([]);
  });

  test('--access-log does not depend on --log-level.', async () => {
    using directory = temporaryDirectory();
    const command = [EXECUTABLE, 'serve', '--port', '0', '--data', directory.path, '--access-log', 'on'];
    await using server = startChild([...command, '--log-level', 'error']);
    const [, origin] = await server.said(LISTENING);
    await fetch(`${origin}/asked`);
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(linesOf(server.stderr()).map(({ path, message }) => path ?? message)).toEqual(['/asked']);
  });

  test('writes its access log while it runs, and the last lines before it ends', async () => {
    using directory = temporaryDirectory();
    const command = [EXECUTABLE, 'serve', '--port', '0', '--data', directory.path, '--access-log', 'on'];
    await using server = startChild(command);
    const [, origin] = await server.said(LISTENING);
    await fetch(`${origin}/first`);
    while (requestsIn(server.stderr()).length === 0) await Bun.sleep(10);
    await fetch(`${origin}/last`);
    server.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(requestsIn(server.stderr()).map(({ path }) => path)).toEqual(['/first', '/last']);
  });

  test.skipIf(Bun.which('mkfifo') === null).each([
    ['stands still, and says later what that reader missed', false],
    ['went away', true],
  ] as const)('answers while the reader of its log %s (needs mkfifo)', async (_, gone) => {
    using directory = temporaryDirectory();
    const fifo = join(directory.path, 'fifo');
    expect(await Bun.spawn(['mkfifo', fifo]).exited).toBe(0);
    // Opened for reading first, because a pipe without a reader cannot be opened for writing.
    const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(fifo, constants.O_WRONLY);
    const data = join(directory.path, 'data');
    const server = Bun.spawn([EXECUTABLE, 'serve', '--port', '0', '--data', data, '--access-log', 'on'], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: writer,
    });
    try {
      closeSync(writer);
      if (gone) closeSync(reader);
      const origin = await originOf(server.stdout);
      const statuses = new Set<number>();
      for (let asked = 0; asked < MANY; asked += 50) {
        const batch = Array.from({ length: 50 }, () => fetch(`${origin}/healthz`));
        for (const answer of await Promise.all(batch)) statuses.add(answer.status);
      }
      expect([...statuses]).toEqual([200]);
      server.kill('SIGTERM');
      const log = gone ? '' : await readUntil(server.exited, reader);
      expect(await server.exited).toBe(0);
      if (gone) return;
      const lines = linesOf(log);
      const dropped = lines.reduce((sum, line) => sum + Number(line.dropped ?? 0), 0);
      expect(dropped).toBeGreaterThan(0);
      // The messages at the end are in the log too, or among those that were dropped.
      const asked = lines.filter(({ path }) => path === '/healthz').length;
      expect(asked + dropped).toBeWithin(MANY, MANY + 2);
    } finally {
      server.kill('SIGKILL');
      if (!gone) closeSync(reader);
    }
  });
});

async function originOf(stdout: ReadableStream<Uint8Array>): Promise<string> {
  let printed = '';
  const decoder = new TextDecoder();
  for await (const chunk of stdout) {
    printed += decoder.decode(chunk, { stream: true });
    const found = LISTENING.exec(printed);
    if (found !== null) return found[1]!;
  }
  throw new Error(`serve did not start: ${printed}`);
}

/** The text that arrives in a pipe until `end`, and the text that is still in the pipe then. */
async function readUntil(end: Promise<unknown>, descriptor: number): Promise<string> {
  const buffer = Buffer.alloc(1 << 16);
  let text = '';
  let isOver = false;
  void end.then(() => {
    isOver = true;
  });
  for (;;) {
    const wasOver = isOver;
    try {
      const read = readSync(descriptor, buffer);
      text += buffer.toString('latin1', 0, read);
      if (read > 0) continue;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
    if (wasOver) return text;
    await Bun.sleep(5);
  }
}

function requestsIn(text: string): Record<string, unknown>[] {
  return linesOf(text).filter(({ path }) => path !== undefined);
}

function linesOf(text: string): Record<string, unknown>[] {
  const lines = text.split('\n').filter((line) => /^\{.*\}$/.test(line));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}
