import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createKey } from '../../src/account/account-keys.ts';
import { NOW_MS } from '../support/archive.ts';
import { type Site, startSite } from '../web/site.ts';
import { type Box, HAS_CHROMIUM, openPage, type WatchedPage } from './chromium.ts';
import { SIZES, setAppearance } from './shown-pages.ts';

const ROOT = 'root@example.com';
const LONG = 'a-rather-long-name-of-a-department@strategies.example';

describe.skipIf(!HAS_CHROMIUM)('the style of pages in a browser (needs Chromium, test/judges)', () => {
  let site: Site;
  let watched: WatchedPage;
  beforeAll(async () => {
    site = startSite();
    const { registry } = site.people;
    for (const email of [ROOT, LONG]) {
      const { id } = registry.database.write(() => registry.accounts.create({ email }, NOW_MS));
      if (email === ROOT) registry.accounts.setRole(id, 'admin');
      else createKey(registry, NOW_MS, { account: email, name: 'k', tier: undefined, requestsPerMinute: undefined });
    }
    watched = await openPage();
    await watched.page.goto(`${site.origin}/sign-in/link?token=${site.people.createLink(ROOT)}`);
    await watched.page.getByRole('button', { name: /Sign in as/ }).click();
    await watched.page.getByText(ROOT).first().waitFor();
  });
  afterAll(async () => {
    await watched[Symbol.asyncDispose]();
    await site[Symbol.asyncDispose]();
  });

  const seen = async <T>(path: string, size: 'desktop' | 'phone', expression: string) => {
    await watched.page.goto(`${site.origin}${path}`);
    await setAppearance(watched.page, SIZES[size]!, 'light');
    return await watched.page.evaluate<T>(expression);
  };

  test('The fields of a tier are a grid of three columns.', async () => {
    const tops = "[...document.querySelector('.fields').children].slice(0, 3).map((one) => one.offsetTop)";
    expect(new Set(await seen<number[]>('/admin/tiers/pro', 'desktop', tops)).size).toBe(1);
  });

  test('A phone shows the addresses of the audit in full.', async () => {
    const cut = "[...document.querySelectorAll('.cut')].filter((one) => one.scrollWidth > one.clientWidth).length";
    expect(await seen<number>('/admin/audit', 'phone', cut)).toBe(0);
  });

  test('A date is written with its year first, so that this is what somebody types first.', async () => {
    const place = "document.querySelector('[name=from]').getBoundingClientRect().toJSON()";
    const { x, y, height } = await seen<Box>('/admin/audit?from=2026-11-28', 'desktop', place);
    const { mouse } = watched.page;
    await mouse.move(x + 14, y + height / 2);
    await mouse.down();
    await mouse.up();
    await watched.page.press(':focus', '3');
    expect(await watched.page.evaluate<string>("document.querySelector('[name=from]').value")).toBe('0003-11-28');
  });

  test('A table of two columns in the manual has its headings on a phone too.', async () => {
    const heads = `[...document.querySelectorAll('.prose table:not(:has(tr > :nth-child(3))) thead')]
      .map((one) => one.offsetHeight).filter((height) => height < 20).length`;
    expect(await seen<number>('/docs/administration', 'phone', heads)).toBe(0);
    expect(await watched.page.evaluate<number>("document.querySelectorAll('.prose thead').length")).toBeGreaterThan(0);
  });

  test('Usage on a phone leaves out what is 0.', async () => {
    const zero = `(() => {
      const cell = document.querySelector('.stacked td.number');
      const before = getComputedStyle(cell).display;
      cell.replaceChildren(Object.assign(document.createElement('span'), { className: 'quiet minor', textContent: '0' }));
      return [before, getComputedStyle(cell).display];
    })()`;
    expect(await seen<string[]>('/admin/tiers', 'phone', zero)).toEqual(['flex', 'none']);
  });
});
