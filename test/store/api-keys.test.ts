import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKey, type KeyRequest } from '../../src/account/account-keys.ts';
import { generateKey } from '../../src/domain/api-key.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';

const REQUEST: KeyRequest = { account: 'ann@example.com', name: undefined, tier: 'pro', requestsPerMinute: undefined };

test('a key is found with the fields it was created with, and only by its whole text', () => {
  using held = temporaryArchive();
  const { apiKeys } = held.registry;
  const named = { ...REQUEST, name: 'bot', requestsPerMinute: 5000 };
  const { apiKey, key } = createKey(held.registry, NOW_MS, named);
  expect(apiKey).toEqual({
    ...named,
    accountId: expect.any(Number),
    id: expect.stringMatching(/^key_[a-z2-7]{10}$/),
    prefix: key.slice(0, 14),
    createdMs: NOW_MS,
    asOfMs: undefined,
    expiresMs: undefined,
    rotatedMs: undefined,
    revokedMs: undefined,
  });
  expect(apiKeys.authenticate(key)).toEqual(apiKey);
  for (const other of ['', key.slice(0, -1), `${key} `, key.toUpperCase(), apiKey.prefix, apiKey.id, generateKey()]) {
    expect(apiKeys.authenticate(other)).toBeUndefined();
  }
});

test('an account may have many keys, whatever the case of its address', () => {
  using held = temporaryArchive();
  const { apiKeys } = held.registry;
  const issued = ['ann@example.com', 'ANN@example.com', 'bob@example.com'].map((account, i) =>
    createKey(held.registry, NOW_MS + i, { ...REQUEST, account }),
  );
  expect(issued.map(({ apiKey }) => apiKey.account)).toEqual(['ann@example.com', 'ann@example.com', 'bob@example.com']);
  expect(apiKeys.list()).toEqual(issued.map(({ apiKey }) => apiKey));
  for (const { apiKey, key } of issued) expect(apiKeys.authenticate(key)).toEqual(apiKey);
});

test.each([0, 1, NOW_MS - 1, 253_402_300_799_999])(
  'A rotated or revoked key keeps its --as-of, and no command changes it. (%d)',
  (asOfMs) => {
    using held = temporaryArchive();
    const { database, apiKeys } = held.registry;
    const { apiKey, key } = createKey(held.registry, NOW_MS, { ...REQUEST, asOfMs });
    expect(apiKey.asOfMs).toBe(asOfMs);
    expect(apiKeys.authenticate(key)).toEqual(apiKey);
    const rotated = database.write(() => apiKeys.rotate(apiKey.id, NOW_MS));
    expect(rotated.apiKey.asOfMs).toBe(asOfMs);
    expect(apiKeys.authenticate(rotated.key)?.asOfMs).toBe(asOfMs);
    expect(database.write(() => apiKeys.revoke(apiKey.id, NOW_MS)).asOfMs).toBe(asOfMs);
    expect(apiKeys.list().map((each) => each.asOfMs)).toEqual([asOfMs]);
  },
);

describe('rotating a key', () => {
  test('refuses the old one and keeps everything else', () => {
    using held = temporaryArchive();
    const { database, apiKeys } = held.registry;
    const { apiKey, key } = createKey(held.registry, NOW_MS, REQUEST);
    const rotated = database.write(() => apiKeys.rotate(apiKey.id, NOW_MS + 5));
    expect(rotated.key).not.toBe(key);
    expect(rotated.apiKey).toEqual({ ...apiKey, prefix: rotated.key.slice(0, 14), rotatedMs: NOW_MS + 5 });
    expect(apiKeys.authenticate(key)).toBeUndefined();
    expect(apiKeys.authenticate(rotated.key)).toEqual(rotated.apiKey);
  });

  test('is refused for a revoked key and for an id that does not exist', () => {
    using held = temporaryArchive();
    const { database, apiKeys } = held.registry;
    const { apiKey } = createKey(held.registry, NOW_MS, REQUEST);
    database.write(() => apiKeys.revoke(apiKey.id, NOW_MS + 1));
    expect(() => database.write(() => apiKeys.rotate(apiKey.id, NOW_MS + 2))).toThrow('was revoked');
    expect(() => database.write(() => apiKeys.rotate('key_none', NOW_MS))).toThrow("there is no key 'key_none'");
  });
});

