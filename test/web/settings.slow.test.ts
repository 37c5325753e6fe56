import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKey } from '../../src/account/account-keys.ts';
import { RECENT_SIGN_IN_MS } from '../../src/account/recent-sign-in.ts';
import { DAY_MS } from '../../src/domain/usage.ts';
import { Identities } from '../../src/store/identities.ts';
import { catchMails } from '../account/smtp-catcher.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';
import { rowsOf } from './page-content.ts';
import { startSite } from './site.ts';

const ADA = 'ada@example.com';
const NEW = 'ada@other.org';

test('A person changes the address by a link to the new one; opening the link changes nothing', async () => {
  await using smtp = await catchMails();
  await using site = startSite({ mail: { url: smtp.url, sender: 'bookreel@example.com', passwordFile: undefined } });
  const { registry } = site.people;
  const ada = await site.signedIn(ADA);
  const eve = await site.signedIn('eve@example.com');
  const asked = await ada.post('/account/settings/email', { email: NEW });
  expect([asked.status, asked.headers.get('location')]).toEqual([303, '/account/settings?sent']);
  expect((await ada.open('/account/settings?sent')).text).toContain('An email is on its way');
  const { link, to } = await smtp.nth(0);
  expect(to).toEqual([NEW]);
  const path = `/account/settings/link?token=${link}`;
  for (const answer of [await eve.open(path), await eve.post('/account/settings/link', { token: link })]) {
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('This link is not valid')]);
    expect(answer.text).toContain('href="/account/settings"');
  }
  const page = await ada.open(path);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining(`Change it to ${NEW}`)]);
  expect(registry.accounts.findByEmail(NEW)).toBeUndefined();
  const changed = await ada.post('/account/settings/link', { token: link });
  expect([changed.status, changed.headers.get('location')]).toEqual([303, '/account/settings?changed']);
  expect((await ada.open('/account/settings?changed')).text).toContain(`sign in as ${NEW}`);
  expect((await ada.post('/account/settings/link', { token: link })).status).toBe(403);
  const entries = registry.audit.list(20).filter(({ actorId }) => actorId !== undefined);
  expect(entries.map(({ action }) => action)).toContain('account.email');
  expect(entries.filter(({ clientAddress, requestId }) => clientAddress === undefined || !requestId)).toEqual([]);
  expect(registry.accounts.findByEmail(NEW)).toBeDefined();
});

test('Without mail the page says who changes the address', async () => {
  await using site = startSite();
  const ada = await site.signedIn(ADA);
  const { text } = await ada.open('/account/settings');
  expect([text.includes('ask its operator'), text.includes('/account/settings/email')]).toEqual([true, false]);
  expect((await ada.post('/account/settings/email', { email: NEW })).status).toBe(404);
});

test('A person deletes the account by typing its address, after a recent sign-in.', async () => {
  await using site = startSite();
  const { registry, passTime, createLink } = site.people;
  const ada = await site.signedIn(ADA);
  const request = { account: ADA, name: 'laptop', tier: undefined, requestsPerMinute: undefined };
  const { key, apiKey } = createKey(registry, NOW_MS, request);
  for (const email of ['', 'eve@example.com']) {
    const { status, text } = await ada.post('/account/settings/delete', { email });
    expect([status, text]).toEqual([400, expect.stringContaining('That is not the address of this account')]);
  }
  passTime(RECENT_SIGN_IN_MS);
  const late = await ada.post('/account/settings/delete', { email: ADA });
  expect([late.status, late.headers.get('location')]).toEqual([303, '/sign-in']);
  expect(registry.accounts.findByEmail(ADA)).toBeDefined();
  const back = await ada.post('/sign-in/link', { token: createLink(ADA) });
  expect(back.headers.get('location')).toBe('/account/settings');

  const cookies = new Map(ada.cookies);
  const deleted = await ada.post('/account/settings/delete', { email: ' ADA@example.com' });
  expect([deleted.status, deleted.text]).toEqual([200, expect.stringContaining('Your account is deleted')]);
  // The cookie of the device stays, and the service has forgotten it.
  expect([ada.cookies.size, cookies.size]).toEqual([1, 2]);
  expect(registry.accounts.findByEmail(ADA)).toBeUndefined();
  expect(registry.apiKeys.find(apiKey.id)!.revokedMs).toBeDefined();
  const authorization = `Bearer ${key}`;
  expect((await fetch(`${site.origin}/v1/account`, { headers: { authorization } })).status).toBe(401);
  const [[name, value]] = [...cookies] as [[string, string]];
  const stale = await fetch(`${site.origin}/account`, { headers: { cookie: `${name}=${value}` }, redirect: 'manual' });
  expect(stale.headers.get('location')).toBe('/sign-in');
});

test('The last admin is not deleted', async () => {
  await using site = startSite();
  const { registry } = site.people;
  const ada = await site.signedIn(ADA);
  registry.accounts.setRole(registry.accounts.findByEmail(ADA)!.id, 'admin');
  const { status, text } = await ada.post('/account/settings/delete', { email: ADA });
  expect([status, text]).toEqual([409, expect.stringContaining('This is the last admin')]);
  expect(registry.accounts.findByEmail(ADA)).toBeDefined();
});

test('The sessions of an account and its identities at providers are listed', async () => {
  using directory = temporaryDirectory();
  const secretFile = join(directory.path, 'secret');
  writeFileSync(secretFile, 'secret\n', { mode: 0o600 });
  const provider = { name: 'corp', issuer: 'https://login.example.com', clientId: 'id', secretFile };
  await using site = startSite({ providers: [provider] });
  const { registry, passTime } = site.people;
  const ada = await site.signedIn(ADA);
  const identity = { issuer: provider.issuer, subject: '42' };
  const { id } = registry.accounts.findByEmail(ADA)!;
  registry.database.write(() => new Identities(registry.database).link(identity, id, NOW_MS));
  passTime(DAY_MS);
  await ada.open('/account');
  expect(rowsOf((await ada.open('/account/sessions')).text, 'Sessions')).toEqual([
    {
      Browser: expect.stringMatching(/^Bun.* this one$/),
      'Signed in (UTC)': '2026-06-01 00:00 by a sign-in link',
      'Last used (UTC)': '2026-06-02 00:00',
      Actions: 'Sign out',
    },
  ]);
  expect(rowsOf((await ada.open('/account/sessions')).text, 'Latest sign-ins')).toEqual([
    { Action: expect.stringMatching(/^Signed in by a sign-in link/), Time: '2026-06-01 00:00 UTC' },
  ]);
  expect(rowsOf((await ada.open('/account/settings')).text, 'Linked identities')).toEqual([
    { Provider: 'corp', 'Linked (UTC)': '2026-06-01 00:00', Actions: 'Unlink' },
  ]);
});
