import { expect, test } from 'bun:test';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { runCommand } from '../support/command.ts';
import { startServer } from '../support/executable.ts';
import { PlainBrowser } from '../web/browser.ts';
import { catchMails } from './smtp-catcher.ts';

const ADA = 'ada@corp.example';
/** An entry of the audit. */
type Entry = Readonly<{ action: string; count: number }>;
const from = (address: string) => ({ 'x-forwarded-for': address });

test('Strangers keep nobody out of the executable, guess at most 20 codes, and get no email to an address with another destination in it.', async () => {
  using directory = temporaryDirectory();
  await using smtp = await catchMails();
  const port = String(await freePort());
  await using server = await startServer(directory.path, [
    ...['--port', port, '--public-url', `http://127.0.0.1:${port}`, '--trusted-proxies', 'loopback'],
    ...['--sign-up', 'invited', '--sign-up-domains', 'corp.example'],
    ...['--smtp-url', smtp.url.href, '--smtp-sender', 'bookreel@corp.example'],
  ]);
  const newBrowser = () => new PlainBrowser(server.origin);
  expect((await runCommand(['account', 'create', ADA, '--data', directory.path])).code).toBe(0);
  for (const email of ['mallory%evil.example@corp.example', 'evil.example!mallory@corp.example']) {
    const refused = await newBrowser().post('/sign-in/email', { email }, from('192.0.2.1'));
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('That is not an email address')]);
    const { code, stderr } = await runCommand(['account', 'create', email, '--data', directory.path]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is not an email address')]);
  }

  const answers = { wrong: 0, waiting: 0 };
  for (let stranger = 0; stranger < 40; stranger += 1) {
    const browser = newBrowser();
    const asked = await browser.post('/sign-in/email', { email: ADA }, from(`198.51.${stranger}.1`));
    expect(asked.status).toBe(303);
    const { status, text } = await browser.post('/sign-in/code', { code: '0' }, from(`198.51.${stranger}.1`));
    if (status === 403) answers.wrong += 1;
    else expect([status, text]).toEqual([429, expect.stringContaining('today: use the link in the email')]);
    if (status === 429) answers.waiting += 1;
  }
  expect(answers).toEqual({ wrong: 20, waiting: 20 });
  const listed = JSON.parse((await runCommand(['audit', '--json', '--data', directory.path])).stdout) as Entry[];
  const wrong = listed.filter(({ action }) => action === 'session.wrong-code');
  // Two if an hour begins meanwhile.
  expect(wrong.length).toBeLessThanOrEqual(2);
  expect(wrong.reduce((sum, { count }) => sum + count, 0)).toBe(20);
  expect(wrong[0]).toMatchObject({ actor: null, account: ADA, client: null, requestId: null });
  const { link } = await smtp.nth(4);
  const person = newBrowser();
  expect((await person.post('/sign-in/email', { email: ADA }, from('203.0.113.5'))).status).toBe(303);
  expect((await person.post('/sign-in/link', { token: link }, from('203.0.113.5'))).status).toBe(303);
  expect((await person.open('/account')).status).toBe(200);
  // The browser is known now: its email comes at once, and its code works.
  const before = smtp.mails.length;
  await person.post('/sign-out');
  await person.post('/sign-in/email', { email: ADA }, from('198.51.7.1'));
  const { to, code } = await smtp.nth(before);
  expect(to).toEqual([ADA]);
  expect((await person.post('/sign-in/code', { code }, from('198.51.7.1'))).headers.get('location')).toBe('/account');
  expect(smtp.mails.every((mail) => mail.to[0] === ADA)).toBe(true);
});