describe('revoking a key', () => {
  test('refuses it from then on; a second revocation changes nothing', () => {
    using held = temporaryArchive();
    const { database, apiKeys } = held.registry;
    const { apiKey, key } = createKey(held.registry, NOW_MS, REQUEST);
    const other = createKey(held.registry, NOW_MS + 1, REQUEST);
    const revoked = database.write(() => apiKeys.revoke(apiKey.id, NOW_MS + 5));
    expect(revoked).toEqual({ ...apiKey, revokedMs: NOW_MS + 5 });
    expect(database.write(() => apiKeys.revoke(apiKey.id, NOW_MS + 9))).toEqual(revoked);
    expect(apiKeys.authenticate(key)).toBeUndefined();
    expect(apiKeys.authenticate(other.key)).toEqual(other.apiKey);
    expect(apiKeys.list()).toEqual([revoked, other.apiKey]);
  });

  test('of an id that does not exist is an error', () => {
    using held = temporaryArchive();
    const { database, apiKeys } = held.registry;
    expect(() => database.write(() => apiKeys.revoke('key_none', NOW_MS))).toThrow("there is no key 'key_none'");
  });
});

test('a key that another process rotates or revokes is refused at once', () => {
  using held = temporaryArchive();
  const { apiKeys } = held.registry;
  const other = openRegistry(held.path, { create: false });
  const issued = createKey(held.registry, NOW_MS, REQUEST);
  expect(other.apiKeys.authenticate(issued.key)).toEqual(issued.apiKey);
  const rotated = other.database.write(() => other.apiKeys.rotate(issued.apiKey.id, NOW_MS));
  expect(apiKeys.authenticate(issued.key)).toBeUndefined();
  expect(apiKeys.authenticate(rotated.key)).toEqual(rotated.apiKey);
  other.database.write(() => other.apiKeys.revoke(issued.apiKey.id, NOW_MS));
  expect(apiKeys.authenticate(rotated.key)).toBeUndefined();
  other.database.close();
});

test('no file of the data directory has a key, its secret part, or a digest that needs no secret', () => {
  using held = temporaryArchive();
  const { database, apiKeys } = held.registry;
  const first = createKey(held.registry, NOW_MS, REQUEST);
  const rotated = database.write(() => apiKeys.rotate(first.apiKey.id, NOW_MS));
  const second = createKey(held.registry, NOW_MS, REQUEST);
  database.write(() => apiKeys.revoke(second.apiKey.id, NOW_MS));
  const search = () => {
    const names = readdirSync(held.path);
    const bytes = Buffer.concat(names.map((name) => readFileSync(join(held.path, name))));
    // The public prefix is found, so the search reads the right bytes.
    expect(bytes.includes(second.apiKey.prefix)).toBe(true);
    for (const { key } of [first, rotated, second]) {
      expect(bytes.includes(key)).toBe(false);
      expect(bytes.includes(key.slice(14, 30))).toBe(false);
      expect(bytes.includes(key.slice(30, 48))).toBe(false);
      expect(bytes.includes(createHash('sha256').update(key).digest())).toBe(false);
      expect(bytes.includes(createHash('sha256').update(key).digest('hex'))).toBe(false);
    }
    return names;
  };
  expect(search()).toContain('accounts.db-wal');
  database.checkpoint();
  search();
});

test('a key of a tier that does not exist is not created', () => {
  using held = temporaryArchive();
  expect(() => createKey(held.registry, NOW_MS, { ...REQUEST, tier: 'gold' })).toThrow();
});
