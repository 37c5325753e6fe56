import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deleteOwnAccount } from '../../src/account/account-deletion.ts';
import type { NewSession } from '../../src/account/account-sessions.ts';
import { setEmail } from '../../src/account/administration.ts';
import { Identities } from '../../src/store/identities.ts';
import type { WayInChange } from '../../src/store/undo-links.ts';
import { NEW_BROWSER, type People, people, refusal } from './accounts.ts';
import { catchMails, type SmtpCatcher } from './smtp-catcher.ts';

const ADA = 'ada@example.com';
const NEW = 'ada@other.org';
const WEEK_MS = 7 * 86_400_000;
const IDENTITY = { provider: 'corp', issuer: 'https://login.example.com', subject: 'ada' };
const NOT_VALID = /^this link is not valid: it works once, for 7 days/;

async function started() {
  await using resources = new AsyncDisposableStack();
  const smtp = resources.use(await catchMails());
  const mail = { url: smtp.url, sender: 'bookreel@example.com', passwordFile: undefined };
  const held = resources.use(people({ mail }));
  held.registry.database.write(() => held.registry.accounts.create({ email: ADA }, held.nowMs()));
  const kept = resources.move();
  return { smtp, held, ada: signedIn(held), [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

function signedIn({ service, createLink }: People, email = ADA): NewSession {
  return service.signIn.redeemLink(createLink(email), NEW_BROWSER);
}

/** Records a change of the account, and returns its link, from the mail to the address before. */
async function changed(held: People, smtp: SmtpCatcher, person: NewSession, change: WayInChange): Promise<string> {
  const { registry, service } = held;
  const before = smtp.mails.length;
  const account = registry.accounts.find(person.account.id)!;
  const send = registry.database.write(() => {
    if (change.kind === 'address') registry.accounts.setEmail(account, change.to);
    return service.undoableChanges.record({ ...person, account }, person.device, change);
  });
  send();
  await service.drained();
  return smtp.mails.slice(before).find(({ to }) => to[0] === account.email)!.link;
}

test('A link undoes its change for 7 days, once; looking at it changes nothing, and only its digest is stored.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { undoableChanges, sessions } = held.service;
  const first = await changed(held, smtp, ada, { kind: 'address', to: NEW });
  expect(smtp.mails.map(({ to, link }) => [to[0], link === first]).sort()).toEqual([
    [ADA, true],
    [NEW, true],
  ]);
  held.passTime(WEEK_MS - 1);
  const looks = [undoableChanges.look(first), undoableChanges.look(first)];
  expect(looks[1]).toEqual(looks[0]!);
  expect(looks[0]).toMatchObject([{ email: ADA, change: { kind: 'address', to: NEW } }]);
  expect(held.registry.accounts.find(ada.account.id)!.email).toBe(NEW);
  expect(undoableChanges.undo(first)).toBe(ADA);
  expect([held.registry.accounts.find(ada.account.id)!.email, sessions.list(ada.account)]).toEqual([ADA, []]);
  await held.service.drained();
  const { to, raw } = smtp.mails.at(-1)!;
  expect([to, raw.includes(ADA)]).toEqual([[NEW], false]);
  for (const token of [first, '', 'x', `${first}x`]) {
    expect(await refusal(() => undoableChanges.look(token))).toMatch(NOT_VALID);
    expect(await refusal(() => undoableChanges.undo(token))).toMatch(NOT_VALID);
  }
  const second = await changed(held, smtp, signedIn(held), { kind: 'address', to: NEW });
  const files = readdirSync(held.directory).map((name) => readFileSync(join(held.directory, name)));
  expect(files.some((bytes) => bytes.includes(second))).toBe(false);
  held.passTime(WEEK_MS);
  expect(await refusal(() => undoableChanges.undo(second))).toMatch(NOT_VALID);
});

test('Undoing a change undoes all later ones, and leaves earlier ones.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { undoableChanges } = held.service;
  const steps = [NEW, 'second@evil.example', 'third@evil.example'];
  const links: string[] = [];
  for (const to of steps) links.push(await changed(held, smtp, ada, { kind: 'address', to }));
  expect(undoableChanges.look(links[1]!).map(({ email }) => email)).toEqual(['second@evil.example', NEW]);
  expect(undoableChanges.undo(links[1]!)).toBe(NEW);
  expect(await refusal(() => undoableChanges.undo(links[2]!))).toMatch(NOT_VALID);
  expect(undoableChanges.undo(links[0]!)).toBe(ADA);
  const kinds = held.registry.audit.list(10).map(({ action, detail }) => [action, detail.changes ?? detail.to]);
  expect(kinds.slice(0, 4)).toEqual([
    ['account.undo', 1],
    ['account.email', ADA],
    ['account.undo', 2],
    ['account.email', NEW],
  ]);
});

test('A former address that another account has by now is not taken from it: the link says so, and works later.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { registry, service } = held;
  const link = await changed(held, smtp, ada, { kind: 'address', to: NEW });
  const other = registry.database.write(() => registry.accounts.create({ email: 'ADA@example.com' }, held.nowMs()));
  expect(await refusal(() => service.undoableChanges.undo(link))).toMatch(
    /^'ada@example.com' has another account by now: delete it or change its address, then open this link again$/,
  );
  expect([registry.accounts.find(ada.account.id)!.email, service.sessions.list(ada.account).length]).toEqual([NEW, 1]);
  registry.database.write(() => registry.accounts.delete(other.id, held.nowMs()));
  expect(service.undoableChanges.undo(link)).toBe(ADA);
});

