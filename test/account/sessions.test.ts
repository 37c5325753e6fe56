import { Database as Sqlite } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { AccountSessions } from '../../src/account/account-sessions.ts';
import { SignIn } from '../../src/account/sign-in.ts';
import { signInStores } from '../../src/account/sign-in-stores.ts';
import { NEW_BROWSER, type People, PUBLIC_URL, people, refusal } from './accounts.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

function signedIn(held: People, email: string, userAgent = 'Judge/1.0') {
  const { service, registry, nowMs } = held;
  if (registry.accounts.findByEmail(email) === undefined) {
    registry.database.write(() => registry.accounts.create({ email }, nowMs()));
  }
  return service.signIn.redeemLink(held.createLink(email), { ...NEW_BROWSER, userAgent });
}

/** A millisecond later, so that the order of sessions is known. */
function laterSignedIn(held: People, email: string, userAgent: string) {
  held.passTime(1);
  return signedIn(held, email, userAgent);
}

test('A session ends after 14 idle days, and after 90 days', async () => {
  await using held = people();
  const idle = signedIn(held, 'ada@example.com');
  const used = signedIn(held, 'ada@example.com');
  const findable = ({ token }: { token: string }) => held.service.sessions.find(token) !== undefined;
  held.passTime(13 * DAY_MS);
  expect(findable(used)).toBe(true);
  held.passTime(DAY_MS - 1);
  expect(findable(idle)).toBe(true);
  held.passTime(14 * DAY_MS);
  expect([findable(idle), findable(used)]).toEqual([false, false]);

  const old = signedIn(held, 'ada@example.com');
  for (let day = 0; day < 89; day += 1) {
    held.passTime(DAY_MS);
    expect(findable(old)).toBe(true);
  }
  held.passTime(DAY_MS);
  expect(findable(old)).toBe(false);
  expect(held.service.sessions.list(old.account)).toEqual([]);
  // Rows of sessions that have ended go with a later sign-in.
  held.passTime(14 * DAY_MS);
  signedIn(held, 'eve@example.com');
  expect(held.activity.query('SELECT COUNT(*) AS rows FROM sessions').get()).toEqual({ rows: 1 });
});

test('An account has at most 20 sessions: at the next sign-in the one used longest ago ends, and none of another account.', async () => {
  await using held = people();
  const other = signedIn(held, 'eve@example.com');
  const own = Array.from({ length: 20 }, (_, index) => laterSignedIn(held, 'ada@example.com', `Judge/${index}`));
  held.passTime(6 * MINUTE_MS);
  // Used: the second one is the one used longest ago.
  held.service.sessions.find(own[0]!.token);
  const newest = signedIn(held, 'ada@example.com');
  const open = own.map(({ token }) => held.service.sessions.find(token) !== undefined);
  expect(open).toEqual(own.map((_, index) => index !== 1));
  expect(held.service.sessions.find(newest.token)).toBeDefined();
  expect(held.service.sessions.find(other.token)).toBeDefined();
  expect(held.service.sessions.list(own[0]!.account)).toHaveLength(20);
});

test('The last use is written every five minutes at most', async () => {
  await using held = people();
  const { token } = signedIn(held, 'ada@example.com');
  const created = held.nowMs();
  const lastUsed = () =>
    held.service.sessions.find(token) && held.activity.query('SELECT last_used_ms FROM sessions').get();
  held.passTime(5 * MINUTE_MS - 1);
  expect(lastUsed()).toEqual({ last_used_ms: created });
  held.passTime(1);
  expect(lastUsed()).toEqual({ last_used_ms: created + 5 * MINUTE_MS });
});

test('A new sign-in ends the browser’s former session, and a disabled account has to sign in again when it is enabled.', async () => {
  await using held = people();
  const { service, registry } = held;
  const { account, token } = signedIn(held, 'ada@example.com');
  const other = signedIn(held, 'eve@example.com');
  registry.database.write(() => registry.accounts.disable(account.id, held.nowMs()));
  expect(service.sessions.find(token)).toBeUndefined();
  registry.database.write(() => registry.accounts.enable(account.id));
  expect(service.sessions.find(token)).toBeUndefined();
  expect(service.sessions.find(other.token)?.account.email).toBe('eve@example.com');
});

test('A session is opened in the transaction that finds the account enabled, so no command that disables it leaves one.', async () => {
  await using held = people();
  held.registry.database.write(() => held.registry.accounts.create({ email: 'ada@example.com' }, held.nowMs()));
  const token = held.createLink('ada@example.com');
  using accounts = new Sqlite(join(held.directory, 'accounts.db'));
  using activity = new Sqlite(join(held.directory, 'activity.db'));
  let hasRun = false;
  /** The two commands, at the first chance after the sign-in is in accounts.db. */
  const disableAndEnable = () => {
    const isSignedIn = accounts.query("SELECT 1 FROM audit WHERE action = 'session.sign-in'").get() !== null;
    if (!isSignedIn || hasRun) return;
    accounts.run('UPDATE accounts SET disabled_ms = 1');
    activity.run('DELETE FROM sessions');
    accounts.run('UPDATE accounts SET disabled_ms = NULL');
    hasRun = true;
  };
  const clock = () => {
    disableAndEnable();
    return held.nowMs();
  };
  const stores = signInStores(held.registry, held.activity);
  const sessions = new AccountSessions(stores, clock);
  const signUp = { policy: 'closed', domains: new Set<string>() } as const;
  const signIn = new SignIn({ stores, sessions, clock, publicUrl: () => PUBLIC_URL, signUp, outbox: undefined });
  const opened = signIn.redeemLink(token, NEW_BROWSER);
  disableAndEnable();
  expect([hasRun, sessions.find(opened.token)]).toEqual([true, undefined]);
});

test('A person ends one session or all, and none of others', async () => {
  await using held = people();
  const { sessions } = held.service;
  const [here, there, third] = ['Here/1.0', 'There\u0007/2.0', 'Third'].map((name) =>
    laterSignedIn(held, 'ada@example.com', name),
  );
  const eve = signedIn(held, 'eve@example.com');
  expect(sessions.list(here!.account).map(({ userAgent }) => userAgent)).toEqual(['Here/1.0', 'There/2.0', 'Third']);
  expect(await refusal(() => sessions.end(eve.account, there!.session.id, eve))).toMatch(/no such session/);
  sessions.end(here!.account, there!.session.id, here!);
  expect(await refusal(() => sessions.end(here!.account, there!.session.id, here!))).toMatch(/no such session/);
  expect(sessions.find(there!.token)).toBeUndefined();
  sessions.signOut(third!);
  expect(sessions.find(third!.token)).toBeUndefined();
  expect(sessions.find(here!.token)?.session.id).toBe(here!.session.id);
  signedIn(held, 'ada@example.com');
  expect(sessions.endAll(here!.account, here!)).toBe(2);
  expect(sessions.list(here!.account)).toEqual([]);
  expect(sessions.find(eve.token)?.account.email).toBe('eve@example.com');
  const actions = held.registry.audit.list(20, { accountId: here!.account.id }).map(({ action }) => action);
  expect(actions.filter((action) => !/sign-in|link/.test(action))).toEqual([
    'session.end-all',
    'session.sign-out',
    'session.end',
  ]);
});
