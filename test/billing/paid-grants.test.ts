import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { deleteAccount } from '../../src/account/account-deletion.ts';
import { retireTier } from '../../src/account/tier-catalog.ts';
import { grantPaid, revokePaid, startOfTerm } from '../../src/billing/paid-grants.ts';
import { TERM_MS } from '../../src/domain/payment.ts';
import type { Registry } from '../../src/store/registry.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';

const DAY_MS = 86_400_000;
const TIERS = ['starter', 'pro', 'enterprise'] as const;
type TierId = (typeof TIERS)[number];

/** An account that buys tiers; payments are numbered in their order. */
function customer() {
  const temporary = temporaryArchive();
  const { registry } = temporary;
  const { database, accounts, payments, accountTiers } = registry;
  const accountId = database.write(() => accounts.create({ email: 'customer@example.com' }, NOW_MS)).id;
  const ids: string[] = [];
  const quoteOf = (tier: TierId, atMs: number) => ({
    ...{ accountId, tier, priceCents: 100, network: 'eip155:1', asset: '0x1', payTo: '0x2', amount: 1n },
    ...{ sinceBlock: 0, createdMs: atMs, expiresMs: atMs + 1 },
  });
  return {
    registry,
    activity: temporary.activity,
    accountId,
    buy: (tier: TierId, atMs: number) =>
      database.write(() => {
        const quote = payments.addQuote(quoteOf(tier, atMs));
        const payment = payments.add({ quote, payer: '0x3', nonce: `${ids.length}`, validBefore: 1 }, atMs);
        grantPaid(registry, quote, payment.id, atMs);
        ids.push(payment.id);
      }),
    revoke: (index: number, atMs: number) => database.write(() => revokePaid(registry, accountId, ids[index]!, atMs)),
    startOf: (tier: TierId, atMs: number) => startOfTerm(registry, quoteOf(tier, atMs), atMs),
    tierAt: (atMs: number) => accountTiers.at(accountId, atMs).tier.id,
    [Symbol.dispose]: () => temporary[Symbol.dispose](),
  };
}

const day = (days: number) => NOW_MS + days * DAY_MS;
const grantEnded = ({ database, grants }: Registry, id: string, accountId: number, atMs: number) =>
  database.write(() => grants.end(accountId, id, atMs));

test('a higher tier starts at once, and what is left of the lower one continues after it', () => {
  using account = customer();
  account.buy('starter', day(0));
  account.buy('pro', day(10));
  expect([9, 10, 39, 40, 59, 60].map((days) => account.tierAt(day(days)))).toEqual(
    ['starter', 'pro', 'pro', 'starter', 'starter', 'free'], // 20 days are left of starter.
  );
});

test('a lower tier that is bought starts after the higher ones', () => {
  using account = customer();
  account.buy('pro', day(0));
  account.buy('starter', day(1));
  expect([0, 29, 30, 59, 60].map((days) => account.tierAt(day(days)))).toEqual([
    'pro',
    'pro',
    'starter',
    'starter',
    'free',
  ]);
});

test('grants of an operator are not moved, and count as the tier that is bought', () => {
  using account = customer();
  const { registry, accountId } = account;
  const granted = { accountId, tier: 'pro', source: 'operator', startsMs: day(0), endsMs: day(5) } as const;
  registry.database.write(() => registry.grants.add(granted, day(0)));
  account.buy('pro', day(1));
  account.buy('enterprise', day(2));
  expect([1, 2, 31, 32, 61, 62].map((days) => account.tierAt(day(days)))).toEqual([
    'pro',
    'enterprise',
    'enterprise',
    'pro',
    'pro',
    'free',
  ]);
  const endless = { ...granted, tier: 'enterprise', endsMs: undefined };
  registry.database.write(() => registry.grants.add(endless, day(0)));
  expect(account.startOf('pro', day(3))).toBe(Infinity);
});

test('Terms that begin later move behind one that is bought in a gap before them: an operator may have ended what filled it.', () => {
  using account = customer();
  const { registry, accountId } = account;
  const granted = { accountId, tier: 'enterprise', source: 'operator', startsMs: day(0), endsMs: day(10) } as const;
  const { id } = registry.database.write(() => registry.grants.add(granted, day(0)));
  account.buy('pro', day(1));
  grantEnded(registry, id, accountId, day(2));
  expect([1, 2, 9, 10].map((days) => account.tierAt(day(days)))).toEqual(['enterprise', 'free', 'free', 'pro']);
  account.buy('pro', day(3));
  account.buy('starter', day(4));
  expect([3, 62, 63, 92, 93].map((days) => account.tierAt(day(days)))).toEqual([
    'pro',
    'pro',
    'starter',
    'starter',
    'free',
  ]);
});

