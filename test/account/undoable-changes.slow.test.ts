import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deleteOwnAccount } from '../../src/account/account-deletion.ts';
import { changedMails } from '../../src/account/account-mails.ts';
import type { NewSession } from '../../src/account/account-sessions.ts';
import { setEmail } from '../../src/account/administration.ts';
import { UnfinishedSignIn } from '../../src/account/unfinished-sign-in.ts';
import { Identities } from '../../src/store/identities.ts';
import { Passkeys } from '../../src/store/passkeys.ts';
import { NEW_BROWSER, type People, PUBLIC_URL, people, refusal } from './accounts.ts';
import { Authenticator } from './authenticator.ts';
import { catchMails, type SmtpCatcher } from './smtp-catcher.ts';

const ADA = 'ada@example.com';
const NEW = 'ada@other.org';
const WEEK_MS = 7 * 86_400_000;
const IDENTITY = { issuer: 'https://login.example.com', subject: 'ada' };
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

/** Changes the address, and returns the link in the email to the former one. */
async function moved(held: People, smtp: SmtpCatcher, { account: { id }, session, device }: NewSession, to: string) {
  const { registry, service } = held;
  const before = smtp.mails.length;
  held.passTime(1);
  const account = registry.accounts.find(id)!;
  const mails = (link: string) => changedMails({ from: account.email, to, link, publicUrl: PUBLIC_URL });
  const send = registry.database.write(() => {
    registry.accounts.setEmail(account, to);
    return service.undoableChanges.record({ account, session }, device, mails);
  });
  send();
  await service.drained();
  return smtp.mails.slice(before).find((mail) => mail.to[0] === account.email)!.link;
}

function link(
  { registry, nowMs }: People,
  { account: { id } }: Pick<NewSession, 'account'>,
  identity = IDENTITY,
): void {
  registry.database.write(() => new Identities(registry.database).link(identity, id, nowMs()));
}

test('A link undoes its change for 7 days, once; looking at it changes nothing, and only its digest is stored.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { undoableChanges, sessions } = held.service;
  const first = await moved(held, smtp, ada, NEW);
  expect(smtp.mails.map(({ to, link }) => [to[0], link === first]).sort()).toEqual([
    [ADA, true],
    [NEW, true],
  ]);
  held.passTime(WEEK_MS - 1);
  const looks = [undoableChanges.look(first), undoableChanges.look(first)];
  expect(looks[1]).toEqual(looks[0]!);
  expect(looks[0]).toMatchObject({ email: ADA, accountId: ada.account.id });
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
  const second = await moved(held, smtp, signedIn(held), NEW);
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
  for (const to of steps) links.push(await moved(held, smtp, ada, to));
  expect(links.map((of) => undoableChanges.look(of).email)).toEqual([ADA, NEW, 'second@evil.example']);
  expect(undoableChanges.undo(links[1]!)).toBe(NEW);
  expect(await refusal(() => undoableChanges.undo(links[2]!))).toMatch(NOT_VALID);
  expect(undoableChanges.undo(links[0]!)).toBe(ADA);
  const entries = held.registry.audit.list(4).map(({ action, detail }) => [action, detail.sessions ?? detail.to]);
  expect(entries).toEqual([
    ['account.undo', 0],
    ['account.email', ADA],
    ['account.undo', 1],
    ['account.email', NEW],
  ]);
});

test('A former address that another account has by now is not taken from it: the link says so, and works later.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { registry, service } = held;
  const undo = await moved(held, smtp, ada, NEW);
  const other = registry.database.write(() => registry.accounts.create({ email: 'ADA@example.com' }, held.nowMs()));
  expect(await refusal(() => service.undoableChanges.undo(undo))).toMatch(
    /^'ada@example.com' has another account by now: delete it or change its address, then open this link again$/,
  );
  expect([registry.accounts.find(ada.account.id)!.email, service.sessions.list(ada.account).length]).toEqual([NEW, 1]);
  registry.database.write(() => registry.accounts.delete(other.id, held.nowMs()));
  expect(service.undoableChanges.undo(undo)).toBe(ADA);
});

test('An address that the operator has given the account since stays, and the link undoes the rest.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { registry, service } = held;
  const undo = await moved(held, smtp, ada, 'thief@evil.example');
  link(held, ada);
  setEmail({ registry, nowMs: held.nowMs() }, ada.account.id, 'ada@safe.example');
  expect(service.undoableChanges.undo(undo)).toBe('ada@safe.example');
  expect(new Identities(registry.database).find(IDENTITY)).toBeUndefined();
  expect(service.sessions.list(ada.account)).toEqual([]);
});

test('Identities that were linked before a change, or to another account, stay when it is undone.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { registry, service } = held;
  const eve = registry.database.write(() => registry.accounts.create({ email: 'eve@example.com' }, held.nowMs()));
  link(held, ada);
  const undo = await moved(held, smtp, ada, NEW);
  link(held, ada, { ...IDENTITY, subject: 'thief' });
  link(held, { account: eve }, { ...IDENTITY, subject: 'eve' });
  service.undoableChanges.undo(undo);
  const identities = new Identities(registry.database);
  expect([ada.account, eve].map(({ id }) => identities.ofAccount(id).map(({ subject }) => subject))).toEqual([
    ['ada'],
    ['eve'],
  ]);
});

