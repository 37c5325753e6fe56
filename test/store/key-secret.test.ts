import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKey } from '../../src/account/account-keys.ts';
import { KEY_SECRET_FILE, KeySecret } from '../../src/store/key-secret.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';

const REQUEST = { account: 'a@example.com', name: undefined, tier: 'free', requestsPerMinute: undefined };

const always = () => true;
const never = () => false;

test('the secret is created once, readable by its owner only, and used from then on', () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, KEY_SECRET_FILE);
  const made = KeySecret.open(directory.path, always).digest('key');
  const text = readFileSync(path, 'utf8');
  expect(text).toMatch(/^[0-9a-f]{64}\n$/);
  expect((statSync(path).mode & 0o777).toString(8)).toBe('600');
  expect(readdirSync(directory.path)).toEqual([KEY_SECRET_FILE]);
  expect(KeySecret.open(directory.path, always).digest('key')).toEqual(made);
  expect(KeySecret.open(directory.path, never).digest('key')).toEqual(made);
  expect(readFileSync(path, 'utf8')).toBe(text);
});

test('a digest is HMAC-SHA-256 of the key, so each directory has its own', () => {
  using one = temporaryDirectory();
  using two = temporaryDirectory();
  const digest = Buffer.from(KeySecret.open(one.path, always).digest('key'));
  const secret = Buffer.from(readFileSync(join(one.path, KEY_SECRET_FILE), 'utf8').trim(), 'hex');
  expect(digest.toString('hex')).toBe(createHmac('sha256', secret).update('key').digest('hex'));
  expect(Buffer.from(KeySecret.open(two.path, always).digest('key')).equals(digest)).toBe(false);
});

test('a missing secret is an error where keys exist, and none is created', () => {
  using directory = temporaryDirectory();
  const registry = openRegistry(directory.path, { create: true });
  createKey(registry, NOW_MS, REQUEST);
  registry.database.close();
  rmSync(join(directory.path, KEY_SECRET_FILE));
  for (let i = 0; i < 2; i += 1) {
    expect(() => openRegistry(directory.path, { create: true })).toThrow('is missing');
  }
  expect(readdirSync(directory.path)).not.toContain(KEY_SECRET_FILE);
});

test('a missing secret is created where no keys exist', () => {
  using directory = temporaryDirectory();
  openRegistry(directory.path, { create: true }).database.close();
  rmSync(join(directory.path, KEY_SECRET_FILE));
  openRegistry(directory.path, { create: true }).database.close();
  expect(readdirSync(directory.path)).toContain(KEY_SECRET_FILE);
});

describe('a damaged secret is an error', () => {
  test.each([
    ['empty', ''],
    ['short', `${'ab'.repeat(31)}\n`],
    ['long', `${'ab'.repeat(33)}\n`],
    ['not hexadecimal', `${'zz'.repeat(32)}\n`],
    ['hexadecimal and something more', `${'ab'.repeat(32)}zz\n`],
    ['binary', '\u0000\u0001\u0002'],
  ])('%s', (_, text) => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, KEY_SECRET_FILE), text);
    expect(() => KeySecret.open(directory.path, always)).toThrow('is damaged');
    expect(readFileSync(join(directory.path, KEY_SECRET_FILE), 'utf8')).toBe(text);
  });
});

describe('a secret that can neither be read nor created is an error, and no digest is made without it', () => {
  test.each<[string, string, (path: string) => void]>([
    [
      'a link to a missing file',
      'is a link to a file that is missing',
      (path) => symlinkSync(`${path}-elsewhere`, path),
    ],
    ['a link to itself', 'cannot be read: check its permissions', (path) => symlinkSync(path, path)],
    ['a link to a directory', 'is not a file', (path) => symlinkSync('.', path)],
    ['a directory', 'is not a file', (path) => mkdirSync(path)],
    ['a pipe', 'is not a file', (path) => void Bun.spawnSync(['mkfifo', path])],
    [
      'a file that others may read',
      'other users may read or write',
      (path) => writeFileSync(path, 'ab'.repeat(32), { mode: 0o644 }),
    ],
  ])('%s', (_, sentence, make) => {
    using directory = temporaryDirectory();
    const path = join(directory.path, KEY_SECRET_FILE);
    make(path);
    for (const mayCreate of [always, never]) {
      expect(() => KeySecret.open(directory.path, mayCreate)).toThrow(sentence);
    }
    expect(() => openRegistry(directory.path, { create: true })).toThrow(`'${path}'`);
    expect(readdirSync(directory.path).filter((name) => name.startsWith(KEY_SECRET_FILE))).toEqual([KEY_SECRET_FILE]);
  });
});
