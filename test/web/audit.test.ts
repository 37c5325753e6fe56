import { expect, test } from 'bun:test';
import type { AuditEntry } from '../../src/store/audit.ts';
import { NOW_MS } from '../support/archive.ts';
import { rowsOf } from './page-content.ts';
import { fieldValue, startSite } from './site.ts';

const [ADA, EVE] = ['ada@example.com', 'eve@example.com'];

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
  expect(rowsOf(commands, 'Entries of the audit').at(-1)).toMatchObject({ Person: 'operator, by a command' });
  await ada.post('/account/sessions/end-all');
  const entries = registry.audit.list(100);
  const isComplete = ({ clientAddress, requestId: ofEntry }: AuditEntry) =>
    clientAddress === '127.0.0.1' && ofEntry !== undefined;
  expect(entries.filter(({ actorId }) => actorId !== undefined).filter((entry) => !isComplete(entry))).toEqual([]);
  expect(entries.map(({ action }) => action)).toContain('session.end-all');
  expect(entries.every(({ atMs }) => atMs >= NOW_MS)).toBe(true);
});
