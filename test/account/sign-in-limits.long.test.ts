import { expect, test } from 'bun:test';
import type { Browser, NewSession } from '../../src/account/account-sessions.ts';
import { baseOf } from '../../src/domain/email-address.ts';
import { deleteOldAttempts } from '../../src/store/sign-in-attempts.ts';
import { NEW_BROWSER, type People, people, refusal } from './accounts.ts';
import { catchMails, type SmtpCatcher } from './smtp-catcher.ts';

const ADA = 'ada@example.com';
const HOME = '203.0.113.5';
const MINUTE_MS = 60_000;
const WRONG = '0000000x';
const mailBy = (smtp: SmtpCatcher) => ({ url: smtp.url, sender: 'bookreel@example.com', passwordFile: undefined });
/** An address of its own network for each number. */
const strangerAt = (number: number) => `198.${number >> 8}.${number & 255}.1`;

/** Asks for an email and opens its link; undefined if no email came. */
async function signInByLink(held: People, smtp: SmtpCatcher, browser: Browser, client = HOME, email = ADA) {
  const before = smtp.mails.length;
  const attemptToken = held.service.signIn.ask(email, client, undefined, browser.device);
  await held.service.drained();
  const mail = smtp.mails[before];
  return mail === undefined ? undefined : held.service.signIn.redeemLink(mail.link, { ...browser, attemptToken });
}

/** Types a wrong code in a new attempt of a stranger; the sentence. */
async function guess(held: People, client: string, email = ADA): Promise<string> {
  try {
    const attemptToken = held.service.signIn.ask(email, client);
    await held.service.drained();
    return await refusal(() => held.service.signIn.redeemCode(WRONG, { ...NEW_BROWSER, attemptToken }));
  } catch (error) {
    return String(error);
  }
}

test('However many requests strangers in other networks make for an address, its person signs in with a new browser, by the latest link in the mailbox.', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  held.registry.database.write(() => held.registry.accounts.create({ email: ADA }, held.nowMs()));
  for (let minute = 0; minute < 120; minute += 1) {
    for (let stranger = 0; stranger < 8; stranger += 1) {
      held.service.signIn.ask(ADA, strangerAt(minute * 8 + stranger));
    }
    await held.service.drained();
    held.passTime(MINUTE_MS);
  }
  // The mailbox is not flooded: 960 requests caused 5 mails at once, then at most one in 10 minutes.
  expect(smtp.mails.length).toBeGreaterThan(10);
  expect(smtp.mails.length).toBeLessThanOrEqual(2 * 6 + 5);
  const own = await signInByLink(held, smtp, NEW_BROWSER);
  const session = own ?? held.service.signIn.redeemLink(smtp.mails.at(-1)!.link, NEW_BROWSER);
  expect(session.account.email).toBe(ADA);
});

test('The email of a browser that signed in before is sent during a flood, and its code works when strangers have used up their guesses.', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  const { device } = (await signInByLink(held, smtp, NEW_BROWSER)) as NewSession;
  for (let stranger = 0; stranger < 300; stranger += 1) await guess(held, strangerAt(stranger));
  expect(await guess(held, strangerAt(500))).toMatch(
    /too many wrong codes were typed for this address today: use the link/,
  );
  const before = smtp.mails.length;
  const attemptToken = held.service.signIn.ask(ADA, strangerAt(7), undefined, device);
  await held.service.drained();
  expect(smtp.mails.length - before).toBe(1);
  const { code } = smtp.mails.at(-1)!;
  const entered = held.service.signIn.redeemCode(code, { ...NEW_BROWSER, device, attemptToken });
  expect([entered.account.email, entered.device]).toEqual([ADA, device]);
});

test('A person signs in as often as admin pages demand it: sign-ins that succeed do not count.', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  for (let times = 0; times < 30; times += 1) {
    expect((await signInByLink(held, smtp, NEW_BROWSER))?.account.email).toBe(ADA);
    held.passTime(MINUTE_MS);
  }
});

test('At most 20 codes a day are guessed for an address from all networks, across new codes and spellings with dots and tags; the link still works.', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  held.registry.database.write(() => held.registry.accounts.create({ email: ADA }, held.nowMs()));
  const spellings = [ADA, 'a.da@example.com', 'ada+x@example.com', 'A.D.A+y@example.com'];
  const sentences: string[] = [];
  for (let stranger = 0; stranger < 60; stranger += 1) {
    sentences.push(await guess(held, strangerAt(stranger), spellings[stranger % 4]));
    held.passTime(20 * MINUTE_MS);
  }
  const counted = sentences.filter((sentence) => sentence.includes('this code is wrong'));
  expect(counted.length).toBe(20);
  expect(await guess(held, HOME)).toBe(
    'too many wrong codes were typed for this address today: use the link in the email',
  );
  held.passTime(10 * MINUTE_MS);
  expect((await signInByLink(held, smtp, NEW_BROWSER, '192.0.2.77'))?.account.email).toBe(ADA);
  held.passTime(24 * 60 * MINUTE_MS);
  expect(await guess(held, HOME)).toMatch(/this code is wrong/);
});