test('A running higher tier goes on when a lower one is paid that an operator has granted without an end since the quote.', () => {
  using account = customer();
  const { registry, accountId } = account;
  account.buy('pro', day(0));
  const granted = { accountId, tier: 'starter', source: 'operator', startsMs: day(1), endsMs: undefined } as const;
  registry.database.write(() => registry.grants.add(granted, day(1)));
  account.buy('starter', day(2));
  expect([2, 29, 30].map((days) => account.tierAt(day(days)))).toEqual(['pro', 'pro', 'starter']);
});

test('A lower tier that is bought in a gap before a higher one has its days too.', () => {
  using account = customer();
  const { registry, accountId } = account;
  const granted = { accountId, tier: 'enterprise', source: 'operator', startsMs: day(0), endsMs: day(10) } as const;
  const { id } = registry.database.write(() => registry.grants.add(granted, day(0)));
  account.buy('pro', day(0));
  grantEnded(registry, id, accountId, day(0));
  account.buy('starter', day(0));
  const days = Array.from({ length: 70 }, (_, index) => account.tierAt(day(index)));
  expect(['starter', 'pro', 'free'].map((tier) => days.filter((one) => one === tier).length)).toEqual([30, 30, 10]);
});

test('When a lower tier in a gap before a higher one is revoked, the higher one starts at once, and no time of it is lost.', () => {
  using account = customer();
  const { registry, accountId } = account;
  const granted = { accountId, tier: 'enterprise', source: 'operator', startsMs: day(0), endsMs: day(10) } as const;
  const { id } = registry.database.write(() => registry.grants.add(granted, day(0)));
  account.buy('pro', day(0));
  grantEnded(registry, id, accountId, day(2));
  account.buy('starter', day(4));
  account.buy('starter', day(4));
  account.revoke(1, day(5));
  expect([5, 34, 35, 64, 65].map((days) => account.tierAt(day(days)))).toEqual([
    'pro',
    'pro',
    'starter',
    'starter',
    'free',
  ]);
});

test('A revoked payment moves no later one into a grant of the operator, in which its time would be lost.', () => {
  using account = customer();
  const { registry, accountId } = account;
  account.buy('pro', day(0));
  const granted = { accountId, tier: 'pro', source: 'operator', startsMs: day(2), endsMs: day(40) } as const;
  registry.database.write(() => registry.grants.add(granted, day(2)));
  account.buy('pro', day(3));
  account.revoke(0, day(5));
  expect([5, 39, 40, 69, 70].map((days) => account.tierAt(day(days)))).toEqual(['pro', 'pro', 'pro', 'pro', 'free']);
});

test('A lower tier that was paid for continues after a higher one, and one that is bought meanwhile starts after it.', () => {
  const step = fc.record({
    days: fc.integer({ min: 0, max: 25 }),
    tier: fc.constantFrom(...TIERS),
    revokes: fc.option(fc.nat({ max: 5 }), { freq: 3 }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
      using account = customer();
      // The oracle: days that are left of each payment, of which each day uses one of the highest tier, the oldest first.
      const left: { tier: TierId; days: number }[] = [];
      let now = 0;
      const pass = (days: number) => {
        for (let passed = 0; passed < days; passed += 1) {
          const used = [...TIERS]
            .reverse()
            .flatMap((tier) => left.filter((one) => one.tier === tier && one.days > 0))[0];
          expect(account.tierAt(day(now))).toBe(used?.tier ?? 'free');
          if (used !== undefined) used.days -= 1;
          now += 1;
        }
      };
      for (const { days, tier, revokes } of steps) {
        pass(days);
        const revoked = left[revokes ?? Infinity];
        if (revoked === undefined) {
          account.buy(tier, day(now));
          left.push({ tier, days: TERM_MS / DAY_MS });
        } else {
          account.revoke(revokes!, day(now));
          revoked.days = 0;
        }
      }
      pass(260);
    }),
    { numRuns: 25 },
  );
});

test('a tier keeps its rank when it is retired', () => {
  using account = customer();
  account.buy('pro', day(0));
  retireTier({ registry: account.registry, nowMs: day(1) }, 'pro');
  account.buy('starter', day(1));
  expect([1, 29, 30, 59, 60].map((days) => account.tierAt(day(days)))).toEqual([
    'pro',
    'pro',
    'starter',
    'starter',
    'free',
  ]);
});

test('Payments of a deleted account are kept for bookkeeping, with its number and without its address.', () => {
  using account = customer();
  const { accountId, activity, registry } = account;
  account.buy('pro', day(0));
  const paid = registry.payments.list(10, { accountId });
  deleteAccount({ registry, nowMs: day(1) }, accountId, activity);
  // Its transfer was under way.
  account.buy('starter', day(2));
  const [later, ...kept] = registry.payments.list(10);
  expect(kept).toEqual(paid);
  expect(later!.quote.accountId).toBe(accountId);
  expect(registry.accounts.find(accountId)!.email).not.toContain('customer');
  expect(registry.grants.accountsWith('starter', day(3))).toEqual([]);
});
