import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Account } from '../../src/domain/account.ts';
import { ACCOUNT_ORDERS, type AccountOrder } from '../../src/store/accounts.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';

const ANN = { email: 'Ann@Example.com', name: 'Ann of the desk', role: 'user' } as const;

describe('accounts', () => {
  test('are found by their id, and by their address in any case', () => {
    using held = temporaryArchive();
    const { database, accounts } = held.registry;
    const ann = database.write(() => accounts.create(ANN, NOW_MS));
    expect(ann).toEqual({
      ...ANN,
      id: expect.any(Number),
      createdMs: NOW_MS,
      disabledMs: undefined,
      deletedMs: undefined,
    });
    expect(accounts.find(ann.id)).toEqual(ann);
    for (const email of ['Ann@Example.com', 'ann@example.com', 'ANN@EXAMPLE.COM']) {
      expect(accounts.findByEmail(email)).toEqual(ann);
    }
    expect(accounts.findByEmail('ann@example.co')).toBeUndefined();
    expect(accounts.find(ann.id + 1)).toBeUndefined();
  });

  test('have one address each, in any case', () => {
    using held = temporaryArchive();
    const { database, accounts } = held.registry;
    database.write(() => accounts.create(ANN, NOW_MS));
    const again = () => database.write(() => accounts.create({ email: 'ann@EXAMPLE.com' }, NOW_MS));
    expect(again).toThrow("'ann@EXAMPLE.com' has an account already");
    expect(accounts.list(10)).toHaveLength(1);
  });

  test('are listed in pages, oldest first, and searched by a part of the address or the name', () => {
    using held = temporaryArchive();
    const { database, accounts } = held.registry;
    const emails = Array.from({ length: 7 }, (_, i) => `p${i}@example.com`);
    const made = database.write(() => [
      ...emails.map((email, i) => accounts.create({ email }, NOW_MS - i)),
      accounts.create(ANN, NOW_MS),
    ]);
    const pages = [undefined, made[4]!.id, made[7]!.id].map((after) => accounts.list(5, { after }));
    expect(pages.map((page) => page.length)).toEqual([5, 3, 0]);
    expect(pages.flat()).toEqual(made);
    expect(accounts.list(10, { text: 'P3@' }).map(({ email }) => email)).toEqual(['p3@example.com']);
    expect(accounts.list(10, { text: 'THE DESK' }).map(({ email }) => email)).toEqual([ANN.email]);
    expect(accounts.list(10, { text: '%' })).toEqual([]);
    accounts.disable(made[1]!.id, NOW_MS);
    accounts.setRole(made[2]!.id, 'admin');
    const ofKind = (kind: string) => accounts.list(10, { kind }).map(({ id }) => id);
    expect([ofKind('disabled'), ofKind('admin'), ofKind('none')]).toEqual([[made[1]!.id], [made[2]!.id], []]);
    expect([accounts.count(), accounts.count({ kind: 'user' }), accounts.count({ text: 'P3@', kind: 'user' })]).toEqual(
      [8, 6, 1],
    );
    expect(accounts.list(2, { text: 'example', after: made[2]!.id }).map(({ id }) => id)).toEqual([
      made[3]!.id,
      made[4]!.id,
    ]);
  });

  test('are listed from the latest or by their address, and those of a range of time', () => {
    using held = temporaryArchive();
    const { database, accounts } = held.registry;
    const emails = ['b@example.com', 'C@example.com', 'a@example.com'];
    database.write(() => emails.forEach((email, i) => void accounts.create({ email }, NOW_MS + i)));
    const walked = (order: AccountOrder) => {
      const found: Account[] = [];
      for (let one: Account | undefined; ; found.push(one)) {
        const after = order.endsWith('address') ? one?.email : one?.id;
        [one] = accounts.list(1, { order, after });
        if (one === undefined) return found.map(({ email }) => email[0]).join('');
      }
    };
    expect(ACCOUNT_ORDERS.map(walked)).toEqual(['bCa', 'aCb', 'abC', 'Cba']);
    const range = { fromMs: NOW_MS + 1, untilMs: NOW_MS + 2 };
    expect([accounts.list(9, range).map(({ email }) => email), accounts.count(range)]).toEqual([['C@example.com'], 1]);
  });

  test('are disabled, enabled and given a role', () => {
    using held = temporaryArchive();
    const { database, accounts } = held.registry;
    const { id } = database.write(() => accounts.create(ANN, NOW_MS));
    database.write(() => accounts.disable(id, NOW_MS + 5));
    expect(accounts.find(id)?.disabledMs).toBe(NOW_MS + 5);
    database.write(() => accounts.setRole(id, 'admin'));
    database.write(() => accounts.enable(id));
    expect(accounts.find(id)).toMatchObject({ role: 'admin', disabledMs: undefined });
  });
});

