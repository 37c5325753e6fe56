import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { deleteAccount } from '../../src/account/account-deletion.ts';
import { createKey } from '../../src/account/account-keys.ts';
import {
  administer,
  disableAccount,
  enableAccount,
  endGrant,
  grantTier,
  listAccounts,
  refuseNonAdmin,
  setRole,
} from '../../src/account/administration.ts';
import { auditPage } from '../../src/account/audit-page.ts';
import type { Change } from '../../src/account/change.ts';
import { RECENT_SIGN_IN_MS } from '../../src/account/recent-sign-in.ts';
import { changeTier, createTier, retireTier } from '../../src/account/tier-catalog.ts';
import { NOW_MS, type TemporaryArchive, temporaryArchive } from '../support/archive.ts';
import { kindOf, lastEntry, person } from './persons.ts';

const ignored = () => undefined;

/** Every change that only admins may make, of the account `id`. */
function changes({ activity }: TemporaryArchive, id: number): Readonly<Record<string, (change: Change) => unknown>> {
  return {
    grantTier: (change) => grantTier(change, id, 'pro'),
    endGrant: (change) => endGrant(change, id, 'grant_00'),
    disableAccount: (change) => disableAccount(change, id, ignored),
    enableAccount: (change) => enableAccount(change, id),
    setRole: (change) => setRole(change, id, 'admin'),
    deleteAccount: (change) => deleteAccount(change, id, activity),
    createTier: (change) => createTier(change, { id: 'gold', name: 'Gold', requestsPerMinute: 5 }),
    changeTier: (change) => changeTier(change, 'pro', { requestsPerMinute: 5 }),
    retireTier: (change) => retireTier(change, 'pro'),
  };
}

test('The role of an admin is read again in the transaction of each change.', () => {
  using held = temporaryArchive();
  const { registry } = held;
  const ada = person(held, 'ada@example.com');
  const admin = person(held, 'root@example.com', { role: 'admin' });
  const former = person(held, 'former@example.com', { role: 'admin' });
  const disabled = person(held, 'gone@example.com', { role: 'admin' });
  setRole(admin, former.actor.account.id, 'user');
  disableAccount(admin, disabled.actor.account.id, ignored);
  const entries = registry.audit.list(100).length;
  for (const [name, change] of Object.entries(changes(held, ada.actor.account.id))) {
    const refused = [ada, former, disabled].map((actor) => kindOf(() => change(actor)));
    const late = kindOf(() => change({ ...admin, nowMs: NOW_MS + RECENT_SIGN_IN_MS }));
    expect([name, ...refused, late]).toEqual([name, 'forbidden', 'forbidden', 'forbidden', 'sign-in-again']);
  }
  expect(registry.audit.list(100)).toHaveLength(entries);
  expect(kindOf(() => refuseNonAdmin(ada.actor, NOW_MS))).toBe('forbidden');
  expect(kindOf(() => refuseNonAdmin(admin.actor, NOW_MS))).toBeUndefined();
});

test('an account that is unknown or deleted is not found by any change', () => {
  using held = temporaryArchive();
  const admin = person(held, 'root@example.com', { role: 'admin' });
  const { id } = person(held, 'ada@example.com').actor.account;
  deleteAccount(admin, id, held.activity);
  for (const gone of [id, 999]) {
    const { createTier: _, changeTier: __, retireTier: ___, ...ofAccount } = changes(held, gone);
    for (const [name, change] of Object.entries(ofAccount)) {
      expect([name, kindOf(() => change(admin)), kindOf(() => change({ ...admin, actor: undefined }))]).toEqual([
        name,
        'not-found',
        'not-found',
      ]);
    }
  }
});

test('Each change is in the audit with the person who made it, and a change that changes nothing is not.', () => {
  using held = temporaryArchive();
  const admin = person(held, 'root@example.com', { role: 'admin' });
  const { id } = person(held, 'ada@example.com').actor.account;
  const actorId = admin.actor.account.id;
  const ended: number[] = [];
  const grant = grantTier(admin, id, 'pro', NOW_MS + 5);
  const granted = { grant: grant.id, tier: 'pro', until: new Date(NOW_MS + 5).toISOString() };
  expect(lastEntry(held)).toEqual({ action: 'grant.create', actorId, accountId: id, detail: granted });
  endGrant(admin, id, grant.id);
  expect(lastEntry(held)).toEqual({ action: 'grant.end', actorId, accountId: id, detail: { grant: grant.id } });
  for (const repeated of [1, 2]) {
    setRole(admin, id, 'admin');
    disableAccount(admin, id, (account) => ended.push(account.id));
    expect(lastEntry(held)).toEqual({ action: 'account.disable', actorId, accountId: id, detail: {} });
    expect(ended).toHaveLength(repeated);
  }
  enableAccount(admin, id);
  enableAccount(admin, id);
  setRole(admin, id, 'user');
  setRole({ ...admin, actor: undefined }, id, 'admin');
  expect(lastEntry(held)).toEqual({
    action: 'account.role',
    actorId: undefined,
    accountId: id,
    detail: { role: 'admin' },
  });
  expect(
    held.registry.audit
      .list(100, { accountId: id })
      .map(({ action }) => action)
      .reverse(),
  ).toEqual([
    ...['grant.create', 'grant.end', 'account.role', 'account.disable', 'account.enable'],
    ...['account.role', 'account.role'],
  ]);
});

