import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';

/** `br_live_` and six characters: what may be shown of a key. */
const PUBLIC_CHARS = 14;
/** A stretch of the rest that would betray it. */
const STRETCH_CHARS = 12;

test('no key, old or new, right, mistyped or in a URL, is in the data directory or in what the server said', async () => {
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  const ids: string[] = [];
  const keys: string[] = [];
  const said: string[] = [];
  const issue = async (...args: string[]) => {
    const { stdout, stderr } = await runExecutable([...args, '--json', '--data', data]);
    const { id, key } = JSON.parse(stdout) as { id: string; key: string };
    ids.push(id);
    keys.push(key);
    said.push(stderr);
  };
  await issue('key', 'create', '--tier', 'pro');
  await using server = startChild([EXECUTABLE, 'serve', '--demo', '--port', '0', '--data', data]);
  const [, origin] = await server.said(/ on (http:\/\/\S+) /);
  const [, demoKey] = await server.said(/Bearer (\S+)'/);

  const use = async (key: string) => {
    const mistyped = `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`;
    for (const presented of [key, mistyped, `${key}a`, key.toUpperCase()]) {
      await ask(origin!, '/v1/btc/markets', { authorization: `Bearer ${presented}` });
      await ask(origin!, '/v1/btc/markets', { authorization: presented });
      await ask(origin!, '/v1/btc/markets', { 'x-api-key': presented, cookie: `key=${presented}` });
      for (const path of [
        `/v1/btc/markets?access_token=${presented}`,
        `/v1/btc/markets?api_key=${presented}`,
        `/v1/${presented}/markets`,
        `/v1/btc/markets/${presented}/snapshots`,
        `/v1/btc/markets/${presented}/snapshots?cursor=${presented}`,
        `/${presented}`,
        `/%ZZ${presented}`,
      ]) {
        await ask(origin!, path, {});
        await ask(origin!, path, { authorization: `Bearer ${key}` });
      }
    }
  };
  await use(keys[0]!);
  await issue('key', 'rotate', ids[0]!);
  await use(keys[0]!);
  await use(keys[1]!);
  await issue('key', 'create', '--tier', 'enterprise', '--name', 'second');
  await runExecutable(['key', 'revoke', ids[2]!, '--data', data]);
  await use(keys[2]!);
  for (const args of [
    ['key', 'list'],
    ['key', 'list', '--json'],
  ]) {
    const { stdout, stderr } = await runExecutable([...args, '--data', data]);
    said.push(stdout, stderr);
  }

  const lookEverywhere = () => {
    for (const key of keys) {
      for (const name of readdirSync(data))
        expect([name, betrays(readFileSync(join(data, name)), key)]).toEqual([name, false]);
      for (const text of [...said, server.stdout(), server.stderr()])
        expect(betrays(Buffer.from(text), key)).toBe(false);
    }
    // The demo's key is printed for its owner, and stands nowhere else.
    for (const name of readdirSync(data))
      expect([name, betrays(readFileSync(join(data, name)), demoKey!)]).toEqual([name, false]);
    expect(betrays(Buffer.from(server.stderr()), demoKey!)).toBe(false);
  };
  // While the write-ahead log is there, and after it went into the database.
  expect(readdirSync(data)).toContain('bookreel.db-wal');
  lookEverywhere();
  server.kill('SIGTERM');
  expect(await server.exited).toBe(0);
  lookEverywhere();
});

test('the search finds a key where there is one', () => {
  const key = 'br_live_abcdefghijklmnopqrstuvwxyz234567abcdefghijklmno';
  for (const encoding of ['utf8', 'hex', 'base64', 'utf16le'] as const) {
    const text =
      encoding === 'utf16le' ? Buffer.from(key, 'utf16le') : Buffer.from(Buffer.from(key).toString(encoding));
    expect(betrays(Buffer.concat([Buffer.from('x'), text, Buffer.from('y')]), key)).toBe(true);
  }
  expect(betrays(Buffer.from(`${key.slice(0, PUBLIC_CHARS)}…`), key)).toBe(false);
});

/** Whether `bytes` hold more of `key` than may be shown: in any case, plain, as UTF-16, hex or base64. */
function betrays(bytes: Buffer, key: string): boolean {
  const secret = key.slice(PUBLIC_CHARS);
  const haystack = bytes.toString('latin1').toLowerCase();
  const needles: string[] = [];
  for (let start = 0; start + STRETCH_CHARS <= secret.length; start += STRETCH_CHARS) {
    const stretch = Buffer.from(secret.slice(start, start + STRETCH_CHARS));
    needles.push(
      stretch.toString(),
      stretch.toString('hex'),
      Buffer.from(stretch.toString(), 'utf16le').toString('latin1'),
    );
  }
  // Of base64 only what begins at a multiple of three bytes of the whole key looks the same.
  for (const shift of [0, 1, 2]) {
    const from = PUBLIC_CHARS + ((3 - ((PUBLIC_CHARS + shift) % 3)) % 3);
    needles.push(
      Buffer.from(key.slice(from, from + STRETCH_CHARS))
        .toString('base64')
        .toLowerCase(),
    );
  }
  return needles.some((needle) => haystack.includes(needle));
}

async function ask(origin: string, path: string, headers: Record<string, string>): Promise<void> {
  const response = await fetch(`${origin}${path}`, { headers });
  await response.arrayBuffer();
}
