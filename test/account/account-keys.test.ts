import { expect, test } from 'bun:test';
import {
  changeKey,
  createKey,
  createOwnKey,
  type KeyEdit,
  keysOf,
  revokeKey,
  rotateKey,
} from '../../src/account/account-keys.ts';
import { RECENT_SIGN_IN_MS } from '../../src/account/recent-sign-in.ts';
import { retireTier } from '../../src/account/tier-catalog.ts';
import type { ErrorKind } from '../../src/domain/errors.ts';
import { formatInstant } from '../../src/domain/instant.ts';
import { DAY_MS } from '../../src/domain/usage.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';
import { kindOf, lastEntry, person } from './persons.ts';

const UNNAMED = { name: undefined };
const NEW_KEY = { account: 'desk@example.com', name: undefined, tier: 'starter', requestsPerMinute: undefined };

test('a person creates, lists, rotates and revokes keys of their account, with the tier of the account', () => {
  using held = temporaryArchive();
  const { registry, activity } = held;
  const ada = person(held, 'ada@example.com');
  const { account } = ada.actor;
  const made = createOwnKey(ada, { name: 'laptop', asOfMs: 5, expiresMs: NOW_MS + 9 });
  expect(made.apiKey).toMatchObject({ accountId: account.id, name: 'laptop', tier: undefined, asOfMs: 5 });
  expect(lastEntry(held)).toEqual({
    action: 'key.create',
    actorId: account.id,
    accountId: account.id,
    detail: { key: made.apiKey.id, tier: null },
  });
  const later = createOwnKey({ ...ada, nowMs: NOW_MS + 1 }, UNNAMED);
  activity.usage.count(made.apiKey.id, '/v1/coins', 200, 1, NOW_MS + 3);
  const listed = () => keysOf(registry, activity.usage, account.id).map(({ id, lastUsedMs }) => [id, lastUsedMs]);
  const both = [
    [later.apiKey.id, undefined],
    [made.apiKey.id, NOW_MS + 3],
  ];
  expect(listed()).toEqual(both);
  activity.usage.flush(NOW_MS + 4);
  expect(listed()).toEqual(both);

  const rotated = rotateKey({ ...ada, nowMs: NOW_MS + 2 }, made.apiKey.id);
  expect(registry.apiKeys.authenticate(made.key)).toBeUndefined();
  expect(registry.apiKeys.authenticate(rotated.key)?.id).toBe(made.apiKey.id);
  expect(lastEntry(held)).toMatchObject({ action: 'key.rotate', actorId: account.id });
  revokeKey({ ...ada, nowMs: NOW_MS + 3 }, made.apiKey.id);
  expect(lastEntry(held)).toMatchObject({ action: 'key.revoke', actorId: account.id, accountId: account.id });
  const entries = registry.audit.list(100).length;
  revokeKey(ada, made.apiKey.id);
  expect(registry.audit.list(100)).toHaveLength(entries);
  expect(listed()).toEqual([[later.apiKey.id, undefined]]);
  expect(() => rotateKey(ada, made.apiKey.id)).toThrow('was revoked, which is final');
});

test('A key of another account is refused with the sentence for a key that does not exist.', () => {
  using held = temporaryArchive();
  const { registry } = held;
  const { apiKey, key } = createOwnKey(person(held, 'ada@example.com'), UNNAMED);
  const eve = person(held, 'eve@example.com', { role: 'admin' });
  const entries = registry.audit.list(100).length;
  for (const change of [rotateKey, revokeKey]) {
    const refusals = [apiKey.id, 'key_aaaaaaaaaa', key, ''].map((id) => {
      try {
        change(eve, id);
      } catch (error) {
        return error;
      }
      return undefined;
    });
    expect(refusals[0]).toMatchObject({ kind: 'not-found' });
    expect(new Set(refusals.map(String)).size).toBe(1);
  }
  expect(registry.apiKeys.authenticate(key)).toEqual(apiKey);
  expect(registry.audit.list(100)).toHaveLength(entries);
});

test.each<[number, ErrorKind | undefined]>([
  [RECENT_SIGN_IN_MS - 1, undefined],
  [RECENT_SIGN_IN_MS, 'sign-in-again'],
  [RECENT_SIGN_IN_MS * 1000, 'sign-in-again'],
])('A person creates and rotates within 15 minutes after sign-in, and revokes later. (%d ms: %p)', (ageMs, kind) => {
  using held = temporaryArchive();
  const now = person(held, 'ada@example.com');
  const { apiKey, key } = createOwnKey(now, UNNAMED);
  const later = { ...now, nowMs: NOW_MS + ageMs };
  expect(kindOf(() => createOwnKey(later, UNNAMED))).toBe(kind);
  expect(kindOf(() => rotateKey(later, apiKey.id))).toBe(kind);
  expect(held.registry.apiKeys.authenticate(key) === undefined).toBe(kind === undefined);
  // To revoke a key gives nobody access.
  expect(kindOf(() => revokeKey(later, apiKey.id))).toBeUndefined();
});

