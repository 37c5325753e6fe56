import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createKey } from '../../src/account/account-keys.ts';
import { NOW_MS } from '../support/archive.ts';
import { storeUsage } from '../web/seeded-usage.ts';
import { type Site, startSite } from '../web/site.ts';
import { HAS_CHROMIUM, openPage, type WatchedPage } from './chromium.ts';
import { SIZES, setAppearance } from './shown-pages.ts';

const ROOT = 'root@example.com';
const LONG = 'a-rather-long-name-of-a-department@strategies.example';

describe.skipIf(!HAS_CHROMIUM)('the style of pages in a browser (needs Chromium, test/judges)', () => {
  let site: Site;
  let watched: WatchedPage;
  beforeAll(async () => {
    site = startSite();
    const { registry, activity } = site.people;
    for (const email of [ROOT, LONG]) {
      const { id } = registry.database.write(() => registry.accounts.create({ email }, NOW_MS));
      if (email === ROOT) registry.accounts.setRole(id, 'admin');
      const request = { account: email, name: 'k', tier: undefined, requestsPerMinute: undefined };
      const { apiKey } = createKey(registry, NOW_MS, request);
      const startMs = NOW_MS - (NOW_MS % 3_600_000);
      storeUsage(activity, [{ keyId: apiKey.id, route: '/v1/{coin}/markets', startMs, counts: [5, 0, 2, 0, 1800] }]);
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
    const cut = `[...document.querySelectorAll('.cut')].filter((one) => one.checkVisibility() && one.innerText === '${LONG}')
      .map((one) => one.scrollWidth > one.clientWidth)`;
    expect(new Set(await seen<boolean[]>('/admin/audit', 'phone', cut))).toEqual(new Set([false]));
  });

  test('A table of two columns in the manual has its headings on a phone too.', async () => {
    const clips = `[...document.querySelectorAll('.prose table:not(:has(tr > :nth-child(3))) thead')]
      .map((one) => getComputedStyle(one).clipPath)`;
    expect(new Set(await seen<string[]>('/docs/administration', 'phone', clips))).toEqual(new Set(['none']));
  });

  test('The button that copies code is beside its lines, or above them on a phone, also where they scroll or are broken.', async () => {
    const apart = `[...document.querySelectorAll('.copyable')].map((one) => {
      const range = document.createRange();
      range.selectNodeContents(one.querySelector('code'));
      const [pre, button] = [one.querySelector('pre'), one.querySelector('.copy')].map((part) => part.getBoundingClientRect());
      return pre.right <= button.left || [...range.getClientRects()].every(({ top, right }) => right <= button.left || top >= button.bottom);
    })`;
    for (const size of ['desktop', 'phone'] as const) {
      expect(new Set(await seen<boolean[]>('/docs/replay', size, apart))).toEqual(new Set([true]));
    }
    await watched.page.goto(`${site.origin}/account/keys/new`);
    await watched.page.getByRole('button', { name: /Create the key/ }).click();
    await watched.page.getByText('Your new key').first().waitFor();
    for (const size of ['desktop', 'phone'] as const) {
      await setAppearance(watched.page, SIZES[size]!, 'light');
      expect(await watched.page.evaluate<boolean[]>(apart)).toEqual([true, true]);
    }
  });

  test('Commands on a phone go around their button, and take no line for it alone.', async () => {
    const rooms = `[...document.querySelectorAll('.copyable')].map((one) => {
      const range = document.createRange();
      range.selectNodeContents(one.querySelector('code'));
      return range.getBoundingClientRect().top - one.getBoundingClientRect().top;
    })`;
    expect(Math.max(...(await seen<number[]>('/', 'phone', rooms)))).toBeLessThan(20);
  });

  test('All cards of the start page have room between them.', async () => {
    const room = `document.querySelector('.cards').getBoundingClientRect().top
      - document.querySelector('.card:has(+ .cards)').getBoundingClientRect().bottom`;
    for (const size of ['desktop', 'phone'] as const) expect(await seen<number>('/', size, room)).toBe(16);
  });

  test('A table of keys fits its page without scrolling.', async () => {
    const overflow =
      "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('section.scroll'))";
    expect(await seen<number>('/account/keys', 'desktop', overflow)).toBe(0);
  });

  test('A row on a phone has its values below each other, in a column beside their headings.', async () => {
    const lefts = `[...document.querySelectorAll('tbody tr:first-child td:not(:first-child)')].filter((one) => one.checkVisibility()).map((one) => {
      const range = document.createRange();
      range.selectNodeContents(one);
      return Math.round(range.getBoundingClientRect().left - one.getBoundingClientRect().left);
    })`;
    const [first = 0, ...others] = await seen<number[]>('/account/keys', 'phone', lefts);
    expect(first).toBeGreaterThan(100);
    expect(new Set(others)).toEqual(new Set([first]));
  });

  test('Usage on a phone leaves out what is 0.', async () => {
    const cells = `[...document.querySelectorAll('[aria-label="Usage by key"] tbody td')]
      .map((one) => [one.dataset.heading, one.checkVisibility()])`;
    expect(Object.fromEntries(await seen<[string, boolean][]>('/account/usage', 'phone', cells))).toEqual({
      Requests: true,
      'Forbidden (403)': false,
      'Limited (429)': true,
      'Other refusals': false,
      Sent: true,
    });
  });
});
