import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { changeKey, createKey } from '../../src/account/account-keys.ts';
import { endGrant, grantTier } from '../../src/account/administration.ts';
import { affectedByTier, changeTier, createTier, retireTier, type TierEdit } from '../../src/account/tier-catalog.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';
import { lastEntry, person } from './persons.ts';

const GOLD = { id: 'gold', name: 'Gold', requestsPerMinute: 600 };
const KEY = { account: 'ada@example.com', name: undefined, tier: undefined, requestsPerMinute: undefined };

test('a new tier is the highest one, or has its place', () => {
  using held = temporaryArchive();
  const { registry } = held;
  const admin = person(held, 'root@example.com', { role: 'admin' });
  const ids = () => registry.tiers.list().map(({ id }) => id);
  const gold = createTier(admin, { ...GOLD, coins: ['btc'], routes: ['markets'], monthlyPriceUsd: 9.5 });
  const expected = { ...GOLD, coins: ['btc'], routes: ['markets'], monthlyPriceUsd: 9.5 };
  expect(gold).toEqual({ ...expected, priceNote: undefined, retiredMs: undefined });
  expect(registry.tiers.find('gold')).toEqual(gold);
  expect(lastEntry(held)).toMatchObject({
    action: 'tier.add',
    actorId: admin.actor.account.id,
    detail: { tier: 'gold' },
  });
  expect(ids()).toEqual(['free', 'starter', 'pro', 'enterprise', 'gold']);
  createTier(admin, { ...GOLD, id: 'zero', place: 1 });
  changeTier(admin, 'gold', { place: 4 });
  expect(ids()).toEqual(['zero', 'free', 'starter', 'gold', 'pro', 'enterprise']);
  expect(() => createTier(admin, GOLD)).toThrow("there is a tier 'gold' already");
});

test('the place of a tier decides which of two grants is valid', () => {
  using held = temporaryArchive();
  const { registry } = held;
  const change = { registry, nowMs: NOW_MS };
  const { id } = person(held, 'ada@example.com').actor.account;
  grantTier(change, id, 'starter');
  grantTier(change, id, 'pro');
  const { key } = createKey(registry, NOW_MS, KEY);
  const tierOf = () => registry.database.readShared(() => registry.keyDirectory.find(key, NOW_MS)?.tier.id);
  expect(tierOf()).toBe('pro');
  changeTier(change, 'starter', { place: 3 });
  expect(tierOf()).toBe('starter');
});

test('a tier that keeps its place keeps its rank among retired ones', () => {
  using held = temporaryArchive();
  const { registry } = held;
  const change = { registry, nowMs: NOW_MS };
  const ids = registry.tiers.all().map(({ id }) => id);
  retireTier(change, 'starter');
  retireTier(change, 'enterprise');
  for (const edit of [{ place: 1 }, { place: 1, name: 'Free of charge' }]) changeTier(change, 'free', edit);
  for (const place of [2, 99]) changeTier(change, 'pro', { place });
  expect(registry.tiers.all().map(({ id }) => id)).toEqual(ids);
});

test('wherever tiers are moved, the order of the others stays, and retired ones are not counted', () => {
  const move = fc.record({ tier: fc.nat(3), place: fc.integer({ min: 1, max: 6 }), retires: fc.boolean() });
  fc.assert(
    fc.property(fc.array(move, { maxLength: 8 }), (moves) => {
      using held = temporaryArchive();
      const { registry } = held;
      const change = { registry, nowMs: NOW_MS };
      const names = ['free', 'starter', 'pro', 'enterprise'];
      const order = [...names];
      for (const { tier, place, retires } of moves) {
        const id = names[tier]!;
        if (retires && id !== 'free') {
          retireTier(change, id);
          if (order.includes(id)) order.splice(order.indexOf(id), 1);
        }
        changeTier(change, id, { place });
        if (!order.includes(id)) continue;
        order.splice(order.indexOf(id), 1);
        order.splice(place - 1, 0, id);
        expect(registry.tiers.list().map((one) => one.id)).toEqual(order);
      }
      expect(registry.tiers.all()).toHaveLength(4);
    }),
    { numRuns: 25 },
  );
});

describe('a change of a tier', () => {
  test('replaces only the fields that it names; a price replaces the note, and a note the price; an empty note removes both', () => {
    using held = temporaryArchive();
    const { registry } = held;
    const change = { registry, nowMs: NOW_MS };
    const before = registry.tiers.find('pro')!;
    const edits: readonly [TierEdit, object][] = [
      [{ requestsPerMinute: 7 }, { requestsPerMinute: 7 }],
      [
        { coins: undefined, routes: ['export'] },
        { coins: undefined, routes: ['export'] },
      ],
      [{ monthlyPriceUsd: 49.99 }, { monthlyPriceUsd: 49.99, priceNote: undefined }],
      [{ priceNote: 'on request' }, { monthlyPriceUsd: undefined, priceNote: 'on request' }],
      [{ name: 'Professional' }, { name: 'Professional' }],
      [{ priceNote: '' }, { monthlyPriceUsd: undefined, priceNote: undefined }],
    ];
    let expected: object = before;
    for (const [edit, changed] of edits) {
      expected = { ...expected, ...changed };
      expect(changeTier(change, 'pro', edit)).toEqual(expected as typeof before);
      expect(registry.tiers.find('pro')).toEqual(expected as typeof before);
    }
  });

  test.each<[TierEdit, string]>([
    [{ requestsPerMinute: 0 }, 'requests per minute must be'],
    [{ requestsPerMinute: 1.5 }, 'requests per minute must be'],
    [{ requestsPerMinute: 1_000_001 }, 'requests per minute must be'],
    [{ coins: ['b/c'] }, 'this is not a known coin: the known coins are bnb, btc'],
    [{ routes: ['everything'] }, 'routes must be of'],
    [{ monthlyPriceUsd: -1 }, 'the price must be'],
    [{ monthlyPriceUsd: 1.999 }, 'the price must be'],
    [{ monthlyPriceUsd: Number.NaN }, 'the price must be'],
    [{ monthlyPriceUsd: 1, priceNote: 'one' }, 'a price or a note'],
    [{ name: '' }, 'a name has 1 to 100 characters, and this one has 0'],
    [{ priceNote: 'two\nlines' }, 'this note has a character that cannot be seen, at position 4'],
    [{ place: 0 }, 'the place in the catalog must be'],
  ])('to %j is refused, also for a new tier', (edit, reason) => {
    using held = temporaryArchive();
    const { registry } = held;
    const change = { registry, nowMs: NOW_MS };
    const before = registry.tiers.all();
    expect(() => changeTier(change, 'pro', edit)).toThrow(reason);
    expect(() => createTier(change, { ...GOLD, ...edit })).toThrow(reason);
    expect(registry.tiers.all()).toEqual(before);
  });

  test.each(['', 'Gold', 'go ld', '-gold', 'gold-', 'a'.repeat(33), 'account', '../x'])('id %j is refused', (id) => {
    using held = temporaryArchive();
    const change = { registry: held.registry, nowMs: NOW_MS };
    expect(() => createTier(change, { ...GOLD, id })).toThrow('is not an id of a tier');
  });
});

