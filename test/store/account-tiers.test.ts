import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createKey } from '../../src/account/account-keys.ts';
import { DEFAULT_TIERS } from '../../src/domain/tier.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';

const RANKED = DEFAULT_TIERS.map(({ id }) => id);

test('A key has the tier that it is pinned to, else the highest one of its account’s grants, else that of new accounts, at every instant.', () => {
  using held = temporaryArchive();
  using registry = openRegistry(held.path, { create: false, newAccountTier: 'starter' });
  const { database, accounts, accountTiers, grants, keyDirectory } = registry;
  const grant = fc.record({
    tier: fc.constantFrom(...RANKED),
    startsMs: fc.integer({ min: 0, max: 20 }),
    lasts: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
  });
  let made = 0;
  fc.assert(
    fc.property(fc.array(grant, { maxLength: 6 }), (terms) => {
      made += 1;
      const email = `p${made}@example.com`;
      const { id } = database.write(() => accounts.create({ email }, NOW_MS));
      const request = { account: email, name: undefined, tier: undefined, requestsPerMinute: undefined };
      const { key } = createKey(registry, NOW_MS, request);
      const pinned = createKey(registry, 0, { ...request, tier: 'free', expiresMs: 15 }).key;
      database.write(() => {
        for (const { tier, startsMs, lasts } of terms) {
          const endsMs = lasts === undefined ? undefined : startsMs + lasts;
          grants.add({ accountId: id, tier, source: 'operator', startsMs, endsMs }, NOW_MS);
        }
      });
      for (let nowMs = 0; nowMs < 45; nowMs += 1) {
        const current = terms.filter(({ startsMs, lasts = Infinity }) => startsMs <= nowMs && nowMs < startsMs + lasts);
        const expected = RANKED.findLast((tier) => current.some((term) => term.tier === tier)) ?? 'starter';
        const { tier, endsMs } = accountTiers.at(id, nowMs);
        expect(tier.id).toBe(expected);
        const hasTier = (atMs: number) =>
          expected === 'starter' ||
          terms.some(
            ({ tier, startsMs, lasts = Infinity }) => tier === expected && startsMs <= atMs && atMs < startsMs + lasts,
          );
        let endMs = nowMs;
        while (endMs < 45 && hasTier(endMs)) endMs += 1;
        expect(endsMs).toBe(endMs === 45 ? Infinity : endMs);
        const found = database.readShared(() => [key, pinned].map((one) => keyDirectory.find(one, nowMs)?.tier.id));
        expect(found).toEqual([expected, nowMs < 15 ? 'free' : undefined]);
      }
    }),
    { numRuns: 60 },
  );
});

test('a tier of new accounts that does not exist is refused', () => {
  using held = temporaryArchive();
  expect(() => openRegistry(held.path, { create: false, newAccountTier: 'gold' })).toThrow(
    "there is no tier 'gold': choose one of free, starter, pro, enterprise",
  );
});

test('a grant that is ended before its start is never valid', () => {
  using held = temporaryArchive();
  const { database, accounts, accountTiers, grants } = held.registry;
  const { id: accountId } = database.write(() => accounts.create({ email: 'ann@example.com' }, NOW_MS));
  const terms = { accountId, tier: 'pro', source: 'operator', startsMs: NOW_MS + 10, endsMs: undefined } as const;
  const { id } = database.write(() => grants.add(terms, NOW_MS));
  const end = () => database.write(() => grants.end(accountId, id, NOW_MS + 5));
  end();
  for (let nowMs = NOW_MS; nowMs < NOW_MS + 20; nowMs += 1)
    expect(accountTiers.at(accountId, nowMs).tier.id).toBe('free');
  expect(end).toThrow('has already ended');
});

test('a grant that has ended, or that another account has, cannot be ended', () => {
  using held = temporaryArchive();
  const { database, accounts, grants } = held.registry;
  const [ann, bob] = ['ann@example.com', 'bob@example.com'].map((email) =>
    database.write(() => accounts.create({ email }, NOW_MS)),
  );
  const terms = { tier: 'pro', source: 'operator', startsMs: NOW_MS, endsMs: undefined } as const;
  const { id } = database.write(() => grants.add({ ...terms, accountId: ann!.id }, NOW_MS));
  const end = (accountId: number, nowMs: number) => database.write(() => grants.end(accountId, id, nowMs));
  expect(() => end(bob!.id, NOW_MS + 5)).toThrow(`the account has no grant '${id}'`);
  end(ann!.id, NOW_MS + 5);
  expect(grants.ofAccount(ann!.id).map(({ endsMs }) => endsMs)).toEqual([NOW_MS + 5]);
  expect(() => end(ann!.id, NOW_MS + 6)).toThrow('has already ended');
});
