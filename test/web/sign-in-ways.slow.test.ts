import { expect, test } from 'bun:test';
import { PlainBrowser } from './browser.ts';
import { plainText } from './page-content.ts';
import { startSite, textOf } from './site.ts';

const CONTACT = 'mailto:sales@example.com';
const COMMAND = 'bookreel account link you@example.com';

test.each([CONTACT, undefined])(
  'Without mail the sign-in begins with what a visitor can do, with the contact %p; the command of the operator is folded.',
  async (contact) => {
    await using site = startSite({ mail: undefined, linkCommand: () => COMMAND }, undefined, undefined, contact);
    const { text } = await new PlainBrowser(site.origin).open('/sign-in');
    const [before, folded] = text.split('<details');
    expect(plainText(before!)).toContain('This service sends no email: ask its operator');
    expect(/href="([^"]*)">Ask the operator</.exec(before!)?.[1]).toBe(contact);
    expect(folded).toMatch(/^ class="more small"><summary>For the operator/);
    expect([before!.includes(COMMAND), textOf(folded!, 'link-command')]).toEqual([false, COMMAND]);
  },
);

test('With mail the sign-in asks for an address, and names no operator.', async () => {
  const mail = { url: new URL('smtp://127.0.0.1:9'), sender: 'bookreel@example.com', passwordFile: undefined };
  await using site = startSite({ mail }, undefined, undefined, CONTACT);
  const { text } = await new PlainBrowser(site.origin).open('/sign-in');
  expect([text.includes('name="email"'), text.includes(CONTACT), text.includes('operator')]).toEqual([
    true,
    false,
    false,
  ]);
});

test('A passkey comes before the operator.', async () => {
  await using site = startSite({ mail: undefined, publicUrl: () => 'https://localhost' });
  const { text } = await new PlainBrowser(site.origin).open('/sign-in');
  const [passkey, operator] = [text.indexOf('Sign in with a passkey'), text.indexOf('ask its operator')];
  expect(passkey).toBeGreaterThan(0);
  expect(operator).toBeGreaterThan(passkey);
});

test.each([
  ['open', 'Your first sign-in creates an account.'],
  ['invited', 'Your first sign-in creates an account if the domain of your address is invited.'],
  ['closed', 'Accounts are by invitation.'],
] as const)(
  'The sign-in by email says that there is no password, and who gets an account: %s.',
  async (policy, text) => {
    const mail = { url: new URL('smtp://127.0.0.1:9'), sender: 'bookreel@example.com', passwordFile: undefined };
    await using site = startSite({ mail, signUp: { policy, domains: new Set() } });
    const page = plainText((await new PlainBrowser(site.origin).open('/sign-in')).text);
    expect(page).toContain('You get an email with a link and a code. There is no password.');
    expect(page).toContain(`New here? ${text} See the prices and the manual .`);
  },
);
