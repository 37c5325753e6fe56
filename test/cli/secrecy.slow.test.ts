import { expect, spyOn, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKey, type KeyRequest } from '../../src/account/account-keys.ts';
import { generateKey } from '../../src/domain/api-key.ts';
import { ApiKeys, FIND_KEY_BY_DIGEST } from '../../src/store/api-keys.ts';
import { KeyDirectory } from '../../src/store/key-directory.ts';
import { KeySecret } from '../../src/store/key-secret.ts';
import { NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { expandInPlace } from '../support/backup-manifest.ts';
import { startChild } from '../support/child.ts';
import { runCommand } from '../support/command.ts';
import { EXECUTABLE } from '../support/executable.ts';
import { serviceOf } from '../support/service.ts';

/** The part of a key that may be shown: `br_live_` and six characters. */
const PUBLIC_CHARS = 14;
/** Number of consecutive secret characters that may not appear; a multiple of three for base64, see below. */
const PART_CHARS = 12;

const REQUEST: KeyRequest = { account: 'ann@example.com', name: undefined, tier: 'pro', requestsPerMinute: undefined };
const MARKET = 'simulated-btc-updown-5m-1767868200';

interface Output {
  readonly where: string;
  readonly bytes: Buffer;
}

/** Requests with a key in the wrong place, as clients send by mistake and attackers try. */
function misplaced(key: string): { path: string; init?: RequestInit }[] {
  const escaped = percentEscaped(key);
  const inPaths = [
    key,
    key.slice(PUBLIC_CHARS),
    key.toUpperCase(),
    escaped,
    reversed(key),
    hex(key),
    base64(key),
  ].flatMap((form) => [
    `/v1/${form}/markets`,
    `/v1/btc/markets/${form}`,
    `/v1/${form}/markets/${form}?asOf=2026-01-08`,
    `/v1/btc/markets/${form}/snapshots?limit=1`,
    `/v1/btc/markets?access_token=${form}`,
    `/v1/btc/markets?limit=${form}`,
    `/v1/btc/markets?tf=${form}`,
    `/v1/btc/markets?${form}=1`,
    `/v1/btc/markets?${form}`,
    `/v1/btc/prices?cursor=${form}`,
    `/v1/btc/prices?from=${form}`,
    `/${form}`,
    `/%ZZ${form}`,
    `/docs/${form}?${form}`,
    // A log line that is too long is cut, possibly in the middle of the key.
    ...[330, 370, 390].map((length) => `/${'x-'.repeat(length / 2)}${form}`),
  ]);
  const headers: Record<string, string>[] = [
    { 'x-api-key': key, cookie: `key=${key}` },
    { 'user-agent': `client/1 (${key})` },
    { 'user-agent': escaped },
    { 'user-agent': base64(key) },
    { 'user-agent': `${'client '.repeat(21)}${key}` },
    { referer: `http://localhost/?key=${key}`, origin: `http://${key}.example` },
    { host: key },
    { host: `${key.replaceAll('_', '-')}.example:80` },
    { 'x-request-id': key, 'x-forwarded-for': key, forwarded: `for=${key}` },
    { 'if-none-match': `"${key}"`, accept: key, 'accept-encoding': key },
    { [key.replaceAll('_', '-')]: '1' },
    { authorization: key },
    { authorization: `Basic ${base64(`${key}:`)}` },
    { authorization: `Bearer ${key} ${key}` },
  ];
  return [
    ...inPaths.map((path) => ({ path })),
    ...headers.map((given) => ({ path: '/v1/btc/markets', init: { headers: given } })),
    ...headers.map((given) => ({ path: '/', init: { headers: given } })),
    { path: '/v1/btc/markets', init: { method: 'POST', body: key } },
    { path: '/v1/btc/markets', init: { method: 'POST', body: JSON.stringify({ key }), headers: { 'x-key': key } } },
  ];
}

test('No key, old or new, right, mistyped or misplaced, is in the data, an answer, the log, an export, a backup or the process.', async () => {
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  const ids: string[] = [];
  const keys: string[] = [];
  const said: Output[] = [];
  const run = async (...args: string[]) => {
    const finished = await runCommand([...args, '--data', data]);
    said.push({ where: `stderr of ${args.join(' ')}`, bytes: Buffer.from(finished.stderr) });
    return finished;
  };
  const issue = async (...args: string[]) => {
    const { id, key } = JSON.parse((await run(...args, '--json')).stdout) as { id: string; key: string };
    ids.push(id);
    keys.push(key);
  };
  await issue('key', 'create', '--tier', 'enterprise', '--rpm', '100000');
  await using server = startChild([EXECUTABLE, 'serve', '--demo', '--access-log', 'on', '--port', '0', '--data', data]);
  const [, origin] = await server.said(/ on (http:\/\/\S+) /);
  const [, demoKey] = await server.said(/Bearer (\S+)'/);
  const [, linkToken] = await server.said(/token=(\S+)/);

  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${origin}${path}`, { ...init, decompress: false });
    const bytes = Buffer.from(await response.arrayBuffer());
    const where = `the answer to ${init.method ?? 'GET'} ${path} ${JSON.stringify(init.headers)}`;
    const heads = [...response.headers].map(([name, value]) => `${name}: ${value}\n`);
    const plain = response.headers.get('content-encoding') === 'zstd' ? Bun.zstdDecompressSync(bytes) : bytes;
    said.push({ where, bytes: Buffer.concat([Buffer.from(heads.join('')), plain]) });
    return response.status;
  };
  const forms = [{}, { accept: 'application/msgpack' }, { 'accept-encoding': 'zstd' }] as const;
  const use = async (key: string, valid: boolean) => {
    const mistyped = `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`;
    for (const form of forms) {
      expect(await ask('/v1/btc/markets', { headers: { authorization: `Bearer ${key}`, ...form } })).toBe(
        valid ? 200 : 401,
      );
      for (const wrong of [mistyped, `${key}a`, key.toUpperCase()]) {
        expect(await ask('/v1/btc/markets', { headers: { authorization: `Bearer ${wrong}`, ...form } })).toBe(401);
      }
    }
    for (const { path, init } of misplaced(key)) {
      await ask(path, init);
      const authorized = { authorization: `Bearer ${key}`, ...(init?.headers as Record<string, string> | undefined) };
      await ask(path, { ...init, headers: authorized });
    }
  };
  await use(keys[0]!, true);
  await issue('key', 'rotate', ids[0]!);
  expect(await ask('/v1/btc/markets', { headers: { authorization: `Bearer ${keys[0]}` } })).not.toBe(200);
  await use(keys[1]!, true);
  // A token of a page of the demo: only this answer has it.
  const given = await fetch(`${origin}/view/token`, { method: 'POST', headers: { origin: origin! } });
  const { data: view } = (await given.json()) as { data: { token: string } };
  expect(view.token).toStartWith('br_view_');
  await use(view.token, true);
  await issue('key', 'create', '--tier', 'enterprise', '--name', 'second');
  await run('key', 'revoke', ids[2]!);
  for (const args of [
    ['key', 'list'],
    ['key', 'list', '--json'],
    ['tier', 'list'],
    ['verify', '--json'],
  ]) {
    said.push({ where: args.join(' '), bytes: Buffer.from((await run(...args)).stdout) });
  }
  // The key in place of an id, the name of a command, or a file.
  for (const args of [
    ['key', 'revoke', keys[1]!],
    ['key', 'rotate', keys[1]!],
  ]) {
    const { code, stderr } = await runCommand([...args, '--data', data]);
    expect(code).toBe(1);
    said.push({ where: `stderr of ${args[1]} with a key`, bytes: Buffer.from(stderr) });
  }
  const out = join(directory.path, 'out');
  mkdirSync(out);
  for (const format of ['ndjson', 'msgpack', 'csv', 'parquet', 'arrow', 'segments', 'sqlite']) {
    expect((await run('export', '--market', MARKET, '--format', format, '-o', join(out, format))).code).toBe(0);
  }
  expect((await run('backup', join(out, 'backup'))).code).toBe(0);
  expandInPlace(join(out, 'backup'));

  const lookEverywhere = () => {
    const files = [data, out, join(out, 'backup')].flatMap((path) =>
      readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [join(path, entry.name)] : [])),
    );
    const seen: Output[] = [
      ...files.map((path) => ({ where: path, bytes: readFileSync(path) })),
      ...said,
      { where: 'the log', bytes: Buffer.from(server.stderr()) },
    ];
    // The key and the link of --demo are printed for its owner, and may appear nowhere else.
    const secrets = [view.token, ...keys];
    const revealed = searchFor([...secrets, demoKey!, linkToken!]);
    expect(seen.filter(({ bytes }) => revealed(bytes)).map(({ where }) => where)).toEqual([]);
    expect(searchFor(secrets)(Buffer.from(server.stdout()))).toBe(false);
    return files;
  };
  if (existsSync('/proc/self/cmdline')) {
    for (const name of ['cmdline', 'environ']) {
      said.push({ where: `/proc/PID/${name}`, bytes: readFileSync(`/proc/${server.pid}/${name}`) });
    }
  }
  // Once while the write-ahead log exists, and once after it was written into the database.
  expect(lookEverywhere()).toContain(join(data, 'bookreel.db-wal'));
  server.kill('SIGTERM');
  expect(await server.exited).toBe(0);
  lookEverywhere();
  // The log does have the requests, and the ids of their keys.
  expect(server.stderr()).toContain('/v1/btc/markets');
  expect(server.stderr()).toContain(ids[0]!);
});

test('the search of this file finds a key that is present', () => {
  const key = 'br_live_abcdefghijklmnopqrstuvwxyz234567abcdefghijklmno';
  const forms = [
    Buffer.from(key),
    Buffer.from(key.toUpperCase()),
    Buffer.from(key.slice(PUBLIC_CHARS)),
    Buffer.from(key.slice(20, 45)),
    Buffer.from(hex(key)),
    Buffer.from(base64(key)),
    Buffer.from(base64(`user:${key}`)),
    Buffer.from(key, 'utf16le'),
    Buffer.from(reversed(key)),
    Buffer.from(percentEscaped(key)),
  ];
  const reveals = searchFor([key]);
  for (const form of forms) expect(reveals(Buffer.concat([Buffer.from('x'), form, Buffer.from('y')]))).toBe(true);
  expect(reveals(Buffer.from(`${key.slice(0, PUBLIC_CHARS)}…`))).toBe(false);
});

test('An invalid key is hashed and looked up as often as a valid one, so the time of an answer reveals nothing.', async () => {
  using place = temporaryArchive();
  const { database, secret, tiers, accountTiers } = place.registry;
  using query = spyOn(database, 'query');
  const apiKeys = new ApiKeys(database, secret);
  const looking = query.mock.calls.findIndex(([sql]) => sql === FIND_KEY_BY_DIGEST);
  const statement = query.mock.results[looking]!.value as { get(digest: Uint8Array): unknown };
  const keyDirectory = new KeyDirectory(database, secret, apiKeys, tiers, accountTiers);
  const { app, key } = serviceOf(place.archive, { ...place.registry, apiKeys, keyDirectory });
  const issue = () => createKey(place.registry, NOW_MS, REQUEST);
  const [revoked, rotated, untouched] = [issue(), issue(), issue()];
  database.write(() => apiKeys.revoke(revoked.apiKey.id, NOW_MS));
  database.write(() => apiKeys.rotate(rotated.apiKey.id, NOW_MS));
  const changed = (of: string, at: number) => of.slice(0, at) + (of[at] === 'a' ? 'b' : 'a') + of.slice(at + 1);
  const mistyped = changed(key, key.length - 1);
  const presented: Record<string, readonly [string, number]> = {
    unknown: [generateKey(), 401],
    revoked: [revoked.key, 401],
    'rotated away': [rotated.key, 401],
    'wrong in its last character': [mistyped, 401],
    'wrong in its first character': [changed(key, 'br_live_'.length), 401],
    'of the right length': [`br_live_${'a'.repeat(47)}`, 401],
    'one character short': [key.slice(0, -1), 401],
    'in capitals': [key.toUpperCase(), 401],
    'not like a key at all': ['x', 401],
    'right, for the first time': [untouched.key, 200],
  };
  using lookUp = spyOn(statement, 'get');
  using digest = spyOn(KeySecret.prototype, 'digest');
  using digestText = spyOn(KeySecret.prototype, 'digestText');
  const workFor = async (token: string, status: number) => {
    const before = [digest.mock.calls.length + digestText.mock.calls.length, lookUp.mock.calls.length] as const;
    const request = new Request('http://localhost/v1/billing/tiers', { headers: { authorization: `Bearer ${token}` } });
    expect((await app.handle(request)).status).toBe(status);
    const [digests, lookUps] = before;
    return {
      digests: digest.mock.calls.length + digestText.mock.calls.length - digests,
      lookUps: lookUp.mock.calls.length - lookUps,
    };
  };
  const work: Record<string, { digests: number; lookUps: number }> = {};
  for (const [what, [token, status]] of Object.entries(presented)) work[what] = await workFor(token, status);
  const same = { digests: 2, lookUps: 1 };
  expect(work).toEqual(Object.fromEntries(Object.keys(presented).map((what) => [what, same])));
  // Invalid keys are never cached. Valid keys are: their answers show anyway that they are valid.
  expect(await workFor(mistyped, 401)).toEqual(same);
  expect(await workFor(revoked.key, 401)).toEqual(same);
  expect(await workFor(untouched.key, 200)).toEqual({ digests: 1, lookUps: 0 });
});

/** A search for more of `keys` than may be shown: in any case, plain, reversed, escaped, as UTF-16, hex or base64. */
function searchFor(keys: readonly string[]): (bytes: Buffer) => boolean {
  /** By the first four bytes: most bytes are passed over at once. */
  const needles = new Map<number, Buffer[]>();
  for (const key of keys) {
    const secret = key.slice(PUBLIC_CHARS);
    for (let start = 0; start + PART_CHARS <= secret.length; start += 1) {
      const part = secret.slice(start, start + PART_CHARS);
      const wide = Buffer.from(part, 'utf16le').toString('latin1');
      // Base64 encodes three bytes at a time, so only parts that begin at a multiple of three always look the same.
      for (const form of [part, reversed(part), hex(part), percentEscaped(part), wide, base64(part)]) {
        const needle = Buffer.from(form.toLowerCase(), 'latin1');
        needles.getOrInsertComputed(needle.readInt32BE(), () => []).push(needle);
      }
    }
  }
  return (bytes) => {
    const haystack = Buffer.from(bytes.toString('latin1').toLowerCase(), 'latin1');
    let last = 0;
    for (let at = 0; at < haystack.length; at += 1) {
      last = (last << 8) | haystack[at]!;
      const start = at - 3;
      if (needles.get(last)?.some((needle) => haystack.subarray(start, start + needle.length).equals(needle)) === true)
        return true;
    }
    return false;
  };
}

function hex(text: string): string {
  return Buffer.from(text).toString('hex');
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function reversed(text: string): string {
  return [...text].reverse().join('');
}

function percentEscaped(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('');
}
