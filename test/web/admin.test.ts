import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createKey } from '../../src/account/account-keys.ts';
import { grantTier } from '../../src/account/administration.ts';
import type { Account } from '../../src/domain/account.ts';
import { DAY_MS } from '../../src/domain/usage.ts';
import type { Registry } from '../../src/store/registry.ts';
import { NOW_MS } from '../support/archive.ts';
import { PlainBrowser } from './browser.ts';
import { factsOf, plainText, rowsOf } from './page-content.ts';
import { type Site, startSite } from './site.ts';

/** The value of an input; the page of an empty one has no text for it. */
function typedIn(text: string, name: string): string | undefined {
  const [, , value = ''] = new RegExp(`name="${name}" value(="([^"]*)")?`).exec(text)!;
  return value;
}

describe('The pages of administration', () => {
  let site: Site;
  let registry: Registry;
  let admin: PlainBrowser;
  let root: Account;
  beforeAll(async () => {
    site = startSite();
    ({ registry } = site.people);
    root = account('root@example.com');
    registry.accounts.setRole(root.id, 'admin');
    admin = await site.signedIn(root.email);
  });
  afterAll(async () => await site[Symbol.asyncDispose]());

  const account = (email: string) =>
    registry.database.write(() => registry.accounts.findByEmail(email) ?? registry.accounts.create({ email }, NOW_MS));
  const key = (email: string, tier?: string) =>
    createKey(registry, NOW_MS, { account: email, name: undefined, tier, requestsPerMinute: undefined });
  const lastEntry = () => {
    const { action, actorId, accountId, detail } = registry.audit.list(1)[0]!;
    return { action, actorId, accountId, detail };
  };
  const tierRows = async () => rowsOf((await admin.open('/admin/tiers')).text, 'Tiers');
  const entries = async (query: string) =>
    rowsOf((await admin.open(`/admin/audit${query}`)).text, 'Entries of the audit');
  const nextIn = (text: string) => /href="([^"]+)">Next page/.exec(text)?.[1]?.replaceAll('&amp;', '&');
  const change = async (path: string, fields: Readonly<Record<string, string | number>>) =>
    await admin.post(
      `/admin${path}`,
      Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)])),
    );

  test('begin with the accounts, and are opened again after a sign-in', async () => {
    expect((await admin.open('/admin')).headers.get('location')).toBe('/admin/accounts');
    for (const [path, next] of [
      ['/admin/accounts?search=x', '/admin/accounts'],
      ['/admin/accounts/1', '/admin/accounts'],
      ['/admin/tiers/pro', '/admin/tiers'],
      ['/admin/audit', '/admin/audit'],
    ] as const) {
      const { headers } = await new PlainBrowser(site.origin).open(path);
      expect([path, headers.getSetCookie()]).toEqual([path, [expect.stringContaining(`next=${next};`)]]);
    }
  });

  test('list every account once, latest first, and find a part of an address or a name', async () => {
    const emails = Array.from({ length: 107 }, (_, index) => `person${index}@many.example`);
    for (const email of emails) account(email);
    const walked: string[] = [];
    const sizes: number[] = [];
    for (let path: string | undefined = '/admin/accounts?search=MANY.example'; path !== undefined; ) {
      const { text } = await admin.open(path);
      const found = rowsOf(text, 'Accounts').map((row) => row.Account!);
      walked.push(...found);
      sizes.push(found.length);
      path = nextIn(text);
    }
    expect([sizes, walked]).toEqual([[50, 50, 7], emails.toReversed()]);
    const users = await admin.open('/admin/accounts?search=many.EXAMPLE&kind=user');
    expect([users.text.includes('107 accounts'), nextIn(users.text)]).toEqual([
      true,
      expect.stringContaining('kind=user'),
    ]);
    const admins = await admin.open('/admin/accounts?kind=admin');
    expect(rowsOf(admins.text, 'Accounts').map((row) => row.Account)).toContain('root@example.com admin');
    const none = await admin.open('/admin/accounts?search=%3Cscript%3E%25');
    expect(none.text).toContain("No address or name contains '&lt;script>%'.");
    expect(none.text).toContain('value="&lt;script>%"');
  });

  test('sort accounts by links in the headings, with the filters, and list each once', async () => {
    for (const name of ['b', 'c', 'a']) account(`${name}@sorted.example`);
    const of = '/admin/accounts?search=sorted.example';
    const first = await admin.open(of);
    expect(plainText(first.text)).toContain('3 accounts, the latest first.');
    expect(first.text).toContain('<summary class="button">Filter (1)</summary>');
    // Days are written here as everywhere, not as the language of the browser does.
    expect(first.text.match(/placeholder="2026-12-31" title="A day like 2026-12-31" pattern=/g)).toHaveLength(2);
    expect(first.text).not.toMatch(/type="(?:date|datetime-local)"/);
    expect(first.text).toContain(
      'aria-sort="descending"><a href="/admin/accounts?search=sorted.example&amp;sort=created"',
    );
    const byAddress = /href="([^"]*sort=address)">Account/.exec(first.text)![1]!.replaceAll('&amp;', '&');
    const sorted = await admin.open(byAddress);
    expect(rowsOf(sorted.text, 'Accounts').map((row) => row.Account![0])).toEqual(['a', 'b', 'c']);
    expect(sorted.text).toContain('name="sort" value="address"');
    const rest = await admin.open(`${byAddress}&after=${encodeURIComponent('a@sorted.example')}`);
    expect(rowsOf(rest.text, 'Accounts').map((row) => row.Account![0])).toEqual(['b', 'c']);
    const today = NOW_MS - (NOW_MS % DAY_MS);
    const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
    for (const [from, to, count] of [
      [today, today, 3],
      [today + DAY_MS, undefined, 0],
      [undefined, today - DAY_MS, 0],
    ] as const) {
      const days = `${from === undefined ? '' : `&from=${dayOf(from)}`}${to === undefined ? '' : `&to=${dayOf(to)}`}`;
      expect(rowsOf((await admin.open(`${of}${days}`)).text, 'Accounts')).toHaveLength(count);
    }
    for (const [query, sentence] of [
      ['from=yesterday', 'from must be like 2026-11-22'],
      ['from=2026-01-02&to=2026-01-01', 'the first day is after the last one'],
    ]) {
      for (const path of ['accounts', 'audit']) {
        const refused = await admin.open(`/admin/${path}?${query}`);
        expect([refused.status, plainText(refused.text).toLowerCase()]).toEqual([
          400,
          expect.stringContaining(sentence!),
        ]);
      }
    }
  });

  test('A long address is a link with the whole address, which is broken before its @ if it has to be.', async () => {
    const email = 'a-rather-long-name-of-a-desk@strategies.example';
    account(email);
    const { text } = await admin.open(`/admin/accounts?search=${email}`);
    expect(text).toContain('>a-rather-long-name-of-a-desk<wbr/>@strategies.example</a>');
    expect(rowsOf(text, 'Accounts')[0]!.Account).toBe(email);
  });

  test('show an account with its tier, keys, state and usage', async () => {
    const { id } = account('shown@example.com');
    grantTier({ registry, nowMs: site.people.nowMs() }, id, 'pro', NOW_MS + 30 * DAY_MS);
    const { apiKey } = key('shown@example.com', 'enterprise');
    const revoked = key('shown@example.com').apiKey;
    registry.database.write(() => registry.apiKeys.revoke(revoked.id, NOW_MS));
    for (const [minute, { id: keyId }] of [apiKey, revoked].entries()) {
      site.people.service.activity.usage.count(keyId, '/v1/coins', 200, 1500, NOW_MS + (minute + 1) * 60_000);
    }
    const { text } = await admin.open(`/admin/accounts/${id}`);
    expect(factsOf(text)).toEqual({
      Tier: 'Pro',
      'Valid keys': '1',
      'Requests in 30 days': '2',
      'Sent in 30 days': '3 kB',
    });
    expect(plainText(text)).toContain(
      'user · created 2026-06-01 00:00 UTC · active Tier Pro until 2026-07-01 00:00 UTC',
    );
    expect(rowsOf(text, 'Grants')).toEqual([
      {
        Tier: 'Pro',
        'From (UTC)': '2026-06-01 00:00',
        'Until (UTC)': '2026-07-01 00:00',
        Source: 'operator',
        Actions: expect.stringMatching(/^End .* End now$/),
      },
    ]);
    expect(rowsOf(text, 'Keys')).toEqual([
      {
        Key: 'no name',
        'Begins with': `${apiKey.prefix}…`,
        Tier: 'Enterprise',
        'Created (UTC)': '2026-06-01 00:00',
        'Last used (UTC)': '2026-06-01 00:01',
        Actions: expect.stringMatching(/^Revoke .* Revoke now$/),
      },
    ]);
    expect(rowsOf(text, 'Entries of the audit')).toContainEqual({
      Kind: 'key',
      Action: `Created the key ${apiKey.id} with the tier Enterprise key.create`,
      Time: '2026-06-01 00:00 UTC',
      Person: 'the server',
    });
    expect(rowsOf((await admin.open('/admin/accounts?search=shown@')).text, 'Accounts')).toEqual([
      {
        Account: 'shown@example.com',
        Tier: 'Pro until 2026-07-01 00:00 UTC',
        Keys: '1',
        'Created (UTC)': '2026-06-01 00:00',
        // That of the revoked key.
        'Last used (UTC)': '2026-06-01 00:02',
      },
    ]);
    for (const unknown of ['999', '0', 'x', '-1', '1e0']) {
      expect([unknown, (await admin.open(`/admin/accounts/${unknown}`)).status]).toEqual([unknown, 404]);
    }
  });

  test('grant a tier until an instant of UTC, and end the grant', async () => {
    const { id } = account('granted@example.com');
    const page = `/admin/accounts/${id}`;
    const granted = await change('/accounts/grant', { account: id, tier: 'starter', until: '2026-12-31T18:30' });
    expect([granted.status, granted.headers.get('location')]).toEqual([303, page]);
    expect(plainText((await admin.open(page)).text)).toContain('Starter until 2026-12-31 18:30 UTC');
    const [grant] = registry.grants.ofAccount(id);
    expect(grant).toMatchObject({ tier: 'starter', endsMs: Date.UTC(2026, 11, 31, 18, 30), source: 'operator' });
    const other = account('other@example.com');
    expect((await change('/accounts/end-grant', { account: other.id, grant: grant!.id })).status).toBe(404);
    expect(registry.grants.ofAccount(id)[0]).toEqual(grant!);
    expect((await change('/accounts/end-grant', { account: id, grant: grant!.id })).status).toBe(303);
    expect(lastEntry()).toMatchObject({ action: 'grant.end', actorId: root.id, accountId: id });
    expect(plainText((await admin.open(page)).text)).toContain('Tier Free What it has Valid');
    await change('/accounts/grant', { account: id, tier: 'pro', until: '' });
    expect(registry.grants.ofAccount(id)[0]).toMatchObject({ tier: 'pro', endsMs: undefined });
  });

  test.each<[Readonly<Record<string, string>>, number, string]>([
    [{ tier: 'pro', until: '2020-01-01T00:00' }, 400, 'The end of the grant is in the past: choose a later time.'],
    [{ tier: 'pro', until: '2026-02-30T00:00' }, 400, 'This is not a time'],
    [{ tier: 'gold', until: '2027-01-01T00:00' }, 400, "There is no tier 'gold'"],
  ])('refuse the grant %j, and keep what was typed', async (fields, status, sentence) => {
    const { id } = account('refused@example.com');
    const { text, ...shown } = await change('/accounts/grant', { account: id, ...fields });
    expect([shown.status, registry.grants.ofAccount(id)]).toEqual([status, []]);
    expect(text).toMatch(/role="alert"/);
    expect(text).toContain(sentence);
    expect(text).toContain(`value="${fields.until}"`);
    if (fields.tier === 'pro') expect(text).toContain('<option value="pro" selected>');
  });

  test('revoke a key of the account only', async () => {
    const owner = account('owner@example.com');
    const { apiKey } = key('owner@example.com');
    const other = account('other@example.com');
    const foreign = await change('/accounts/revoke-key', { account: other.id, key: apiKey.id });
    expect([foreign.status, registry.apiKeys.find(apiKey.id)?.revokedMs]).toEqual([404, undefined]);
    expect((await change('/accounts/revoke-key', { account: owner.id, key: apiKey.id })).status).toBe(303);
    expect(registry.apiKeys.find(apiKey.id)?.revokedMs).toBe(site.people.nowMs());
    const entry = { action: 'key.revoke', actorId: root.id, accountId: owner.id, detail: { key: apiKey.id } };
    expect(lastEntry()).toEqual(entry);
  });

  test('disable and enable an account, and change its role', async () => {
    const person = account('access@example.com');
    const browser = await site.signedIn(person.email);
    const fields = { account: person.id };
    expect((await browser.open('/account')).status).toBe(200);
    expect((await change('/accounts/disable', fields)).status).toBe(303);
    expect((await browser.open('/account')).status).toBe(303);
    const disabled = await admin.open(`/admin/accounts/${person.id}`);
    expect(plainText(disabled.text)).toContain('disabled since 2026-06-01');
    expect(disabled.text).not.toContain('action="/admin/accounts/link"');
    const [row] = rowsOf((await admin.open('/admin/accounts?search=access@')).text, 'Accounts');
    expect(row?.Account).toBe('access@example.com disabled');
    expect((await change('/accounts/link', fields)).status).toBe(403);
    await change('/accounts/enable', fields);
    expect(registry.accounts.find(person.id)?.disabledMs).toBeUndefined();
    await change('/accounts/role', { ...fields, role: 'admin' });
    expect(registry.accounts.find(person.id)?.role).toBe('admin');
    await change('/accounts/role', { ...fields, role: 'user' });
    expect(lastEntry()).toEqual({
      action: 'account.role',
      actorId: root.id,
      accountId: person.id,
      detail: { role: 'user' },
    });
  });

  test('refuse a role that does not exist', async () => {
    const { id } = account('chief@example.com');
    registry.accounts.setRole(id, 'admin');
    for (const role of ['', 'Admin', 'root']) {
      const { status, text } = await change('/accounts/role', { account: id, role });
      expect([role, status, text]).toEqual([role, 400, expect.stringContaining('There is no such role')]);
    }
    expect(registry.accounts.find(id)?.role).toBe('admin');
    registry.accounts.setRole(id, 'user');
  });

  test('do not disable the last admin, and say so on the page of the account', async () => {
    for (const path of ['/accounts/disable', '/accounts/role', '/accounts/delete']) {
      const { status, text } = await change(path, { account: root.id, role: 'user' });
      expect([path, status, text]).toEqual([path, 409, expect.stringContaining('This is the last admin')]);
    }
    expect((await admin.open('/admin/accounts')).status).toBe(200);
  });

  test('lead an admin who becomes a user to the own account', async () => {
    const { id, email } = account('former@example.com');
    registry.accounts.setRole(id, 'admin');
    const former = await site.signedIn(email);
    const { status, headers } = await former.post('/admin/accounts/role', { account: String(id), role: 'user' });
    expect([status, headers.get('location')]).toEqual([303, '/account']);
    expect(registry.accounts.find(id)?.role).toBe('user');
  });

  test('A sign-in link that an admin makes is only in the answer to the form, and the audit names the admin.', async () => {
    const { id } = account('linked@example.com');
    const { status, text } = await change('/accounts/link', { account: id });
    const [link] = /http:[^<"]+\/sign-in\/link\?token=[\w-]+/.exec(text)!;
    expect([status, link.startsWith(site.origin)]).toEqual([200, true]);
    expect(lastEntry()).toEqual({ action: 'account.link', actorId: root.id, accountId: id, detail: {} });
    expect((await admin.open(`/admin/accounts/${id}`)).text).not.toContain('token=');
    const person = new PlainBrowser(site.origin);
    await person.post('/sign-in/link', { token: new URL(link).searchParams.get('token')! });
    expect((await person.open('/account')).text).toContain('linked@example.com');
    expect((await change('/accounts/link', { account: 999 })).status).toBe(404);
  });

  test('The page of a deleted account is kept for its audit, without forms.', async () => {
    const { id } = account('gone@example.com');
    const { apiKey } = key('gone@example.com');
    expect((await change('/accounts/delete', { account: id })).headers.get('location')).toBe(`/admin/accounts/${id}`);
    expect(registry.apiKeys.find(apiKey.id)?.revokedMs).toBe(site.people.nowMs());
    expect(lastEntry()).toMatchObject({ action: 'account.delete', actorId: root.id, accountId: id });
    const { status, text } = await admin.open(`/admin/accounts/${id}`);
    expect([status, text.includes('gone@'), text.includes('action="/admin')]).toEqual([200, false, false]);
    expect(plainText(text)).toContain('deleted since');
    expect(plainText((await admin.open(`/admin/audit?account=${id}`)).text)).toContain('Deleted the account');
    expect((await change('/accounts/grant', { account: id, tier: 'pro', until: '' })).status).toBe(404);
  });

  const tier = (fields: Readonly<Record<string, string>>) => ({
    ...{
      id: 'gold',
      name: 'Gold',
      rpm: '1200',
      coins: 'all',
      routes: 'all',
      pricing: 'amount',
      price: '49.5',
      place: '',
    },
    ...fields,
  });

  test('add a tier, change all of its fields, and move it in the catalog', async () => {
    expect((await change('/tiers/create', tier({ place: '2' }))).headers.get('location')).toBe('/admin/tiers');
    // In the order of their ranks.
    expect((await tierRows()).map(({ Tier }) => Tier)).toEqual(['Free', 'Gold', 'Starter', 'Pro', 'Enterprise']);
    expect(registry.tiers.find('gold')).toEqual({
      ...{ id: 'gold', name: 'Gold', coins: undefined, routes: undefined, requestsPerMinute: 1200 },
      ...{ monthlyPriceUsd: 49.5, priceNote: undefined, retiredMs: undefined },
    });
    const { text } = await admin.open('/admin/tiers/gold');
    for (const shown of [
      'name="name" value="Gold"',
      'name="coins" value="all" checked',
      'name="price" value="49.50"',
    ]) {
      expect(text).toContain(shown);
    }
    expect(text).toContain('name="place" value="2"');
    for (const chosen of ['name="routes" value="all" checked', 'name="pricing" value="amount" checked']) {
      expect(text).toContain(chosen);
    }
    const form = new URLSearchParams(
      tier({ name: '<Gold>', rpm: '5', coins: 'only', routes: 'only', pricing: 'note', note: 'ask' }),
    );
    for (const coin of ['btc', 'eth']) form.append('coin', coin);
    for (const route of ['quotes', 'export']) form.append('route', route);
    form.set('place', '9');
    expect((await admin.post('/admin/tiers/change', form)).status).toBe(303);
    expect(registry.tiers.list().at(-1)).toEqual({
      ...{ id: 'gold', name: '<Gold>', coins: ['btc', 'eth'], routes: ['quotes', 'export'], requestsPerMinute: 5 },
      ...{ monthlyPriceUsd: undefined, priceNote: 'ask', retiredMs: undefined },
    });
    expect(lastEntry()).toMatchObject({ action: 'tier.set', actorId: root.id, detail: { tier: 'gold', place: 9 } });
    key('golden@example.com', 'gold');
    const changed = await admin.open('/admin/tiers/gold');
    expect(changed.text.match(/name="(?:coin|route)" value="\w+" checked/g)).toEqual([
      'name="coin" value="btc" checked',
      'name="coin" value="eth" checked',
      'name="route" value="quotes" checked',
      'name="route" value="export" checked',
    ]);
    expect(await tierRows()).toContainEqual({
      Tier: '<Gold> gold',
      Coins: 'BTC, ETH',
      Routes: 'quotes, export',
      State: 'not sold',
      'Per minute': '5',
      Price: 'Ask',
      Accounts: '0',
      Keys: '1',
    });
    expect((await change('/tiers/change', tier({ pricing: 'note', note: '' }))).status).toBe(303);
    expect(registry.tiers.find('gold')).toMatchObject({ monthlyPriceUsd: undefined, priceNote: undefined });
    expect((await change('/tiers/create', tier({ id: 'plain', pricing: 'note' }))).status).toBe(303);
  });

  test.each<[Readonly<Record<string, string>>, string]>([
    [{ name: '' }, 'a name has 1 to 100'],
    [{ rpm: '0' }, 'requests per minute must be 1 to 1000000'],
    [{ rpm: '1e3' }, 'requests per minute must be'],
    [{ rpm: '1000001' }, 'requests per minute must be'],
    [{ coins: 'only' }, 'a tier has at least one coin'],
    [{ coins: 'only', coin: 'btc;eth' }, 'this is not a known coin: the known coins are bnb, btc'],
    [{ coins: 'only', coin: 'account' }, "'account' is not a known coin: the known coins are bnb, btc"],
    [{ price: '-1' }, 'the price must be an amount'],
    [{ price: '1.005' }, 'the price must be an amount'],
    [{ price: '0x10' }, 'the price must be an amount'],
    [{ price: '' }, 'the price must be an amount'],
    [{ place: '0' }, 'the place in the catalog must be'],
    [{ place: '1.5' }, 'the place in the catalog must be'],
    [{ routes: 'only' }, 'routes must be'],
    [{ route: 'charts', routes: 'only' }, 'routes must be'],
  ])('A refused form of an admin keeps what was typed, and a tier has a route. (%j)', async (fields, sentence) => {
    const before = registry.tiers.all();
    const typed = new URLSearchParams(tier({ id: 'silver', name: 'Silver', ...fields }));
    const words = `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;
    const created = await admin.post('/admin/tiers/create', typed);
    typed.set('id', 'pro');
    const changed = await admin.post('/admin/tiers/change', typed);
    for (const { status, text } of [created, changed]) {
      expect([status, text]).toEqual([400, expect.stringContaining(words)]);
      for (const name of ['name', 'rpm', 'price', 'place']) expect(typedIn(text, name)).toBe(typed.get(name)!);
      for (const name of ['coins', 'routes'])
        expect(text).toContain(`name="${name}" value="${typed.get(name)}" checked`);
    }
    expect(created.text).toContain('<h2>Add a tier</h2>');
    expect(registry.tiers.all()).toEqual(before);
  });

  test('refuse an id that is in use or not allowed', async () => {
    const before = registry.tiers.all();
    expect((await change('/tiers/create', tier({ id: 'pro' }))).status).toBe(409);
    expect((await change('/tiers/create', tier({ id: 'account' }))).status).toBe(400);
    expect((await change('/tiers/change', tier({ id: 'none' }))).status).toBe(404);
    expect((await change('/tiers/retire', { id: 'none' })).status).toBe(400);
    expect((await admin.open('/admin/tiers/none')).status).toBe(404);
    expect(registry.tiers.all()).toEqual(before);
  });

  test('name everybody who has a tier before it is retired', async () => {
    const { id } = account('affected@example.com');
    grantTier({ registry, nowMs: site.people.nowMs() }, id, 'enterprise', site.people.nowMs() + DAY_MS);
    const { apiKey } = key('pinned@example.com', 'enterprise');
    const { text } = await admin.open('/admin/tiers/enterprise');
    expect(rowsOf(text, 'Accounts')).toEqual([{ Account: 'affected@example.com', 'Until (UTC)': '2026-06-02 00:00' }]);
    expect(rowsOf(text, 'Keys')).toContainEqual({
      Key: 'no name',
      'Begins with': `${apiKey.prefix}…`,
      Account: 'pinned@example.com',
    });
    expect(plainText(text)).toMatch(/Cancel A change applies at once to 1 account and \d+ keys? set to it\./);
    expect(text.indexOf('pinned@example.com')).toBeLessThan(text.indexOf('action="/admin/tiers/retire"'));
    expect((await change('/tiers/retire', { id: 'enterprise' })).headers.get('location')).toBe('/admin/tiers');
    expect(registry.tiers.find('enterprise')?.retiredMs).toBe(site.people.nowMs());
    expect((await tierRows()).at(-1)).toMatchObject({ Tier: 'Enterprise', State: 'retired' });
    const retired = await admin.open('/admin/tiers/enterprise');
    expect([retired.text.includes('tiers/retire'), retired.text.includes('name="place"')]).toEqual([false, false]);
    const offered = await admin.open(`/admin/accounts/${id}`);
    expect(offered.text).not.toContain('<option value="enterprise"');
    const free = await admin.open('/admin/tiers/free');
    expect([free.text.includes('tiers/retire'), free.text.includes('--new-account-tier')]).toEqual([false, true]);
    expect((await change('/tiers/retire', { id: 'free' })).status).toBe(409);
    expect(registry.tiers.find('free')?.retiredMs).toBeUndefined();
  });

  test('show the audit in pages, of an account and of an action', async () => {
    const { id } = account('<b>@audit.example');
    const { audit, database } = registry;
    database.write(() => {
      for (let sessions = 1; sessions <= 60; sessions += 1) {
        audit.append({
          atMs: NOW_MS,
          action: 'session.end-all',
          accountId: id,
          by: { account: { id } },
          detail: { sessions },
        });
        audit.append({ atMs: NOW_MS, by: {}, action: 'session.sign-out', accountId: id });
      }
    });
    const named = encodeURIComponent('<B>@audit.example');
    const walked: Readonly<Record<string, string>>[] = [];
    for (let path: string | undefined = `/admin/audit?account=${named}&action=session.end-all`; path !== undefined; ) {
      const { text } = await admin.open(path);
      walked.push(...rowsOf(text, 'Entries of the audit'));
      expect(text).not.toContain('<b>');
      path = nextIn(text);
    }
    const sentences = Array.from({ length: 60 }, (_, index) =>
      index === 59 ? 'Ended a session' : `Ended ${60 - index} sessions`,
    );
    expect(walked).toEqual(
      sentences.map((sentence) => ({
        Kind: 'sign-in',
        Action: `${sentence} session.end-all`,
        'Time (UTC)': '00:00',
        'Person and account': '<b>@audit.example',
      })),
    );
    expect((await entries(''))[0]).toEqual({
      Kind: 'sign-in',
      Action: 'Signed out session.sign-out',
      'Time (UTC)': '00:00',
      'Person and account': 'the server for <b>@audit.example',
    });
    database.write(() => audit.append({ atMs: NOW_MS + DAY_MS, by: {}, action: 'key.create', accountId: id }));
    database.write(() => audit.append({ atMs: NOW_MS + DAY_MS, by: {}, action: 'account.link', accountId: id }));
    const days = await admin.open(`/admin/audit?account=${named}`);
    const headings = [...days.text.matchAll(/<th scope="rowgroup"[^>]*>([^<]*)/g)].map(([, day]) => day);
    expect(headings).toEqual(['Tuesday, 2026-06-02', 'Monday, 2026-06-01']);
    // Sign-ins are pale, links into an account are not.
    const looks = [...days.text.matchAll(/<tr( class="quiet")?><td class="kind"/g)].map(([, quiet = '']) =>
      quiet.trim(),
    );
    expect(looks).toEqual(['', '', ...looks.slice(2).fill('class="quiet"')]);
    const ofDay = async (range: string) => (await entries(`?account=${named}&${range}`)).length;
    expect([await ofDay('from=2026-06-02'), await ofDay('to=2026-06-01'), await ofDay('to=2026-05-31')]).toEqual([
      2, 50, 0,
    ]);
    const unknown = await admin.open('/admin/audit?account=nobody@example.com');
    expect(unknown.text).toContain("There is no account 'nobody@example.com'.");
    expect(await entries('?action=none')).toEqual([]);
  });
});

test('A page for admins says so to another person, names their account, and offers to use another one.', async () => {
  await using site = startSite();
  const { status, text } = await (await site.signedIn('eve@example.com')).open('/admin/accounts');
  expect([status, text.includes('<h1>Not your page</h1>')]).toEqual([403, true]);
  expect(text).toContain('href="/account">Your account</a>');
  expect(text).toContain('You are signed in as <strong>eve@example.com</strong>.');
  expect(text).toMatch(/<form method="post" action="\/sign-out"><button class="button" type="submit">Switch account/);
  expect(text).not.toMatch(/Try again|did not work/);
  expect(text).toContain('title="Signed in as eve@example.com"');
});
