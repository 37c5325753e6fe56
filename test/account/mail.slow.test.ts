import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mail } from '../../src/account/mail.ts';
import { Outbox } from '../../src/account/outbox.ts';
import { emailAddress } from '../../src/domain/email-address.ts';
import { Database } from '../../src/store/database.ts';
import { ACTIVITY } from '../../src/store/database-file.ts';
import { KeySecret } from '../../src/store/key-secret.ts';
import { WaitingMails } from '../../src/store/waiting-mails.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { CLIENT, NEW_BROWSER, people, refusal } from './accounts.ts';
import { catchMails } from './smtp-catcher.ts';

const SENDER = 'bookreel@example.com';
const ADA = 'ada@example.com';
const MINUTE_MS = 60_000;

test('An email goes to the spelling that the account has, with a link and a code, of which either signs in once.', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: { url: smtp.url, sender: SENDER, passwordFile: undefined } });
  const { service, registry } = held;
  const attemptToken = service.signIn.ask(' Ada@Example.COM ', CLIENT);
  await service.drained();
  const [mail] = smtp.mails;
  expect([mail!.from, mail!.to]).toEqual([SENDER, ['Ada@example.com']]);
  expect(mail!.code).toMatch(/^\d{8}$/);
  expect(mail!.raw).not.toContain('<img');

  expect(service.signIn.look(mail!.link)).toEqual({ email: 'Ada@example.com', provider: undefined });
  expect(service.signIn.look(mail!.link).email).toBe('Ada@example.com');
  const byCode = service.signIn.redeemCode(`${mail!.code.slice(0, 4)} ${mail!.code.slice(4)}`, {
    ...NEW_BROWSER,
    attemptToken,
  });
  expect(byCode.account.email).toBe('Ada@example.com');
  expect(service.sessions.find(byCode.token)?.account.id).toBe(byCode.account.id);
  expect(await refusal(() => service.signIn.redeemLink(mail!.link, NEW_BROWSER))).toMatch(
    /^this link was used already/,
  );

  service.signIn.ask(ADA, CLIENT);
  await service.drained();
  // To the address as its owner typed it first.
  expect(smtp.mails[1]!.to).toEqual(['Ada@example.com']);
  const byLink = service.signIn.redeemLink(smtp.mails[1]!.link, { ...NEW_BROWSER, session: byCode.token });
  expect(byLink.account.id).toBe(byCode.account.id);
  // The browser's first session ended with the second sign-in.
  expect(service.sessions.find(byCode.token)).toBeUndefined();
  expect(registry.audit.list(10).map(({ action }) => action)).toEqual([
    'session.sign-in',
    'session.sign-in',
    'account.sign-up',
  ]);
});

test('Links and codes that are expired, used, foreign or guessed are refused', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: { url: smtp.url, sender: SENDER, passwordFile: undefined } });
  const { service, registry } = held;
  const { signIn } = service;
  const ada = registry.database.write(() => registry.accounts.create({ email: ADA }, held.nowMs()));
  const browser = { ...NEW_BROWSER, attemptToken: signIn.ask(ADA, CLIENT) };
  await service.drained();
  const { link, code } = smtp.mails[0]!;
  const other = signIn.ask(ADA, CLIENT);
  await service.drained();
  const wrong = code === '00000000' ? '11111111' : '00000000';
  const cases: [string, () => unknown, RegExp][] = [
    ['unknown link', () => signIn.redeemLink('A'.repeat(43), NEW_BROWSER), /^this link is not valid/],
    ['empty link', () => signIn.look(''), /^this link is not valid/],
    ['no cookie', () => signIn.redeemCode(code, NEW_BROWSER), /only in the browser that asked/],
    [
      'unknown cookie',
      () => signIn.redeemCode(code, { ...NEW_BROWSER, attemptToken: 'x' }),
      /only in the browser that asked/,
    ],
    [
      'other browser',
      () => signIn.redeemCode(code, { ...NEW_BROWSER, attemptToken: other }),
      /^this code is wrong.*4 of 5 tries/,
    ],
    [
      'wrong code',
      () => signIn.redeemCode(wrong, browser),
      /^this code is wrong: compare it with the latest email; 4 of 5 tries/,
    ],
    ['no code', () => signIn.redeemCode('', browser), /3 of 5/],
    ['third', () => signIn.redeemCode(`${code}0`, browser), /2 of 5/],
    ['fourth', () => signIn.redeemCode(wrong, browser), /1 of 5/],
    ['fifth', () => signIn.redeemCode(wrong, browser), /^this code was tried 5 times/],
    ['right but too late', () => signIn.redeemCode(code, browser), /^this code was tried 5 times/],
  ];
  for (const [name, work, sentence] of cases) {
    expect([name, await refusal(work)]).toEqual([name, expect.stringMatching(sentence)]);
    held.passTime(16_000);
  }
  held.passTime(15 * MINUTE_MS);
  expect(await refusal(() => signIn.look(link))).toMatch(/^this link is older than 15 minutes/);
  expect(await refusal(() => signIn.redeemLink(link, NEW_BROWSER))).toMatch(/^this link is older than 15 minutes/);
  const entry = {
    action: 'session.wrong-code',
    accountId: ada.id,
    actorId: undefined,
    detail: { method: 'email' },
    count: 6,
  };
  expect(registry.audit.list(10)).toEqual([expect.objectContaining(entry)]);
});