test.each([
  [() => ({ tier: 'gold' }), "there is no tier 'gold'"],
  [() => ({ tier: 'pro', untilMs: NOW_MS }), 'the end of the grant is in the past'],
])('a grant of %p is refused', (grantOf, reason) => {
  using held = temporaryArchive();
  const { id } = person(held, 'ada@example.com').actor.account;
  const { tier, untilMs }: { tier: string; untilMs?: number } = grantOf();
  expect(() => grantTier({ registry: held.registry, nowMs: NOW_MS }, id, tier, untilMs)).toThrow(reason);
});

test('a grant is ended only for its account, and once', () => {
  using held = temporaryArchive();
  const admin = person(held, 'root@example.com', { role: 'admin' });
  const { id } = person(held, 'ada@example.com').actor.account;
  const grant = grantTier(admin, id, 'pro');
  expect(kindOf(() => endGrant(admin, admin.actor.account.id, grant.id))).toBe('not-found');
  endGrant(admin, id, grant.id);
  expect(kindOf(() => endGrant(admin, id, grant.id))).toBe('conflict');
});

describe('the last admin', () => {
  const attempts = ['setRole', 'disableAccount', 'deleteAccount'] as const;
  const tried = (held: TemporaryArchive, change: Change, id: number) => ({
    setRole: () => setRole(change, id, 'user'),
    disableAccount: () => disableAccount(change, id, ignored),
    deleteAccount: () => deleteAccount(change, id, held.activity),
  });

  test.each(attempts)('No admin can remove the last admin, but a command can. (%s)', (name) => {
    using held = temporaryArchive();
    const admin = person(held, 'root@example.com', { role: 'admin' });
    const { id } = admin.actor.account;
    const other = person(held, 'off@example.com', { role: 'admin' });
    disableAccount(admin, other.actor.account.id, ignored);
    expect(tried(held, admin, id)[name]).toThrow('this is the last admin: make another account an admin first');
    expect(held.registry.accounts.find(id)).toEqual(admin.actor.account);
    tried(held, { ...admin, actor: undefined }, id)[name]();
    expect(held.registry.accounts.countAdmins()).toBe(0);
  });

  test.each(attempts)('of two admins, either may be lost by %s', (name) => {
    using held = temporaryArchive();
    const admin = person(held, 'root@example.com', { role: 'admin' });
    person(held, 'other@example.com', { role: 'admin' });
    tried(held, admin, admin.actor.account.id)[name]();
    expect(held.registry.accounts.countAdmins()).toBe(1);
  });
});

test('pages of accounts have each account once with its tier, its end and its valid keys', () => {
  using held = temporaryArchive();
  const { registry } = held;
  const command = { registry, nowMs: NOW_MS };
  const people = ['ann', 'bob', 'cleo', 'dan', 'eve'].map((name) => person(held, `${name}@example.com`).actor.account);
  const [ann, bob, cleo] = people;
  grantTier(command, ann!.id, 'pro', NOW_MS + 5);
  for (const expiresMs of [undefined, NOW_MS + 1]) {
    createKey(registry, NOW_MS, {
      account: bob!.email,
      name: undefined,
      tier: 'pro',
      requestsPerMinute: undefined,
      expiresMs,
    });
  }
  disableAccount({ ...command, nowMs: NOW_MS + 1 }, cleo!.id, ignored);
  deleteAccount(command, people[3]!.id, held.activity);
  const pages = [1, 2, 3, 100].map((limit) => {
    const all = [];
    for (let page = listAccounts(registry, NOW_MS + 1, { limit }); page.length > 0; ) {
      all.push(...page);
      page = listAccounts(registry, NOW_MS + 1, { limit, after: page.at(-1)!.id });
    }
    return all;
  });
  for (const page of pages) {
    expect(
      page.map(({ email, tier, tierEndsMs, validKeys, disabledMs }) => [
        email,
        tier.id,
        tierEndsMs,
        validKeys,
        disabledMs,
      ]),
    ).toEqual([
      ['ann@example.com', 'pro', NOW_MS + 5, 0, undefined],
      ['bob@example.com', 'free', undefined, 1, undefined],
      ['cleo@example.com', 'free', undefined, 0, NOW_MS + 1],
      ['eve@example.com', 'free', undefined, 0, undefined],
    ]);
  }
  expect(listAccounts(registry, NOW_MS, { limit: 9, text: 'CLEO' }).map(({ id }) => id)).toEqual([cleo!.id]);
  expect(listAccounts(registry, NOW_MS, { limit: 9, text: 'account-' })).toEqual([]);
});

test('pages of the audit have each entry once, the latest first, of all accounts or of one', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(2), { maxLength: 12 }), fc.integer({ min: 1, max: 5 }), (concerned, limit) => {
      using held = temporaryArchive();
      const { registry } = held;
      const admin = person(held, 'root@example.com', { role: 'admin' });
      const people = ['ann@example.com', 'bob@example.com'].map((email) => person(held, email).actor.account);
      administer(admin, () => {
        for (const [number, index] of concerned.entries()) {
          const accountId = people[index]?.id;
          registry.audit.append({ atMs: NOW_MS, action: `test.${number}`, by: admin.actor, accountId });
        }
      });
      for (const account of [undefined, ...people]) {
        const walked = [];
        for (let beforeId: number | undefined; ; beforeId = walked.at(-1)!.id) {
          const page = auditPage(registry, { limit, accountId: account?.id, beforeId });
          if (page.length === 0) break;
          expect(page.length).toBeLessThanOrEqual(limit);
          walked.push(...page);
        }
        const expected = concerned
          .map((index, number) => [`test.${number}`, 'root@example.com', people[index]?.email])
          .filter(([, , email]) => account === undefined || email === account.email);
        expect(walked.map((entry) => [entry.action, entry.actor, entry.account])).toEqual(expected.reverse());
      }
    }),
    { numRuns: 10 },
  );
});