test('The links of a deleted account are void, and deleted with its addresses.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { registry, service } = held;
  const undo = await moved(held, smtp, ada, NEW);
  const actor = service.sessions.find(ada.token)!;
  registry.database.write(() => registry.accounts.create({ email: 'root@example.com', role: 'admin' }, held.nowMs()));
  deleteOwnAccount({ registry, nowMs: held.nowMs(), actor }, service.activity);
  expect(await refusal(() => service.undoableChanges.undo(undo))).toMatch(NOT_VALID);
  expect(registry.database.query<object, []>('SELECT COUNT(*) AS links FROM undo_links').get()).toEqual({ links: 0 });
});

test('An account has at most 50 changes in 7 days, so that none loses its link to later ones; a link of 7 days is deleted.', async () => {
  await using opened = await started();
  const { held, ada } = opened;
  const { registry, service } = held;
  const change = () => registry.database.write(() => service.undoableChanges.record(ada, undefined, () => []));
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
  registry.database.write(() => service.undoableChanges.record(ada, ada.device, () => []))();
  expect([service.sessions.find(other.token), service.sessions.find(ada.token)?.account.email]).toEqual([
    undefined,
    ADA,
  ]);
  expect(registry.database.query<object, []>('SELECT COUNT(*) AS links FROM undo_links').get()).toEqual({ links: 0 });
});

test('The link in the email about a new passkey removes the passkey and its recovery codes, and ends all sessions.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { registry, service } = held;
  const [passkeys, thief] = [new Passkeys(registry.database, registry.secret), new Authenticator(PUBLIC_URL)];
  const change = { registry, nowMs: held.nowMs(), actor: ada };
  const posted = thief.create(service.passkeys.creationOptions(ada));
  const codes = await service.passkeys.add(change, { posted, name: 'laptop', device: ada.device });
  await service.drained();
  expect([codes?.length, passkeys.codesLeft(ada.account.id)]).toEqual([10, 10]);
  const { to, link: undo } = smtp.mails.at(-1)!;
  expect(to).toEqual([ADA]);
  expect(() => signedIn(held)).toThrow(UnfinishedSignIn);
  expect(service.undoableChanges.undo(undo)).toBe(ADA);
  expect([passkeys.ofAccount(ada.account.id), passkeys.codesLeft(ada.account.id)]).toEqual([[], 0]);
  expect(service.sessions.list(ada.account)).toEqual([]);
  expect(signedIn(held).account.id).toBe(ada.account.id);
});

test('Undoing a new passkey gives back one that was removed since: the mailbox alone never signs in to an account that had a passkey.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { registry, service } = held;
  const passkeys = new Passkeys(registry.database, registry.secret);
  const add = async (name: string) => {
    held.passTime(1);
    const posted = new Authenticator(PUBLIC_URL).create(service.passkeys.creationOptions(ada));
    await service.passkeys.add({ registry, nowMs: held.nowMs(), actor: ada }, { posted, name, device: ada.device });
    await service.drained();
    return { id: passkeys.ofAccount(ada.account.id).at(-1)!.id, undo: smtp.mails.at(-1)!.link };
  };
  const remove = (id: string) => {
    held.passTime(1);
    service.passkeys.remove({ registry, nowMs: held.nowMs(), actor: ada }, id);
  };
  const [old, lost, thief] = [await add('old'), await add('lost'), await add('thief')];
  remove(lost.id);
  remove(old.id);
  remove(thief.id);
  expect(signedIn(held).account.id).toBe(ada.account.id);
  service.undoableChanges.undo(lost.undo);
  expect(passkeys.ofAccount(ada.account.id).map(({ name }) => name)).toEqual(['old']);
  expect(() => signedIn(held)).toThrow(UnfinishedSignIn);
  service.undoableChanges.undo(old.undo);
  expect(passkeys.ofAccount(ada.account.id)).toEqual([]);
});

test('Undoing a change ends the recovery codes, which a thief may have replaced.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { registry, service } = held;
  const change = () => ({ registry, nowMs: held.nowMs(), actor: ada });
  const posted = new Authenticator(PUBLIC_URL).create(service.passkeys.creationOptions(ada));
  await service.passkeys.add(change(), { posted, name: 'laptop', device: ada.device });
  await service.drained();
  const undo = await moved(held, smtp, ada, NEW);
  const [code = ''] = service.passkeys.replaceCodes(change());
  service.undoableChanges.undo(undo);
  let token: string | undefined;
  try {
    signedIn(held);
  } catch (error) {
    token = (error as UnfinishedSignIn).token;
  }
  const use = () => service.passkeys.signInByCode(code, { ...NEW_BROWSER, passkeyToken: token });
  expect(await refusal(use)).toMatch(/^this recovery code is wrong/);
});

test('A removed passkey and new recovery codes are mailed to the account.', async () => {
  await using opened = await started();
  const { held, smtp, ada } = opened;
  const { registry, service } = held;
  const change = () => ({ registry, nowMs: held.nowMs(), actor: ada });
  const posted = new Authenticator(PUBLIC_URL).create(service.passkeys.creationOptions(ada));
  await service.passkeys.add(change(), { posted, name: 'laptop', device: ada.device });
  await service.drained();
  const [{ id } = { id: '' }] = new Passkeys(registry.database, registry.secret).ofAccount(ada.account.id);
  service.passkeys.replaceCodes(change());
  await service.drained();
  service.passkeys.remove(change(), id);
  await service.drained();
  const texts = smtp.mails.slice(1).map(({ to, raw }) => [to, raw.replace(/=\r\n/g, '').replace(/\s+/g, ' ')] as const);
  expect(texts).toEqual([
    [[ADA], expect.stringContaining('The recovery codes were replaced')],
    [[ADA], expect.stringContaining("The passkey 'laptop' was removed")],
  ]);
});