test('An address that may not sign in gets the same answer, cookie and rows, no email, and each wrong code is in the audit.', async () => {
  await using smtp = await catchMails();
  await using held = people({
    mail: { url: smtp.url, sender: SENDER, passwordFile: undefined },
    signUp: { policy: 'closed', domains: new Set() },
  });
  const { service, registry, activity } = held;
  const [ada, off] = registry.database.write(() => {
    const known = registry.accounts.create({ email: ADA }, held.nowMs());
    const { id } = registry.accounts.create({ email: 'off@example.com' }, held.nowMs());
    registry.accounts.disable(id, held.nowMs());
    return [known.id, id];
  });
  const attemptTokens = [ADA, 'off@example.com', 'nobody@example.com'].map((email) =>
    service.signIn.ask(email, CLIENT),
  );
  await service.drained();
  expect(attemptTokens.map((cookie) => cookie.length)).toEqual([43, 43, 43]);
  expect(smtp.mails.map(({ to }) => to)).toEqual([[ADA]]);
  // Each has another address, so none waits for another.
  const refusals = attemptTokens.map((cookie) =>
    refusal(() => service.signIn.redeemCode('00000', { ...NEW_BROWSER, attemptToken: cookie })),
  );
  expect(new Set(await Promise.all(refusals)).size).toBe(1);
  const columns = activity
    .query<{ name: string }, []>("SELECT name FROM pragma_table_info('sign_in_attempts')")
    .all()
    .map(({ name }) => name)
    .filter((name) => !['attempt_id', 'email', 'is_mailed'].includes(name));
  const shapes = columns.map((name) => (name.endsWith('_digest') ? `length(${name})` : name));
  const rows = activity.query<object, []>(`SELECT ${shapes.join()} FROM sign_in_attempts`).all();
  expect(rows).toEqual(Array(3).fill(rows[0]!));
  expect(Object.values(rows[0]!)).toContain(32);
  // A wrong code writes the same for each of them.
  const wrongCodes = registry.audit.list(10).map(({ action, accountId }) => [action, accountId]);
  expect(wrongCodes).toEqual([undefined, off, ada].map((id) => ['session.wrong-code', id]));
  const limited = async (email: string) => {
    const sentences: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      try {
        service.signIn.ask(email, '192.0.2.8');
      } catch (error) {
        sentences.push(String(error));
      }
    }
    return sentences;
  };
  const sentences = await limited('nobody@example.com');
  expect(sentences).toEqual([expect.stringContaining('with this address')]);
  expect(await limited(ADA.toUpperCase())).toEqual(sentences);
});

test('With open every address gets an account, with invited those of the listed domains, with closed none; accounts of a command sign in with each.', async () => {
  await using smtp = await catchMails();
  const mail = { url: smtp.url, sender: SENDER, passwordFile: undefined };
  const cases = [
    { policy: 'open', domains: [], admitted: ['a@example.com', 'a@other.org', 'a@sub.example.com'] },
    { policy: 'invited', domains: ['example.com'], admitted: ['a@example.com'] },
    { policy: 'closed', domains: [], admitted: [] },
  ] as const;
  for (const { policy, domains, admitted } of cases) {
    await using held = people({ mail, signUp: { policy, domains: new Set(domains) } });
    const before = smtp.mails.length;
    for (const email of ['a@example.com', 'a@other.org', 'a@sub.example.com']) held.service.signIn.ask(email, CLIENT);
    await held.service.drained();
    expect([
      policy,
      smtp.mails
        .slice(before)
        .flatMap(({ to }) => to)
        .sort(),
    ]).toEqual([policy, [...admitted].sort()]);
  }
});