/** An entry that nobody known made, of no request. */
const PLAIN = {
  actorId: undefined,
  accountId: undefined,
  detail: {},
  operatingUser: undefined,
  clientAddress: undefined,
  requestId: undefined,
  count: 1,
};

test('The latest entries of the audit are first, and pages of a range have each of them once, also after the clock was set back.', () => {
  const entry = fc.record({
    atMs: fc.nat(8),
    account: fc.option(fc.nat(1)),
    action: fc.constantFrom('key.create', 'key.revoke'),
  });
  const wanted = fc.record({
    limit: fc.integer({ min: 1, max: 5 }),
    account: fc.option(fc.nat(1)),
    action: fc.option(fc.constantFrom('key.create', 'key.revoke')),
    fromMs: fc.option(fc.nat(9)),
    untilMs: fc.option(fc.nat(9)),
  });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 30 }), fc.array(wanted, { maxLength: 5 }), (made, asked) => {
      using held = temporaryArchive();
      const { database, accounts, audit } = held.registry;
      database.write(() => {
        const ids = ['ann', 'bob'].map((name) => accounts.create({ email: `${name}@example.com` }, 0).id);
        for (const { account, ...one } of made) {
          audit.append({ ...one, by: {}, accountId: account === null ? undefined : ids[account] });
        }
      });
      const all = made.map((one, i) => ({ ...one, id: i + 1 })).sort((a, b) => b.atMs - a.atMs || b.id - a.id);
      for (const { limit, account, action, fromMs, untilMs } of asked) {
        const filter = {
          accountId: account === null ? undefined : account + 1,
          action: action ?? undefined,
          fromMs: fromMs ?? undefined,
          untilMs: untilMs ?? undefined,
        };
        const expected = all.filter(
          (one) =>
            (account === null || one.account === account) &&
            (action === null || one.action === action) &&
            one.atMs >= (fromMs ?? 0) &&
            one.atMs < (untilMs ?? 100),
        );
        const walked: number[] = [];
        for (let beforeId: number | undefined; ; ) {
          const page = audit.list(limit, { ...filter, beforeId });
          walked.push(...page.map(({ id }) => id));
          if (page.length < limit) break;
          beforeId = page.at(-1)!.id;
        }
        expect(walked).toEqual(expected.map(({ id }) => id));
      }
    }),
    { numRuns: 60 },
  );
});

