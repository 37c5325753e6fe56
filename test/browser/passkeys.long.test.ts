import { expect, test } from 'bun:test';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { startServer } from '../support/executable.ts';
import { HAS_CHROMIUM, openPage, type Page } from './chromium.ts';
import { axeFindings, keyboardFindings, overflowing } from './page-checks.ts';

const ADA = 'ada@example.com';

interface Credential {
  readonly credentialId: string;
  readonly signCount: number;
}

/** An authenticator of Chromium, by its own protocol (WebAuthn.addVirtualAuthenticator). */
async function addAuthenticator(page: Page) {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable', { enableUI: false });
  const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true };
  const added = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...options, isUserVerified: true, automaticPresenceSimulation: true },
  });
  const { authenticatorId } = added as { authenticatorId: string };
  const send = async (method: string, parameters: object = {}) =>
    await session.send(`WebAuthn.${method}`, { authenticatorId, ...parameters });
  return {
    credentials: async () => ((await send('getCredentials')) as { credentials: Credential[] }).credentials,
    add: async (credential: Credential) => void (await send('addCredential', { credential })),
    remove: async ({ credentialId }: Credential) => void (await send('removeCredential', { credentialId })),
  };
}

/** Posts an answer as the script of a page does: the status, and the sentence of a refusal. */
const POST = `async (answer) => {
  const reply = await fetch('/sign-in/passkey', { method: 'POST', body: new URLSearchParams({ answer }), redirect: 'manual' });
  return reply.type === 'opaqueredirect' ? 'signed in' : reply.status + ' ' + (/role="alert">([^<]*)/.exec(await reply.text()) ?? [])[1];
}`;
/** The answer of the authenticator to options of the service, as JSON. */
const ANSWER = `async (options) => JSON.stringify(await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }))`;
const OPTIONS = `async () => (await fetch('/sign-in/passkey/options', { method: 'POST', body: new URLSearchParams() })).json()`;