test('an account has as many valid keys as the setting allows; revoked and expired ones do not count', () => {
  using held = temporaryArchive();
  using registry = openRegistry(held.path, { create: false, keysPerAccount: 2 });
  const ada = { ...person(held, 'ada@example.com'), registry };
  const eve = { ...person(held, 'eve@example.com'), registry };
  const first = createOwnKey(ada, UNNAMED);
  createOwnKey(ada, { ...UNNAMED, expiresMs: NOW_MS + 10 });
  expect(() => createOwnKey(ada, UNNAMED)).toThrow(
    "'ada@example.com' may not have more than 2 valid keys: revoke one first",
  );
  createOwnKey(eve, UNNAMED);
  revokeKey(ada, first.apiKey.id);
  createOwnKey(ada, UNNAMED);
  expect(() => createOwnKey(ada, UNNAMED)).toThrow('revoke one first');
  createOwnKey({ ...ada, nowMs: NOW_MS + 10 }, UNNAMED);
});

test('A person creates at most ten times as many keys a day as the account may have; commands are not limited.', () => {
  using held = temporaryArchive();
  using registry = openRegistry(held.path, { create: false, keysPerAccount: 1 });
  const ada = { ...person(held, 'ada@example.com'), registry };
  for (let made = 0; made < 10; made += 1) revokeKey(ada, createOwnKey(ada, UNNAMED).apiKey.id);
  expect(() => createOwnKey(ada, UNNAMED)).toThrow('your account got 10 keys in the last 24 hours');
  createOwnKey({ ...person(held, 'eve@example.com'), registry }, UNNAMED);
  const request = { ...UNNAMED, account: 'ada@example.com', tier: undefined, requestsPerMinute: undefined };
  revokeKey(ada, createKey(registry, NOW_MS, request).apiKey.id);
  const later = { ...ada, nowMs: NOW_MS + 86_400_000 };
  const actor = { ...ada.actor, session: { ...ada.actor.session, provedMs: later.nowMs } };
  createOwnKey({ ...later, actor }, UNNAMED);
});

test('A person rotates keys at most 100 times a day, so that nobody fills the audit; commands are not limited.', () => {
  using held = temporaryArchive();
  const { registry } = held;
  const [ada, eve] = [person(held, 'ada@example.com'), person(held, 'eve@example.com')];
  const [own, other] = [createOwnKey(ada, UNNAMED).apiKey, createOwnKey(eve, UNNAMED).apiKey];
  for (let count = 0; count < 100; count += 1) rotateKey(ada, own.id);
  expect(kindOf(() => rotateKey(ada, own.id))).toBe('rate-limited');
  expect(registry.audit.list(1000, { action: 'key.rotate' })).toHaveLength(100);
  rotateKey(eve, other.id);
  rotateKey({ registry, nowMs: NOW_MS }, own.id);
  const nowMs = NOW_MS + DAY_MS;
  const session = { ...ada.actor.session, provedMs: nowMs };
  rotateKey({ ...ada, nowMs, actor: { ...ada.actor, session } }, own.id);
});

test.each([
  [{ name: 'two\nlines' }, 'this name has a character that cannot be seen, at position 4: remove it'],
  [{ name: '' }, 'a name has 1 to 100 characters, and this one has 0'],
  [{ name: 'x'.repeat(101) }, 'a name has 1 to 100 characters, and this one has 101'],
  [{ name: undefined, expiresMs: NOW_MS }, 'a key cannot expire in the past'],
])('a key with %p is refused', (request, reason) => {
  using held = temporaryArchive();
  const ada = person(held, 'ada@example.com');
  expect(() => createOwnKey(ada, request)).toThrow(reason);
  expect(held.registry.apiKeys.list()).toEqual([]);
});

test('an account that was disabled since the request began gets no key', () => {
  using held = temporaryArchive();
  const ada = person(held, 'ada@example.com');
  held.registry.database.write(() => held.registry.accounts.disable(ada.actor.account.id, NOW_MS));
  expect(() => createOwnKey(ada, UNNAMED)).toThrow("'ada@example.com' is disabled: enable it first");
});