test('entries of the audit are listed from the latest: all, or those of an account, of an action, or of both', () => {
  using held = temporaryArchive();
  const { database, accounts, audit } = held.registry;
  const [ann, bob] = database.write(() => [
    accounts.create(ANN, NOW_MS),
    accounts.create({ email: 'bob@example.com', role: 'admin' }, NOW_MS),
  ]);
  database.write(() => {
    audit.append({ atMs: NOW_MS, by: {}, action: 'account.create', accountId: ann!.id });
    audit.append({
      atMs: NOW_MS + 1,
      by: { operatingUser: 'root' },
      action: 'tier.set',
      detail: { tier: 'pro', rpm: 5 },
    });
    const by = { account: bob!, clientAddress: '192.0.2.1', requestId: 'r-1' };
    audit.append({ atMs: NOW_MS + 2, by, action: 'account.disable', accountId: ann!.id });
  });
  const all = audit.list(10);
  expect(all.map(({ id: _, ...entry }) => entry)).toEqual([
    {
      ...PLAIN,
      atMs: NOW_MS + 2,
      actorId: bob!.id,
      action: 'account.disable',
      accountId: ann!.id,
      clientAddress: '192.0.2.1',
      requestId: 'r-1',
    },
    { ...PLAIN, atMs: NOW_MS + 1, action: 'tier.set', detail: { tier: 'pro', rpm: 5 }, operatingUser: 'root' },
    { ...PLAIN, atMs: NOW_MS, action: 'account.create', accountId: ann!.id },
  ]);
  expect(audit.list(2)).toEqual(all.slice(0, 2));
  expect(audit.list(10, { accountId: ann!.id })).toEqual([all[0]!, all[2]!]);
  expect(audit.list(10, { accountId: bob!.id })).toEqual([]);
  database.write(() => audit.append({ atMs: NOW_MS + 2, by: {}, action: 'account.disable', accountId: bob!.id }));
  const latest = audit.list(1)[0]!;
  expect(audit.list(10, { action: 'account.disable' })).toEqual([latest, all[0]!]);
  expect(audit.list(10, { action: 'account.disable', beforeId: latest.id })).toEqual([all[0]!]);
  expect(audit.list(10, { action: 'account' })).toEqual([]);
  expect(audit.list(10, { action: 'account.disable', accountId: ann!.id })).toEqual([all[0]!]);
  expect(audit.list(10, { action: 'account.create', accountId: ann!.id, beforeId: all[0]!.id })).toEqual([all[2]!]);
  expect(audit.list(10, { action: 'account.create', accountId: bob!.id })).toEqual([]);
});

test('100,000 wrong codes of an hour are one entry for each account, with their number', () => {
  using held = temporaryArchive();
  const { database, accounts, audit } = held.registry;
  const hourMs = NOW_MS - (NOW_MS % 3_600_000);
  const ids = database.write(() =>
    [1, 2, 3].map((number) => accounts.create({ email: `${number}@example.com` }, NOW_MS).id),
  );
  const known = [...ids, undefined];
  const before = audit.list(100).length;
  database.write(() => {
    for (let code = 0; code < 100_000; code += 1) {
      const atMs = hourMs + code * 36;
      audit.count({ atMs, action: 'session.wrong-code', accountId: known[code % 4], detail: { method: 'email' } });
    }
  });
  const entries = audit.list(100).slice(0, -before || undefined);
  expect(entries.map(({ accountId, count, atMs }) => [accountId, count, atMs])).toEqual(
    known.map((accountId, index) => [accountId, 25_000, hourMs + index * 36]).reverse(),
  );
  const entry = {
    atMs: hourMs + 3_599_999,
    action: 'session.wrong-code',
    accountId: ids[0],
    detail: { method: 'email' },
  };
  const counts = () => audit.list(100, { accountId: ids[0]! }).map(({ action, count }) => [action, count]);
  const [other, next] = [
    { ...entry, action: 'session.refused' },
    { ...entry, atMs: hourMs + 3_600_000 },
  ];
  database.write(() => {
    for (const one of [entry, other, next, other, next, entry, next]) audit.count(one);
    // A person's entry of the same hour is another one.
    audit.append({ ...next, by: { account: { id: ids[0]! } } });
    audit.count(next);
  });
  expect(counts()).toEqual([
    ['session.wrong-code', 1],
    ['session.wrong-code', 4],
    ['session.refused', 2],
    ['session.wrong-code', 25_002],
  ]);
});
