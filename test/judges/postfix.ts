import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { startMockProvider } from '../account/oidc-provider.ts';
import { catchMails } from '../account/smtp-catcher.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { printed, runExecutable, startServer } from '../support/executable.ts';
import { PlainBrowser } from '../web/browser.ts';
import { freePort } from './free-port.ts';
import { lackingPostfix, startPostfix } from './postfix-server.ts';
import { skippedVerdict, type Verdict } from './verdict.ts';

const JUDGE = 'Postfix under hostile addresses';
const DOMAIN = 'corp.example';
const SENDER = `bookreel@${DOMAIN}`;
const CONTROL = `control@${DOMAIN}`;
/** Postfix delivers each of these to another domain: the judge sees what gets past the policy. */
const RELAYED = [
  `mallory%evil.example@${DOMAIN}`,
  `evil.example!mallory@${DOMAIN}`,
  `"mallory@evil.example"@${DOMAIN}`,
  `mallory%evil.example%other.example@${DOMAIN}`,
  `other.example!evil.example!mallory@${DOMAIN}`,
];
const HOSTILE = [
  ...RELAYED,
  `"mallory%evil.example"@${DOMAIN}`,
  `"mallory"@${DOMAIN}`,
  `"mal lory"@${DOMAIN}`,
  `"mallory\\@evil.example"@${DOMAIN}`,
  `mallory\\@evil.example@${DOMAIN}`,
  `@evil.example,@other.example:mallory@${DOMAIN}`,
  `@${DOMAIN}:mallory@evil.example`,
  `<mallory@evil.example>@${DOMAIN}`,
  `<mallory@evil.example> ada@${DOMAIN}`,
  `Ada <mallory@evil.example>, ada@${DOMAIN}`,
  `mallory@evil.example@${DOMAIN}`,
  `mallory@evil.example,ada@${DOMAIN}`,
  `mallory@evil.example;ada@${DOMAIN}`,
  `mallory@evil.example ada@${DOMAIN}`,
  `mallory(@evil.example)@${DOMAIN}`,
  `mallory@evil.example(@${DOMAIN})`,
  `mallory@(${DOMAIN})evil.example`,
  `evil.example:mallory@${DOMAIN}`,
  `mallory:evil.example@${DOMAIN}`,
  `group:mallory@evil.example;@${DOMAIN}`,
  `mallory=evil.example@${DOMAIN}`,
  `SRS0=aa=bb=evil.example=mallory@${DOMAIN}`,
  `|mallory@${DOMAIN}`,
  `/etc/passwd@${DOMAIN}`,
  `-oQ@${DOMAIN}`,
  `mallory\r\nRCPT TO:<mallory@evil.example>@${DOMAIN}`,
  `ada@${DOMAIN}\r\nBcc: mallory@evil.example`,
  `ada@${DOMAIN}\nmallory@evil.example`,
  `ada@${DOMAIN}\0@evil.example`,
  `mallory\0@${DOMAIN}`,
  `mallory\t@${DOMAIN}`,
  `mallory @${DOMAIN}`,
  `mallory@ ${DOMAIN}`,
  `mallory..evil@${DOMAIN}`,
  `.mallory@${DOMAIN}`,
  `mallory.@${DOMAIN}`,
  `m\u00e4llory@${DOMAIN}`,
  `mallory\uff20evil.example@${DOMAIN}`,
  `mallory\uff05evil.example@${DOMAIN}`,
  `mallory@corp\u3002example`,
  `mallory@c\u043erp.example`,
  `mallory@[127.0.0.1]`,
  `mallory@[IPv6:::1]`,
  'mallory@127.0.0.1',
  `mallory@${DOMAIN}.`,
  `mallory@.${DOMAIN}`,
  `mallory@sub.${DOMAIN}`,
  'mallory@localhost',
  'mallory',
  `@${DOMAIN}`,
  `${'m'.repeat(65)}@${DOMAIN}`,
  `${'m'.repeat(9000)}@${DOMAIN}`,
  `mallory@${'a.'.repeat(130)}${DOMAIN}`,
  'mallory@evil.example',
];
/** By what is typed; each is delivered to exactly this address. */
const GOOD: Readonly<Record<string, string>> = {
  [`ada@${DOMAIN}`]: `ada@${DOMAIN}`,
  [`ada.lovelace@${DOMAIN}`]: `ada.lovelace@${DOMAIN}`,
  [`grace+books@${DOMAIN}`]: `grace+books@${DOMAIN}`,
  [` linus@${DOMAIN} `]: `linus@${DOMAIN}`,
  'Miles@CORP.example': `Miles@${DOMAIN}`,
  [`o'brien_1-x@${DOMAIN}`]: `o'brien_1-x@${DOMAIN}`,
};
const NEW_ADDRESS = `marie+new@${DOMAIN}`;
const ALLOWED: ReadonlySet<string> = new Set([
  ...Object.values(GOOD),
  NEW_ADDRESS,
  `marie@${DOMAIN}`,
  `stated@${DOMAIN}`,
]);
/** The addresses that the command may create whatever the sign-up policy is: they are plain, and have no other destination. */
const PLAIN = /^[a-z0-9_+.'-]+@[a-z0-9.-]+$/i;

/**
 * Gives every address to the executable by every way that it takes one, with Postfix as its mail server. Nothing may be delivered but to the
 * addresses that the policy allows, and those get their mails.
 */
export async function judgeByPostfix(): Promise<Verdict> {
  const lacks = lackingPostfix();
  if (lacks !== undefined) return skippedVerdict(JUDGE, lacks);
  const startedMs = performance.now();
  const failures: string[] = [];
  const check = (isRight: boolean, failure: string) => {
    if (!isRight) failures.push(failure);
  };
  using directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  const secretFile = join(directory.path, 'secret');
  writeFileSync(secretFile, 'secret-of-the-client', { mode: 0o600 });
  // Its name is not that of Postfix, which would see a loop.
  await using sink = await catchMails({ name: 'sink.example' });
  await using postfix = await startPostfix(DOMAIN, Number(sink.url.port));
  await using provider = await startMockProvider();

  const control = createTransport({ host: '127.0.0.1', port: Number(postfix.url.port), ignoreTLS: true });
  for (const to of RELAYED)
    await control.sendMail({ envelope: { from: CONTROL, to }, raw: 'Subject: control\r\n\r\n' });
  await postfix.emptied();
  const relayed = sink.mails.filter(({ from, to }) => from === CONTROL && !to.join().endsWith(`@${DOMAIN}`)).length;
  check(
    relayed === RELAYED.length,
    `Postfix relays ${relayed} of ${RELAYED.length} addresses: this judge sees less than it should`,
  );
  const before = sink.mails.length;

  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  await using server = await startServer(data, [
    ...['--port', port, '--public-url', url, '--trusted-proxies', 'loopback'],
    ...['--sign-up', 'invited', '--sign-up-domains', DOMAIN, '--smtp-url', postfix.url.href, '--smtp-sender', SENDER],
    ...['--oidc-providers', `mock ${provider.issuer} bookreel ${secretFile}`],
  ]);
  let requests = 0;
  /** Each request is of another network, so that no limit of requesters is reached. */
  const sender = () => {
    requests += 1;
    return { 'x-forwarded-for': `198.${18 + (requests >> 8)}.${requests & 255}.1` };
  };
  const ask = async (email: string) => await new PlainBrowser(url).post('/sign-in/email', { email }, sender());

  for (const email of HOSTILE)
    check((await ask(email)).status < 500, `the form answers ${JSON.stringify(email)} with a fault`);
  for (const email of HOSTILE) {
    // A process has no argument with this character.
    if (email.includes('\0')) continue;
    const { code } = await runExecutable(['account', 'create', '--data', data, '--', email]);
    check(code === 0 || code === 2, `account create ${JSON.stringify(email)} ends with ${code}`);
    if (code === 0) {
      check(PLAIN.test(email), `account create accepts ${JSON.stringify(email)}`);
      await printed(['account', 'delete', '--data', data, '--', email]);
    }
  }
  await printed(['account', 'create', `marie@${DOMAIN}`, '--data', data]);
  const link = await printed(['account', 'link', `marie@${DOMAIN}`, '--public-url', url, '--data', data]);
  const marie = new PlainBrowser(url);
  await marie.post('/sign-in/link', { token: new URL(link.trim()).searchParams.get('token')! }, sender());
  const change = async (email: string) => (await marie.post('/account/settings/email', { email }, sender())).status;
  for (const email of HOSTILE) {
    const status = await change(email);
    check(
      status === 400 || status === 403,
      `the form for a change of address answers ${JSON.stringify(email)} with ${status}`,
    );
  }
  for (const isVerified of [true, false]) {
    for (const email of [...HOSTILE, ...(isVerified ? [`stated@${DOMAIN}`] : [])]) {
      const browser = new PlainBrowser(url);
      const away = await browser.open('/sign-in/oidc/mock', sender());
      const query = await provider.visit(away.headers.get('location')!);
      const claims = { sub: `${isVerified} ${email}`, email, email_verified: isVerified };
      provider.nextToken(({ payload }) => Object.assign(payload, claims));
      const { status } = await browser.open(`/sign-in/oidc/mock/callback${query}`, sender());
      const isIn = (await browser.open('/account')).status === 200;
      check(status < 500, `the callback answers ${JSON.stringify(email)} with ${status}`);
      check(
        isIn === (email === `stated@${DOMAIN}`),
        `a provider that states ${JSON.stringify(email)}: signed in: ${isIn}`,
      );
    }
  }
  for (const email of Object.keys(GOOD)) await ask(email);
  check((await change(NEW_ADDRESS)) === 303, `the address ${NEW_ADDRESS} is refused`);
  const accounts = JSON.parse(await printed(['account', 'list', '--json', '--data', data])) as { email: string }[];
  const strangers = accounts
    .map(({ email }) => email)
    .filter((email) => !ALLOWED.has(email) && email !== 'owner@localhost');
  check(strangers.length === 0, `accounts were created: ${strangers.join(', ')}`);
  // It sends the mails that wait, then ends.
  check((await server.stop()) === 0, 'the server does not stop');
  await postfix.emptied();

  const delivered = sink.mails.slice(before).map(({ from, to }) => ({ from, to: to.join() }));
  for (const { from, to } of delivered) {
    check(from === SENDER && ALLOWED.has(to), `Postfix delivers a mail of '${from}' to '${to}'`);
  }
  for (const address of [...Object.values(GOOD), NEW_ADDRESS]) {
    const count = delivered.filter(({ to }) => to === address).length;
    check(count === 1, `${address} gets ${count} mails`);
  }
  const recipients = [...postfix.log().matchAll(/ to=<([^>]*)>(?:, orig_to=<([^>]*)>)?/g)].map(
    ([, to, given]) => given ?? to!,
  );
  const refused = recipients.filter((to) => !ALLOWED.has(to) && !RELAYED.includes(to));
  check(refused.length === 0, `Postfix was given other addresses: ${refused.join(' ')}`);
  return {
    judge: JUDGE,
    checks: `${HOSTILE.length} addresses by 5 ways, ${Object.keys(GOOD).length + 1} good ones`,
    failures,
    notes: `${delivered.length} mails delivered, ${relayed} of ${RELAYED.length} hostile ones relayed without bookreel`,
    seconds: (performance.now() - startedMs) / 1000,
  };
}