test('At most 100 codes a day are guessed from a /48 or a /24, whatever addresses they are for.', async () => {
  await using held = people({ mail: mailBy(await catchMails()) });
  // The first 64 bits of 2001:db8:1:n::, in hexadecimal digits.
  const inNetwork = (number: number) => `20010db80001${number.toString(16).padStart(4, '0')}`;
  const sentences: string[] = [];
  for (let number = 0; number < 150; number += 1) {
    sentences.push(await guess(held, inNetwork(number), `person${number}@example.com`));
    held.passTime(2 * MINUTE_MS);
  }
  expect(sentences.filter((sentence) => sentence.includes('this code is wrong')).length).toBe(100);
  expect(sentences.at(-1)).toMatch(/too many wrong codes were typed from your network today/);
  expect(await guess(held, '20010db800020000', 'other@example.com')).toMatch(/this code is wrong/);
});

test('Each wrong code doubles the pause before the next one, and the right code is not tried during it.', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  const attemptToken = held.service.signIn.ask(ADA, HOME);
  await held.service.drained();
  const browser = { ...NEW_BROWSER, attemptToken };
  for (const seconds of [1, 2, 4, 8]) {
    expect(await refusal(() => held.service.signIn.redeemCode(WRONG, browser))).toMatch(/this code is wrong/);
    held.passTime(seconds * 1000 - 1);
    expect(await refusal(() => held.service.signIn.redeemCode(smtp.mails[0]!.code, browser))).toMatch(/^wait 1 s/);
    held.passTime(1);
  }
  expect(held.service.signIn.redeemCode(smtp.mails[0]!.code, browser).account.email).toBe(ADA);
});

test('A client starts 20 sign-ins an hour that fail, a network 100, and a network with one address 5 an hour and 20 a day.', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  const { signIn } = held.service;
  for (let count = 0; count < 20; count += 1) signIn.ask(`person${count}@example.com`, HOME);
  expect(await refusal(() => signIn.ask('another@example.com', HOME))).toMatch(/from your network/);
  for (let count = 0; count < 80; count += 1) signIn.ask(`some${count}@example.com`, `203.0.113.${count + 10}`);
  expect(await refusal(() => signIn.ask('another@example.com', '203.0.113.200'))).toMatch(/from your network/);
  for (let day = 0, count = 0; count < 4; count += 1) {
    for (day = 0; day < 5; day += 1) signIn.ask(ADA, `192.0.2.${day}`);
    expect(await refusal(() => signIn.ask('ADA+x@example.com', '192.0.2.9'))).toMatch(/with this address/);
    held.passTime(60 * MINUTE_MS);
  }
  expect(await refusal(() => signIn.ask(ADA, '192.0.2.9'))).toMatch(/with this address today/);
  signIn.ask(ADA, '192.0.3.9');
});

test('A device cookie signs nobody in, is no use for another account, and ends with all sessions and after 400 days.', async () => {
  await using smtp = await catchMails();
  await using held = people({ mail: mailBy(smtp) });
  const { account, device } = (await signInByLink(held, smtp, NEW_BROWSER)) as NewSession;
  const eve = (await signInByLink(held, smtp, NEW_BROWSER, HOME, 'eve@example.com')) as NewSession;
  expect(eve.device).not.toBe(device);
  expect(held.service.sessions.find(device)).toBeUndefined();
  const isKnown = async (cookie: string, email = ADA) => {
    for (let count = 0; count < 5; count += 1) await refusal(() => guess(held, '192.0.2.1', email)).catch(() => '');
    return !(
      await refusal(() => {
        held.service.signIn.ask(email, '192.0.2.1', undefined, cookie);
        throw new Error('accepted');
      })
    ).includes('with this address');
  };
  expect([await isKnown(device), await isKnown(eve.device), await isKnown('x')]).toEqual([true, false, false]);
  held.service.sessions.endAll(account, {});
  expect(await isKnown(device)).toBe(false);
  const again = (await signInByLink(held, smtp, NEW_BROWSER, '192.0.9.1')) as NewSession;
  held.passTime(399 * 24 * 60 * MINUTE_MS);
  expect(await isKnown(again.device)).toBe(true);
  held.passTime(24 * 60 * MINUTE_MS);
  expect(await isKnown(again.device)).toBe(false);
});

test('A flood of attempts of one network forgets its own rows, and neither those of others nor wrong codes.', async () => {
  await using held = people({ mail: mailBy(await catchMails()) });
  const attemptToken = held.service.signIn.ask(ADA, HOME);
  await guess(held, strangerAt(1));
  held.activity.write(() =>
    held.activity
      .query<never, [number]>(
        `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 110000)
         INSERT INTO sign_in_attempts (attempt_id, method, is_mailed, network_digest, created_ms)
         SELECT hex(randomblob(9)), 'email', 0, x'00', ?1 + n FROM numbers`,
      )
      .run(held.nowMs()),
  );
  held.passTime(MINUTE_MS);
  deleteOldAttempts(held.activity, held.nowMs());
  const count = (where: string) =>
    held.activity.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM sign_in_attempts WHERE ${where}`).get()!.n;
  expect([count('TRUE'), count("network_digest <> x'00'"), count('code_tries > 0')]).toEqual([100_000, 2, 1]);
  expect(await refusal(() => held.service.signIn.redeemCode(WRONG, { ...NEW_BROWSER, attemptToken }))).toMatch(
    /this code is wrong/,
  );
});

test('Spellings of an address with dots, tags and capitals have one base.', () => {
  expect(['A.b+x+y@Example.com', 'ab@example.com', 'a.b@example.com'].map(baseOf)).toEqual(
    Array(3).fill('ab@example.com'),
  );
});
