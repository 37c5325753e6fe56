import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { DEFAULT_TIERS } from '../../src/domain/tier.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { tierCounts } from '../../src/store/tier-counts.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';

const RANKED = DEFAULT_TIERS.map(({ id }) => id);
const END_MS = 45;

const tier = fc.constantFrom(...RANKED);
const lasts = fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined });
const grant = fc.record({ tier, startsMs: fc.integer({ min: 0, max: 20 }), lasts });
const key = fc.record({ pinned: fc.option(tier, { nil: undefined }), expiresMs: lasts, isRevoked: fc.boolean() });
const person = fc.record({
  grants: fc.array(grant, { maxLength: 4 }),
  keys: fc.array(key, { maxLength: 3 }),
  state: fc.constantFrom('active', 'disabled', 'deleted'),
});

test('at every instant accounts and keys are counted for the tier that each of them has, some accounts in a turn', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(person, { maxLength: 30 }), fc.integer({ min: 1, max: 31 }), async (people, aTurn) => {
      using held = temporaryArchive();
      using registry = openRegistry(held.path, { create: false, newAccountTier: 'starter' });
      const { accounts, apiKeys, database, grants } = registry;
      database.write(() => {
        for (const [index, one] of people.entries()) {
          const { id: accountId } = accounts.create({ email: `p${index}@example.com` }, NOW_MS);
          for (const { pinned, expiresMs, isRevoked } of one.keys) {
            const request = { accountId, name: undefined, requestsPerMinute: undefined, tier: pinned, expiresMs };
            const { apiKey } = apiKeys.create(request, 0);
            if (isRevoked) apiKeys.revoke(apiKey.id, 0);
          }
          for (const { tier: granted, startsMs, lasts: lastsMs } of one.grants) {
            const endsMs = lastsMs === undefined ? undefined : startsMs + lastsMs;
            grants.add({ accountId, tier: granted, source: 'operator', startsMs, endsMs }, NOW_MS);
          }
          if (one.state === 'disabled') accounts.disable(accountId, NOW_MS);
          if (one.state === 'deleted') accounts.delete(accountId, NOW_MS);
        }
      });
      for (let nowMs = 0; nowMs < END_MS; nowMs += 1) {
        const tiersNow = people.map(({ grants: given }) => {
          const valid = given.filter((one) => one.startsMs <= nowMs && nowMs < one.startsMs + (one.lasts ?? Infinity));
          return RANKED.findLast((ranked) => valid.some((one) => one.tier === ranked)) ?? 'starter';
        });
        const ofAccounts = tiersNow.filter((_, index) => people[index]!.state !== 'deleted');
        const ofKeys = people.flatMap(({ keys }, index) =>
          keys
            .filter(({ isRevoked, expiresMs = Infinity }) => !isRevoked && nowMs < expiresMs)
            .map(({ pinned }) => pinned ?? tiersNow[index]!),
        );
        expect(await tierCounts(registry, nowMs, aTurn)).toEqual({
          accounts: frequencies(ofAccounts),
          keys: frequencies(ofKeys),
        });
      }
    }),
    { numRuns: 10 },
  );
});

test('other requests are answered while the accounts of tiers are counted', async () => {
  using held = temporaryArchive();
  const { accounts, database } = held.registry;
  database.write(() => {
    for (let nth = 0; nth < 1001; nth += 1) accounts.create({ email: `p${nth}@example.com` }, NOW_MS);
  });
  let turns = 0;
  let isCounted = false;
  const turn = () => {
    turns += 1;
    if (!isCounted) setImmediate(turn);
  };
  setImmediate(turn);
  const { accounts: counts } = await tierCounts(held.registry, NOW_MS);
  isCounted = true;
  expect(counts).toEqual(new Map([['free', 1001]]));
  expect(turns).toBeGreaterThanOrEqual(5);
});

function frequencies(ids: readonly string[]): ReadonlyMap<string, number> {
  return new Map(ids.map((id) => [id, ids.filter((one) => one === id).length]));
}