test.skipIf(!HAS_CHROMIUM)(
  'Chromium adds a passkey and signs in with it; replays, other origins, copies and removed keys are refused, and a recovery code helps. (needs Chromium, test/judges)',
  async () => {
    using directory = temporaryDirectory();
    const port = String(await freePort());
    const url = `http://localhost:${port}`;
    const data = ['--data', directory.path];
    await using _server = await startServer(directory.path, [
      ...['--port', port, '--public-url', url, '--admin-passkeys', 'required'],
    ]);
    const account = async (...args: string[]) => await outputOf(['account', ...args, ...data]);
    const link = async () => (await account('link', ADA, '--public-url', url)).trim();
    await account('create', ADA, '--admin');
    await using watched = await openPage();
    const { page } = watched;
    const authenticator = await addAuthenticator(page);
    const press = async (name: RegExp) => await page.getByRole('button', { name }).first().click();
    const shows = async (text: string | RegExp) => await page.getByText(text).first().waitFor();
    const checkPage = async () => {
      expect(await axeFindings(page)).toEqual([]);
      expect(await overflowing(page)).toEqual([]);
      expect(await keyboardFindings(page)).toEqual([]);
    };
    const openLink = async () => {
      await page.goto(await link());
      await press(/Sign in as/);
    };
    const signOut = async () => {
      await press(/Signed in as/);
      await press(/Sign out/);
      await shows(/Sign in with a passkey/);
    };
    const signInByPasskey = async () => {
      await page.goto(`${url}/sign-in`);
      await press(/Sign in with a passkey/);
    };

    // An admin without a passkey gets no page of admins.
    await openLink();
    await shows(/Signed in as/);
    const refused = await page.goto(`${url}/admin/accounts`);
    expect([refused?.status(), await refused?.text()]).toEqual([
      403,
      expect.stringContaining('demands passkeys of admins'),
    ]);
    await page.locator('main a[href="/account/settings"]').click();
    await shows(/A passkey signs you in/);
    await page.locator('input[name=name]').fill('desk');
    await press(/Add a passkey/);
    await shows(/Keep these codes/);
    await checkPage();
    const codes = (await page.locator('#codes').allInnerTexts())[0]!.split('\n');
    expect(codes).toHaveLength(10);
    await page.goto(`${url}/account/settings`);
    await shows(/^desk$/);
    await checkPage();

    // The session of the link is not enough for an admin; that of the passkey is.
    await page.goto(`${url}/admin/accounts`);
    await shows(/or one with a passkey/);
    await checkPage();
    await press(/Sign in with a passkey/);
    await shows(/the latest first/);
    expect(page.url()).toBe(`${url}/admin/accounts`);
    await signOut();

    // A link alone opens no session any more.
    await openLink();
    await shows(/One more step/);
    await checkPage();
    expect((await page.goto(`${url}/account`))?.url()).toBe(`${url}/sign-in`);
    await page.goto(`${url}/sign-in/passkey`);
    await press(/Sign in with a passkey/);
    await shows(/Signed in as/);
    await signOut();

    // An answer that was used.
    await page.goto(`${url}/sign-in`);
    const answer = await page.evaluate<string>(`(${OPTIONS})().then(${ANSWER})`);
    const post = async (posted: string) => await page.evaluate<string>(`(${POST})(${JSON.stringify(posted)})`);
    expect(await post(answer)).toBe('signed in');
    await page.goto(`${url}/sign-in`);
    expect(await post(answer)).toMatch(/^403 This answer of a passkey/);

    // A page of another origin asks for the same name.
    const other = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => new Response('<p>win', { headers: { 'content-type': 'text/html' } }),
    });
    const options = await page.evaluate<object>(`(${OPTIONS})()`);
    await page.goto(`http://localhost:${other.port}/`);
    const phished = await page.evaluate<string>(`(${ANSWER})(${JSON.stringify(options)})`);
    await page.goto(`${url}/sign-in`);
    expect(await post(phished)).toBe(
      `403 This answer of a passkey is for another site: open ${url}/sign-in and try again there.`,
    );
    await other.stop(true);

    // A copy of the authenticator, which counts from an earlier number.
    const [credential] = await authenticator.credentials();
    await authenticator.remove(credential!);
    await authenticator.add({ ...credential!, signCount: 1 });
    await signInByPasskey();
    await shows(/counts less than before, as a copy does/);
    await authenticator.remove(credential!);
    await authenticator.add({ ...credential!, signCount: credential!.signCount + 10 });
    await signInByPasskey();
    await shows(/Signed in as/);

    // The key is lost: a recovery code signs in, and the person removes the key.
    await signOut();
    await authenticator.remove(credential!);
    await openLink();
    await page.locator('input[name=code]').fill('AAAAA-AAAAA');
    await press(/Sign in with a code/);
    await shows(/This recovery code is wrong/);
    await page.goto(`${url}/sign-in/passkey`);
    await page.locator('input[name=code]').fill(codes[0]!.toLowerCase());
    await press(/Sign in with a code/);
    await shows(/Signed in as/);
    await page.goto(`${url}/account/settings`);
    await shows(/^9$/);
    await page.locator('input[name=name]').fill('new desk');
    await press(/Add a passkey/);
    await shows(/^new desk$/);
    await page.locator('table tr:has-text("new desk")').first().waitFor();
    await press(/Remove/);
    await page.locator('table tr').first().waitFor();
    await signOut();

    // The removed key comes back.
    const [fresh] = await authenticator.credentials();
    await authenticator.remove(fresh!);
    await authenticator.add({ ...credential!, signCount: 1000 });
    await signInByPasskey();
    await shows(/This passkey is not known here, or was removed/);

    expect(await watched.refused()).toEqual([]);
    const statuses = /^Failed to load resource: the server responded with a status of 4\d\d/;
    expect(watched.complaints.filter((text) => !statuses.test(text))).toEqual([]);

    const shown = JSON.parse(await account('passkeys', ADA, '--json')) as { name: string }[];
    expect(shown).toMatchObject([{ name: 'new desk' }]);
    expect(await account('passkeys', ADA, '--remove-all')).not.toContain('new desk');
    expect(JSON.parse(await account('show', ADA, '--json'))).toMatchObject({
      passkeys: 0,
      recoveryCodesLeft: 0,
      sessions: 0,
    });
    await openLink();
    await shows(/Signed in as/);
  },
);
