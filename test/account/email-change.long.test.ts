import { expect, test } from 'bun:test';
import type { SignedIn } from '../../src/account/account-sessions.ts';
import { RECENT_SIGN_IN_MS } from '../../src/account/recent-sign-in.ts';
import { DomainError } from '../../src/domain/errors.ts';
import { CLIENT, NEW_BROWSER, type People, people, refusal } from './accounts.ts';
import { catchMails, type SmtpCatcher } from './smtp-catcher.ts';

const ADA = 'ada@example.com';
const EVE = 'eve@example.com';
const NEW = 'ada@other.org';
const MINUTE_MS = 60_000;
const mailBy = (smtp: SmtpCatcher) => ({ url: smtp.url, sender: 'bookreel@example.com', passwordFile: undefined });

/** A person whose sign-in is new. */
function signedIn(held: People, email = ADA): SignedIn {
  const { service, registry } = held;
  if (registry.accounts.findByEmail(email) === undefined) {
    registry.database.write(() => registry.accounts.create({ email }, held.nowMs()));
  }
  return service.signIn.redeemLink(held.createLink(email), NEW_BROWSER);
}

function isSignedIn(value: unknown): value is SignedIn {
  return typeof value === 'object' && value !== null && 'session' in value;
}

async function kindOf(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    if (error instanceof DomainError) return error.kind;
    throw error;
  }
  return 'done';
}

test('A link in an email to the new address changes the address once, and the former address gets an email', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  const { service, registry } = held;
  const { emailChange } = service;
  const ada = signedIn(held);
  emailChange.ask(ada, ' Ada@Other.ORG ', CLIENT);
  await service.drained();
  const [mail] = smtp.mails;
  expect([mail!.to, mail!.code]).toEqual([['Ada@other.org'], '']);
  expect(mail!.raw).toContain('/account/settings/link');
  expect(emailChange.look(ada, mail!.link)).toEqual({ from: ADA, to: 'Ada@other.org' });
  expect(emailChange.look(ada, mail!.link)).toEqual({ from: ADA, to: 'Ada@other.org' });
  expect(registry.accounts.find(ada.account.id)!.email).toBe(ADA);

  expect(emailChange.redeem(ada, mail!.link)).toEqual({ ...ada.account, email: 'Ada@other.org' });
  await service.drained();
  // The two go at random moments.
  const [, ...later] = smtp.mails;
  const former = later.find(({ to }) => to[0] === ADA)!;
  expect(later.map(({ to }) => to[0]).sort()).toEqual(['Ada@other.org', ADA]);
  expect(former.raw).not.toMatch(/other\.org/i);
  expect(former.raw.replace(/=\r\n/g, '')).toContain('/sign-in/undo?token=');
  const detail = { from: ADA, to: 'Ada@other.org' };
  const { id } = ada.account;
  expect(registry.audit.list(1)).toEqual([
    expect.objectContaining({ atMs: held.nowMs(), action: 'account.email', actorId: id, accountId: id, detail }),
  ]);
  // The session continues; the new address signs in to the account, and the former one to none.
  const [found] = service.sessions.list(ada.account);
  expect(found!.id).toBe(ada.session.id);
  expect(signedIn(held, NEW).account.id).toBe(id);
  expect(signedIn(held, ADA).account.id).not.toBe(id);
  expect(await refusal(() => emailChange.redeem(ada, mail!.link))).toMatch(/^this link is not valid/);
});

test('A link that changes an address works for the person who asked for it, and not after another change of the account.', async () => {
  const cases: [string, (held: People, ada: SignedIn) => unknown, string][] = [
    ['in time', (held) => held.passTime(15 * MINUTE_MS - 1), 'done'],
    ['too late', (held) => held.passTime(15 * MINUTE_MS), 'forbidden'],
    ['another session of the person', (held) => signedIn(held), 'done'],
    ['another person', (held) => signedIn(held, EVE), 'forbidden'],
    ['disabled', (held, { account }) => held.registry.accounts.disable(account.id, 1), 'forbidden'],
    ['another address since', (held, { account }) => held.registry.accounts.setEmail(account, EVE), 'forbidden'],
    [
      'the new address has an account since',
      ({ registry, nowMs }) => registry.accounts.create({ email: NEW }, nowMs()),
      'conflict',
    ],
  ];
  for (const [name, meanwhile, kind] of cases) {
    await using smtp = await catchMails();
    await using held = people({ mail: mailBy(smtp) });
    const { emailChange } = held.service;
    const ada = signedIn(held);
    emailChange.ask(ada, NEW, CLIENT);
    const { link } = await smtp.nth(0);
    const after = meanwhile(held, ada);
    const person = isSignedIn(after) ? after : ada;
    const before = held.registry.accounts.list(10);
    expect([name, await kindOf(() => emailChange.redeem(person, link))]).toEqual([name, kind]);
    await held.service.drained();
    const isDone = kind === 'done';
    expect([name, held.registry.accounts.find(ada.account.id)!.email === NEW]).toEqual([name, isDone]);
    expect([name, smtp.mails.length]).toEqual([name, isDone ? 3 : 1]);
    if (!isDone) expect(held.registry.accounts.list(10)).toEqual(before);
    const changes = held.registry.audit.list(10).filter(({ action }) => action === 'account.email');
    expect([name, changes.length]).toEqual([name, isDone ? 1 : 0]);
  }
});

