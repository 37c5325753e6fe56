import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startRealProvider } from '../account/real-provider.ts';
import { catchMails } from '../account/smtp-catcher.ts';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { startServer } from '../support/executable.ts';
import { HAS_CHROMIUM, openPage } from './chromium.ts';

const SECRET = 'secret-of-a-browser-test';

test.skipIf(!HAS_CHROMIUM)(
  'a browser signs in by email and at a provider, links an identity there and undoes it, and nothing of that violates a policy (needs Chromium, test/judges)',
  async () => {
    using directory = temporaryDirectory();
    const [port, providerPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    const secretFile = join(directory.path, 'secret');
    writeFileSync(secretFile, SECRET, { mode: 0o600 });
    await using smtp = await catchMails();
    await using provider = await startRealProvider(providerPort, SECRET, `${url}/sign-in/oidc/judge/callback`);
    await using _server = await startServer(join(directory.path, 'data'), [
      ...['--port', String(port), '--public-url', url, '--sign-up', 'open'],
      ...['--smtp-url', smtp.url.href, '--smtp-sender', 'bookreel@example.com'],
      ...['--oidc-providers', `judge ${provider.issuer} bookreel ${secretFile}`],
    ]);
    await using watched = await openPage();
    const { page } = watched;
    const button = (name: RegExp) => page.getByRole('button', { name });
    const shows = (text: RegExp) => page.getByText(text).first().waitFor();

    await page.goto(`${url}/sign-in`);
    await page.locator('input[name=email]').fill('ada@example.com');
    await button(/Send/).click();
    await shows(/The email to/);
    await page.locator('input[name=code]').fill((await smtp.nth(0)).code);
    await button(/Sign in/).click();
    await shows(/Signed in as/);
    // Scripts of a page never see the cookie.
    expect(await page.evaluate<string>('document.cookie')).toBe('');
    await button(/Signed in as/).click();
    await button(/Sign out/).click();
    await button(/Send/).waitFor();

    await page.goto(`${url}/sign-in`);
    await page.locator('input[name=email]').fill('ada@example.com');
    await button(/Send/).click();
    await shows(/The email to/);
    await page.goto(`${url}/sign-in/link?token=${(await smtp.nth(1)).link}`);
    await button(/Sign in as ada@example.com/).click();
    await shows(/Signed in as/);
    await page.goto(`${url}/account/sessions`);
    await button(/everywhere/).click();
    await shows(/Sign in with judge/);

    // The console has a line about each violation. The provider's own pages load fonts of another host.
    expect(watched.complaints).toEqual([]);
    expect(watched.asked.filter((asked) => !asked.startsWith(url) && !asked.startsWith('data:'))).toEqual([]);
    const signInThere = async (email: string) => {
      await page.locator('input[name=login]').fill(email);
      await page.locator('input[name=password]').fill('any');
      await button(/Sign-in/).click();
      await button(/Continue/).click();
    };
    await page.locator('a[href="/sign-in/oidc/judge"]').click();
    await signInThere('eve@example.com');
    await shows(/Signed in as eve@example.com/);

    // The provider stated the time of the sign-in, which is recent; it demands the password again.
    await page.goto(`${url}/account/settings`);
    await page.locator('a[href="/account/settings/providers/judge"]').click();
    await signInThere('second@example.com');
    await shows(/The provider is linked/);
    await page.goto(`${url}/sign-in/undo?token=${(await smtp.nth(2)).link}`);
    await button(/Undo the changes/).click();
    await shows(/The changes are undone/);
    await page.goto(`${url}/account`);
    await shows(/Sign in with judge/);

    expect(await watched.refused()).toEqual([]);
  },
);