test('An account that is disabled while the email is on its way cannot sign in', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: { url: smtp.url, sender: SENDER, passwordFile: undefined } });
  const { service, registry } = held;
  const { id } = registry.database.write(() => registry.accounts.create({ email: ADA }, held.nowMs()));
  service.signIn.ask(ADA, CLIENT);
  await service.drained();
  registry.database.write(() => registry.accounts.disable(id, held.nowMs()));
  expect(await refusal(() => service.signIn.redeemLink(smtp.mails[0]!.link, NEW_BROWSER))).toMatch(/disabled/);
});

test('After 2,000 mails of a day only addresses with an account get one, and every address gets the same answer.', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: { url: smtp.url, sender: SENDER, passwordFile: undefined } });
  const { service, registry, activity } = held;
  registry.database.write(() => registry.accounts.create({ email: ADA }, held.nowMs()));
  const mailed = activity.query<never, [number, number]>(
    `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
     INSERT INTO sign_in_attempts (attempt_id, method, is_mailed, created_ms)
     SELECT hex(randomblob(9)), 'email', 1, ?1 FROM numbers`,
  );
  activity.write(() => mailed.run(held.nowMs(), 1999));
  const askAll = async (...emails: string[]) => {
    const cookies = emails.map((email) => service.signIn.ask(email, CLIENT));
    await service.drained();
    return cookies.map((cookie) => cookie.length);
  };
  const attemptTokens = await askAll('new@example.com', 'late@example.com', ADA);
  expect(attemptTokens).toEqual([43, 43, 43]);
  expect(smtp.mails.flatMap(({ to }) => to).sort()).toEqual([ADA, 'new@example.com']);
  held.passTime(24 * 60 * MINUTE_MS);
  await askAll('late@example.com');
  expect(smtp.mails.at(-1)!.to).toEqual(['late@example.com']);
});

test('Addresses are plain ASCII without quotes, names, comments or brackets, with the domain in lower case, and are compared without case.', async () => {
  const refused = [
    'ada@example.com\r\nBcc: eve@example.com',
    'ada@example.com\nBcc: eve@example.com',
    '\nada@example.com',
    'ada@example.com, eve@example.com',
    'ada@example.com;eve@example.com',
    'Ada <ada@example.com>',
    '"eve@example.com "@example.com',
    'ada@[127.0.0.1]',
    'ada@example.com\u0000',
    'ada@exämple.com',
    'ａda@example.com',
    'ada@example..com',
    'ada.@example.com',
    'ada@-example.com',
    '@example.com',
    'ada',
    '',
    // A mail server may read another destination in each of them.
    'mallory%evil.example@corp.example',
    'evil.example!mallory@corp.example',
    '@evil.example:mallory@corp.example',
    'mallory@evil.example@corp.example',
    'mallory:evil.example@corp.example',
    'SRS0=a1=b2=evil.example=mallory@corp.example',
    'mallory=evil.example@corp.example',
    '/var/spool/mail/root@corp.example',
    '|/bin/sh@corp.example',
    '`id`@corp.example',
    '$HOME@corp.example',
    '{a,b}@corp.example',
    'a&b@corp.example',
    '-froot@corp.example',
    '+tag@corp.example',
    "'ada'@corp.example",
    '*@corp.example',
    '~root@corp.example',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b.'.repeat(126)}com`,
  ];
  for (const text of refused) {
    expect([text, await refusal(() => emailAddress(text))]).toEqual([
      text,
      expect.stringMatching(/^that is not an email address/),
    ]);
  }
  expect(emailAddress(" O'Neil-ada+a.b_c@Mail.Example.ORG ")).toBe("O'Neil-ada+a.b_c@mail.example.org");
  expect(emailAddress('owner@localhost')).toBe('owner@localhost');
});

test('An email is tried four times in 15 minutes before it is stored, a reply of 500 or above is final, and the log has the code, not the text.', async () => {
  let rejected = 0;
  const smtp = await catchMails({
    onRcptTo({ address }, _, done) {
      rejected += 1;
      const responseCode = address.startsWith('gone') ? 550 : 451;
      done(
        rejected > 2 && !address.startsWith('gone')
          ? null
          : Object.assign(new Error(`${address} later`), { responseCode }),
      );
    },
  });
  await using held = people({ mail: { url: smtp.url, sender: SENDER, passwordFile: undefined } });
  const { service, log } = held;
  service.signIn.ask(ADA, CLIENT);
  await service.drained();
  expect([rejected, smtp.mails.length, log.length]).toEqual([3, 1, 0]);
  service.signIn.ask('gone@example.com', CLIENT);
  await service.drained();
  expect([rejected, smtp.mails.length]).toEqual([4, 1]);
  expect(log).toEqual(['an email was not sent (EENVELOPE, reply 550): check the mail server']);
  await smtp[Symbol.asyncDispose]();
  service.signIn.ask(ADA, CLIENT);
  await service.drained();
  expect(log[1]).toMatch(
    /^an email waits \((?:ESOCKET|ECONNECTION|ECONNREFUSED)\) and is tried again for up to 24 hours/,
  );
});

