import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { EXECUTABLE } from '../support/executable.ts';
import { LIGHT_CONDITION_ID, LIGHT_START_MS, writeLightRecording } from '../support/light-recording.ts';

/** Every system call that has another host's address as a parameter. */
const CALLS = 'connect,sendto,sendmsg,sendmmsg';
/** Addresses as strace writes them: `sin_addr=inet_addr("…")`, `inet_pton(AF_INET6, "…", …)`. */
const ADDRESS = /inet_(?:addr\("|pton\(AF_INET6, ")([^"]+)"/g;
const LOOPBACK = /^(?:127\.|::1$|::ffff:127\.)/;
const ASSET = /(?:src|href)="(\/[^"]*)"/g;
const FORMATS = ['ndjson', 'msgpack', 'csv', 'parquet', 'arrow', 'segments', 'sqlite'];

const canTrace = (() => {
  if (Bun.which('strace') === null) return false;
  // Some containers have strace but forbid tracing.
  return Bun.spawnSync(['strace', '-qq', '-e', 'trace=none', 'true']).exitCode === 0;
})();

/** The hosts in a trace, other than loopback, whether or not the connection succeeded. */
function hostsIn(trace: string): string[] {
  return [...trace.matchAll(ADDRESS)].map(([, host]) => host!).filter((host) => !LOOPBACK.test(host));
}

function traced(log: string, ...command: string[]): string[] {
  return ['strace', '-f', '-qq', '-e', `trace=${CALLS}`, '-o', log, ...command];
}

describe.skipIf(!canTrace)('offline (needs strace)', () => {
  test('no command from import to export contacts another host', async () => {
    using directory = temporaryDirectory();
    const cwd = directory.path;
    const data = join(cwd, 'data');
    const logs = join(cwd, 'logs');
    mkdirSync(logs);
    const logOf = (what: string) => join(logs, what);
    const seen = (what: string) =>
      expect({ what, hosts: hostsIn(readFileSync(logOf(what), 'utf8')) }).toEqual({ what, hosts: [] });
    const run = async (what: string, ...args: string[]) => {
      await using child = startChild(traced(logOf(what), EXECUTABLE, ...args), { cwd });
      expect({ what, code: await child.exited, stderr: child.stderr() }).toMatchObject({ what, code: 0 });
      seen(what);
      return child.stdout();
    };
    writeLightRecording(join(cwd, 'light.ndjson'), 500);
    await run('import', 'import', 'light.ndjson', '--data', data);
    const key = (await run('key', 'key', 'create', '--tier', 'enterprise', '--data', data)).trim();
    await using server = startChild(
      traced(logOf('serve'), EXECUTABLE, 'serve', '--demo', '--port', '0', '--data', data),
      { cwd },
    );
    const [, origin] = await server.said(/ on (http:\/\/\S+) /);
    const get = async (path: string, status = 200) => {
      const answer = await fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
      expect({ path, status: answer.status }).toEqual({ path, status });
      return await answer.text();
    };
    const market = `/v1/btc/markets/${LIGHT_CONDITION_ID}`;
    for (const path of ['/', '/docs', '/openapi.json', '/healthz', '/readyz', '/docs/manual']) {
      const page = await get(path);
      const assets = new Set([...page.matchAll(ASSET)].map(([, asset]) => asset!.split('#')[0]!));
      for (const asset of assets) if (asset !== path && !asset.includes('{')) await get(asset);
    }
    await get('/v1/btc/markets?limit=1000');
    await get(`${market}/snapshots?limit=1000`);
    await get(`${market}/snapshots/at/${LIGHT_START_MS}`);
    await get(`${market}/coverage`);
    for (const format of ['ndjson', 'msgpack', 'csv', 'parquet', 'arrow', 'segments'])
      await get(`${market}/export?format=${format}`);
    await get('/v1/nothing', 404);
    // strace does not pass signals on, so its child gets the signal directly.
    const pid = Number(readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').split(' ')[0]);
    process.kill(pid, 'SIGTERM');
    expect(await server.exited).toBe(0);
    seen('serve');
    for (const format of FORMATS) {
      const out = ['--format', format, '-o', `out.${format}`];
      await run(`export-${format}`, 'export', '--market', LIGHT_CONDITION_ID, ...out, '--data', data);
    }
    await run('verify', 'verify', '--data', data);
    await run('backup', 'backup', 'copy.backup', '--data', data);
    await run('restore', 'restore', 'copy.backup', '--data', join(cwd, 'restored'));
    await run('openapi', 'openapi');
    await run('version', 'version');
    expect(existsSync(join(cwd, 'restored', 'bookreel.db'))).toBe(true);
  }, 300_000);

  test('a contact with another host would be in the trace, whether or not it answers', async () => {
    using directory = temporaryDirectory();
    const log = join(directory.path, 'log');
    // Addresses for documentation (RFC 5737, RFC 3849).
    const script = `for (const host of ['192.0.2.1', '[2001:db8::1]', '127.0.0.1:9'])
      await fetch('http://' + host + '/', { signal: AbortSignal.timeout(300) }).catch(() => undefined);`;
    await using child = startChild(traced(log, EXECUTABLE, '-e', script), { env: { BUN_BE_BUN: '1' } });
    await child.exited;
    expect(new Set(hostsIn(readFileSync(log, 'utf8')))).toEqual(new Set(['192.0.2.1', '2001:db8::1']));
  });
});