test('A retired tier is given to nobody, accounts and keys that have it keep it, and serve does not start with one for new accounts.', () => {
  using held = temporaryArchive();
  const { registry } = held;
  const admin = person(held, 'root@example.com', { role: 'admin' });
  const { id } = person(held, 'ada@example.com').actor.account;
  const grant = grantTier(admin, id, 'pro');
  const followed = createKey(registry, NOW_MS, KEY);
  const pinned = createKey(registry, NOW_MS, { ...KEY, tier: 'pro' });
  const tiers = () =>
    registry.database.readShared(() =>
      [followed, pinned].map(({ key }) => registry.keyDirectory.find(key, NOW_MS)?.tier.id),
    );
  expect(retireTier(admin, 'pro').retiredMs).toBe(NOW_MS);
  expect(lastEntry(held)).toMatchObject({ action: 'tier.retire', detail: { tier: 'pro' } });
  retireTier(admin, 'pro');
  expect(registry.audit.list(9).filter(({ action }) => action === 'tier.retire')).toHaveLength(1);
  expect(tiers()).toEqual(['pro', 'pro']);
  expect(registry.tiers.list().map((tier) => tier.id)).toEqual(['free', 'starter', 'enterprise']);
  const refused = "the tier 'pro' is retired: choose one of free, starter, enterprise";
  expect(() => createKey(registry, NOW_MS, { ...KEY, tier: 'pro' })).toThrow(refused);
  expect(() => changeKey(admin, followed.apiKey.id, { tier: 'pro' })).toThrow(refused);
  expect(() => grantTier(admin, id, 'pro')).toThrow(refused);
  expect(() => openRegistry(held.path, { create: false, newAccountTier: 'pro' })).toThrow(refused);
  endGrant(admin, id, grant.id);
  changeKey(admin, pinned.apiKey.id, { tier: undefined });
  expect(tiers()).toEqual(['free', 'free']);
});

test('the tier of new accounts cannot be retired', () => {
  using held = temporaryArchive();
  using registry = openRegistry(held.path, { create: false, newAccountTier: 'starter' });
  const change = { registry, nowMs: NOW_MS };
  expect(() => retireTier(change, 'starter')).toThrow("'starter' is the tier of new accounts");
  expect(() => retireTier(change, 'gold')).toThrow("there is no tier 'gold'");
  retireTier(change, 'free');
  expect(registry.tiers.list().map(({ id }) => id)).toEqual(['starter', 'pro', 'enterprise']);
});

test('a tier affects the accounts with unexpired grants of it, and the valid keys that are pinned to it', () => {
  using held = temporaryArchive();
  const { registry } = held;
  const at = (nowMs: number) => ({ registry, nowMs });
  const [zoe, ann, bob] = ['zoe', 'ann', 'bob'].map((name) => person(held, `${name}@example.com`).actor.account);
  grantTier(at(NOW_MS), zoe!.id, 'pro', NOW_MS + 10);
  grantTier(at(NOW_MS), zoe!.id, 'pro', NOW_MS + 20);
  grantTier(at(NOW_MS), ann!.id, 'pro');
  grantTier(at(NOW_MS), ann!.id, 'pro', NOW_MS + 5);
  grantTier(at(NOW_MS), bob!.id, 'enterprise');
  const { apiKey } = createKey(registry, NOW_MS, { ...KEY, tier: 'pro' });
  createKey(registry, NOW_MS, { ...KEY, tier: 'pro', expiresMs: NOW_MS + 1 });
  createKey(registry, NOW_MS, KEY);
  const affected = affectedByTier(registry, NOW_MS + 1, 'pro');
  expect(affected.accounts).toEqual([
    { accountId: ann!.id, email: ann!.email, endsMs: undefined },
    { accountId: zoe!.id, email: zoe!.email, endsMs: NOW_MS + 20 },
  ]);
  expect([affected.keys, affected.isOfNewAccounts]).toEqual([[apiKey], false]);
  expect(affectedByTier(registry, NOW_MS + 20, 'pro').accounts.map(({ email }) => email)).toEqual([ann!.email]);
  expect(affectedByTier(registry, NOW_MS, 'free')).toEqual({ accounts: [], keys: [], isOfNewAccounts: true });
});
