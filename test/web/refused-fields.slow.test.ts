import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createOwnKey } from '../../src/account/account-keys.ts';
import { catchMails, type SmtpCatcher } from '../account/smtp-catcher.ts';
import { PlainBrowser } from './browser.ts';
import { plainText } from './page-content.ts';
import { type Site, startSite } from './site.ts';

const ADA = 'ada@example.com';
const UNPRINTABLE = 'a\u202eb';

let smtp: SmtpCatcher;
let site: Site;
let ada: PlainBrowser;
beforeAll(async () => {
  smtp = await catchMails();
  site = startSite({ mail: { url: smtp.url, sender: 'bookreel@example.com', passwordFile: undefined } });
  ada = await site.signedIn(ADA);
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  await smtp[Symbol.asyncDispose]();
});

/** The input that was refused: its attributes, and the text that describes it. */
function refusedInput(page: string) {
  const [input = ''] = /<input[^>]*aria-invalid[^>]*>/.exec(page) ?? [];
  const of = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(input)?.[1];
  const [, reason = ''] =
    new RegExp(
      `<span id="${of('aria-describedby')}" class="(?:refused" role="alert|hint" role="status)">(.*?)</span>`,
    ).exec(page) ?? [];
  return { name: of('name'), value: of('value'), isFocused: / autofocus/.test(input), reason: plainText(reason) };
}

const keyId = () => {
  const { service, registry, nowMs } = site.people;
  const actor = service.sessions.find(ada.cookies.get('__Host-bookreel-session'))!;
  return createOwnKey({ registry, nowMs: nowMs(), actor }, { name: 'of Ada' }).apiKey.id;
};

test.each([
  [
    '/account/keys/new',
    'name',
    UNPRINTABLE,
    /^Nothing is saved yet: we removed an invisible character from the name. Check it, and press the button again.$/,
    {},
  ],
  ['/account/keys/new', 'expires', '2001-01-01', /^A key cannot expire in the past/, {}],
  ['/account/keys/new', 'asOf', 'soon', /^This is not a time/, {}],
  [
    '/account/keys/rename',
    'name',
    UNPRINTABLE,
    /^Nothing is saved yet: we removed an invisible character from the name/,
    { key: keyId },
  ],
  ['/account/settings/email', 'email', 'nobody', /^That is not an email address/, {}],
  ['/account/settings/email', 'email', ADA, /^Your account has this address already/, {}],
  ['/account/settings/delete', 'email', 'eve@example.com', /^That is not the address of this account/, {}],
] as const)(
  '%s refuses %s %j at its field, which has the value and the focus, and the reason in place of its hint.',
  async (path, name, value, reason, more) => {
    const others = Object.fromEntries(Object.entries(more).map(([other, of]) => [other, of()]));
    const { status, text } = await ada.post(path, { keysBefore: '0', ...others, [name]: value });
    expect(status).toBe(400);
    // A name is offered without what cannot be seen.
    const offered = value === UNPRINTABLE ? 'ab' : value;
    expect(refusedInput(text)).toEqual({
      name,
      value: offered,
      isFocused: true,
      reason: expect.stringMatching(reason),
    });
    expect(text).not.toMatch(/role="alert">[^<]*<\/span><span class="hint"/);
    expect(text.includes('aria-invalid="true"')).toBe(value !== UNPRINTABLE);
    expect(text).not.toContain('notice bad');
  },
);

test('A wrong code and a mistyped address of a sign-in are refused at their field.', async () => {
  const browser = new PlainBrowser(site.origin);
  const mistyped = await browser.post('/sign-in/email', { email: 'nobody' });
  expect([mistyped.status, refusedInput(mistyped.text).name]).toEqual([400, 'email']);
  await browser.post('/sign-in/email', { email: ADA });
  const { status, text } = await browser.post('/sign-in/code', { code: '12' });
  expect(status).toBe(403);
  const reason = 'This code is wrong: type the 8 digits of the email; 4 of 5 tries are left.';
  expect(refusedInput(text)).toEqual({ name: 'code', value: '12', isFocused: true, reason });
  expect(text).toContain('<h1>Check your email</h1>');
  expect(text).toContain(`The email to <strong>${ADA}</strong>`);
});

test('A code that is typed too early is refused at its field, and after five wrong ones the page leads to a new email for the address.', async () => {
  const browser = new PlainBrowser(site.origin);
  const post = () => browser.post('/sign-in/code', { code: '1' });
  const type = async () => (await post()).text;
  await browser.post('/sign-in/email', { email: 'five@example.com' });
  for (const pause of ['1 second', '2 seconds', '4 seconds', '8 seconds']) {
    await type();
    const { status, headers, text } = await post();
    expect([status, headers.get('retry-after')]).toEqual([429, pause.slice(0, 1)]);
    const reason = `Wait ${pause} before you type the next code, or use the link in the email.`;
    expect(refusedInput(text)).toEqual({ name: 'code', value: '1', isFocused: true, reason });
    expect(text).toContain('The email to <strong>five@example.com</strong>');
    site.people.passTime(8000);
  }
  const last = await type();
  expect(last).toContain('<h1>This code was tried 5 times</h1>');
  expect(last).toContain('After five wrong ones only the link in the email works, in any browser.');
  expect(last).toContain('<a class="button primary" href="/sign-in">Send a new code</a>');
  expect((await browser.open('/sign-in')).text).toContain('value="five@example.com"');
});