test('An address that the operator has given the account since stays, and the link undoes the rest.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { registry, service } = held;
  const link = await changed(held, smtp, ada, { kind: 'address', to: 'thief@evil.example' });
  await changed(held, smtp, ada, { kind: 'identity', ...IDENTITY });
  registry.database.write(() => new Identities(registry.database).link(IDENTITY, ada.account.id, held.nowMs()));
  setEmail({ registry, nowMs: held.nowMs() }, ada.account.id, 'ada@safe.example');
  expect(service.undoableChanges.undo(link)).toBe('ada@safe.example');
  expect(new Identities(registry.database).find(IDENTITY)).toBeUndefined();
  expect(service.sessions.list(ada.account)).toEqual([]);
});

test('An identity that another account has by now stays there.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { registry, service } = held;
  const link = await changed(held, smtp, ada, { kind: 'identity', ...IDENTITY });
  const eve = registry.database.write(() => registry.accounts.create({ email: 'eve@example.com' }, held.nowMs()));
  registry.database.write(() => new Identities(registry.database).link(IDENTITY, eve.id, held.nowMs()));
  expect(service.undoableChanges.undo(link)).toBe(ADA);
  expect(new Identities(registry.database).find(IDENTITY)).toBe(eve.id);
});

test('The links of a deleted account are void, and deleted with its addresses.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { registry, service } = held;
  const link = await changed(held, smtp, ada, { kind: 'address', to: NEW });
  const actor = service.sessions.find(ada.token)!;
  registry.database.write(() => registry.accounts.create({ email: 'root@example.com', role: 'admin' }, held.nowMs()));
  deleteOwnAccount({ registry, nowMs: held.nowMs(), actor }, service.activity);
  expect(await refusal(() => service.undoableChanges.undo(link))).toMatch(NOT_VALID);
  expect(registry.database.query<object, []>('SELECT COUNT(*) AS links FROM undo_links').get()).toEqual({ links: 0 });
});

test('An account has at most 50 changes in 7 days, so that none loses its link to later ones; a link of 7 days is deleted.', async () => {
  await using opened = await started();
  const { held, ada } = opened;
  const { registry, service } = held;
  const change = () =>
    registry.database.write(() => service.undoableChanges.record(ada, undefined, { kind: 'identity', ...IDENTITY }));
  for (let count = 0; count < 50; count += 1) change();
  expect(await refusal(change)).toMatch(/^this account was changed 50 times in 7 days/);
  held.passTime(WEEK_MS);
  change();
  expect(registry.database.query<object, []>('SELECT COUNT(*) AS links FROM undo_links').get()).toEqual({ links: 1 });
});

test('Without mail a change ends the other sessions, and stores no link that nobody gets.', async () => {
  await using held = people();
  const { registry, service } = held;
  registry.database.write(() => registry.accounts.create({ email: ADA }, held.nowMs()));
  const [other, ada] = [signedIn(held), signedIn(held)];
  const change = { kind: 'identity', ...IDENTITY } as const;
  registry.database.write(() => service.undoableChanges.record(ada, ada.device, change))();
  expect([service.sessions.find(other.token), service.sessions.find(ada.token)?.account.email]).toEqual([
    undefined,
    ADA,
  ]);
  expect(registry.database.query<object, []>('SELECT COUNT(*) AS links FROM undo_links').get()).toEqual({ links: 0 });
});