test('A link is used up by its change, and of no use to another account with the former address', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  const { registry, service } = held;
  const move = ({ id }: { id: number }, to: string) =>
    registry.database.write(() => registry.accounts.setEmail(registry.accounts.find(id)!, to));
  const ada = signedIn(held);
  service.emailChange.ask(ada, NEW, CLIENT);
  const { link } = await smtp.nth(0);
  move(ada.account, 'moved@example.com');
  const eve = signedIn(held, ADA);
  expect(await refusal(() => service.emailChange.redeem(eve, link))).toMatch(/^this link is not valid/);
  move(eve.account, EVE);
  move(ada.account, ADA);
  expect(service.emailChange.redeem(ada, link).email).toBe(NEW);
  move(ada.account, ADA);
  expect(await refusal(() => service.emailChange.redeem(ada, link))).toMatch(/^this link was used already/);
});

test('A link that a conflict refused works when the address is free again', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  const { registry, service } = held;
  const ada = signedIn(held);
  service.emailChange.ask(ada, NEW, CLIENT);
  const { link } = await smtp.nth(0);
  const other = registry.database.write(() => registry.accounts.create({ email: NEW }, held.nowMs()));
  expect(await kindOf(() => service.emailChange.redeem(ada, link))).toBe('conflict');
  registry.database.write(() => registry.accounts.setEmail(other, 'free@example.com'));
  expect(service.emailChange.redeem(ada, link).email).toBe(NEW);
});

test('If a new address has an account, the answer and the row are the same, and no email names the other account.', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  const { service, registry, activity } = held;
  signedIn(held, EVE);
  const off = registry.database.write(() => registry.accounts.create({ email: 'Off@example.com' }, held.nowMs()));
  registry.database.write(() => registry.accounts.disable(off.id, held.nowMs()));
  const ada = signedIn(held);
  activity.write(() => activity.query('DELETE FROM sign_in_attempts').run());
  const answers = [NEW, 'EVE@example.com', 'off@example.com'].map((email) =>
    service.emailChange.ask(ada, email, CLIENT),
  );
  expect(answers).toEqual([undefined, undefined, undefined]);
  await service.drained();
  const mails = new Map(smtp.mails.map((mail) => [mail.to[0], mail]));
  // In the spelling of its owner.
  expect([...mails.keys()].sort()).toEqual(['Off@example.com', NEW, EVE].sort());
  for (const email of [EVE, 'Off@example.com']) {
    const { link, raw } = mails.get(email)!;
    expect([link, raw.replace(/=\r\n/g, '')]).toEqual(['', expect.stringMatching(/has an account already/)]);
    // The random id of an email ends like Ada's address once in 4,096 mails.
    expect(raw.replace(/^Message-ID:.*$/m, '')).not.toContain(ADA);
  }
  const columns = activity
    .query<{ name: string }, []>("SELECT name FROM pragma_table_info('sign_in_attempts')")
    .all()
    .map(({ name }) => name)
    .filter((name) => !['attempt_id', 'email'].includes(name));
  const shapes = columns.map((name) => (name.endsWith('_digest') ? `length(${name})` : name));
  const rows = activity.query<object, []>(`SELECT ${shapes.join()} FROM sign_in_attempts`).all();
  expect(rows).toEqual(Array(3).fill({ ...rows[0]!, method: 'email-change', is_mailed: 1 }));
});

test('Another spelling of the own address is a change; the same spelling is refused', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  const ada = signedIn(held);
  expect(await refusal(() => held.service.emailChange.ask(ada, ADA, CLIENT))).toMatch(/has this address already/);
  held.service.emailChange.ask(ada, 'Ada@example.com', CLIENT);
  const { to, link } = await smtp.nth(0);
  expect(to).toEqual(['Ada@example.com']);
  expect(held.service.emailChange.redeem(ada, link).email).toBe('Ada@example.com');
});

