import { expect, test } from 'bun:test';
import { join } from 'node:path';
import type { AuditDetail } from '../../src/store/audit.ts';
import { AUDIT_ACTIONS, auditKind, auditSentence } from '../../src/web/audit-sentence.ts';

const TIER = {
  tier: 'pro',
  name: 'Pro',
  requestsPerMinute: 1200,
  coins: 'btc,eth',
  routes: 'all',
  monthlyPriceUsd: 49.5,
  place: 2,
};

test.each<[string, AuditDetail, string]>([
  ['account.create', { role: 'user' }, 'Created the account'],
  ['account.create', { role: 'admin' }, 'Created the account as an admin'],
  ['account.email', { from: 'a@b.example', to: 'c@d.example' }, 'Changed the address from a@b.example to c@d.example'],
  ['account.role', { role: 'admin' }, 'Made the account an admin'],
  ['account.role', { role: 'user' }, 'Made the account a user'],
  ['account.sign-up', { method: 'email', policy: 'open' }, 'Signed up by email'],
  ['grant.create', { grant: 'grant_1', tier: 'pro', until: null }, 'Granted the tier pro without an end'],
  [
    'grant.create',
    { grant: 'grant_1', tier: 'pro', until: '2027-01-01T12:30:00.000Z' },
    'Granted the tier pro until 2027-01-01 12:30 UTC',
  ],
  ['key.create', { key: 'key_1', tier: null }, 'Created the key key_1'],
  ['key.create', { key: 'key_1', tier: 'pro' }, 'Created the key key_1 with the tier pro'],
  ['key.set', { key: 'key_1', tier: null }, 'Gave the key key_1 the tier of its account'],
  ['key.set', { key: 'key_1', tier: 'pro' }, 'Gave the key key_1 the tier pro'],
  [
    'key.set',
    { key: 'key_1', tier: 'pro', requestsPerMinute: 1200, expires: '2027-01-01T12:30:00.000Z', named: true },
    'Gave the key key_1 the tier pro, 1,200 requests per minute, the end 2027-01-01 12:30 UTC, another name',
  ],
  [
    'key.set',
    { key: 'key_1', requestsPerMinute: null, expires: null, named: false },
    "Gave the key key_1 its tier's number of requests per minute, no end, no name",
  ],
  ['session.sign-in', { method: 'command' }, 'Signed in by a sign-in link'],
  ['session.sign-in', { method: 'corp' }, 'Signed in at corp'],
  ['session.sign-in', { method: 'passkey' }, 'Signed in with a passkey'],
  [
    'recordings.delete',
    { coins: 'btc,eth', markets: 1, records: 2, coinPrices: 0 },
    'Deleted 1 market with 2 records and 0 coin prices of btc,eth',
  ],
  ['session.end-all', { sessions: 1 }, 'Ended a session'],
  ['session.end-all', { sessions: 3 }, 'Ended 3 sessions'],
  ['account.undo', { sessions: 1 }, 'Undid changes by the link in an email, and ended a session'],
  [
    'tier.set',
    TIER,
    'Changed the tier pro: Pro, 1,200 requests per minute, coins btc,eth, routes all, $49.50 for 30 days, place 2',
  ],
  [
    'tier.add',
    { ...TIER, monthlyPriceUsd: null, place: null },
    'Added the tier pro: Pro, 1,200 requests per minute, coins btc,eth, routes all',
  ],
  ['payment.confirm', { amount: 5, chain: null }, 'payment.confirm, amount 5, chain none'],
])('%s %j', (action, detail, sentence) => {
  expect(auditSentence({ action, detail })).toBe(sentence);
});

test('an entry that counts says how often', () => {
  const entry = { action: 'session.wrong-code', detail: { method: 'email' } };
  expect(auditSentence({ ...entry, count: 1 })).toBe('A wrong code was entered');
  expect(auditSentence({ ...entry, count: 1200 })).toBe('A wrong code was entered, 1,200 times in this hour');
});

test('every action that the sources record has a sentence, and no other', async () => {
  const recorded = new Set<string>();
  for await (const path of new Bun.Glob('**/*.ts').scan(join(import.meta.dir, '..', '..', 'src'))) {
    if (path.startsWith('web/')) continue;
    const source = await Bun.file(join(import.meta.dir, '..', '..', 'src', path)).text();
    // A call that records names the action, on its first line or with its name.
    for (const [, action] of source.matchAll(
      /'((?:account|grant|identity|key|passkey|payment|recordings|recovery-codes?|session|tier)\.[a-z-]+)'/g,
    )) {
      recorded.add(action!);
    }
  }
  expect([...AUDIT_ACTIONS]).toEqual([...recorded].sort());
});

test('actions are of a few kinds', () => {
  const kinds = new Set(AUDIT_ACTIONS.map(auditKind));
  expect([...kinds].toSorted()).toEqual(['account', 'key', 'payment', 'recordings', 'sign-in', 'tier']);
});