test('An email whose link has expired is not sent', async () => {
  const mails: Mail[] = [];
  const log: string[] = [];
  let nowMs = 0;
  const outbox = new Outbox({
    deliver: async (mail) => void mails.push(mail),
    wait: async () => undefined,
    clock: () => nowMs,
    stored: new WaitingMails(Database.inMemory('', ACTIVITY), KeySecret.random()),
    logError: (line) => log.push(line),
  });
  const mail = { to: ADA, subject: '', text: '', html: '' };
  outbox.send(mail, 1);
  await outbox.drained();
  nowMs = 1;
  outbox.send(mail, 1);
  await outbox.drained();
  expect(mails).toEqual([mail]);
  expect(log).toEqual(['an email was not sent (too late): check the mail server']);
});

test('Without a mail server only links by command sign in', async () => {
  await using held = people({ signUp: { policy: 'closed', domains: new Set() } });
  const { service, registry } = held;
  expect(await refusal(() => service.signIn.ask(ADA, CLIENT))).toMatch(/sends no email/);
  registry.database.write(() => registry.accounts.create({ email: ADA, role: 'admin' }, held.nowMs()));
  const { account, session } = service.signIn.redeemLink(held.createLink(ADA), NEW_BROWSER);
  expect([account.role, session.method]).toEqual(['admin', 'command']);
  expect(registry.audit.list(10).map(({ action }) => action)).toEqual(['session.sign-in', 'account.link']);
});

test('The connection to a mail server on another machine is encrypted, or no email is sent.', async () => {
  const signedIn: string[] = [];
  await using smtp = await catchMails({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth({ username, password }, _, done) {
      signedIn.push(`${username} ${password}`);
      done(null, { user: username });
    },
  });
  using directory = temporaryDirectory();
  const passwordFile = join(directory.path, 'password');
  const mailBy = (url: URL) => ({ mail: { url, sender: SENDER, passwordFile } });
  expect(await refusal(() => people(mailBy(smtp.url)))).toMatch(/cannot be read/);
  writeFileSync(passwordFile, '\n', { mode: 0o600 });
  expect(await refusal(() => people(mailBy(smtp.url)))).toMatch(/is empty/);
  writeFileSync(passwordFile, 'correct horse\n');
  await using held = people(mailBy(new URL(`smtp://relay%40example.com@127.0.0.1:${smtp.url.port}`)));
  held.service.signIn.ask(ADA, CLIENT);
  await held.service.drained();
  expect([signedIn, smtp.mails.length]).toEqual([['relay@example.com correct horse'], 1]);
  // The same machine, by a name that this program does not know as such.
  await using far = people(mailBy(new URL(`smtp://relay@[::ffff:127.0.0.1]:${smtp.url.port}`)));
  far.service.signIn.ask(ADA, CLIENT);
  await far.service.drained();
  expect([signedIn.length, smtp.mails.length]).toEqual([1, 1]);
  expect(far.log).toEqual([expect.stringMatching(/^an email waits \(ETLS/)]);
});

test('No session, link or code is in a database, its write-ahead log or the log', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: { url: smtp.url, sender: SENDER, passwordFile: undefined } });
  const { service } = held;
  const attemptToken = service.signIn.ask(ADA, CLIENT);
  const left = service.signIn.ask(ADA, CLIENT);
  await service.drained();
  const browser = { ...NEW_BROWSER, attemptToken };
  expect(await refusal(() => service.signIn.redeemCode('0', browser))).toMatch(/wrong/);
  held.passTime(1000);
  const { token, device } = service.signIn.redeemCode(smtp.mails[0]!.code, browser);
  const secrets = [attemptToken, left, token, device, ...smtp.mails.flatMap(({ link, code }) => [link, code])];
  const files = readdirSync(held.directory).map((name) => readFileSync(join(held.directory, name)));
  expect(files.length).toBeGreaterThanOrEqual(5);
  const found = secrets.filter(
    (secret) => files.some((bytes) => bytes.includes(secret)) || held.log.join().includes(secret),
  );
  expect(found).toEqual([]);
  expect(files.some((bytes) => bytes.includes(ADA))).toBe(true);
});