test('Links of sign-ins change no address, and links of changes sign nobody in', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  const { service } = held;
  const ada = signedIn(held);
  service.signIn.ask(ADA, CLIENT);
  const signIn = await smtp.nth(0);
  service.emailChange.ask(ada, NEW, CLIENT);
  const change = await smtp.nth(1);
  const refused = /^this link is not valid/;
  expect(await refusal(() => service.emailChange.look(ada, signIn.link))).toMatch(refused);
  expect(await refusal(() => service.emailChange.redeem(ada, signIn.link))).toMatch(refused);
  expect(await refusal(() => service.signIn.look(change.link))).toMatch(refused);
  expect(await refusal(() => service.signIn.redeemLink(change.link, NEW_BROWSER))).toMatch(refused);
});

test('With invited, a new address needs an admitted domain; closed admits every new address.', async () => {
  await using smtp = await catchMails();
  await using alone = people();
  expect(await refusal(() => alone.service.emailChange.ask(signedIn(alone), NEW, CLIENT))).toMatch(/sends no email/);

  await using held = people({
    mail: mailBy(smtp),
    signUp: { policy: 'invited', domains: new Set(['example.com']) },
  });
  const { emailChange } = held.service;
  const ada = signedIn(held);
  expect(await kindOf(() => emailChange.ask(ada, 'ada@', CLIENT))).toBe('invalid-parameter');
  expect(await kindOf(() => emailChange.ask(ada, NEW, CLIENT))).toBe('forbidden');
  held.passTime(RECENT_SIGN_IN_MS - 1);
  expect(await kindOf(() => emailChange.ask(ada, 'a@example.com', CLIENT))).toBe('done');
  held.passTime(1);
  expect(await kindOf(() => emailChange.ask(ada, 'b@example.com', CLIENT))).toBe('sign-in-again');
  await held.service.drained();
  expect(smtp.mails.map(({ to }) => to)).toEqual([['a@example.com']]);
});

test('Changes to an address are limited to 5 an hour, whatever sign-ins a stranger starts with it, and none starts after 2,000 mails of a day.', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  const { signIn, emailChange } = held.service;
  const ada = signedIn(held);
  for (let count = 0; count < 30; count += 1) signIn.ask(NEW, `198.51.${count}.1`);
  for (let count = 0; count < 5; count += 1) emailChange.ask(ada, NEW, CLIENT);
  expect(await refusal(() => emailChange.ask(ada, NEW.toUpperCase(), '203.0.113.9'))).toMatch(
    /with this address: use the last email/,
  );
  for (let count = 0; count < 15; count += 1) emailChange.ask(ada, `a${count}@example.com`, CLIENT);
  expect(await refusal(() => emailChange.ask(ada, 'last@example.com', CLIENT))).toMatch(/from your network/);
  await held.service.drained();

  const mailed = held.activity.query<never, [number]>(
    `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2000)
     INSERT INTO sign_in_attempts (attempt_id, method, is_mailed, created_ms)
     SELECT hex(randomblob(9)), 'email', 1, ?1 FROM numbers`,
  );
  held.activity.write(() => mailed.run(held.nowMs()));
  // The same with an account and without.
  signedIn(held, EVE);
  for (const email of ['b@example.com', EVE]) {
    expect(await refusal(() => emailChange.ask(ada, email, '198.51.100.1'))).toMatch(/sends no more emails today/);
  }
});

test('A change is refused while 1,000 mails to people wait, and its link is not used up', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  const { signIn, emailChange } = held.service;
  const ada = signedIn(held);
  emailChange.ask(ada, NEW, CLIENT);
  const { link } = await smtp.nth(0);
  await held.service.drained();
  held.registry.database.write(() => {
    for (let count = 0; count < 1000; count += 1)
      held.registry.accounts.create({ email: `person${count}@example.com` }, held.nowMs());
  });
  for (let count = 0; count < 1000; count += 1) signIn.ask(`person${count}@example.com`, `198.51.${count % 250}.1`);
  expect(await kindOf(() => emailChange.ask(ada, EVE, CLIENT))).toBe('busy');
  expect(await kindOf(() => emailChange.redeem(ada, link))).toBe('busy');
  await held.service.drained();
  expect(emailChange.redeem(ada, link).email).toBe(NEW);
});
