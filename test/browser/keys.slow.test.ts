import { expect, test } from 'bun:test';
import { startSite } from '../web/site.ts';
import { HAS_CHROMIUM, openPage } from './chromium.ts';

const ADA = 'ada@example.com';

test.skipIf(!HAS_CHROMIUM)(
  'a browser creates a key and copies it, and nothing of that violates a policy (needs Chromium, test/judges)',
  async () => {
    await using site = startSite();
    const { registry, createLink, nowMs } = site.people;
    registry.accounts.create({ email: ADA }, nowMs());
    await using watched = await openPage();
    const { page } = watched;
    await page.goto(`${site.origin}/sign-in/link?token=${createLink(ADA)}`);
    await page.getByRole('button', { name: /Sign in as/ }).click();
    await page.getByRole('link', { name: /Create a key/ }).click();
    await page.locator('input[name=name]').fill('laptop');
    await page.getByRole('button', { name: /Create the key/ }).click();
    await page.getByRole('button', { name: /Copy the key/ }).waitFor();
    const shown = await page.locator('pre code').allInnerTexts();
    const [key] = shown;
    expect(shown).toEqual([
      expect.stringMatching(/^br_live_\w+$/),
      `curl -s -H "Authorization: Bearer ${key}" \\\n'${site.origin}/v1/coins'`,
    ]);
    await page.getByRole('button', { name: /Copy the key/ }).click();
    await page.getByText('Copied').waitFor();
    await page.locator('.back').click();
    await page.getByRole('link', { name: /Create a key/ }).click();
    await page.press('input[name=name]', 'Control+v');
    expect(await page.evaluate<string>('document.querySelector("input[name=name]").value')).toBe(key!);
    expect([watched.complaints, await watched.refused()]).toEqual([[], []]);
    expect(watched.asked.filter((url) => !url.startsWith(site.origin))).toEqual([]);
  },
);
