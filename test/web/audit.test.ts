import { expect, test } from 'bun:test';
import { createKey } from '../../src/account/account-keys.ts';
import type { AuditEntry } from '../../src/store/audit.ts';
import { catchMails } from '../account/smtp-catcher.ts';
import { NOW_MS } from '../support/archive.ts';
import { rowsOf } from './page-content.ts';
import { fieldValue, startSite } from './site.ts';

const [ADA, EVE, ROOT] = ['ada@example.com', 'eve@example.com', 'root@example.com'];

test('every entry of a person has the address and the id of the request, and every entry of a command its user', async () => {
  await using site = startSite();
  const { registry } = site.people;
  const ada = await site.signedIn(ADA);
  const form = await ada.open('/account/keys/new');
  const created = await ada.post('/account/keys/new', { keysBefore: fieldValue(form.text, 'keysBefore') });
  const [key, signIn, link] = registry.audit.list(3);
  const requestId = created.headers.get('x-request-id')!;
  const ofRequest = { clientAddress: '127.0.0.1', operatingUser: undefined };
  expect(key).toMatchObject({ action: 'key.create', ...ofRequest, requestId });
  expect(signIn).toMatchObject({
    action: 'session.sign-in',
    ...ofRequest,
    requestId: expect.stringMatching(/^[\w-]{36}$/),
  });
  expect(signIn!.requestId).not.toBe(requestId);
  expect(link).toMatchObject({ action: 'account.link', operatingUser: 'operator', requestId: undefined });

  const id = registry.accounts.findByEmail(ADA)!.id;
  registry.database.write(() => registry.accounts.setRole(id, 'admin'));
  await site.signedIn(EVE);
  const account = String(registry.accounts.findByEmail(EVE)!.id);
  for (const [path, fields] of [
    ['grant', { tier: 'pro' }],
    ['role', { role: 'admin' }],
    ['disable', {}],
    ['enable', {}],
    ['link', {}],
    ['delete', {}],
  ] as const) {
    expect((await ada.post(`/admin/accounts/${path}`, { account, ...fields })).status).toBeLessThan(400);
  }
  const shown = (await ada.open(`/admin/audit?action=account.disable`)).text;
  const [disabled] = registry.audit.list(1, { action: 'account.disable' });
  expect(rowsOf(shown, 'Entries of the audit')[0]!.Action).toContain(
    `account.disable · from 127.0.0.1 · request ${disabled!.requestId}`,
  );
  const commands = (await ada.open('/admin/audit?action=account.link')).text;
  expect(rowsOf(commands, 'Entries of the audit').at(-1)).toMatchObject({
    'Person and account': `operator on the server for ${ADA}`,
  });
  const job = { atMs: NOW_MS, by: {}, action: 'payment.fail', detail: { payment: 'pay_1', job: 'reconciliation' } };
  registry.database.write(() => registry.audit.append(job));
  const jobs = (await ada.open('/admin/audit?action=payment.fail')).text;
  expect(rowsOf(jobs, 'Entries of the audit')).toMatchObject([{ 'Person and account': 'reconciliation job' }]);
  await ada.post('/account/sessions/end-all');
  const entries = registry.audit.list(100);
  const isComplete = ({ clientAddress, requestId: ofEntry }: AuditEntry) =>
    clientAddress === '127.0.0.1' && ofEntry !== undefined;
  expect(entries.filter(({ actorId }) => actorId === id).filter((entry) => !isComplete(entry))).toEqual([]);
  expect(entries.map(({ action }) => action)).toContain('session.end-all');
  expect(entries.every(({ atMs }) => atMs >= NOW_MS)).toBe(true);
});

test('what an admin does with the account of another person is recorded as such, and mailed to that person', async () => {
  await using smtp = await catchMails();
  const mail = { url: smtp.url, sender: 'data@example.com', passwordFile: undefined };
  await using site = startSite({ mail });
  const { registry, service } = site.people;
  const root = await site.signedIn(ROOT);
  const rootId = registry.accounts.findByEmail(ROOT)!.id;
  registry.database.write(() => registry.accounts.setRole(rootId, 'admin'));
  await site.signedIn(EVE);
  const eveId = registry.accounts.findByEmail(EVE)!.id;
  const { apiKey } = createKey(registry, NOW_MS, {
    account: EVE,
    name: undefined,
    tier: undefined,
    requestsPerMinute: undefined,
  });
  const mailed = async (path: string, fields: Readonly<Record<string, string>> = {}, account = eveId) => {
    const before = smtp.mails.length;
    const { status } = await root.post(`/admin/accounts/${path}`, { account: String(account), ...fields });
    await service.drained();
    return [status, ...smtp.mails.slice(before).map(({ to, raw }) => `${to}: ${sentencesOf(raw)}`)];
  };
  expect(await mailed('grant', { tier: 'pro' })).toEqual([303, `${EVE}: Granted the tier pro without an end.`]);
  const [grant] = registry.grants.ofAccount(eveId);
  expect(await mailed('end-grant', { grant: grant!.id })).toEqual([303, `${EVE}: Ended the grant ${grant!.id}.`]);
  expect(await mailed('revoke-key', { key: apiKey.id })).toEqual([303, `${EVE}: Revoked the key ${apiKey.id}.`]);
  expect(await mailed('link')).toEqual([200, `${EVE}: Created a sign-in link.`]);
  expect(await mailed('role', { role: 'admin' })).toEqual([303, `${EVE}: Made the account an admin.`]);
  expect(await mailed('disable')).toEqual([303, `${EVE}: Disabled the account.`]);
  // Nothing changed, or it was refused.
  expect(await mailed('disable')).toEqual([303]);
  expect(await mailed('grant', { tier: 'none' })).toEqual([400]);
  expect(await mailed('enable')).toEqual([303, `${EVE}: Enabled the account.`]);
  expect(await mailed('delete')).toEqual([303, `${EVE}: Deleted the account.`]);
  // Their own account.
  expect(await mailed('grant', { tier: 'pro' }, rootId)).toEqual([303]);
  for (const { raw } of smtp.mails) expect(raw).not.toContain(ROOT);

  const { text } = await root.open('/admin/audit?action=grant.create');
  const [own, other] = rowsOf(text, 'Entries of the audit').map(({ Action }) => Action);
  expect(own).not.toContain('as an admin');
  expect(other).toContain(`${ROOT} did this as an admin, for account-${eveId}@deleted.invalid.`);
});

/** The paragraphs of an email about an account, without the first and the last one. */
function sentencesOf(raw: string): string {
  const [, text = ''] = /text\/plain[\s\S]*?\r\n\r\n([\s\S]*?)\r\n--/.exec(raw) ?? [];
  const [first = '', ...rest] = text.replaceAll('=\r\n', '').trim().split('\r\n\r\n');
  expect([first, rest.pop()]).toEqual([
    expect.stringContaining('did this with your account eve@example.com:'),
    'If you did not expect it, ask the operator of this service.',
  ]);
  return rest.join(' ');
}