test('key set changes only what it names, and the audit has all but the name of the key, which is removed with the account.', () => {
  using held = temporaryArchive();
  const { registry } = held;
  const change = { registry, nowMs: NOW_MS };
  const { apiKey, key } = createKey(registry, NOW_MS, { ...NEW_KEY, name: 'old', requestsPerMinute: 5, asOfMs: 7 });
  const { id } = apiKey;
  const cases: readonly (readonly [KeyEdit, object])[] = [
    [{ tier: 'pro' }, { tier: 'pro' }],
    [{ requestsPerMinute: 900 }, { requestsPerMinute: 900 }],
    [{ expiresMs: NOW_MS + 1 }, { expires: formatInstant(NOW_MS + 1) }],
    [{ name: 'back tests' }, { named: true }],
    [
      { tier: undefined, name: undefined },
      { tier: null, named: false },
    ],
    [
      { requestsPerMinute: undefined, expiresMs: undefined },
      { requestsPerMinute: null, expires: null },
    ],
  ];
  let expected = apiKey;
  for (const [edit, detail] of cases) {
    expected = { ...expected, ...edit };
    expect(changeKey(change, id, edit)).toEqual(expected);
    expect(registry.apiKeys.find(id)).toEqual(expected);
    expect(lastEntry(held)).toMatchObject({
      action: 'key.set',
      accountId: apiKey.accountId,
      detail: { key: id, ...detail },
    });
    expect(registry.apiKeys.authenticate(key)).toEqual(expected);
  }
});

test('a refused change of a key changes none of its fields', () => {
  using held = temporaryArchive();
  const { registry } = held;
  const change = { registry, nowMs: NOW_MS };
  const { apiKey } = createKey(registry, NOW_MS, NEW_KEY);
  retireTier(change, 'starter');
  const entries = registry.audit.list(100).length;
  const refusals: readonly (readonly [KeyEdit, ErrorKind, string])[] = [
    [{ tier: 'starter' }, 'invalid-parameter', "the tier 'starter' is retired: choose one of free, pro, enterprise"],
    [{ tier: 'gold' }, 'invalid-parameter', "there is no tier 'gold'"],
    [{ name: 'two\nlines' }, 'invalid-parameter', 'this name has a character that cannot be seen, at position 4'],
    [{ expiresMs: NOW_MS }, 'invalid-parameter', 'a key cannot expire in the past'],
  ];
  for (const [edit, kind, message] of refusals) {
    const changing = () => changeKey(change, apiKey.id, { requestsPerMinute: 9, ...edit });
    expect(kindOf(changing)).toBe(kind);
    expect(changing).toThrow(message);
  }
  expect(() => changeKey(change, 'key_aaaaaaaaaa', { name: 'x' })).toThrow("there is no key 'key_aaaaaaaaaa'");
  expect(registry.apiKeys.find(apiKey.id)).toEqual(apiKey);
  expect(registry.audit.list(100)).toHaveLength(entries);
  const revoked = revokeKey(change, apiKey.id);
  expect(() => changeKey(change, apiKey.id, { tier: 'pro' })).toThrow('was revoked, which is final');
  expect(registry.apiKeys.find(apiKey.id)).toEqual(revoked);
});

test('An expired key is valid again with a later end, unless its account has too many keys; a revoked key stays revoked.', () => {
  using held = temporaryArchive();
  using registry = openRegistry(held.path, { create: false, keysPerAccount: 2 });
  const request = { ...NEW_KEY, account: 'ada@example.com' };
  const { apiKey } = createKey(registry, NOW_MS, { ...request, expiresMs: NOW_MS + 1 });
  const later = { registry, nowMs: NOW_MS + 5 };
  const other = createKey(registry, later.nowMs, request);
  const last = createKey(registry, later.nowMs, request);
  const extend = () => changeKey(later, apiKey.id, { expiresMs: undefined });
  expect(kindOf(extend)).toBe('conflict');
  expect(extend).toThrow("'ada@example.com' may not have more than 2 valid keys");
  // Other changes do not make it valid.
  expect(changeKey(later, apiKey.id, { name: 'old' }).expiresMs).toBe(NOW_MS + 1);
  // A valid key may be changed at the limit.
  expect(changeKey(later, last.apiKey.id, { expiresMs: NOW_MS + 9 }).expiresMs).toBe(NOW_MS + 9);
  revokeKey(later, other.apiKey.id);
  expect(extend().expiresMs).toBeUndefined();
});
